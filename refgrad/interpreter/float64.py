"""Evaluation of scenarios in ordinary floating-point numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.composites import numpy_forward
from refgrad.interpreter.evaluation import evaluate
from refgrad.operators import Operator
from refgrad.scenario import Grad, Jvp, Leaf, Scenario

Values = Mapping[str, npt.NDArray[Any]]

REMEMBERED: Final = 32
"""Scenarios of which the values are kept: two batches of those that are run together."""


class Float64:
    """numpy's float64 (or float32, where leaves are) arrays, one value an entry."""

    composites: ClassVar[bool] = True
    """Composite operators are run as they are; in other numbers their steps are, once they are written out."""

    def leaf(self, leaf: Leaf) -> Any:
        """Return the leaf's array."""
        return leaf.value.to_numpy()

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's value as numpy computes it."""
        return np.asarray(numpy_forward(operator)(*arguments, **attributes))

    def detached(self, value: Any) -> Any:
        """Return the array: nothing is differentiated here."""
        return value

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> Any:
        """Return numbers that are not known, in the leaf's shape: nothing is differentiated here."""
        return np.full_like(values[step.leaf], np.nan)

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> Any:
        """Return numbers that are not known, in the output's shape: nothing is differentiated here."""
        return np.full_like(values[step.output], np.nan)


@lru_cache(maxsize=REMEMBERED)
def float64_values(scenario: Scenario) -> Values:
    """Return the value of every name that the scenario defines, as numpy computes it; nobody may change them.

    Several parts of refgrad ask for those of one scenario in turn. Raises ScenarioEvaluationError where an operator
    refuses its arguments.
    """
    values = evaluate(scenario, Float64())
    for array in values.values():
        array.flags.writeable = False
    return MappingProxyType(values)
