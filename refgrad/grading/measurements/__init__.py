"""Measurements, for what no scenario can show: how an engine copes with size, what it keeps, what it recorded."""

from refgrad.grading.measurements.registry import METHODS, Measurement, script, take_measurement
from refgrad.grading.measurements.shown import Shown

__all__ = ["METHODS", "Measurement", "Shown", "script", "take_measurement"]
