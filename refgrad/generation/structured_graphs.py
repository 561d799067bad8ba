"""Graphs that random draws rarely contain: results that are used very often, or again much later, and diamonds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from refgrad.generation.small_graphs import Role
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario

FAN_OUTS: Final = (2, 3, 5, 9, 17, 33, 257)
"""Numbers of uses of one result. Some exceed the size of a growing buffer, or the range of a counter of one byte."""

SKIPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of levels between two uses of one result."""

DEPTHS: Final = (2, 4, 8)
"""Numbers of chained diamonds, few enough to traverse every path. `scale/sixty_diamonds` is about the time."""

SMALL: Final = frozenset({"sin", "cos", "tanh", "sigmoid"})
"""Smooth functions whose values stay small if they are applied repeatedly."""

LEAF: Final = Leaf("x", Constant.of(np.array(0.5)), requires_grad=True)


def structured_graphs(operators: Mapping[Role, str]) -> Iterator[Scenario]:
    """Yield graphs of one leaf of shape (), or none if the operator of a sum or of a product is missing.

    The smooth function is used if its values stay small, else a product with the leaf.
    """
    if not operators.keys() >= {"sum", "product"}:
        return
    for maker, counts in ((_fan_out, FAN_OUTS), (_skip, SKIPS), (_diamonds, DEPTHS)):
        for count in counts:
            yield maker(_Steps(operators), count)


class _Steps:
    """Builder of a graph; its methods apply an operator and return the name of the result."""

    def __init__(self, operators: Mapping[Role, str]) -> None:
        self.operators = operators
        self.made: list[Apply] = []

    def apply(self, role: Role, *names: str) -> str:
        self.made.append(Apply(f"a{len(self.made) + 1}", self.operators[role], names))
        return self.made[-1].name

    def of(self, name: str) -> str:
        is_small = self.operators.get("smooth") in SMALL
        return self.apply("smooth", name) if is_small else self.apply("product", name, LEAF.name)

    @property
    def scenario(self) -> Scenario:
        last = self.made[-1].name
        return Scenario((LEAF, *self.made, Backward(last), Read("value", last), Read("grad", LEAF.name)))


def _fan_out(steps: _Steps, count: int) -> Scenario:
    """Return a graph that sums ``count`` products of one result pairwise, so that no path is long."""
    shared = steps.of(LEAF.name)
    terms = [steps.apply("product", shared, LEAF.name) for _ in range(count)]
    while len(terms) > 1:
        terms = [*terms[2:], steps.apply("sum", terms[0], terms[1])]
    return steps.scenario


def _skip(steps: _Steps, count: int) -> Scenario:
    """Return a graph that uses an early result again ``count`` levels later."""
    early = later = steps.of(LEAF.name)
    for _ in range(count):
        later = steps.of(later)
    steps.apply("sum", later, early)
    return steps.scenario


def _diamonds(steps: _Steps, count: int) -> Scenario:
    """Return a chain of ``count`` diamonds, one side of which is a product with the leaf."""
    top = steps.of(LEAF.name)
    for _ in range(count):
        top = steps.apply("sum", steps.apply("product", top, LEAF.name), steps.of(top))
    return steps.scenario
