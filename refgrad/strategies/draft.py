"""What does a scenario under construction know of itself?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refgrad.interpreter import numpy_forward
from refgrad.operators import Operator
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, AttributeValue, Constant, Leaf, Slice, Step
from refgrad.strategies.admission import Array, distance_to_kink, in_domain, inside_of
from refgrad.strategies.choices import Choices
from refgrad.strategies.profile import LARGEST_SIZE, Profile


@dataclass(slots=True, eq=False)
class Value:
    """A leaf or a result, with what generation asks of it over and over.

    ``condition`` says that the entries are booleans, ``low`` and ``high`` bound them. ``graph`` and ``leaves`` are the
    results and the leaves, one bit each, that a backward from here walks over. ``step`` is None for a leaf that is not
    yet part of the draft.
    """

    array: Array
    shape: Shape
    condition: bool
    requires_grad: bool
    low: float
    high: float
    step: Leaf | Apply | None = None
    arguments: tuple[Value, ...] = ()
    graph: int = 0
    leaves: int = 0
    uses: int = 0

    @property
    def name(self) -> str:
        """The name by which later steps refer to it."""
        assert self.step is not None
        return self.step.name

    @classmethod
    def of(cls, array: Array, *, requires_grad: bool, arguments: tuple[Value, ...] = ()) -> Value:
        """Return a value with its bounds; those of an array without entries are 0."""
        condition = array.dtype.kind == "b"
        low, high = (0.0, 0.0) if condition or array.size == 0 else _bounds(array)
        return cls(array, array.shape, condition, requires_grad, low, high, None, arguments)

    def within(self, low: float, high: float) -> bool:
        """Whether every entry lies between these bounds."""
        return low <= self.low and self.high <= high


@dataclass(slots=True)
class Draft:
    """The steps so far, the values that they define, and whoever chooses what comes next.

    ``base`` is the shape that leaves are derived from. Whatever the profile's dtype is, values are of float64, so that
    it is the truth that stays clear of kinks.
    """

    profile: Profile
    base: Shape
    choices: Choices
    steps: list[Step] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    leaves: list[Value] = field(default_factory=list)
    largest: float = field(init=False)
    margin: float = field(init=False)

    def __post_init__(self) -> None:
        """Look up the profile's limits once."""
        self.largest, self.margin = self.profile.largest_value, self.profile.least_margin

    def add_leaf(self, value: Value) -> None:
        """Make the leaf part of the scenario."""
        name = f"{'c' if value.condition else 'x'}{len(self.leaves) + 1}"
        if value.requires_grad:
            value.leaves = 1 << len(self.leaves)
        dtype = None if value.condition else self.profile.dtype
        value.step = Leaf(name, Constant.of(value.array, dtype), value.requires_grad)
        self.steps.append(value.step)
        self.leaves.append(value)
        self.values.append(value)

    def add_result(self, value: Value, operator: str, attributes: Mapping[str, Any]) -> None:
        """Make the result part of the scenario, and before it those of its arguments that are not."""
        for argument in value.arguments:
            if argument.step is None:
                self.add_leaf(argument)
            argument.uses += 1
            value.graph |= argument.graph
            value.leaves |= argument.leaves
        if value.requires_grad:
            value.graph |= 1 << len(self.results)
        names = tuple(argument.name for argument in value.arguments)
        value.step = Apply(f"a{len(self.results) + 1}", operator, names, tuple(attributes.items()))
        self.steps.append(value.step)
        self.results.append(value)
        self.values.append(value)

    def has_room(self, array: Array, operator: Operator) -> bool:
        """Whether an array is small enough, and of a rank that the profile or the operator's pattern allows."""
        return array.size <= LARGEST_SIZE and array.ndim <= max(self.profile.max_rank, operator.pattern_rank)

    def compute(
        self, operator: Operator, arguments: Sequence[Value], attributes: Mapping[str, Any], *, margin: float
    ) -> Value | None:
        """Return the operator's result, or None where it is refused.

        Refused are shapes that do not fit, points outside of the domain or within ``margin`` of a kink, results that
        are too large, not finite or of too high a rank.
        """
        arrays = [argument.array for argument in arguments]
        bound = operator.bind({name: _native(value) for name, value in attributes.items()})
        try:
            inside = None if operator.composite is None else inside_of(operator, arrays, bound)
            if not in_domain(operator, arrays, bound, inside):
                return None
            array = np.asarray(numpy_forward(operator)(*arrays, **bound))
        except (ValueError, IndexError, TypeError):
            return None
        fresh = [value.array for value in arguments if value.step is None]
        if not all(self.has_room(candidate, operator) for candidate in (array, *fresh)):
            return None
        requires_grad = any(argument.requires_grad for argument in arguments)
        value = Value.of(array, requires_grad=requires_grad, arguments=tuple(arguments))
        if not value.within(-self.largest, self.largest):
            return None
        near = margin >= 0 and distance_to_kink(operator, arrays, bound, array, inside) <= max(margin, self.margin)
        return None if near else value


def _bounds(array: Array) -> tuple[float, float]:
    entries = array.ravel()
    return float(np.minimum.reduce(entries)), float(np.maximum.reduce(entries))


def _native(value: AttributeValue) -> Any:
    if not isinstance(value, tuple):
        return value
    return tuple(item.to_native() if isinstance(item, Slice) else item for item in value)
