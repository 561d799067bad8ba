"""Checks of the gradients of users' own functions, whichever engine computes them."""

from refgrad.checking.discrepancy import Discrepancy
from refgrad.checking.gradients import check_gradients
from refgrad.checking.report import GradientError, GradientReport

__all__ = ["Discrepancy", "GradientError", "GradientReport", "check_gradients"]
