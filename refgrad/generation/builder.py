"""The builder of scenarios: the steps so far, the tensors that they define, and the memory that these use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from refgrad.generation.admission import AppliedOperator, Array
from refgrad.generation.profile import Choices, Profile, largest_value, least_margin
from refgrad.interpreter import native, numpy_forward
from refgrad.operators import Operator
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Constant, Detach, FunctionCall, Grad, Leaf, Scenario, Step

Definition: TypeAlias = Leaf | Apply | FunctionCall | Detach | Grad


@dataclass(slots=True, eq=False)
class Memory:
    """A piece of memory that tensors share if one is a view of the other.

    ``low`` and ``high`` bound the entries. ``viewed`` is True if several tensors are views of it in some engines. That
    of recorded gradients always counts as viewed, since some engines let two of them share memory.
    """

    low: float
    high: float
    viewed: bool = False

    @classmethod
    def of(cls, array: Array) -> Memory:
        """Return memory with the bounds of these entries. The bounds of no entries, or of booleans, are 0."""
        if array.dtype.kind == "b" or array.size == 0:
            return cls(0.0, 0.0)
        entries = array.ravel()
        return cls(float(np.minimum.reduce(entries)), float(np.maximum.reduce(entries)))

    @classmethod
    def up_to(cls, bound: float, *, viewed: bool = False) -> Memory:
        """Return memory whose entries are no larger in magnitude than a bound."""
        return cls(-bound, bound, viewed)

    @property
    def bound(self) -> float:
        """Largest possible magnitude of an entry."""
        return max(-self.low, self.high)

    def grow(self, bound: float) -> None:
        """Widen the bounds to entries of a magnitude up to ``bound``."""
        self.low, self.high = min(self.low, -bound), max(self.high, bound)


@dataclass(slots=True, eq=False)
class Operand:
    """A tensor of a scenario: a leaf, a result, a view, a detached tensor or a recorded gradient.

    ``entries`` are None if steps may change them, and booleans if the value is a ``condition``. ``step`` is None for a
    leaf that is not yet part of the scenario. ``graph`` and ``leaves`` are the results and the leaves, one bit each,
    that a backward from this value traverses. ``uses`` counts the uses of the value as an operand.

    Steps of a lifecycle change the flags: ``is_leaf`` as engines define it; ``differentiable`` if a gradient by it can
    be recorded; ``started`` if a backward started from it; ``touched`` if it was written to, hooked, detached, or run
    backward from, or had its flags changed.
    """

    shape: Shape
    requires_grad: bool
    memory: Memory
    entries: Array | None = None
    condition: bool = False
    step: Definition | None = None
    arguments: tuple[Operand, ...] = ()
    graph: int = 0
    leaves: int = 0
    uses: int = 0
    is_leaf: bool = False
    differentiable: bool = False
    started: bool = False
    touched: bool = False

    @property
    def name(self) -> str:
        """Name by which later steps refer to it."""
        assert self.step is not None
        return self.step.name

    @property
    def array(self) -> Array:
        """Entries of a value that no step changes."""
        assert self.entries is not None
        return self.entries

    @property
    def applied(self) -> AppliedOperator:
        """The operator that computed this result, with its operands and attributes."""
        assert isinstance(self.step, Apply)
        return AppliedOperator.of(self.step, {argument.name: argument.array for argument in self.arguments})

    @classmethod
    def of(cls, array: Array, *, requires_grad: bool, arguments: tuple[Operand, ...] = ()) -> Operand:
        """Return a value with these entries and their bounds."""
        condition = array.dtype.kind == "b"
        return cls(array.shape, requires_grad, Memory.of(array), array, condition, None, arguments)

    def within(self, low: float, high: float, margin: float = 0.0) -> bool:
        """Return True if every entry lies between these bounds; those of a result must be ``margin`` inside of them."""
        margin = margin if self.arguments else 0.0
        return low + margin <= self.memory.low and self.memory.high <= high - margin


@dataclass(slots=True)
class Builder:
    """A builder of a scenario: the steps so far, the values that they define, and the source of random choices.

    ``base`` is the shape that leaves are derived from. ``values`` are those in scope; ``results`` and ``leaves`` are
    all that were defined. Known entries are float64 whatever the profile's dtype is, so that the exact values stay
    clear of kinks. ``hooks`` maps hooks to their tensors. ``regions`` holds, for each region that was entered and not
    left, whether it records.
    """

    profile: Profile
    base: Shape
    choices: Choices
    steps: list[Step] = field(default_factory=list)
    values: list[Operand] = field(default_factory=list)
    results: list[Operand] = field(default_factory=list)
    leaves: list[Operand] = field(default_factory=list)
    hooks: dict[str, str] = field(default_factory=dict)
    regions: list[bool] = field(default_factory=list)

    @property
    def records(self) -> bool:
        """Return True if operations are recorded at this point."""
        return not self.regions or self.regions[-1]

    @property
    def scenario(self) -> Scenario:
        """The scenario of the steps so far."""
        return Scenario(tuple(self.steps))

    def define(self, value: Operand, step: Definition) -> None:
        """Append a step that defines a tensor. Its arguments must be defined already."""
        value.step = step
        if isinstance(step, Leaf):
            value.leaves = value.requires_grad << len(self.leaves)
            self.leaves.append(value)
        else:
            for argument in value.arguments:
                argument.uses += 1
                value.graph |= argument.graph
                value.leaves |= argument.leaves
            value.graph |= value.requires_grad << len(self.results)
            self.results.append(value)
        self.steps.append(step)
        self.values.append(value)

    def add_leaf(self, value: Operand) -> None:
        """Add the leaf to the scenario."""
        name = f"{'c' if value.condition else 'x'}{len(self.leaves) + 1}"
        dtype = None if value.condition else self.profile.dtype
        self.define(value, Leaf(name, Constant.of(value.array, dtype), value.requires_grad))

    def add_result(self, value: Operand, operator: str, attributes: Mapping[str, Any]) -> None:
        """Add the result to the scenario, after those of its arguments that are not yet part of it."""
        for argument in value.arguments:
            if argument.step is None:
                self.add_leaf(argument)
        names = tuple(argument.name for argument in value.arguments)
        self.define(value, Apply(f"a{len(self.results) + 1}", operator, names, tuple(attributes.items())))

    def has_room(self, array: Array, operator: Operator) -> bool:
        """Return True if an array is small enough and the profile or the operator's pattern allows its rank."""
        return array.size <= self.profile.largest_size and array.ndim <= max(
            self.profile.max_rank, operator.pattern_rank
        )

    def compute(
        self, operator: Operator, arguments: Sequence[Operand], attributes: Mapping[str, Any], *, margin: float | None
    ) -> Operand | None:
        """Return the operator's result, or None if it is rejected.

        Rejected are shapes that do not fit or that the profile does not admit, points outside of the domain, points
        within ``margin`` of a kink, unless that is None, matrices that are singular up to rounding, and results that
        are too large, not finite or of too high a rank.
        """
        bound = operator.bind({name: native(value) for name, value in attributes.items()})
        applied = AppliedOperator(operator, [argument.array for argument in arguments], bound)
        try:
            if not applied.in_domain:
                return None
            computed = bool(applied.steps) and bool(np.isfinite(applied.steps[-1].result).all())
            forward = numpy_forward(operator)
            array = applied.steps[-1].result if computed else np.asarray(forward(*applied.arrays, **bound))
            if computed and not applied.well_conditioned(array):
                return None
        except (ValueError, IndexError, TypeError):
            return None
        fresh = [value.array for value in arguments if value.step is None]
        admitted = self.profile.admits(operator.name, [each.shape for each in applied.arrays])
        if not admitted or not all(self.has_room(candidate, operator) for candidate in (array, *fresh)):
            return None
        requires_grad = any(argument.requires_grad for argument in arguments)
        value = Operand.of(array, requires_grad=requires_grad, arguments=tuple(arguments))
        limit = largest_value(self.profile.dtype)
        if not value.within(-limit, limit):
            return None
        clear = margin is None or applied.distance_to_kink(array) > max(margin, least_margin(self.profile.dtype))
        return value if clear else None
