"""Checks of the gradients of users' own functions, whichever engine computes them."""

from refgrad.checking.gradients import check_gradients
from refgrad.checking.report import CAUSES, GradientError, GradientReport, InconclusiveError
from refgrad.oracles import Discrepancy

__all__ = ["CAUSES", "Discrepancy", "GradientError", "GradientReport", "InconclusiveError", "check_gradients"]
