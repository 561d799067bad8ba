"""What is the true derivative, found independently of every engine?"""

from refgrad.oracles.ball_series import derivatives_along
from refgrad.oracles.certified import Certified, CertifiedOracle
from refgrad.oracles.definedness import undefined_between
from refgrad.oracles.directional import directional_derivative
from refgrad.oracles.finite_differences import Difference, finite_differences
from refgrad.oracles.judgement import EntryError, Judgement, judge
from refgrad.oracles.limits import limits_met
from refgrad.oracles.subgradients import Violation, violation

__all__ = [
    "Certified",
    "CertifiedOracle",
    "Difference",
    "EntryError",
    "Judgement",
    "Violation",
    "derivatives_along",
    "directional_derivative",
    "finite_differences",
    "judge",
    "limits_met",
    "undefined_between",
    "violation",
]
