"""Printed programs as a user of the library would write them."""

from refgrad.report.findings.tidying.pieces import MOST_TEXT, pieces
from refgrad.report.findings.tidying.program import tidied
from refgrad.report.findings.tidying.unused import without_unused

__all__ = ["MOST_TEXT", "pieces", "tidied", "without_unused"]
