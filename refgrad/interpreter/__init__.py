"""What does the forward part of a scenario compute, in any number system?"""

from refgrad.interpreter.batched import Batch, BatchedFloat64
from refgrad.interpreter.complex128 import BatchedComplex128, analytic_expression
from refgrad.interpreter.evaluation import Differentiating, NumberSystem, ScenarioEvaluationError, evaluate, keywords
from refgrad.interpreter.float64 import NUMPY_FUNCTIONS, Float64, numpy_forward

__all__ = [
    "NUMPY_FUNCTIONS",
    "Batch",
    "BatchedComplex128",
    "BatchedFloat64",
    "Differentiating",
    "Float64",
    "NumberSystem",
    "ScenarioEvaluationError",
    "analytic_expression",
    "evaluate",
    "keywords",
    "numpy_forward",
]
