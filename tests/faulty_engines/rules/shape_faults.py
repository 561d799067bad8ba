"""Mistakes that confuse axes, shapes or places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from refgrad.operators import Operator, operator_table
from tests.faulty_engines.fault import FAMILIES, GRAPHS, Fault
from tests.faulty_engines.rules.rule_faults import engine_with_rule, wrong_rule
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Shape, Tape

ROWS = [
    row
    for row in operator_table().values()
    if row.elementwise and row.operands == "broadcast" and row.family in FAMILIES
]
BROADCASTING = frozenset(f"operators/{row.name}" for row in ROWS)
AT_EDGES = frozenset(f"edges/{row.name}" for row in ROWS if row.edges)
"""Few scenarios of an operator may all spare it broadcasting: then its edges show the fault, or graphs."""


class LeavesStretched(Tape):
    """Returns the cotangent in the shape of the result."""

    def unbroadcast(self, share: Array, shape: Shape) -> Array:  # noqa: ARG002
        return share


class SumsTheLastAxis(Tape):
    """Sums over the last axis whichever was stretched, and makes the result fit."""

    def unbroadcast(self, share: Array, shape: Shape) -> Array:
        return share if share.shape == shape else np.resize(share.sum(axis=-1), shape)


class Averages(Tape):
    """Takes the mean over stretched axes."""

    def unbroadcast(self, share: Array, shape: Shape) -> Array:
        right = super().unbroadcast(share, shape)
        return right * right.size / share.size if share.size else right


class FullSumsKeepAnAxis(Tape):
    """Makes an array of one entry of a full sum."""

    def forward(self, operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> Array:
        right = super().forward(operator, arrays, attributes)
        return np.atleast_1d(right) if operator.name == "sum" else right


class ServesTwoOperands(Tape):
    """Knows operators of two operands only."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        right = list(super().pull(node, cotangent))
        assert node.operator is not None
        if not node.operator.arguments[0].variadic:
            return right
        return [None if share is None else share if i < 2 else np.zeros_like(share) for i, share in enumerate(right)]


def expanded_at_the_end(node: Node, cotangent: Array) -> Array:
    """Put the axes that a sum removed behind the others."""
    (shape,) = node.shapes
    if node.attributes["keepdims"] or not isinstance(node.attributes["axis"], tuple):
        return np.broadcast_to(cotangent.reshape(_kept(node)), shape)
    missing = len(shape) - cotangent.ndim
    return np.broadcast_to(cotangent.reshape(cotangent.shape + (1,) * missing), shape)


def written_back(node: Node, index: Any, cotangent: Array) -> Array:
    """Write the cotangent to the places that were read, so that the last one to read a place wins."""
    result = np.zeros(node.shapes[0])
    result[index] = cotangent
    return result


def added_at(node: Node, index: Any, cotangent: Array) -> Array:
    """Add the cotangent at places of the operand."""
    result = np.zeros(node.shapes[0])
    np.add.at(result, index, cotangent)
    return result


def array_index(node: Node) -> tuple[Any, ...]:
    """The index as numpy takes it."""
    return tuple(np.array(item, dtype=int) if isinstance(item, tuple) else item for item in node.attributes["index"])


def without_negative_steps(node: Node, cotangent: Array) -> Array:
    """Put entries that were read backwards at their places in forward order."""
    forwards = []
    for length, item in zip(node.shapes[0], array_index(node), strict=False):
        picked = range(length)[item] if isinstance(item, slice) else None
        backwards = picked is not None and picked.step < 0 and len(picked) > 0
        forwards.append(slice(picked[-1], picked[0] + 1, -picked.step) if picked is not None and backwards else item)
    return added_at(node, tuple(forwards), cotangent)


def equal_parts(node: Node, right: list[Any], cotangent: Array) -> list[Any]:
    """Cut the cotangent as if all operands were as long as the first."""
    axis = node.attributes["axis"]
    length = node.shapes[0][axis]
    parts = []
    for i, (share, shape) in enumerate(zip(right, node.shapes, strict=True)):
        start = min(i * length, cotangent.shape[axis] - shape[axis])
        parts.append(None if share is None else cotangent.take(range(start, start + shape[axis]), axis=axis))
    return parts


def along_first_axis(node: Node, cotangent: Array) -> Array:
    """Put what was taken back along the first axis, wherever the shapes allow it."""
    (shape,) = node.shapes
    indices = np.asarray(node.attributes["indices"], dtype=int)
    axis = 0 if cotangent.shape == (*indices.shape, *shape[1:]) else node.attributes["axis"] % len(shape)
    return added_at(node, (slice(None),) * axis + (indices,), cotangent)


