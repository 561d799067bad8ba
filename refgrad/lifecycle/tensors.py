"""What is known of a scenario's tensors and hooks while it goes on?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from refgrad.lifecycle.predictions import Contribution, Gradient, NoGradient, Open, Prediction, Scales
from refgrad.scenario import Constant


@dataclass(slots=True)
class Tensor:
    """A tensor: which name has its value in the lowered scenario, and where cotangents for it arrive.

    ``node`` is the name of its node or, if it is a leaf that requires grad, of its ``root``; None for a constant. A
    root is kept for good, since a leaf that stops to require grad may start again.
    """

    name: str
    value: str
    memory: int
    dtype: str
    node: str | None = None
    root: str | None = None
    retains: bool = False
    view: bool = False
    adrift: bool = False
    """Whether it may have become something that was computed, without anybody knowing."""
    gradient: tuple[Contribution, ...] | None = None
    certain: bool = True
    unknown: bool = False

    @property
    def is_leaf(self) -> bool:
        """Whether it was made rather than computed by a recorded operation."""
        return self.node is None or self.node == self.root

    def receive(self, contribution: Contribution, *, surely: bool, alone: bool = False) -> None:
        """Add to the gradient, or replace it if it is kept ``alone``."""
        if alone:
            self.reset(to_zeros=False)
        if surely:
            self.certain = True
        elif self.gradient is None:
            self.certain = False
        self.gradient = (*(self.gradient or ()), contribution)

    def reset(self, *, to_zeros: bool) -> None:
        """Forget the gradient, or make it zeros if there is one."""
        if not to_zeros:
            self.gradient, self.certain, self.unknown = None, True, False
        elif self.gradient is not None:
            self.gradient = ()

    def shown(self) -> Prediction:
        """What reading the gradient must show."""
        if self.unknown:
            return Open()
        if self.gradient is None:
            return NoGradient(self.name)
        return Gradient(self.name, self.gradient, certain=self.certain)


@dataclass(slots=True)
class Hook:
    """A hook on the node of a tensor: what it multiplies with, if anything, and the contributions that it has seen."""

    name: str
    tensor: str
    node: str
    factor: float | None
    active: bool = True
    calls: list[Contribution] = field(default_factory=list)
    unknown: bool = False


def scales_of(hooks: Iterable[Hook], visited: set[str]) -> Scales:
    """Return by what the cotangents of the visited names are multiplied."""
    scales: dict[str, float] = {}
    for hook in hooks:
        if hook.active and hook.factor is not None and hook.node in visited:
            scales[hook.node] = scales.get(hook.node, 1.0) * hook.factor
    return tuple(sorted(scales.items()))


def seen_by(hook: Hook, hooks: Iterable[Hook], visited: set[str], output: str, seed: Constant | None) -> Contribution:
    """Return what a hook sees: all hooks that are before it on the same name, and those on other names, come first."""
    earlier = []
    for other in hooks:
        if other is hook:
            break
        earlier.append(other)
    elsewhere = [other for other in hooks if other.node != hook.node]
    return output, seed, scales_of([*(h for h in earlier if h.node == hook.node), *elsewhere], visited), hook.node
