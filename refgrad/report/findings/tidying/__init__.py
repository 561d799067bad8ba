"""Programs in Python as a user of the library would write them."""

from refgrad.report.findings.tidying.pieces import Piece, pieces
from refgrad.report.findings.tidying.program import tidied

__all__ = ["Piece", "pieces", "tidied"]
