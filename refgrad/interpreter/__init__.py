"""Evaluation of the forward part of a scenario in any number system."""

from refgrad.interpreter.composites import REMEMBERED, Noted, noted, noted_once, numpy_forward
from refgrad.interpreter.evaluation import NumberSystem, ScenarioEvaluationError, evaluate, keywords, native
from refgrad.interpreter.expansion import expanded
from refgrad.interpreter.float64 import Float64, bounded_values, float64_values
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
