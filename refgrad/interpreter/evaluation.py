"""Evaluation of scenarios in any number system, and in float64."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from refgrad.errors import UserError
from refgrad.operators import Operator, operator_table
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.operator import LARGEST, refuse_size
from refgrad.scenario import Apply, Detach, Grad, Jvp, Leaf, Scenario, Slice

PLAIN: Final = frozenset({int, float, bool, str, type(None)})
"""Types of attribute values that need no conversion. A tuple is checked for them first: it may hold thousands."""


class ScenarioEvaluationError(UserError):
    """A step cannot be evaluated, e.g. because shapes do not fit; the message names the step."""


class NumberSystem(Protocol):
    """A number system, which creates leaves and applies operators. Values are arrays of its numbers."""

    def leaf(self, leaf: Leaf) -> Any:
        """Return the value of a leaf."""

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the result of an operator; ``attributes`` includes the defaults."""


@runtime_checkable
class Differentiating(Protocol):
    """A number system that can evaluate recorded gradients."""

    def gradient(self, step: Grad, values: Mapping[str, Any]) -> Any:
        """Return the recorded gradient, in the leaf's shape; ``values`` holds the values defined so far."""


@runtime_checkable
class ForwardDifferentiating(Protocol):
    """A number system that can evaluate directional derivatives."""

    def tangent(self, step: Jvp, values: Mapping[str, Any]) -> Any:
        """Return the tangent of an output, in the output's shape; ``values`` holds the values defined so far."""


@runtime_checkable
class Detaching(Protocol):
    """A number system in which values can be detached from their graph."""

    def detached(self, value: Any) -> Any:
        """Return the same value as a constant."""


def evaluate(scenario: Scenario, system: NumberSystem) -> dict[str, Any]:
    """Return the value of every name that the scenario defines, in order of definition.

    NaN and infinities are ordinary values: numpy does not warn about them. Steps that change a tensor are skipped;
    `refgrad.lifecycle.lower` rewrites a scenario without them. Raises :class:`ScenarioEvaluationError` if an operator
    rejects its arguments, or if the system does not support a step: a recorded gradient needs a
    :class:`Differentiating` system, a tangent a :class:`ForwardDifferentiating` one, and a detached value a
    :class:`Detaching` one.
    """
    with np.errstate(all="ignore"):
        return _evaluate(scenario, system)


def _evaluate(scenario: Scenario, system: NumberSystem) -> dict[str, Any]:
    table = operator_table()
    values: dict[str, Any] = {}
    truths: set[str] = set()
    for number, step in enumerate(scenario.steps, 1):
        if isinstance(step, Leaf):
            values[step.name] = system.leaf(step)
            truths |= {step.name} if step.value.dtype == "bool" else set()
        elif isinstance(step, Grad):
            values[step.name] = _gradient(number, step, values, system)
        elif isinstance(step, Jvp):
            values[step.name] = _tangent(number, step, values, system)
        elif isinstance(step, Detach):
            values[step.name] = _detached(number, step, values, system)
        elif isinstance(step, Apply):
            operator = table[step.operator]
            if operator.composite is not None and not getattr(system, "composites", False):
                message = f"step {number}: {step.operator} is a composite operator: write the scenario out before"
                raise ScenarioEvaluationError(message)
            _check_kinds(number, step, operator, truths)
            arguments = [values[name] for name in step.arguments]
            try:
                attributes = operator.bind(keywords(step)) if operator.attributes else {}
                values[step.name] = system.apply(operator, arguments, attributes)
            except (ValueError, IndexError, TypeError, ArithmeticError) as error:
                shapes = ", ".join(str(getattr(value, "shape", ())) for value in arguments)
                message = f"step {number}: {step.operator} of shapes {shapes}: {error}"
                raise ScenarioEvaluationError(message) from error
    return values


def _check_kinds(number: int, step: Apply, operator: Operator, truths: Collection[str]) -> None:
    """Raise ScenarioEvaluationError if a boolean is passed where an operator takes numbers, or the reverse."""
    if not truths and all(argument.dtype == "float" for argument in operator.arguments):
        return
    last = len(operator.arguments) - 1
    for index, name in enumerate(step.arguments):
        argument = operator.arguments[min(index, last)]
        if (name in truths) != (argument.dtype == "bool"):
            taken, held = ("numbers", "truth values") if name in truths else ("truth values", "numbers")
            message = f"step {number}: {operator.name} takes {taken} for {argument.name!r}, but {name!r} holds {held}"
            raise ScenarioEvaluationError(message)


def _gradient(number: int, step: Grad, values: Mapping[str, Any], system: NumberSystem) -> Any:
    if isinstance(system, Differentiating):
        return system.gradient(step, values)
    raise ScenarioEvaluationError(f"step {number}: {type(system).__name__} numbers have no gradient of {step.output}")


def _tangent(number: int, step: Jvp, values: Mapping[str, Any], system: NumberSystem) -> Any:
    if isinstance(system, ForwardDifferentiating):
        return system.tangent(step, values)
    raise ScenarioEvaluationError(f"step {number}: {type(system).__name__} numbers have no tangent of {step.output}")


def _detached(number: int, step: Detach, values: Mapping[str, Any], system: NumberSystem) -> Any:
    if isinstance(system, Detaching):
        return system.detached(values[step.source])
    raise ScenarioEvaluationError(f"step {number}: {type(system).__name__} numbers cannot be detached")


def keywords(step: Apply) -> dict[str, Any]:
    """Return the attributes of an application as native Python values, with slices as ``slice``."""
    return {name: _native(value) for name, value in step.attributes}


def _native(value: Any) -> Any:
    if isinstance(value, Slice):
        return value.to_native()
    if isinstance(value, tuple) and not PLAIN.issuperset(map(type, value)):
        return tuple(_native(item) for item in value)
    return value


SMALL: Final = 64
"""Largest argument of a formula, in entries, for which the size of the broadcast result is not checked."""


@cache
def numpy_function(operator: Operator) -> Callable[..., Any]:
    """Return an operator that is not a composite as a function of numpy arrays, with its attributes as keywords."""
    if operator.structure is not None:
        return operator.structure.forward(np)
    assert operator.forward is not None
    return operator.forward.function((*operator.argument_names, *operator.attribute_names), NUMPY_FUNCTIONS)


def refuse_large_result(
    operator: Operator, arrays: Sequence[Any], attributes: Mapping[str, Any], most: int = LARGEST
) -> None:
    """Raise ValueError if an operator that is not a composite would return more than ``most`` entries."""
    shapes = [np.shape(array) for array in arrays]
    if operator.structure is None and max(map(prod, shapes)) > SMALL:
        refuse_size(prod(np.broadcast_shapes(*shapes)), most)
    elif operator.structure is not None and operator.structure.size is not None:
        refuse_size(operator.structure.size(*shapes, **attributes), most)
