"""Mistakes in rules of linear algebra, and of products that say which axes they sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.faulty_engines.fault import Fault
from tests.faulty_engines.rules.fused_fault import misruled
from tests.faulty_engines.rules.window_faults import only
from tests.faulty_engines.tapes.fused_tape import pulled, rule_of_steps
from tests.faulty_engines.tapes.tape import Array, Contributions, Node


def turned(matrices: Array) -> Array:
    """Return each matrix transposed."""
    return np.swapaxes(matrices, -1, -2)


def unhalved(node: Node, cotangent: Array) -> Array:
    """Return the gradient through a Cholesky factor without halving the diagonal (I. Murray, 2016, equation 9)."""
    x = node.saved("x")
    if not x.size:
        return np.zeros_like(x)
    factor = np.linalg.cholesky(x @ turned(x) + np.eye(x.shape[-2]))
    inverse = np.linalg.inv(factor)
    middle = turned(inverse) @ np.tril(turned(factor) @ cotangent) @ inverse
    return np.asarray((middle + turned(middle)) @ x)


def of_consistent_equations(node: Node, cotangent: Array) -> Array:
    """Return the gradient of a least squares solution as if nothing were left over."""
    x, y = node.saved("x"), node.saved("y")
    inverse = np.linalg.pinv(x)
    return np.asarray(-(turned(inverse) @ cotangent) @ turned(inverse @ y))


def undiagonal(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Send the cotangent off the diagonal too, wherever a letter is repeated and summed over."""
    letters, _, kept = node.attributes["subscripts"].replace(" ", "").partition("->")
    if len(set(letters)) == len(letters) or kept or right[0] is None:
        return right
    return [np.broadcast_to(cotangent, node.shapes[0])]


ALGEBRA_FAULTS: tuple[Fault, ...] = (
    misruled(
        "solve",
        "solves with the matrix where its transpose is due",
        "generic: right for symmetric matrices",
        lambda right, g, node: (
            right if right[1] is None or not g.size else only(1, np.linalg.solve(node.saved("x"), g), right)
        ),
    ),
    misruled(
        "solve",
        "does not transpose the gradient of the matrix of solve",
        "generic: right for symmetric results",
        lambda right, _g, _node: right if right[0] is None else only(0, turned(right[0]), right),
    ),
    misruled(
        "cholesky_gram",
        "does not halve the diagonal in the gradient of a Cholesky factor",
        "I. Murray, Differentiation of the Cholesky decomposition: the function that halves the diagonal",
        lambda _right, g, node: [unhalved(node, g)],
    ),
    misruled(
        "eigvalsh",
        "takes the eigenvalues in the other order in the gradient",
        "generic: right for equal cotangents",
        lambda _right, g, node: rule_of_steps(node, g[..., ::-1]),
    ),
    misruled(
        "svdvals",
        "keeps the off-diagonal entries of a singular values' gradient only",
        "pytorch/pytorch#59584: a wrong block of a Jacobian",
        lambda right, _g, _node: [right[0] * (1 - np.eye(right[0].shape[-1]))],
    ),
    misruled(
        "det",
        "divides by the determinant, and answers zero where it cannot",
        "tensorflow/tensorflow#119430: NaN silently replaced by 0",
        lambda right, _g, node: [right[0] * (np.linalg.det(node.saved("x")) != 0)[..., None, None]],
    ),
    misruled(
        "logabsdet",
        "does not transpose the inverse in the gradient of a logarithm of a determinant",
        "generic: right for symmetric matrices",
        lambda right, _g, _node: [turned(right[0])],
    ),
    misruled(
        "matrix_exp",
        "takes matrices for commuting in the gradient of their exponential",
        "generic: right for numbers and for diagonal matrices",
        lambda _right, g, node: [turned(node.array) @ g],
    ),
    misruled(
        "lstsq",
        "takes equations for consistent in the gradient of least squares",
        "generic: right where nothing is left over",
        lambda right, g, node: right if right[0] is None else only(0, of_consistent_equations(node, g), right),
    ),
    misruled(
        "einsum_of_one",
        "sends a trace's cotangent to entries off the diagonal",
        "HIPS/autograd#242",
        undiagonal,
    ),
    misruled(
        "kron",
        "swaps the operands of kron in the gradient where their shapes are equal",
        "HIPS/autograd ccc0953: right for different lengths",
        lambda right, g, node: (
            right
            if node.shapes[0] != node.shapes[1]
            else pulled("kron", [node.saved("y"), node.saved("x")], node.needs, g, {})
        ),
    ),
    misruled(
        "cross",
        "has the sign of the second operand's gradient wrong in cross",
        "KhawajaAbaid/micrograd_c#1",
        lambda right, _g, _node: right if right[1] is None else only(1, -right[1], right),
    ),
)
