"""Scenarios in which tensors change, written as ones in which every value has a name of its own.

What oracles understand are leaves, applications, recorded gradients, and values that are cut off (``detach``). The rest
is put into those terms: a write makes a new version of a name; what is computed without recording is cut off; a value
that is changed behind its graph's back is y + stop(new - y), which has the new value and the old derivative; and a
tensor that begins to require grad is its value, cut off, plus a leaf of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, AttributeValue, Constant, Detach, Leaf, Scenario, Step
from refgrad.scenario.formats import FORMATS

Attributes: TypeAlias = tuple[tuple[str, AttributeValue], ...]


class FunctionalSteps:
    """The steps of the lowered scenario so far."""

    def __init__(self, given: Scenario) -> None:
        """Begin without steps; new names will not clash with those of ``given``."""
        self.steps: list[Step] = []
        self._count = 0
        self._mark = "_v"
        while any(self._mark in name for name in given.definitions):
            self._mark += "_"

    def fresh(self, name: str) -> str:
        """Return a name that nothing has yet."""
        self._count += 1
        return f"{name.partition(self._mark)[0]}{self._mark}{self._count}"

    def add(self, step: Step) -> None:
        """Take a step over as it is."""
        self.steps.append(step)

    def apply(
        self,
        name: str,
        operator: str,
        arguments: Iterable[str],
        attributes: Attributes = (),
    ) -> str:
        """Add an application and return its name."""
        self.steps.append(Apply(name, operator, tuple(arguments), attributes))
        return name

    def cut(self, name: str, value: str) -> str:
        """Add a value that is constant, and return its name."""
        self.steps.append(Detach(name, value))
        return name

    def marked(self, name: str, value: str, shape: Shape, dtype: str) -> str:
        """Add the same value as one where cotangents arrive that arrive nowhere else, at constant entries too."""
        return self.apply(name, "add", [value, self.root(name, shape, dtype)])

    def changed(self, base: str, value: str) -> str:
        """Add a name with this value, and with the derivative of ``base``."""
        difference = self.apply(self.fresh(base), "subtract", [value, base])
        return self.apply(self.fresh(base), "add", [base, self.cut(self.fresh(base), difference)])

    def root(self, name: str, shape: Shape, dtype: str) -> str:
        """Add a leaf of zeros that requires grad, and return its name."""
        zeros = Constant.of(np.zeros(shape), dtype if dtype in FORMATS else "float64")
        self.steps.append(Leaf(self.fresh(name), zeros, requires_grad=True))
        return self.steps[-1].defines or ""

    def rooted(self, name: str, value: str, root: str) -> str:
        """Add a name with this value whose derivative is that of a leaf of zeros."""
        return self.apply(self.fresh(name), "add", [self.cut(self.fresh(name), value), root])

    def written(self, name: str, action: str, operand: str, index: AttributeValue, shape: Shape) -> str:
        """Add the value that a write gives to ``name``; ``shape`` is that of the part which is written to."""
        at = (("index", index),)
        part = name if index is None else self.apply(self.fresh(name), "index", [name], at)
        if action == "copy":
            new = self.apply(self.fresh(name), "broadcast_to", [operand], (("shape", shape),))
        else:
            new = self.apply(self.fresh(name), action, [part, operand])
        if index is not None:
            new = self.apply(self.fresh(name), "set_at", [name, new], at)
        return new
