"""What can be asked of an engine that no scenario can say? How it copes with size, what it keeps, what it recorded."""

from refgrad.grading.measurements.registry import PROBES, Probing, ProbingError, probe, script
from refgrad.grading.measurements.shown import Shown

__all__ = ["PROBES", "Probing", "ProbingError", "Shown", "probe", "script"]
