"""What does a lifecycle under construction know of itself, and what may it contain?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from refgrad.scenario import Apply, Constant, Detach, Grad, Leaf, Step
from refgrad.strategies.choices import Choices

Shape: TypeAlias = tuple[int, ...]

LARGEST: Final = 20.0
"""No number of a lifecycle is larger in magnitude, intermediate results of writes excepted."""

FEWEST: Final = 3
"""Where there are no more names than this, none is deleted."""

ALL_FEATURES: Final = frozenset({
    "arrays", "seed", "retain_graph", "zero_grad", "zero_grad_to_zeros", "double_backward", "detach", "no_grad",
    "enable_grad", "set_requires_grad", "in_place", "in_place_at_index", "hooks", "unhook", "retain_grad",
    "read_requires_grad", "read_is_leaf", "read_recorded",
})  # fmt: skip


LIFECYCLE_OPERATORS: Final = frozenset({
    "add", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sin", "subtract", "sum", "tanh",
})  # fmt: skip
"""What lifecycles are made of: operators of which it is known what they save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleProfile:
    """What a lifecycle may contain: ``features`` that an engine has, and how many steps come before the last reads.

    ``trouble`` is the probability of a choice that is likely to fail: a backward without a graph, a write to a leaf, a
    hook on a constant.
    """

    features: frozenset[str] = ALL_FEATURES
    operators: frozenset[str] = LIFECYCLE_OPERATORS
    length: tuple[int, int] = (6, 36)
    trouble: float = 0.15


@dataclass(slots=True)
class LifeMemory:
    """How large the numbers of a piece of memory may be, and whether some engines have several tensors look at it.

    Recorded gradients always count as ``viewed``: some engines have two of them share what they do not need apart.
    """

    bound: float
    viewed: bool = False


@dataclass(slots=True)
class LifeName:
    """A tensor that is there, and what is expected of it."""

    name: str
    shape: Shape
    memory: LifeMemory
    leaf: bool = False
    requires: bool = False
    view: bool = False


@dataclass(slots=True)
class LifeDraft:
    """The steps so far, the names and hooks that are there, and whoever chooses what comes next."""

    profile: LifecycleProfile
    choices: Choices
    shape: Shape
    steps: list[Step] = field(default_factory=list)
    names: list[LifeName] = field(default_factory=list)
    hooks: dict[str, str] = field(default_factory=dict)
    """The hooks that were made, and the tensors that they are on."""
    touched: set[str] = field(default_factory=set)
    """The names of tensors that were written to, hooked, walked back from or told something: more happens to them."""
    walked: set[str] = field(default_factory=set)
    """The names from which a backward started."""
    roots: set[str] = field(default_factory=set)
    """The names of which gradients can be recorded."""
    regions: list[bool] = field(default_factory=list)
    """Of each region that was entered and not left, whether it records."""
    count: int = 0

    @property
    def recording(self) -> bool:
        """Whether what is done now is recorded."""
        return not self.regions or self.regions[-1]

    def fresh(self, stem: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def any(self, names: Sequence[LifeName] | None = None) -> LifeName:
        """Choose a name, of these or of all, late ones more often than early ones, and touched ones most often."""
        offered = self.names if names is None else names
        touched = [name for name in offered if name.name in self.touched]
        return self.choices.choice([*offered[-3:], *offered[-3:], *offered, *touched, *touched])

    def define(self, step: Leaf | Apply | Detach | Grad, shape: Shape, memory: LifeMemory, *, requires: bool) -> None:
        """Take a step that makes a tensor."""
        self.steps.append(step)
        self.names.append(LifeName(step.name, shape, memory, isinstance(step, Leaf), requires))

    def trouble(self) -> bool:
        """Choose whether to do what is likely to fail."""
        return self.choices.boolean(self.profile.trouble)

    def constant(self, shape: Shape) -> Constant:
        """Choose numbers for a leaf or a seed."""
        size = int(np.prod(shape))
        return Constant.of(np.array(self.choices.decimals(-2, 2, size), dtype=np.float64).reshape(shape))
