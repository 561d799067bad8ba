"""The floating dtypes of the leaves that a value depends on, and the dtype of the value."""

from __future__ import annotations

from collections.abc import Collection

from refgrad.scenario.formats import FORMATS
from refgrad.scenario.scenario import Scenario
from refgrad.scenario.steps.kinds import Detach, Grad, Jvp, Leaf


def floating_dtypes(scenario: Scenario) -> dict[str, frozenset[str]]:
    """Return, for every name, the floating dtypes of the leaves that it depends on.

    A gradient has those of its leaf, a directional derivative those of its output.
    """
    dtypes: dict[str, frozenset[str]] = {}
    for name, step in scenario.definitions.items():
        if isinstance(step, Leaf):
            dtypes[name] = frozenset({step.value.dtype} & FORMATS.keys())
        elif isinstance(step, Grad):
            dtypes[name] = dtypes[step.leaf]
        elif isinstance(step, Jvp):
            dtypes[name] = dtypes[step.output]
        elif isinstance(step, Detach):
            dtypes[name] = dtypes[step.source]
        else:
            dtypes[name] = frozenset().union(*(dtypes[argument] for argument in step.arguments))
    return dtypes


def promoted(dtypes: Collection[str]) -> str:
    """Return the dtype of a result of operands of these dtypes: the narrowest that represents all their numbers.

    That is the rule of NumPy, PyTorch and JAX where no operand is a scalar; float16 and bfloat16 give float32.
    """
    widest = max(dtypes, key=lambda dtype: FORMATS[dtype].bits, default="float64")
    return "float32" if widest == "float16" and "bfloat16" in dtypes else widest
