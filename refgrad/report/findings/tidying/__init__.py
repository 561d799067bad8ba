"""Printed programs as a user of the library would write them."""

from refgrad.report.findings.tidying.pieces import MOST_TEXT, pieces
from refgrad.report.findings.tidying.program import tidied

__all__ = ["MOST_TEXT", "pieces", "tidied"]
