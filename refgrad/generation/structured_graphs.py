"""Graphs that a draw hardly ever has: of results that are used very often, or again much later, and of diamonds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from refgrad.generation.small_graphs import Role
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario

FAN_OUTS: Final = (2, 3, 5, 9, 17, 33, 257)
"""How often one result is used; a buffer that grows, or a counter of a byte, ends behind some of them."""

SKIPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""How many levels lie between two uses of one result."""

DEPTHS: Final = (2, 4, 8)
"""How many diamonds are chained; a sweep of each path by itself ends, and `scale/sixty_diamonds` is about its time."""

SMALL: Final = frozenset({"sin", "cos", "tanh", "sigmoid"})
"""Smooth functions whose values stay small where they are applied again and again."""

LEAF: Final = Leaf("x", Constant.of(np.array(0.5)), requires_grad=True)


def structured_graphs(operators: Mapping[Role, str]) -> Iterator[Scenario]:
    """Yield graphs of one leaf of shape (); none without the operators of a sum and of a product.

    A smooth function is used where there is one whose values stay small, else a product with the leaf.
    """
    if not operators.keys() >= {"sum", "product"}:
        return
    for maker, counts in ((_fan_out, FAN_OUTS), (_skip, SKIPS), (_diamonds, DEPTHS)):
        for count in counts:
            yield maker(_Steps(operators), count)


class _Steps:
    """Steps of a graph so far; each method applies the operator of a role, and returns the name of the result."""

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
    """Add as many products of one result, pair by pair, so that no path is long."""
    shared = steps.of(LEAF.name)
    terms = [steps.apply("product", shared, LEAF.name) for _ in range(count)]
    while len(terms) > 1:
        terms = [*terms[2:], steps.apply("sum", terms[0], terms[1])]
    return steps.scenario


def _skip(steps: _Steps, count: int) -> Scenario:
    """Use an early result again, so many levels later."""
    early = later = steps.of(LEAF.name)
    for _ in range(count):
        later = steps.of(later)
    steps.apply("sum", later, early)
    return steps.scenario


def _diamonds(steps: _Steps, count: int) -> Scenario:
    """Chain diamonds, of which one side is a product with the leaf."""
    top = steps.of(LEAF.name)
    for _ in range(count):
        top = steps.apply("sum", steps.apply("product", top, LEAF.name), steps.of(top))
    return steps.scenario
