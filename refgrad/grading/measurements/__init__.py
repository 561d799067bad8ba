"""Measurements of what scenarios cannot show: time on large graphs, memory that is held, and recorded graphs."""

from refgrad.grading.measurements.registry import METHODS, Measurement, script, take_measurement
from refgrad.grading.measurements.result import Reading

__all__ = ["METHODS", "Measurement", "Reading", "script", "take_measurement"]
