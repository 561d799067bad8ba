"""Which mistakes sit in the forward mode alone?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.faulty_engines.fault import Fault
from tests.faulty_engines.forward_tape import ForwardTape, Tangents
from tests.faulty_engines.tape import Array, Node

NO_FORWARD_FAULT = Fault("is right in forward mode", "the tape with a forward mode", ForwardTape, frozenset())


def wrong_push(operator: str, name: str, source: str, push: Callable[[ForwardTape, Node, Tangents], Array]) -> Fault:
    """Return the fault of an engine whose forward rule for ``operator`` is ``push``."""

    class Spoiled(ForwardTape):
        def push(self, node: Node, tangents: Tangents) -> Array:
            assert node.operator is not None
            rule = push if node.operator.name == operator else ForwardTape.push
            return rule(self, node, tangents)

    return Fault(name, source, Spoiled, frozenset({f"forward_mode/{operator}"}))


def without_the_second(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what the first operand's tangent does; that of the second alone is not forgotten."""
    first, second = tangents
    return ForwardTape.push(tape, node, (first, second if first is None else None))


def as_a_cotangent(tape: ForwardTape, node: Node, tangents: Tangents) -> Array:
    """Return what a rule for one cotangent of the result gives: the first tangent meets every slope."""
    first = next(tangent for tangent in tangents if tangent is not None)
    cotangent = np.broadcast_to(first, node.array.shape)
    return ForwardTape.push(tape, node, [None if tangent is None else cotangent for tangent in tangents])


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
)
