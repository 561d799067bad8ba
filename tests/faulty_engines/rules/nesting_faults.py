"""Mistakes that show only where a gradient is differentiated once more, or twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import ALONE, Fault
from tests.faulty_engines.tapes.recording_tape import RecordingTape, Term
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Shape, Tensor

NO_RECORDING_FAULT = Fault(
    "is right where it records gradients", "the tape that records", RecordingTape, frozenset(), families=ALONE
)


class ForgetsWhatItSaved(RecordingTape):
    """What the rule of exp has saved is a constant."""

    def remembered(self, node: Node, name: str) -> Term:
        term = super().remembered(node, name)
        assert node.operator is not None
        return Term(self, term.array, None) if node.operator.name == "exp" else term


class TakesCotangentsForConstants(RecordingTape):
    """What arrives at the rule of matmul is a constant."""

    def recorded_pull(self, node: Node, cotangent: Tensor) -> Sequence[Any]:
        assert node.operator is not None
        return super().recorded_pull(node, Tensor(cotangent.array) if node.operator.name == "matmul" else cotangent)


class ForgetsWhatItSummed(RecordingTape):
    """What is summed over stretched axes has no history."""

    def __init__(self) -> None:
        self.operator: str | None = None

    def recorded_pull(self, node: Node, cotangent: Tensor) -> Sequence[Any]:
        found = super().recorded_pull(node, cotangent)
        assert node.operator is not None
        self.operator = node.operator.name
        return found

    def summed_to(self, share: Any, shape: Shape) -> Tensor:
        right = super().summed_to(share, shape)
        return Tensor(right.array) if self.operator == "hypot" and right is not share else right


class ConstantBesideZero(RecordingTape):
    """The rule of prod takes another way beside a factor of zero, on arrays."""

    def recorded_pull(self, node: Node, cotangent: Tensor) -> Sequence[Any]:
        found = super().recorded_pull(node, cotangent)
        assert node.operator is not None
        special = node.operator.name == "prod" and bool(np.any(node.saved("x") == 0))
        return [Tensor(share.array) for share in found] if special else found


class MarkingTape(RecordingTape):
    """Knows of each node whether it belongs to a composite (0), to its recorded rule (1), or to that one's rule (2)."""

    operator: ClassVar[str]

    def __init__(self) -> None:
        self.level: int | None = None
        self.marks: dict[Node, int] = {}

    def steps(self, operator: Operator, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Tensor:
        if operator.name != self.operator:
            return super().steps(operator, operands, attributes)
        self.level = 0
        try:
            return super().steps(operator, operands, attributes)
        finally:
            self.level = None

    def record(
        self, operator: Operator, tensors: Sequence[Tensor], result: Array, attributes: Mapping[str, Any]
    ) -> Node:
        node = super().record(operator, tensors, result, attributes)
        if self.level is not None:
            self.marks[node] = self.level
        return node

    def recorded_pull(self, node: Node, cotangent: Tensor) -> Sequence[Any]:
        self.level = self.marks[node] + 1 if node in self.marks else None
        try:
            return super().recorded_pull(node, cotangent)
        finally:
            self.level = None


class SavesStatisticsWithoutHistory(MarkingTape):
    """What the second derivatives of layer_norm have saved is a constant."""

    operator = "layer_norm"

    def remembered(self, node: Node, name: str) -> Term:
        term = super().remembered(node, name)
        return Term(self, term.array, None) if self.marks.get(node, 0) >= 1 else term


class ForgetsTheReduction(MarkingTape):
    """The second derivatives of binary_cross_entropy are those of a mean, whichever reduction was asked for."""

    operator = "binary_cross_entropy"

    def __init__(self) -> None:
        super().__init__()
        self.sums = False

    def steps(self, operator: Operator, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Tensor:
        self.sums = attributes.get("reduction") == "sum"
        return super().steps(operator, operands, attributes)

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        right = super().pull(node, cotangent)
        if self.marks.get(node) != 1 or not self.sums:
            return right
        return [None if share is None else np.asarray(share) / max(1, np.size(share)) for share in right]


NESTING_FAULTS: tuple[Fault, ...] = (
    Fault(
        "forgets where the saved result of exp came from",
        "generic: a saved array where a saved tensor is due",
        ForgetsWhatItSaved,
        frozenset({"second_order/exp"}),
        families=ALONE,
    ),
    Fault(
        "takes what arrives at matmul for a constant",
        "pytorch/pytorch#79705",
        TakesCotangentsForConstants,
        frozenset({"second_order/matmul"}),
        families=ALONE,
    ),
    Fault(
        "forgets where a sum over stretched axes came from in hypot",
        "pytorch/pytorch#79705",
        ForgetsWhatItSummed,
        frozenset({"second_order/hypot", "third_order/hypot"}),
        families=ALONE,
    ),
    Fault(
        "has no second derivatives of prod beside a zero",
        "tensorflow/tensorflow#61117",
        ConstantBesideZero,
        frozenset({"second_order/prod"}),
        families=ALONE,
    ),
    Fault(
        "saves the statistics of layer_norm's second derivatives without their history",
        "pytorch/pytorch#186256",
        SavesStatisticsWithoutHistory,
        frozenset({"third_order/layer_norm"}),
        families=ALONE,
    ),
    Fault(
        "forgets the reduction in the second derivatives of binary_cross_entropy",
        "pytorch/pytorch#59477",
        ForgetsTheReduction,
        frozenset({"second_order/binary_cross_entropy"}),
        frozenset({"third_order/binary_cross_entropy", "graphs/double_backward"}),
        ALONE,
    ),
)
