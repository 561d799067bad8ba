"""Evaluation of scenarios in any number system, and in float64."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Final, Protocol

import numpy as np

from refgrad.errors import UserError
from refgrad.operators import Operator, operator_table
from refgrad.operators.functions.arrays import NUMPY_FUNCTIONS
from refgrad.operators.operator import LARGEST, refuse_size
from refgrad.scenario import Apply, Detach, Grad, Jvp, Leaf, Scenario, Slice
from refgrad.scenario.rewrite import inlined

PLAIN: Final = frozenset({int, float, bool, str, type(None)})
"""Types of attribute values that need no conversion. A tuple is checked for them first: it may hold thousands."""


class ScenarioEvaluationError(UserError):
    """A step cannot be evaluated, e.g. because shapes do not fit; the message names the step."""


class NumberSystem(Protocol):
    """A number system, which creates leaves and applies operators. Values are arrays of its numbers.

    Three further methods are optional. ``gradient(step, values)`` returns a recorded gradient, in the leaf's shape, and
    ``tangent(step, values)`` the tangent of an output, in the output's shape; ``values`` holds the values defined so
    far. ``detached(value)`` returns the same value as a constant.
    """

    def leaf(self, leaf: Leaf) -> Any:
        """Return the value of a leaf."""

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Return the result of an operator; ``attributes`` includes the defaults."""


def evaluate(scenario: Scenario, system: NumberSystem) -> dict[str, Any]:
    """Return the value of every name that the scenario defines, in order of definition.

    NaN and infinities are ordinary values: numpy does not warn about them. Steps that change a tensor are skipped;
    `refgrad.lifecycle.lower` rewrites a scenario without them. Calls of functions are written out. Raises
    :class:`ScenarioEvaluationError` if an operator rejects its arguments, or if the system lacks the method of
    :class:`NumberSystem` that a step needs.
    """
    table, scenario = operator_table(), inlined(scenario)
    values: dict[str, Any] = {}
    truths: set[str] = set()
    with np.errstate(all="ignore"):
        for number, step in enumerate(scenario.steps, 1):
            if isinstance(step, Leaf):
                values[step.name] = system.leaf(step)
                truths |= {step.name} if step.value.dtype == "bool" else set()
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
            elif isinstance(step, Grad | Jvp | Detach):
                values[step.name] = _derived(number, step, values, system)
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


def _derived(number: int, step: Grad | Jvp | Detach, values: Mapping[str, Any], system: NumberSystem) -> Any:
    """Return the value of a step for which a number system needs one of the optional methods."""
    arguments: tuple[Any, ...] = (step, values)
    match step:
        case Grad(output=output):
            method, lack = "gradient", f"have no gradient of {output}"
        case Jvp(output=output):
            method, lack = "tangent", f"have no tangent of {output}"
        case Detach(source=source):
            method, lack, arguments = "detached", "cannot be detached", (values[source],)
    if not hasattr(system, method):
        raise ScenarioEvaluationError(f"step {number}: {type(system).__name__} numbers {lack}")
    return getattr(system, method)(*arguments)


def keywords(step: Apply) -> dict[str, Any]:
    """Return the attributes of an application as native Python values, with slices as ``slice``."""
    return {name: native(value) for name, value in step.attributes}


def native(value: Any) -> Any:
    """Return the value of an attribute with each slice as ``slice``."""
    if isinstance(value, Slice):
        return value.to_native()
    if isinstance(value, tuple) and not PLAIN.issuperset(map(type, value)):
        return tuple(map(native, value))
    return value


SMALL: Final = 64
"""Largest argument of a formula, in entries, for which the size of the broadcast result is not checked."""


@cache
def numpy_function(operator: Operator) -> Callable[..., Any]:
    """Return an operator that is not a composite as a function of numpy arrays, with its attributes as keywords."""
    return operator.on_arrays(NUMPY_FUNCTIONS)


def refuse_large_result(
    operator: Operator, arrays: Sequence[Any], attributes: Mapping[str, Any], most: int = LARGEST
) -> None:
    """Raise ValueError if an operator that is not a composite would return more than ``most`` entries."""
    shapes = [np.shape(array) for array in arrays]
    if operator.structure is None and max(map(prod, shapes)) > SMALL:
        refuse_size(prod(np.broadcast_shapes(*shapes)), most)
    elif operator.structure is not None and operator.structure.size is not None:
        refuse_size(operator.structure.size(*shapes, **attributes), most)
