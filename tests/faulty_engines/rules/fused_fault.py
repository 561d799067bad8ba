"""The fault of one composite operator, that others do not meet."""

from __future__ import annotations

from tests.faulty_engines.fault import ALONE, Fault
from tests.faulty_engines.rules.rule_faults import SpoilAll
from tests.faulty_engines.tapes.fused_tape import FusedTape, fused
from tests.faulty_engines.tapes.tape import Array, Contributions, Node


def misruled(operator: str, name: str, source: str, spoil: SpoilAll, chapter: str = "operators") -> Fault:
    """Return the fault of a composite: ``spoil(right answers, cotangent, node)`` is what its one rule sends."""
    right: type[FusedTape] = fused(operator)

    class Spoiled(right):  # type: ignore[misc, valid-type]
        faulty = operator

        def pull(self, node: Node, cotangent: Array) -> Contributions:
            answers = super().pull(node, cotangent)
            assert node.operator is not None
            return spoil(list(answers), cotangent, node) if node.operator.name == operator else answers

    breaks, may_break = frozenset({f"{chapter}/{operator}"}), frozenset({f"contracts/{operator}"})
    return Fault(name, source, Spoiled, breaks, may_break, ALONE)
