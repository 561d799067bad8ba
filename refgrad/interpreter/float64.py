"""Evaluation of scenarios in floating-point arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.composites import Noted, composed, noted, numpy_forward
from refgrad.interpreter.evaluation import ScenarioEvaluationError, evaluate, refuse_large_result
from refgrad.operators import Operator
from refgrad.operators.operator import refuse_size
from refgrad.scenario import Grad, Jvp, Leaf, Scenario

Values = Mapping[str, npt.NDArray[Any]]

MOST_ENTRIES: Final = 100_000
"""Largest number of entries of a value in a scenario from a user's file: certifying it takes some seconds."""

MOST_IN_ALL: Final = 10_000_000
"""Largest number of entries that such a scenario computes in total, with STEP added for each step."""

STEP: Final = 500
"""Number of entries whose computation takes as long as the Python overhead of a step."""

SHAPES: Final = frozenset({"shape", "broadcast_shape", "any_shape", "expanded_shape", "factors"})
"""Types of attributes whose product of numbers bounds the number of entries of the result."""

REPEATS: Final = frozenset({"repeats", "pad_width"})
"""Types of attributes whose product of numbers bounds the factor by which the number of entries grows."""

COUNTS: Final = frozenset({"int", "counts"})
"""Types of attributes whose largest number bounds that factor."""

REMEMBERED: Final = 32
"""Number of scenarios whose values are cached: two batches of scenarios that run together."""


class Float64:
    """The number system of numpy's floats: arrays in float64, or in the dtypes of the leaves."""

    composites: ClassVar[bool] = True
    """True: composite operators run directly. Other number systems need a scenario that is expanded into steps."""

    def leaf(self, leaf: Leaf) -> Any:
        """Return the leaf's array."""
        return leaf.value.to_numpy()

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's result as numpy computes it."""
        return np.asarray(numpy_forward(operator)(*arguments, **attributes))

    def detached(self, value: Any) -> Any:
        """Return the array unchanged: nothing is differentiated here."""
        return value

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> Any:
        """Return NaN in the leaf's shape, for an unknown gradient: nothing is differentiated here."""
        return np.full_like(values[step.leaf], np.nan)

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> Any:
        """Return NaN in the output's shape, for an unknown tangent: nothing is differentiated here."""
        return np.full_like(values[step.output], np.nan)


class _Noting(Float64):
    """:class:`Float64` that keeps the steps of each composite, in the order of the applications."""

    def __init__(self) -> None:
        self.traces: list[Noted] = []

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's result as numpy computes it."""
        if operator.composite is None:
            return super().apply(operator, arguments, attributes)
        result, trace = composed(operator, arguments, attributes)
        self.traces.append(trace)
        return result


class _Bounded(Float64):
    """:class:`Float64` with limits on memory and time, for scenarios from users' files."""

    def __init__(self) -> None:
        self.left = MOST_IN_ALL

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the operator's result. Raises ValueError if it, or an intermediate result, is too large."""
        size = max(map(np.size, arguments), default=1)
        for attribute in operator.attributes:
            refuse_size(_asked_for(attribute.type, attributes[attribute.name], size))
        if operator.composite is None:
            refuse_large_result(operator, arguments, attributes, MOST_ENTRIES)
        arrays = [entry.array for entry in noted(operator, arguments, attributes, bounded=True).entries]
        refuse_size(arrays[-1].size, MOST_ENTRIES)
        self.left -= sum(array.size + STEP for array in arrays)
        if self.left < 0:
            raise ValueError(f"more than {MOST_IN_ALL:,} entries in all are too many")
        return arrays[-1]


def _asked_for(kind: str, value: Any, size: int) -> int:
    """Return a bound on the number of entries that an attribute requests from an array of ``size`` entries."""
    numbers = [max(number, 1) for number in _magnitudes(value)]
    if kind in SHAPES:
        return prod(numbers)
    grown = prod(numbers) if kind in REPEATS else max(numbers, default=1) if kind in COUNTS else 1
    return max(size * grown, *numbers, 0)


def _magnitudes(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for each in value:
            yield from _magnitudes(each)
    elif isinstance(value, int):
        yield abs(value)


def bounded_values(scenario: Scenario) -> Values:
    """Return the value of every name that a scenario from a user's file defines, in bounded time and memory.

    Raises ScenarioEvaluationError if an operator rejects its arguments, or if a value has more than MOST_ENTRIES
    entries, or all of them together more than MOST_IN_ALL.
    """
    try:
        return evaluate(scenario, _Bounded())
    except (MemoryError, RecursionError) as error:
        raise ScenarioEvaluationError(f"the scenario is too large: {type(error).__name__}") from error


def float64_values(scenario: Scenario) -> Values:
    """Return the value of every name that the scenario defines, as numpy computes it, in read-only arrays.

    Raises ScenarioEvaluationError if an operator rejects its arguments.
    """
    return float64_run(scenario)[0]


@lru_cache(maxsize=REMEMBERED)
def float64_run(scenario: Scenario) -> tuple[Values, tuple[Noted, ...]]:
    """Return the values of :func:`float64_values`, and the steps of each composite, in the order of the applications.

    They are cached, since several parts of refgrad need those of one scenario in turn.
    """
    system = _Noting()
    values = evaluate(scenario, system)
    for array in values.values():
        array.flags.writeable = False
    return MappingProxyType(values), tuple(system.traces)
