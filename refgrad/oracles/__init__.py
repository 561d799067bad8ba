"""True derivatives of scenarios, computed independently of every engine, and judgements of observed numbers."""

from refgrad.oracles.certified.certified import Certified, CertifiedOracle
from refgrad.oracles.certified.directional import directional_derivative
from refgrad.oracles.judgement.judgement import Discrepancy, EntryError, Judgement, accepted, judge
from refgrad.oracles.judgement.limits import answered_by_nan, limits_met, undefined_between
from refgrad.oracles.judgement.subgradients import Violation, violation

__all__ = [
    "Certified",
    "CertifiedOracle",
    "Discrepancy",
    "EntryError",
    "Judgement",
    "Violation",
    "accepted",
    "answered_by_nan",
    "directional_derivative",
    "judge",
    "limits_met",
    "undefined_between",
    "violation",
]
