"""True derivatives of scenarios, computed independently of every engine, and judgements of observed numbers."""

from refgrad.oracles.certified.certified import Certified, CertifiedOracle
from refgrad.oracles.judgement import (
    Discrepancy,
    EntryError,
    Judgement,
    Violation,
    answered_by_nan,
    judge,
    limits_met,
    undefined_between,
    violation,
)
