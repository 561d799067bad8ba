"""Is the gradient of a function of one's own right, whichever engine computes it?"""

from refgrad.checking.discrepancy import Discrepancy
from refgrad.checking.gradients import check_gradients
from refgrad.checking.report import GradientError, GradientReport

__all__ = ["Discrepancy", "GradientError", "GradientReport", "check_gradients"]
