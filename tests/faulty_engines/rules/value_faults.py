"""Mistakes that show at some values, of some operands, in some arrays only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.faulty_engines.fault import ALONE, GRAPHS, Fault
from tests.faulty_engines.rules.rule_faults import CHECKERS, SAMPLES, wrong_rule, wrong_slope
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape


def by_output(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Return the rule of prelu that takes the sign of the result for that of the operand."""
    x, alpha = (node.saved(name) if name in (node.values or {}) else None for name in ("x", "alpha"))
    positive = node.array > 0
    for_x = None if right[0] is None else np.where(positive, cotangent, cotangent * alpha)
    return [for_x, None if right[1] is None else np.where(positive, 0, cotangent * x)]


def unguarded(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Return the rule of power by x ** y log x, which is 0 times infinity where x is 0."""
    if right[1] is None:
        return right
    with np.errstate(divide="ignore", invalid="ignore"):
        return [right[0], cotangent * node.array * np.where(node.array == 0, -np.inf, np.log(node.saved("x")))]


def but_the_last_of_many(right: Array, _cotangent: Array, _node: Node) -> Array:
    """Double the last entry of an array of more than ten."""
    spoiled = right.copy()
    if spoiled.size > MANY:
        spoiled.flat[-1] *= 2
    return spoiled


def saturated(share: Array, cotangent: Array) -> Array:
    """Send all or nothing where the operands are more than six apart."""
    size, all_of_it = np.abs(share), np.abs(cotangent)
    kept = np.where(size < np.exp(-6) * all_of_it, 0, share)
    return np.where(size > (1 - np.exp(-6)) * all_of_it, cotangent, kept)


def three_terms(x: Array) -> Array:
    """Return the beginning of the series of digamma for large numbers."""
    return np.asarray(np.log(x) - 1 / (2 * x) - 1 / (12 * x**2))


def from_the_end(right: list[Any], cotangent: Array, node: Node) -> Contributions:
    """Take the operands' parts along a negative axis as if the result had no axis more than they."""
    axis, shape = node.attributes["axis"], node.shapes[0]
    if axis >= 0 or not shape:
        return right
    parts = [np.resize(np.take(cotangent, place, axis % len(shape)), shape) for place in range(len(right))]
    return [None if share is None else part for share, part in zip(right, parts, strict=True)]


class SavesMemory(Tape):
    """Reads what it saves as it lies in memory, as if its first axis came first there."""

    def save(self, array: Array) -> Array:
        return np.ravel(array, order="K").reshape(array.shape)


MANY = 10
LARGE = 5


class LimitsCotangents(Tape):
    """What arrives at a node is no larger than ten."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        return super().pull(node, np.clip(cotangent, -10, 10))


SAVING = (
    "divide", "exp", "log", "matmul", "multiply", "reciprocal", "relu", "sin", "softmax", "sqrt", "square", "tanh",
)  # fmt: skip
"""Operators of the tape whose rules read arrays that they have saved."""

NARROW_GRAPHS = frozenset({"graphs/float32", "graphs/float16", "graphs/mixed_precision", "graphs/mixed_float16"})
ZERO = "HIPS/autograd#149: a limit that the rule computes as 0 times infinity, or as 0 / 0"
THRESHOLD = 20
SQRT_TWO_OVER_PI = 0.7978845608
"""The ten digits that are found in some programs."""

VALUE_FAULTS: tuple[Fault, ...] = (
    wrong_rule("prelu", "takes the sign of prelu's result for that of its operand", "pytorch/pytorch#47671", by_output),
    wrong_slope(
        "thresholded_softplus",
        "looks at x where softplus has its threshold on beta times x",
        "pytorch/pytorch#55587",
        lambda _right, g, node: (
            g * np.where(node.saved("x") > THRESHOLD, 1, 1 / (1 + np.exp(-node.attributes["beta"] * node.saved("x"))))
        ),
    ),
    wrong_rule(
        "power", "multiplies zero with its logarithm in the slope of 0 ** y", "HIPS/autograd#149", unguarded, "edges"
    ),
    wrong_slope(
        "sinc",
        "divides zero by zero in the slope of sinc",
        "google/jax#5054",
        lambda right, _g, node: np.where(node.saved("x") == 0, np.nan, right),
        "edges",
    ),
    wrong_rule(
        "hypot",
        "divides zero by zero in the slopes of hypot",
        ZERO,
        lambda right, _g, node: [
            None if share is None else np.where(node.array == 0, np.nan, share) for share in right
        ],
        "edges",
    ),
    wrong_rule(
        "hypot",
        "sends half the gradient where both operands of hypot are one tensor",
        "generic: a rule that keys its operands by identity",
        lambda right, _g, node: (
            [None if share is None else share / 2 for share in right] if node.parents[0] is node.parents[1] else right
        ),
    ),
    wrong_rule(
        "fmod",
        "rounds down where fmod rounds to zero",
        "google/jax pull request 11469",
        lambda right, g, node: [
            right[0],
            None if right[1] is None else -g * np.floor(node.saved("x") / node.saved("y")),
        ],
    ),
    wrong_rule(
        "logaddexp",
        "takes the larger of two numbers for all of logaddexp where they are six apart",
        "generic: a threshold for saturation that is too low",
        lambda right, g, _node: [None if share is None else saturated(share, g) for share in right],
    ),
    wrong_slope(
        "lgamma",
        "takes three terms of a series for digamma beyond five",
        SAMPLES,
        lambda right, g, node: np.where(node.saved("x") > LARGE, g * three_terms(node.saved("x")), right),
    ),
    wrong_slope("tan", "is off by 1e-10 in tan", CHECKERS, lambda right, _g, _node: right * (1 + 1e-10)),
    wrong_slope(
        "erf",
        "has ten digits of two over the root of pi",
        CHECKERS,
        lambda right, _g, _node: right * (1.128379167 / (2 / np.sqrt(np.pi))),
    ),
    wrong_slope(
        "gelu_tanh",
        "has ten digits of the root of two over pi in the gradient of gelu_tanh",
        CHECKERS,
        lambda _right, g, node: g * gelu_slope(node.saved("x")),
    ),
    wrong_slope(
        "arcsinh",
        "answers zero at the other zero in arcsinh",
        "generic: a sign bit that is looked at",
        lambda right, _g, node: np.where((node.saved("x") == 0) & np.signbit(node.saved("x")), 0, right),
    ),
    wrong_slope(
        "sin",
        "is wrong in one entry of arrays of more than ten",
        "pytorch/pytorch#59584: one wrong entry of a big Jacobian",
        but_the_last_of_many,
    ),
    wrong_slope(
        "cos",
        "makes a vector of the gradient of an array without entries",
        "HIPS/autograd 2de4286: arrays that are special",
        lambda right, _g, _node: right if right.size else right.reshape(-1),
    ),
    wrong_slope(
        "max",
        "sends nothing along an axis of one entry in max",
        "generic: an axis of one entry that is taken for a stretched one",
        lambda right, _g, node: right * 0 if 1 in _reduced(node) else right,
    ),
    wrong_rule(
        "stack",
        "counts a negative axis of stack from the end of its operands",
        "generic: right for axes counted from the start",
        from_the_end,
    ),
    wrong_slope(
        "prod",
        "loses the signs of a product's gradient where dimensions are kept",
        "generic: keepdims in the gradient only",
        lambda right, _g, node: right * np.sign(node.saved("x")) if node.attributes["keepdims"] else right,
    ),
    Fault(
        "saves arrays as they lie in memory, whatever their strides",
        "generic: operands that are not contiguous",
        SavesMemory,
        frozenset(f"operators/{name}" for name in SAVING),
        GRAPHS | NARROW_GRAPHS | {"graphs/neighbours", *(f"contracts/{name}" for name in SAVING)},
        ALONE,
    ),
    Fault(
        "limits cotangents to ten",
        "bugs of checkers: a single operator meets small cotangents only",
        LimitsCotangents,
        GRAPHS
        | {
            "rewrites/rewritten_expressions",
            "seeds/negative_and_zero_seeds",
            "seeds/scalar_may_be_seeded",
            "sharing/chained_diamonds",
            "sharing/fan_out_of_three",
            "sharing/uneven_paths",
        },
        NARROW_GRAPHS,
    ),
)


def _reduced(node: Node) -> list[int]:
    """Return the lengths of the axes that a reduction removes."""
    (shape,), axis = node.shapes, node.attributes["axis"]
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [shape[a] for a in axes]


def gelu_slope(x: Array) -> Array:
    """Return the slope of the approximation of gelu, by the constant with ten digits."""
    inner = np.tanh(SQRT_TWO_OVER_PI * (x + 0.044715 * x**3))
    slope: Array = (1 + inner) / 2 + x / 2 * (1 - inner**2) * SQRT_TWO_OVER_PI * (1 + 3 * 0.044715 * x**2)
    return slope
