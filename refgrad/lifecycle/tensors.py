"""The tensors and hooks of a scenario, and what is known of each at the current step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from refgrad.lifecycle.predictions import Contribution, Gradient, NoGradient, Open, Prediction, Scales
from refgrad.scenario import Constant


@dataclass(slots=True)
class TensorState:
    """A tensor: the name of its value in the lowered scenario, and the node that receives its cotangents.

    ``node`` is the name of its node or, if it is a leaf that requires grad, of its ``root``; None for a constant. A
    root is never dropped, since a leaf that stops requiring grad may start again.
    """

    name: str
    value: str
    memory: int
    dtype: str
    node: str | None = None
    root: str | None = None
    retains: bool = False
    view: bool = False
    may_be_computed: bool = False
    """True if a write of unknown effect may have made it a computed tensor."""
    gradient: tuple[Contribution, ...] | None = None
    certain: bool = True
    gradient_unknown: bool = False

    @property
    def is_leaf(self) -> bool:
        """Return True if the tensor is not the result of a recorded operation."""
        return self.node is None or self.node == self.root

    def receive(self, contribution: Contribution, *, must: bool, replace: bool = False) -> None:
        """Add a contribution to the gradient, or ``replace`` the gradient; ``must`` is True if every engine does so."""
        if replace:
            self.reset(to_zeros=False)
        if must:
            self.certain = True
        elif self.gradient is None:
            self.certain = False
        self.gradient = (*(self.gradient or ()), contribution)

    def reset(self, *, to_zeros: bool) -> None:
        """Remove the gradient, or set it to zeros if there is one."""
        if not to_zeros:
            self.gradient, self.certain, self.gradient_unknown = None, True, False
        elif self.gradient is not None:
            self.gradient = ()

    def gradient_prediction(self) -> Prediction:
        """Return what reading the gradient must show."""
        if self.gradient_unknown:
            return Open()
        if self.gradient is None:
            return NoGradient(self.name)
        return Gradient(self.name, self.gradient, certain=self.certain)


@dataclass(slots=True)
class HookState:
    """A hook on the node of a tensor: its factor, if any, and the contributions that it has received."""

    name: str
    tensor: str
    node: str
    factor: float | None
    active: bool = True
    calls: list[Contribution] = field(default_factory=list)
    calls_unknown: bool = False


def scales_of(hooks: Iterable[HookState], may_visit: set[str]) -> Scales:
    """Return the factors by which hooks multiply the cotangents of the visited names."""
    scales: dict[str, float] = {}
    for hook in hooks:
        if hook.active and hook.factor is not None and hook.node in may_visit:
            scales[hook.node] = scales.get(hook.node, 1.0) * hook.factor
    return tuple(sorted(scales.items()))


def seen_by(
    hook: HookState, hooks: Iterable[HookState], may_visit: set[str], output: str, seed: Constant | None
) -> Contribution:
    """Return the contribution that a hook receives.

    It is scaled by the hooks before it on the same name, and by all hooks on other names.
    """
    earlier = takewhile(lambda other: other is not hook, hooks)
    elsewhere = [other for other in hooks if other.node != hook.node]
    return output, seed, scales_of([*(h for h in earlier if h.node == hook.node), *elsewhere], may_visit), hook.node
