"""How are the rows' own rules run on plain numpy arrays, with neither an engine nor a tape?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, Float64, evaluate, expanded, keywords, numpy_forward
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Constant, Scenario

Array = npt.NDArray[Any]


class NumpyOperators:
    """Applies operators by name to numpy arrays: the ``ops`` of a reverse rule."""

    equal = staticmethod(np.equal)

    def __getattr__(self, name: str) -> Callable[..., Array]:
        """Return the operator as a function of arrays, with its attributes as keywords."""
        operator = operator_table()[name]
        forward = numpy_forward(operator)
        return lambda *arrays, **attributes: np.asarray(forward(*arrays, **operator.bind(attributes)))


@dataclass(frozen=True, slots=True)
class Node:
    """An application as a rule sees it: it may ask only for what the structure says it saves."""

    operator: Operator
    shapes: tuple[tuple[int, ...], ...]
    needs: tuple[bool, ...]
    attributes: Mapping[str, Any]
    values: Mapping[str, Array]

    def saved(self, name: str) -> Array:
        """Return a value that the rule declared."""
        needed = [argument for argument, need in zip(self.operator.argument_names, self.needs, strict=False) if need]
        declared = set().union(*(self.operator.saves(argument) for argument in needed))
        assert name in declared, f"{self.operator.name} asks for {name}, but says that it saves {sorted(declared)}"
        return self.values[name]


@cache
def partial(operator: Operator, name: str) -> Callable[..., Array]:
    """Compile a row's partial to a function of arguments, attributes and ``out``."""
    parameters = (*operator.argument_names, *operator.attribute_names, "out")
    return operator.partials[name].function(parameters, NUMPY_FUNCTIONS)


def vjp(
    name: str,
    arrays: Sequence[Array],
    attributes: Mapping[str, Any],
    cotangent: Array,
    needs: Sequence[bool] | None = None,
) -> list[Array | None]:
    """Return the cotangent of every argument by the row's own rule; None where it is not needed."""
    operator = operator_table()[name]
    bound = operator.bind(attributes)
    requested = tuple(needs or (array.dtype != np.bool_ for array in arrays))
    out = np.asarray(numpy_forward(operator)(*arrays, **bound))
    if operator.structure is None:
        return [
            _summed(cotangent * partial(operator, argument)(*arrays, **bound, out=out), array.shape) if need else None
            for argument, array, need in zip(operator.argument_names, arrays, requested, strict=True)
        ]
    values = {**dict(zip(operator.argument_names, arrays, strict=False)), "out": out}
    node = Node(operator, tuple(array.shape for array in arrays), requested, bound, values)
    return list(operator.structure.vjp(NumpyOperators(), cotangent, node))


def _summed(cotangent: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting by sums."""
    lead = tuple(range(cotangent.ndim - len(shape)))
    summed = cotangent.sum(axis=lead)
    stretched = tuple(i for i, length in enumerate(shape) if length == 1 and summed.shape[i] != 1)
    return np.asarray(summed.sum(axis=stretched, keepdims=True))


def gradients(scenario: Scenario, contributions: Sequence[tuple[str, Constant | None]]) -> dict[str, Array]:
    """Return the float64 gradient of every leaf that requires grad, by the rows' own rules and a plain reverse loop."""
    scenario = expanded(scenario)
    values = evaluate(scenario, Float64())
    cotangents = {name: np.zeros(value.shape) for name, value in values.items() if value.dtype != np.bool_}
    for output, seed in contributions:
        cotangents[output] = cotangents[output] + (1.0 if seed is None else seed.to_numpy())
    with np.errstate(all="ignore"):
        for step in reversed(scenario.applications):
            _spread(step, values, cotangents)
    return {leaf.name: cotangents[leaf.name] for leaf in scenario.leaves if leaf.requires_grad}


def _spread(step: Apply, values: Mapping[str, Array], cotangents: dict[str, Array]) -> None:
    if not np.any(cotangents[step.name]):
        return
    arrays = [values[name] for name in step.arguments]
    for name, share in zip(
        step.arguments, vjp(step.operator, arrays, keywords(step), cotangents[step.name]), strict=True
    ):
        if share is not None:
            cotangents[name] = cotangents[name] + share
