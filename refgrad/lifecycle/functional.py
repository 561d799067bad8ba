"""Scenarios in which tensors change, rewritten so that every value has a name of its own.

Oracles support leaves, applications, recorded gradients, and constants that are cut off the graph (``detach``). All
else is expressed by these. A write creates a new version of a name. A value that is computed without recording is cut
off. A value that is changed without recording is y + stop(new - y), which has the new value and the old derivative. A
tensor that starts to require grad is its value, cut off, plus a leaf of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, AttributeValue, Constant, Detach, Leaf, Scenario, Step
from refgrad.scenario.formats import FORMATS

Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]


class FunctionalSteps:
    """The steps of the lowered scenario so far."""

    def __init__(self, scenario: Scenario) -> None:
        """Start without steps. New names will not clash with those of ``scenario``."""
        self.steps: list[Step] = []
        self._count = 0
        self._mark = "_v"
        while any(self._mark in name for name in scenario.definitions):
            self._mark += "_"

    def fresh(self, name: str) -> str:
        """Return an unused name derived from ``name``."""
        self._count += 1
        return f"{name.partition(self._mark)[0]}{self._mark}{self._count}"

    def apply(self, name: str, operator: str, arguments: Iterable[str], attributes: Attributes = ()) -> str:
        """Add an application and return its name."""
        self.steps.append(Apply(name, operator, tuple(arguments), attributes))
        return name

    def cut(self, name: str, value: str) -> str:
        """Add a value cut off the graph, which makes it a constant, and return its name."""
        self.steps.append(Detach(name, value))
        return name

    def marked(self, name: str, value: str, shape: Shape, dtype: str) -> str:
        """Add the value plus a leaf of zeros, which receives only the cotangents of this name, also at constants."""
        return self.apply(name, "add", [value, self.root(name, shape, dtype)])

    def changed(self, base: str, value: str) -> str:
        """Add a value with the derivative of ``base``, and return its name."""
        difference = self.apply(self.fresh(base), "subtract", [value, base])
        return self.apply(self.fresh(base), "add", [base, self.cut(self.fresh(base), difference)])

    def root(self, name: str, shape: Shape, dtype: str) -> str:
        """Add a leaf of zeros that requires grad, and return its name."""
        zeros = Constant.of(np.zeros(shape), dtype if dtype in FORMATS else "float64")
        self.steps.append(Leaf(self.fresh(name), zeros, requires_grad=True))
        return self.steps[-1].defines or ""

    def rooted(self, name: str, value: str, root: str) -> str:
        """Add a value whose derivative is that of a leaf of zeros, and return its name."""
        return self.apply(self.fresh(name), "add", [self.cut(self.fresh(name), value), root])

    def written(self, name: str, action: str, operand: str, index: AttributeValue, shape: Shape) -> str:
        """Add the value that ``name`` has after a write, and return its name; ``shape`` is that of the written part."""
        at = (("index", index),)
        part = name if index is None else self.apply(self.fresh(name), "index", [name], at)
        if action == "copy":
            new = self.apply(self.fresh(name), "broadcast_to", [operand], (("shape", shape),))
        else:
            new = self.apply(self.fresh(name), action, [part, operand])
        if index is not None:
            new = self.apply(self.fresh(name), "set_at", [name, new], at)
        return new
