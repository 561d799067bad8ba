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
    found: dict[str, frozenset[str]] = {}
    for name, step in scenario.definitions.items():
        if isinstance(step, Leaf):
            found[name] = frozenset({step.value.dtype} & FORMATS.keys())
        elif isinstance(step, Grad):
            found[name] = found[step.leaf]
        elif isinstance(step, Jvp):
            found[name] = found[step.output]
        elif isinstance(step, Detach):
            found[name] = found[step.source]
        else:
            found[name] = frozenset().union(*(found[argument] for argument in step.arguments))
    return found


def promoted(dtypes: Collection[str]) -> str:
    """Return the dtype of a result of operands of these dtypes: the narrowest that represents all their numbers.

    That is the rule of NumPy, PyTorch and JAX where no operand is a scalar; float16 and bfloat16 give float32.
    """
    widest = max(dtypes, key=lambda dtype: FORMATS[dtype].bits, default="float64")
    return "float32" if widest == "float16" and "bfloat16" in dtypes else widest
