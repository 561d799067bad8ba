"""Mistakes in the rule, or in the function, of one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from refgrad.operators import Operator
from tests.faulty_engines.fault import ALONE, Fault
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape

Spoil = Callable[[Array, Array, Node], Any]
SpoilAll = Callable[[list[Any], Array, Node], Contributions]


def engine_with_rule(operator: str, spoil: SpoilAll) -> type[Tape]:
    """Return an engine whose rule for ``operator`` answers ``spoil(right answers, cotangent, node)``."""

    class Spoiled(Tape):
        faulty = operator

        def pull(self, node: Node, cotangent: Array) -> Contributions:
            right = super().pull(node, cotangent)
            assert node.operator is not None
            return spoil(list(right), cotangent, node) if node.operator.name == operator else right

    return Spoiled


def wrong_rule(operator: str, name: str, source: str, spoil: SpoilAll, chapter: str = "operators") -> Fault:
    """Return the fault of an operator whose rule is spoiled as a whole.

    A contract can be tried where no example of the operator's own check has met the fault.
    """
    breaks, may_break = frozenset({f"{chapter}/{operator}"}), _may_break(operator)
    return Fault(name, source, engine_with_rule(operator, spoil), breaks, may_break, ALONE)


def _may_break(operator: str) -> frozenset[str]:
    return frozenset({f"contracts/{operator}", f"exceptional/{operator}", f"infinities/{operator}"})


def wrong_slope(operator: str, name: str, source: str, spoil: Spoil, chapter: str = "operators") -> Fault:
    """Return the fault of an operator of one argument: ``spoil(right answer, cotangent, node)`` is what it sends."""
    return wrong_rule(operator, name, source, lambda right, g, node: [spoil(right[0], g, node)], chapter)


def in_single_precision(node: Node, cotangent: Array) -> Array:
    """Return what exp sends if its operand passes through float32."""
    slope: Array = np.exp(node.saved("x").astype(np.float32))
    return cotangent * slope.astype(np.float64)


def divided_product(node: Node, cotangent: Array) -> Array:
    """Return the product over each factor, and zero where that is not a number."""
    x = node.saved("x")
    axis = node.attributes["axis"]
    kept = np.prod(x, axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        others: Array = np.nan_to_num(kept / x)
    return cotangent.reshape(kept.shape) * others


def undivided(node: Node, cotangent: Array) -> Array:
    """Return the cotangent at each entry that attains the maximum."""
    x = node.saved("x")
    largest = np.max(x, axis=node.attributes["axis"], keepdims=True)
    return np.where(x == largest, cotangent.reshape(largest.shape), 0)


class ForwardInSinglePrecision(Tape):
    """Computes one function with too few digits."""

    def forward(self, operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> Array:
        right = super().forward(operator, arrays, attributes)
        return right.astype(np.float32).astype(np.float64) if operator.name == "exp2" else right


class SharesNothingAtZero(Tape):
    """Divides |x| by x."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        assert node.operator is not None
        if node.operator.name != "abs":
            return super().pull(node, cotangent)
        x = node.saved("x")
        with np.errstate(invalid="ignore"):
            return [cotangent * x / np.abs(x)]


COPY_AND_PASTE = "pytorch/pytorch#11662"
CHECKERS = "bugs of checkers: a loose tolerance passes it"
LINEARITY = "bugs of checkers: one-hot cotangents of one pass it"
SAMPLES = "bugs of checkers: benign samples pass it"

RULE_FAULTS: tuple[Fault, ...] = (
    wrong_rule(
        "subtract",
        "adds what subtract should take away",
        "KhawajaAbaid/micrograd_c#1",
        lambda right, g, _node: [right[0], None if right[1] is None else g],
    ),
    wrong_rule(
        "power",
        "gives power the rule of relu",
        "ahrefs/ocannl#73",
        lambda right, g, node: [None if share is None else g * (node.array > 0) for share in right],
    ),
    wrong_rule(
        "arctan2",
        "swaps the operands in the rule of arctan2",
        "ml-explore/mlx#2453",
        lambda right, _g, _node: [
            None if share is None else other if other is not None else -share
            for share, other in zip(right, right[::-1], strict=True)
        ],
    ),
    wrong_slope(
        "arcsin", "gives arcsin the rule of its neighbour arccos", COPY_AND_PASTE, lambda right, _g, _node: -right
    ),
    wrong_slope(
        "tanh",
        "drops the upstream gradient in tanh",
        "chainer/chainer#1178",
        lambda _right, _g, node: 1 - node.saved("out") ** 2,
    ),
    wrong_slope("exp", "is off by 0.09 % in exp", CHECKERS, lambda right, _g, _node: right * 1.0009),
    wrong_slope("sigmoid", "is off by 1e-6 in sigmoid", CHECKERS, lambda right, _g, _node: right * (1 + 1e-6)),
    wrong_slope("log", "is off by 1e-9 in log", CHECKERS, lambda right, _g, _node: right * (1 + 1e-9)),
    wrong_slope(
        "expm1",
        "computes the rule of expm1 in single precision",
        CHECKERS,
        lambda _right, g, node: in_single_precision(node, g),
    ),
    wrong_slope(
        "arctan",
        "doubles the slope of arctan beyond five",
        SAMPLES,
        lambda right, _g, node: np.where(np.abs(node.saved("x")) > 5, 2 * right, right),
    ),
    wrong_slope(
        "sinh",
        "has the slope of exp in sinh for negative numbers",
        SAMPLES,
        lambda right, g, node: np.where(node.saved("x") < 0, g * np.exp(node.saved("x")), right),
    ),
    wrong_slope(
        "square",
        "forgets the factor two of square in a 0-d array",
        "HIPS/autograd 2de4286: 0-d arrays take another path",
        lambda right, _g, _node: right if right.ndim else right / 2,
    ),
    wrong_slope("cosh", "squares the cotangent in cosh", LINEARITY, lambda right, g, _node: right * g),
    wrong_slope(
        "sqrt", "drops the sign of the cotangent in sqrt", LINEARITY, lambda right, g, _node: right * np.sign(g)
    ),
    wrong_slope(
        "log1p",
        "clips the cotangent to one in log1p",
        LINEARITY,
        lambda right, g, _node: right / np.where(np.abs(g) > 1, np.abs(g), 1),
    ),
    wrong_rule(
        "where",
        "stops at where because its condition has no gradient",
        "tinygrad/tinygrad#3037",
        lambda right, g, _node: [None if share is None else np.zeros_like(g) for share in right],
    ),
    Fault(
        "computes exp2 in single precision",
        "bugs of checkers: only gradients are compared",
        ForwardInSinglePrecision,
        frozenset({"operators/exp2"}),
    ),
    Fault(
        "divides zero by zero in abs",
        "HIPS/autograd#100",
        SharesNothingAtZero,
        frozenset({"edges/abs", "infinities/abs"}),
    ),
    Fault(
        "divides the product by each factor",
        "tensorflow/tensorflow#119430",
        engine_with_rule("prod", lambda _right, g, node: [divided_product(node, g)]),
        frozenset({"operators/prod"}),
    ),
    Fault(
        "gives each of equal operands of maximum the whole cotangent",
        "HIPS/autograd#141",
        engine_with_rule(
            "maximum",
            lambda right, g, _node: [None if share is None else np.where(share != 0, g, share) for share in right],
        ),
        frozenset({"edges/maximum"}),
    ),
    Fault(
        "gives each of tied entries of max the whole cotangent",
        "pytorch/pytorch#56734",
        engine_with_rule("max", lambda _right, g, node: [undivided(node, g)]),
        frozenset({"edges/max"}),
    ),
)
