"""Mistakes in what one operator's rule does to others: to seeds, to gradients, to its next walk."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tests.faulty_engines.fault import ALONE, SEVERAL, Fault
from tests.faulty_engines.rules.rule_faults import Spoil, engine_with_rule
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape


class MultipliesTheCotangent(Tape):
    """The rule of tan works in the memory of what it received."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        right = super().pull(node, cotangent)
        if node.operator.name == "tan" and right[0] is not None and cotangent.flags.writeable:
            cotangent[...] = right[0]
        return right


class KeepsAViewOfTheSeed(Tape):
    """What squeeze sends is a view of what it received, and a leaf keeps and adds to it."""

    def __init__(self) -> None:
        self.views: list[Array] = []

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        found = list(super().contributions(node, cotangent))
        assert node.operator is not None
        if node.operator.name == "squeeze":
            self.views = [share for _, share in found]
        return found

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        if leaf.grad is not None and leaf.grad.flags.writeable and leaf.grad.dtype == cotangent.dtype:
            leaf.grad += cotangent
        elif leaf.grad is None and any(cotangent is view for view in self.views):
            leaf.grad = cotangent
        else:
            super().deposit(leaf, cotangent)


class RemembersItsCotangent(Tape):
    """The rule of arctan adds what it received in its last walk."""

    def __init__(self) -> None:
        self.last: dict[Node, Array] = {}

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        if node.operator.name != "arctan":
            return super().pull(node, cotangent)
        total = cotangent + self.last.get(node, 0)
        self.last[node] = cotangent
        return super().pull(node, total)


def moved_on(node: Node) -> None:
    """Turn the saved operand by one place, in a copy that the next walk will find."""
    node.values = {name: np.roll(array, 1) for name, array in (node.values or {}).items()}


def right_once(right: Array, _cotangent: Array, node: Node) -> Array:
    """Return the right answer, and leave a wrong one for the next walk."""
    moved_on(node)
    return right


def signless_later(right: Array, _cotangent: Array, node: Node) -> Array:
    """Return the right answer at first, and its size from then on."""
    seen = "walked" in (node.values or {})
    node.values = {**(node.values or {}), "walked": np.ones(())}
    return np.abs(right) if seen else right


def second_walk(operator: str, name: str, source: str, spoil: Spoil) -> Fault:
    """Return the fault of a rule that is right in its first walk; graphs with several may meet it."""
    engine = engine_with_rule(operator, lambda right, g, node: [spoil(right[0], g, node)])
    return Fault(name, source, engine, frozenset({f"contracts/{operator}"}), SEVERAL, ALONE)


CONTRACT_FAULTS: tuple[Fault, ...] = (
    Fault(
        "computes the rule of tan in the memory of its cotangent",
        "chainer/chainer#2062",
        MultipliesTheCotangent,
        frozenset({"contracts/tan"}),
        SEVERAL,
        ALONE,
    ),
    Fault(
        "keeps as a gradient the view of a seed that squeeze gave",
        "Oneflow-Inc/oneflow#9497",
        KeepsAViewOfTheSeed,
        frozenset({"contracts/squeeze"}),
        SEVERAL,
        ALONE,
    ),
    Fault(
        "adds the cotangent of the last walk in arctan",
        "karpathy/micrograd pull request 102",
        RemembersItsCotangent,
        frozenset({"contracts/arctan"}),
        SEVERAL,
        ALONE,
    ),
    second_walk("sinh", "moves the saved operand of sinh on in every walk", "chainer/chainer#2062", right_once),
    second_walk(
        "arccosh",
        "forgets the cotangent's sign in arccosh where it is walked again",
        "chainer/chainer#1178, in the second walk",
        signless_later,
    ),
)
