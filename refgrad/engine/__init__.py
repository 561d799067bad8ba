"""The reference engine: a define-by-run tape on numpy with the API of PyTorch, float64 by default.

``import refgrad.engine as torch`` is all that a tutorial needs. Every row of the operator table is a function here and
a method of :class:`Tensor`, under the row's name, its aliases and PyTorch's name; there is no second list.

Intended differences from PyTorch: floats are float64; indexing and reshaping return copies, never views; ``x.max(dim)``
returns the values only, as numpy's does; a write through ``.data`` to a value that backward needs is detected.
"""

from __future__ import annotations

from difflib import get_close_matches
from math import inf, nan, pi
from typing import Any

import numpy as np

from refgrad.engine import autograd
from refgrad.engine.autograd import grad
from refgrad.engine.functions import creation
from refgrad.engine.functions.creation import *  # noqa: F403 (its __all__ names the functions that create tensors)
from refgrad.engine.functions.custom import Function, checkpoint
from refgrad.engine.functions.methods import composite_functions, install_methods, spelled_functions
from refgrad.engine.functions.transforms import hessian, jacfwd, jacrev, vmap
from refgrad.engine.graph.sweep import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.recording import record_operators
from refgrad.engine.pictures import draw, print_graph
from refgrad.engine.replay.recorded import record
from refgrad.operators import operator_table

__all__ = [
    "Function", "Tensor", "autograd", "bool", "checkpoint", "double", "draw", "enable_grad", "float16", "float32",
    "float64", "grad", "half", "hessian", "inf", "int32", "int64", "is_grad_enabled", "jacfwd", "jacrev", "long",
    "nan", "no_grad", "pi", "print_graph", "record", "set_grad_enabled", "vmap",
]  # fmt: skip
__all__ += creation.__all__

float16 = half = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = double = np.dtype(np.float64)
int32 = np.dtype(np.int32)
int64 = long = np.dtype(np.int64)
bool = np.dtype(np.bool_)

_operators = record_operators(operator_table())
_spelled = spelled_functions(operator_table(), _operators)
_functions = {**creation.discrete_functions(), **_spelled, **composite_functions(_spelled)}
install_methods(Tensor, _operators, _functions)
globals().update(_functions)


def __getattr__(name: str) -> Any:
    """Raise AttributeError for a missing name, and suggest the nearest names."""
    public = () if name.startswith("_") else [each for each in globals() if not each.startswith("_")]
    near = get_close_matches(name, public)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "its operators are the rows of specs/operators"
    raise AttributeError(f"module 'refgrad.engine' has no attribute {name!r}: {hint}", name=name)
