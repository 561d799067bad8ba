"""Measurements of what scenarios cannot show: time on large graphs, memory that is held, and recorded graphs."""

from refgrad.grading.measurements.registry import METHODS, Measurement, script, take_measurement
from refgrad.grading.measurements.shown import Shown

__all__ = ["METHODS", "Measurement", "Shown", "script", "take_measurement"]
