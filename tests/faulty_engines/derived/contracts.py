"""Rules that are right in their first walk, and break the contract of a backward: they write, keep or change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.engine.graph.node import Contributions
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.derived.errors import SMALL
from tests.faulty_engines.derived.planting import Application, Site, derivative, planted


class Rule:
    """The right rule of one application in one piece; ``walks`` counts how often it has been walked."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.recorded = [(place, x) for place, x in enumerate(application.operands) if x.node is not None]
        self.walks = 0

    def __call__(self, cotangent: Any) -> Contributions:
        """Return what the operands receive."""
        application = self.application
        self.walks += 1
        right = Site(application, application.function, application.operands, cotangent).right
        sent = self.sent([right[place] for place, _ in self.recorded], cotangent)
        return [(x.node, contribution) for (_, x), contribution in zip(self.recorded, sent, strict=True) if x.node]

    def sent(self, right: Sequence[Any], cotangent: Any) -> Sequence[Any]:  # noqa: ARG002 (some rules look at it)
        """Return what is sent to those operands that want it."""
        return right

    def recorded_walk(self, cotangent: Tensor) -> Contributions:
        """Return what they receive as tensors that can be differentiated."""
        operands, function = self.application.operands, self.application.function
        return [(x.node, derivative(function, n)(*operands, cotangent)) for n, x in self.recorded if x.node]


class WritesToSeed(Rule):
    """Works in the memory of what it received."""

    def sent(self, right: Sequence[Any], cotangent: Any) -> Sequence[Any]:
        """Turn the cotangent's sign."""
        if isinstance(cotangent, np.ndarray) and cotangent.flags.writeable:
            np.negative(cotangent, out=cotangent)
        return right


class WritesToOperand(Rule):
    """Works in the memory of an operand when it is walked again."""

    def sent(self, right: Sequence[Any], cotangent: Any) -> Sequence[Any]:  # noqa: ARG002
        """Change the last operand that wants a gradient."""
        operand = self.recorded[-1][1]
        if self.walks > 1:
            operand.array = _written(operand.array)
        return right


def _written(array: Any) -> Any:
    """Return an array, changed where it lies; a number changed."""
    if isinstance(array, np.ndarray):
        array += SMALL
        return array
    return array + array.dtype.type(SMALL)


class DiffersLater(Rule):
    """Is off by 1e-6 when it is walked again."""

    def sent(self, right: Sequence[Any], cotangent: Any) -> Sequence[Any]:
        """Return what is right the first time."""
        if self.walks == 1:
            return right
        size = np.max(np.abs(cotangent), initial=0.0)
        return [(c + np.where(c == 0, size, c) * SMALL).astype(c.dtype)[()] for c in right]


class KeepsMemory(Rule):
    """Sends the same memory in every walk, which a gradient then lies in."""

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self.memory: list[Any] = []

    def sent(self, right: Sequence[Any], cotangent: Any) -> Sequence[Any]:  # noqa: ARG002
        """Write into the memory of the first walk."""
        if not self.memory:
            self.memory = [np.array(c) if np.ndim(c) else c for c in right]
        for place, c in enumerate(right):
            if np.ndim(c):
                self.memory[place][...] = c
            else:
                self.memory[place] = c
        return self.memory


RULES: Final[Mapping[str, Callable[[Application], Rule]]] = MappingProxyType({
    "writes to its seed": WritesToSeed,
    "writes to an operand when it is walked again": WritesToOperand,
    "is off by 1e-6 when it is walked again": DiffersLater,
    "sends the same memory whenever it is walked": KeepsMemory,
})


def with_rule(application: Application, rule: Callable[[Application], Rule]) -> Tensor:
    """Return the result of an operator behind a node with such a rule."""
    made = rule(application)
    parents = [x.node for _, x in made.recorded if x.node is not None]
    result = application.result
    return planted(result.array, parents, made, made.recorded_walk) if result.node is not None else result
