"""The scenario that a run of a function amounts to, recorded as traced values pass through calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from refgrad.checking.subject import Pullback
from refgrad.interpreter import keywords, numpy_forward
from refgrad.operators import Operator, OperatorError, operator_table
from refgrad.scenario import Apply, AttributeValue, Constant, Leaf, Scenario, ScenarioError, Slice

Array = npt.NDArray[Any]

LONGEST_TRACE = 20_000
"""A function of more operators than this is not traced: its scenario would be slower to judge than differences are."""


class Untraceable(Exception):  # noqa: N818 (it is no error: the function is checked in another way)
    """The function does something that the operator table has no row for; the message says what."""


class Given(NamedTuple):
    """A leaf: checking steps as scenarios do takes longer than to judge most functions, so that it is put off."""

    name: str
    array: Array
    requires_grad: bool


class Applied(NamedTuple):
    """An operator with its arguments, and with its attributes as Python's own values."""

    name: str
    operator: Operator
    arguments: tuple[str, ...]
    attributes: Mapping[str, Any]
    step: Apply | None
    """The step, which is made early where there are attributes to check."""


class Recorder:
    """The steps so far, and the value of each name as float64 arithmetic gives it."""

    def __init__(self) -> None:
        """Start with no step."""
        self.steps: list[Given | Applied] = []
        self.values: dict[str, Array] = {}
        self.counts: dict[str, int] = {}
        self.work = 0
        """About how many operations on numbers have been recorded."""

        self.terms = 0
        """About how many of them lead to an entry, if every operator does."""

        self.dtypes: set[str] = set()
        """What the function has asked to compute in on the way."""

        self.sealed = False
        """Whether it is known that all that depends on the inputs was seen."""

        self.run: Pullback | None = None
        """The run that was recorded, where it was one of the function as it is."""

    def fresh(self, stem: str) -> str:
        """Return a name that no step has yet: ``stem1``, ``stem2`` and so on."""
        number = self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{number}"

    def mark(self) -> tuple[int, int, int]:
        """Return where the record is now."""
        return len(self.steps), self.work, self.terms

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Forget what was recorded since."""
        steps, self.work, self.terms = mark
        del self.steps[steps:]

    def leaf(self, name: str, array: Array, *, requires_grad: bool) -> str:
        """Record a leaf."""
        array = _storable(array)
        self.steps.append(Given(name, array, requires_grad))
        self.values[name] = array
        return name

    def constant(self, array: Array) -> str:
        """Record a leaf that needs no gradient."""
        return self.leaf(self.fresh("c"), array, requires_grad=False)

    def apply(self, operator: str, arguments: Sequence[str], attributes: Mapping[str, Any] | None = None) -> str:
        """Record an application. Raises Untraceable where the row refuses its arguments."""
        row = operator_table()[operator]
        if len(self.steps) >= LONGEST_TRACE:
            raise Untraceable(f"it applies more than {LONGEST_TRACE} operators")
        name = self.fresh("a")
        names = tuple(arguments)
        try:
            bound, step = row.bind(attributes or {}), None
            if row.formula is not None and None in bound.values():
                raise Untraceable(f"it calls {operator} with a number that is left open")
            if bound:
                step = Apply(name, operator, names, tuple((k, _storable_attribute(v)) for k, v in bound.items()))
            self.values[name] = np.asarray(numpy_forward(row)(*(self.values[a] for a in arguments), **bound))
        except (ScenarioError, OperatorError, ValueError, IndexError, TypeError) as error:
            raise Untraceable(f"it calls {operator} in a way that the row does not have: {error}") from error
        self.steps.append(Applied(name, row, names, {} if step is None else keywords(step), step))
        terms = self._terms(arguments)
        self.work += self.values[name].size * terms
        self.terms += terms
        return name

    @property
    def inputs(self) -> tuple[str, ...]:
        """The leaves that are differentiated by."""
        return tuple(step.name for step in self.steps if isinstance(step, Given) and step.requires_grad)

    def scenario(self) -> Scenario:
        """Return what was recorded as a scenario."""
        return Scenario(tuple(map(_step, self.steps)))

    def _terms(self, arguments: Sequence[str]) -> int:
        """Return about how many products make up an entry: a matrix product or a convolution has a row of them."""
        if len(arguments) != 2 or self.values[arguments[1]].ndim < 2:  # noqa: PLR2004 (an operator of two arrays)
            return 1
        second = self.values[arguments[1]]
        return max(1, int(second.size) // max(int(second.shape[0]), 1))


def _step(step: Given | Applied) -> Leaf | Apply:
    if isinstance(step, Given):
        return Leaf(step.name, Constant.of(step.array), step.requires_grad)
    return step.step or Apply(step.name, step.operator.name, step.arguments, ())


def _storable(array: Array) -> Array:
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype not in (np.float64, np.float32, np.bool_):
        raise Untraceable(f"it uses an array of {array.dtype}")
    return array


def _storable_attribute(value: Any) -> AttributeValue:
    """Turn what libraries take as indices, axes and bounds into an attribute's value."""
    if isinstance(value, slice):
        return Slice(*(None if part is None else int(part) for part in (value.start, value.stop, value.step)))
    if isinstance(value, tuple | list):
        return tuple(_storable_attribute(item) for item in value)
    if isinstance(value, np.generic):
        return value.item()  # type: ignore[no-any-return]
    return value  # type: ignore[no-any-return]
