"""What is the true derivative, found independently of every engine?"""

from refgrad.oracles.certified import Certified, CertifiedOracle
from refgrad.oracles.finite_differences import Difference, finite_differences
from refgrad.oracles.judgement import EntryError, Judgement, judge

__all__ = ["Certified", "CertifiedOracle", "Difference", "EntryError", "Judgement", "finite_differences", "judge"]
