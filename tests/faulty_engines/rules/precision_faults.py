"""Mistakes that show in other dtypes than float64 only."""

from __future__ import annotations

import numpy as np

from refgrad.scenario.formats import rounded
from tests.faulty_engines.fault import ALONE, Fault
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Shape, Tape


class AddsInHalfPrecision(Tape):
    """Adds up contributions of float32 in float16."""

    def join(self, total: Array, contribution: Array) -> Array:
        if total.dtype != np.float32:
            return super().join(total, contribution)
        return np.asarray(total.astype(np.float16) + contribution.astype(np.float16)).astype(np.float32)


class LeavesGradientsInDoublePrecision(Tape):
    """Keeps every gradient in float64, whatever its leaf is of."""

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        super().deposit(leaf, cotangent.astype(np.float64))


class RoundsOneSlopeToEightBits(Tape):
    """Finds the slope of exp in bfloat16 where the operand is of float32."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        if node.operator.name != "exp" or node.array.dtype != np.float32:
            return super().pull(node, cotangent)
        return [cotangent * rounded(node.array, "bfloat16")]


class SendsThePromotedDtype(Tape):
    """Sends to an operand what has the dtype of the result."""

    def fitted(self, share: Array, node: Node, parent: Node) -> Array:
        right = super().fitted(share, node, parent)
        return share.astype(node.array.dtype, copy=False) if node.array.dtype.kind == "f" else right


class DropsBitsOfHalfPrecision(Tape):
    """Sums over stretched axes with five of the eleven bits of float16."""

    def unbroadcast(self, share: Array, shape: Shape) -> Array:
        right = super().unbroadcast(share, shape)
        if right is share or right.dtype != np.float16:
            return right
        return (np.ascontiguousarray(right).view(np.uint16) & 0xFFC0).view(np.float16).reshape(right.shape)


class WidensOneGradient(Tape):
    """What the rule of log2 sends is of float64."""

    def fitted(self, share: Array, node: Node, parent: Node) -> Array:
        assert node.operator is not None
        right = super().fitted(share, node, parent)
        return right.astype(np.float64) if node.operator.name == "log2" else right


class MultipliesInHalfPrecision(Tape):
    """The rule of matmul computes in float16 where the result is of float32."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        narrow = node.operator.name == "matmul" and node.array.dtype == np.float32
        return super().pull(node, rounded(cotangent, "float16").astype(np.float32) if narrow else cotangent)


DTYPES = frozenset({"dtypes/gradients_keep_the_dtype_of_their_leaf", "dtypes/mixed_dtypes_return_to_their_leaves"})

PRECISION_FAULTS = (
    Fault(
        "adds up contributions of float32 in float16",
        "accumulation in the dtype of the storage, under automatic mixed precision",
        AddsInHalfPrecision,
        frozenset({"graphs/float32", "graphs/mixed_precision", "graphs/mixed_float16"}),
    ),
    Fault(
        "leaves the gradient of a float32 leaf in float64",
        "numpy's promotion of float32 with a float64 scalar array",
        LeavesGradientsInDoublePrecision,
        DTYPES,
    ),
    Fault(
        "finds the slope of exp in bfloat16 where the operand is of float32",
        "matrix units that round float32 operands to fewer bits",
        RoundsOneSlopeToEightBits,
        frozenset({"operators/exp"}),
    ),
    Fault(
        "sends back the dtype that two operands were promoted to",
        "a rule that multiplies a float64 cotangent into the gradient of a float32 operand",
        SendsThePromotedDtype,
        frozenset({"dtypes/mixed_dtypes_return_to_their_leaves"}),
    ),
    Fault(
        "drops bits where it sums over stretched axes in float16",
        "reductions with an accumulator of too few bits",
        DropsBitsOfHalfPrecision,
        frozenset({"graphs/float16"}),
    ),
    Fault(
        "sends float64 through log2, whatever its operand is of",
        "numpy's promotion of float32 with a float64 scalar array",
        WidensOneGradient,
        frozenset({"operators/log2"}),
        families=ALONE,
    ),
    Fault(
        "rounds the cotangent of a matrix product of float32 to float16",
        "matrix units that round float32 operands to fewer bits",
        MultipliesInHalfPrecision,
        frozenset({"operators/matmul"}),
        families=ALONE,
    ),
)
