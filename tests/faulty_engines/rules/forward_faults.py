"""Mistakes of the forward mode alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.faulty_engines.fault import ALONE, Fault
from tests.faulty_engines.rules.rule_faults import CHECKERS
from tests.faulty_engines.tapes.forward_tape import ForwardTape, Tangents
from tests.faulty_engines.tapes.tape import Array, Node

NO_FORWARD_FAULT = Fault("is right in forward mode", "the tape with a forward mode", ForwardTape, frozenset())


def wrong_push(operator: str, name: str, source: str, push: Callable[[ForwardTape, Node, Tangents], Array]) -> Fault:
    """Return the fault of an engine whose forward rule for ``operator`` is ``push``."""

    class Spoiled(ForwardTape):
        faulty = operator

        def push(self, node: Node, tangents: Tangents) -> Array:
            assert node.operator is not None
            rule = push if node.operator.name == operator else ForwardTape.push
            return rule(self, node, tangents)

    return Fault(name, source, Spoiled, frozenset({f"forward_mode/{operator}"}), families=ALONE)


def without_the_second(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what the first operand's tangent does; that of the second alone is not forgotten."""
    first, second = tangents
    return ForwardTape.push(tape, node, (first, second if first is None else None))


def as_a_cotangent(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what a rule for one cotangent of the result gives: the first tangent meets every slope."""
    first = next(tangent for tangent in tangents if tangent is not None)
    cotangent = np.broadcast_to(first, node.array.shape)
    return ForwardTape.push(tape, node, [None if tangent is None else cotangent for tangent in tangents])


def one_of_two(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what the tangent of an operand that is given twice does in the first place."""
    twice = node.parents[0] is node.parents[1]
    return ForwardTape.push(tape, node, (tangents[0], None) if twice else tangents)


def first_two(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what the tangents of the first two operands do, or those of all if these stand still."""
    kept = [tangent if place < 2 else None for place, tangent in enumerate(tangents)]
    return ForwardTape.push(tape, node, kept if any(t is not None for t in kept) else tangents)


def sizes_alone(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what the sizes of the tangents do."""
    return ForwardTape.push(tape, node, [None if tangent is None else np.abs(tangent) for tangent in tangents])


def in_single_precision(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return the tangent rounded to float32."""
    return ForwardTape.push(tape, node, tangents).astype(np.float32).astype(node.array.dtype)


def still(_tape: ForwardTape, node: Node, _tangents: Tangents) -> Array:
    """Return zeros."""
    return np.zeros_like(node.array)


FORWARD_FAULTS: tuple[Fault, ...] = (
    wrong_push(
        "multiply",
        "forgets the second operand's tangent in multiply",
        "generic: a product rule of one term",
        without_the_second,
    ),
    wrong_push(
        "arctan2",
        "takes the rule for cotangents of arctan2 for that of tangents",
        "ml-explore/mlx#2453",
        as_a_cotangent,
    ),
    wrong_push(
        "logaddexp",
        "counts the tangent of an operand that logaddexp is given twice once",
        "generic: tangents that are kept by operand",
        one_of_two,
    ),
    wrong_push("stack", "pushes the tangents of two operands through stack", "HIPS/autograd#242", first_two),
    wrong_push("sinh", "loses the sign of tangents in sinh", "chainer/chainer#1178, in forward mode", sizes_alone),
    wrong_push("mean", "pushes tangents through mean in single precision", CHECKERS, in_single_precision),
    wrong_push("where", "stops tangents at where", "ml-explore/mlx#3253: the tangent of a mask", still),
)