def _kept(node: Node) -> Shape:
    axis = node.attributes["axis"]
    return np.add.reduce(np.empty(node.shapes[0]), axis=axis, keepdims=True).shape


def _from_vector(right: list[Any], cotangent: Array, node: Node) -> list[Any]:
    """Forget to transpose the matrix that a vector was multiplied with, wherever the shapes allow it."""
    x_shape, y_shape = node.shapes
    if len(x_shape) != 1 or len(y_shape) != 2 or len(set(y_shape)) > 1 or right[0] is None:
        return right
    return [cotangent @ node.saved("y"), right[1]]


def _first_of_stack(right: list[Any], cotangent: Array, node: Node) -> list[Any]:
    """Send a matrix that was multiplied with a stack what comes from the stack's first matrix."""
    x_shape, y_shape = node.shapes
    if right[1] is None or len(x_shape) != 3 or len(y_shape) != 2:
        return right
    x = node.saved("x")
    return [right[0], x[0].T @ cotangent[0] if len(x) else right[1]]


SHAPE_FAULTS: tuple[Fault, ...] = (
    Fault(
        "does not undo broadcasting",
        "pytorch/pytorch#1787, tracel-ai/burn#181",
        LeavesStretched,
        BROADCASTING,
        AT_EDGES | GRAPHS,
    ),
    Fault(
        "undoes broadcasting over the last axis",
        "mlx-style axis mix-ups; nd4j#2424",
        SumsTheLastAxis,
        BROADCASTING,
        AT_EDGES | GRAPHS,
    ),
    Fault(
        "averages where it should undo broadcasting", "variant of nd4j#2424", Averages, BROADCASTING, AT_EDGES | GRAPHS
    ),
    wrong_rule(
        "sum",
        "expands a sum over several axes at the end",
        "harvard-edge/cs249r_book#1867",
        lambda _right, g, node: [expanded_at_the_end(node, g)],
    ),
    wrong_rule(
        "mean",
        "divides the mean by the size of the whole array",
        "harvard-edge/cs249r_book#1867",
        lambda right, g, _node: [right[0] / max(1, g.size)],
    ),
    wrong_rule(
        "transpose",
        "applies a permutation where it should apply its inverse",
        "generic: right for every permutation but cycles of three and more",
        lambda _right, g, node: [np.transpose(g, node.attributes["axes"])],
    ),
    wrong_rule(
        "take",
        "overwrites repeated entries of take",
        "pytorch/pytorch#57006",
        lambda _right, g, node: [
            written_back(
                node,
                (slice(None),) * (node.attributes["axis"] % len(node.shapes[0]))
                + (np.array(node.attributes["indices"], dtype=int),),
                g,
            )
        ],
    ),
    wrong_rule(
        "index",
        "overwrites repeated entries of an index",
        "tensorflow/tensorflow#7397",
        lambda _right, g, node: [written_back(node, array_index(node), g)],
    ),
    wrong_rule(
        "index",
        "does not turn back what was read with a negative step",
        "generic: slices with negative steps",
        lambda _right, g, node: [without_negative_steps(node, g)],
    ),
    wrong_rule(
        "take",
        "puts back along the first axis whatever was taken along another",
        "HIPS/autograd 747b48b: only axis 0 was tested",
        lambda _right, g, node: [along_first_axis(node, g)],
    ),
    wrong_rule(
        "flip",
        "flips back all axes",
        "HIPS/autograd 747b48b: an axis that the rule forgets",
        lambda _right, g, _node: [np.flip(g)],
    ),
    wrong_rule(
        "concatenate",
        "cuts the gradient of concatenate into equal parts",
        "tracel-ai/burn#402",
        lambda right, g, node: equal_parts(node, right, g),
    ),
    wrong_rule("matmul", "forgets a transpose in vector times matrix", "rank combinations of matmul", _from_vector),
    wrong_rule("matmul", "sends a shared matrix the first product of a stack", "tt-metal#40008", _first_of_stack),
    Fault(
        "serves the first two operands of concatenate and stack",
        "HIPS/autograd#242: operands beyond those that were tested",
        ServesTwoOperands,
        frozenset({"operators/concatenate", "operators/stack"}),
    ),
    Fault(
        "makes an array of one entry of a full sum",
        "HIPS/autograd#36",
        FullSumsKeepAnAxis,
        frozenset({"operators/sum"}),
    ),
    Fault(
        "leaves the new axis in the gradient of expand_dims",
        "pytorch/pytorch#11176",
        engine_with_rule("expand_dims", lambda _right, g, _node: [g]),
        frozenset({"operators/expand_dims"}),
    ),
)
