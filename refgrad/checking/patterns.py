"""Patterns of a wrong gradient: mistakes that are evident from all of its entries together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import comb, floor, log, log10
from types import MappingProxyType

import numpy as np

from refgrad.checking.libraries.trees import Array
from refgrad.scenario.formats import FORMATS, Format

NEAR = 1e-6
"""Least relative tolerance for entries that are the same."""

FEWEST_SETS = 100
"""Least number of sets of wrong entries of the same size for which a condition on their values is no coincidence."""

SHORTEST = 3
"""Smallest length of an axis that explains a factor. A factor of 2 may also come from a term that is added twice."""

LOST, FEW = 2.0**-40, 2.0**-6
"""Bounds of the relative error of numbers whose leading digits are right."""

MOVES = (1, -1, 2, -2)
"""Shifts of a gradient along its entries that are tried."""

CAUSES: Mapping[str, str] = MappingProxyType({
    "every entry is 2 times what it should be": ": look for a term that is added twice",
    "every entry lacks a factor of 2": ": look for a use of the value whose gradient is overwritten or detached",
})
"""Causes of some patterns."""

FRACTION = r"\d+\.\d+"
"""Regular expression for decimal fractions, which may differ between points."""

LEAVES = "nothing arrives: look for a value that leaves the graph (item, numpy, detach, a copy)"
PASSED = "the incoming gradient is passed on unchanged"


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """The claimed and the true gradient of one input under some seeds, and the input itself.

    ``form`` is the format of the arithmetic. ``others`` are inputs, outputs and cotangents of the same shape, and
    ``indices`` inputs of whole numbers, by their names.
    """

    name: str
    claimed: Array
    truth: Array
    point: Array
    form: Format = FORMATS["float64"]
    others: Mapping[str, Array] = field(default_factory=dict)
    indices: Mapping[str, Array] = field(default_factory=dict)

    @property
    def near(self) -> float:
        """Relative tolerance for entries that are the same: half of the format's digits."""
        return max(NEAR, 2.0 ** -(self.form.bits // 2))

    @property
    def close(self) -> float:
        """Relative tolerance for factors."""
        return max(NEAR, 4 * self.form.unit)

    def fits(self, model: Array, parameters: int = 0) -> bool:
        """Return True if the claimed gradient agrees with a model beyond coincidence. ``parameters`` were fitted to it.

        Half of the evidence is enough, since a pattern must hold at two points.
        """
        evidence = (np.count_nonzero(model) - parameters) * log(self.near) / log(NEAR)
        return bool(evidence >= 1 / 2 and self.same(self.claimed, model).all())

    def same(self, a: Array, b: Array) -> Array:
        """Return the mask of entries of two arrays that agree, relative to their size and to the largest."""
        size = np.maximum(np.abs(b), self.near * np.max(np.abs(b), initial=0.0))
        return np.asarray(np.abs(a - b) <= self.near * size)

    @property
    def right(self) -> Array:
        """Mask of the right entries."""
        return self.same(self.claimed, self.truth)


def pattern(points: Sequence[Sequence[Whole]], output_shapes: Sequence[tuple[int, ...]]) -> str:
    """Return the pattern that the gradients have at all points, or an empty string if there is any doubt.

    Each point has the gradient of every input.
    """
    first = points[0]
    if not all(np.isfinite(g.truth).all() and np.isfinite(g.claimed).all() for point in points for g in point):
        return ""
    several = _shared([list(_of_several(point)) for point in points])
    wrong = [n for n, g in enumerate(first) if not g.right.all()]
    each = {n: _shared([list(_of_one(point[n], output_shapes)) for point in points]) for n in wrong}
    texts = {first[n].name: text for n, text in each.items() if text}
    if several or not texts:
        return several or next(_precision(first), "")
    if len(texts) < len(wrong) or len(set(texts.values())) > 1:
        return "; ".join(f"in input {name}, {text}" for name, text in texts.items())
    only = f"the gradient of input {' and '.join(texts)} alone is wrong: " * (len(wrong) < len(first))
    return f"{only}{texts[first[wrong[0]].name]}"


def _shared(lists: Sequence[Sequence[str]]) -> str:
    """Return the first text that occurs in all lists, ignoring decimal fractions, or an empty string."""
    first, *others = lists
    keys = [{re.sub(FRACTION, "", text) for text in other} for other in others]
    return next((text for text in first if all(re.sub(FRACTION, "", text) in each for each in keys)), "")


def _of_several(gradients: Sequence[Whole]) -> Iterator[str]:
    """Yield the patterns of several gradients: inputs that get each other's gradients."""
    for one, other in permutations(gradients, 2):
        if one.claimed.shape != other.truth.shape or one.right.all() or one.same(one.truth, other.truth).all():
            continue
        if one.fits(other.truth) and not one.fits(_slopes(one.claimed, one.truth) * one.truth):
            if other.fits(one.truth):
                yield f"the gradients of inputs {one.name} and {other.name} are swapped"
            yield f"input {one.name} gets the gradient of input {other.name}"


def _of_one(g: Whole, output_shapes: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Yield the patterns of one gradient."""
    if g.right.all():
        return
    if not g.claimed.any():
        yield LEAVES
    yield from _factor(g, output_shapes)
    yield from _order(g)
    yield from _group_factors(g)
    yield from _locations(g)
    yield from _mask(g)
    passed_on = any(g.fits(array) for name, array in g.others.items() if name.startswith("the cotangent"))
    if passed_on and not g.truth.any():
        yield f"{PASSED}, as by a straight-through estimator, but the derivative is 0"
    yield from _terms(g)
    if passed_on:
        yield PASSED
    for array, words in ((g.truth, "nothing should arrive"), (g.claimed, "nothing arrives")):
        if not array[~g.right].any():
            yield f"{words} where it is wrong: look for a wrong index, mask or shape on the way back"


def _order(g: Whole) -> Iterator[str]:
    """Yield descriptions of rearrangements that turn the true gradient into the claimed one."""
    t, axes = g.truth, range(g.truth.ndim)
    orders = {"transposed": np.swapaxes(t, -1, -2)} if t.ndim > 1 else {}
    orders |= {f"read with its axes in the order {order}": t.transpose(order) for order in permutations(axes)}
    orders |= {f"reversed along axis {axis}": np.flip(t, axis) for axis in axes}
    orders |= {f"moved by {step} along axis {axis}": np.roll(t, step, axis) for axis in axes for step in MOVES}
    for words, array in orders.items():
        if g.fits(array.reshape(t.shape)):
            yield f"the gradient is {words}"


def _slopes(claimed: Array, regressor: Array, axes: tuple[int, ...] | None = None) -> Array:
    """Return the factor of a regressor, by least squares, for each group of entries along some axes."""
    total = np.sum(np.square(regressor), axis=axes, keepdims=True)
    return np.asarray(np.sum(claimed * regressor, axis=axes, keepdims=True) / np.where(total > 0, total, 1.0))


def _ratio(g: Whole, factor: float, subject: str) -> str:
    """Describe a factor of a part of the gradient, such as ``the sign of every entry is flipped``."""
    if abs(factor + 1) < g.close:
        return f"the sign of {subject} is flipped"
    for ratio, words in ((factor, "is {} times what it should be"), (1 / factor, "lacks a factor of {}")):
        whole = round(ratio)
        if abs(whole) > 1 and abs(ratio / whole - 1) < g.close < 1 / abs(8 * whole):
            return f"{subject} {words.format(whole)}"
    return f"{subject} is {float(f'{factor:.{1 - floor(log10(g.near))}g}')} times what it should be"


def _factor(g: Whole, output_shapes: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Yield the factor of all entries, with its meaning."""
    factor = _slopes(g.claimed, g.truth).item()
    if factor == 0 or not g.fits(factor * g.truth):
        return
    for length, what in _reduced(g, output_shapes):
        if length >= SHORTEST and abs(factor / length - 1) < g.close:
            yield f"every entry is {length} times too large, {what}, as by a sum in place of a mean"
        if length >= SHORTEST and abs(factor * length - 1) < g.close:
            yield f"every entry is {length} times too small, {what}, as by a mean in place of a sum"
    text = _ratio(g, factor, "every entry")
    if g.fits(factor * g.truth, parameters=1) or not re.search(FRACTION, text):
        yield text + CAUSES.get(text, "")


def _reduced(g: Whole, output_shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, str]]:
    """Yield lengths of axes that occur more often in the input than in an output, or the reverse, with the names."""
    for k, output in enumerate(output_shapes):
        shapes = {f"input {g.name}": g.truth.shape, f"output {k}": output}
        for (name, own), other in zip(shapes.items(), (output, g.truth.shape), strict=True):
            yield from (
                (n, f"the length of axis {axis} of {name}")
                for axis, n in enumerate(own)
                if own.count(n) > other.count(n)
            )
            if not other:
                yield int(np.prod(own)), f"the number of entries of {name}"


def _group_factors(g: Whole) -> Iterator[str]:
    """Yield the axis along which each index has its own factor, unless that holds for every gradient of rank one."""
    for axis, length in enumerate(g.truth.shape if g.truth.ndim > 1 else ()):
        if np.linalg.matrix_rank(np.moveaxis(g.truth, axis, 0).reshape(length, -1)) <= 1:
            continue
        factors = _slopes(g.claimed, g.truth, tuple(a for a in range(g.truth.ndim) if a != axis))
        wrong = factors[~g.same(factors, np.ones_like(factors))]
        if wrong.any() and np.ptp(wrong) > g.near and g.fits(factors * g.truth, parameters=length):
            yield f"indices of axis {axis} have factors of their own: look for a missing scale along axis {axis}"


def _locations(g: Whole) -> Iterator[str]:
    """Yield the indices at which the entries are wrong."""
    wrong = ~g.right
    for name, index in g.indices.items() if g.truth.ndim else ():
        values, counts = np.unique(index, return_counts=True)
        repeated = np.isin(np.arange(len(wrong)), values[counts > 1]).reshape(-1, *(1,) * (wrong.ndim - 1))
        if np.array_equal(wrong, np.broadcast_to(repeated, wrong.shape)):
            yield f"wrong only at indices that occur several times in input {name}: add up their gradients"
    for axis, length in enumerate(wrong.shape):
        rows = np.moveaxis(wrong, axis, 0).reshape(length, -1)
        at = np.flatnonzero(rows.any(1))
        if rows[at].all() and len(at) < length and (len(at) == 1 or at[0] + len(at) == length):
            where = f"at index {at[0]} of" if len(at) == 1 else f"from index {at[0]} on along"
            yield f"wrong only {where} axis {axis}{_there(g, wrong)}"


def _there(g: Whole, wrong: Array) -> str:
    """Describe what all wrong entries have in common; an empty string if nothing."""
    if not g.claimed[wrong].any():
        return ", where nothing arrives"
    factor = _slopes(g.claimed[wrong], g.truth[wrong]).item()
    if factor == 0 or not g.same(g.claimed[wrong], factor * g.truth[wrong]).all():
        return ""
    text = _ratio(g, factor, "each entry")
    return f", where {text}" if np.count_nonzero(g.truth[wrong]) > 1 or not re.search(FRACTION, text) else ""


def _mask(g: Whole) -> Iterator[str]:
    """Yield the value of the input above or below which exactly the wrong entries lie."""
    if g.point.shape != g.claimed.shape:
        return
    right, wrong = g.point[g.right], g.point[~g.right]
    if not right.size or comb(g.point.size, wrong.size) < FEWEST_SETS:
        return
    for below, above, word in ((right, wrong, ">"), (wrong, right, "<")):
        low, high = float(below.max()), float(above.min())
        if low < high:
            yield f"wrong only where the input is {word} {_round_number(low, high)}{_there(g, ~g.right)}"


def _round_number(low: float, high: float) -> str:
    """Return the number with the fewest digits between two others."""
    for digits in range(17):
        number = round((low + high) / 2, digits) + 0.0
        if low <= number <= high:
            return f"{number:g}"
    return f"{low:.17g}"


def _terms(g: Whole) -> Iterator[str]:
    """Yield the array of which the error, but not the truth, is a multiple, over all entries or along an axis."""
    axes = range(g.truth.ndim)
    groups = {"": tuple(axes), **{f" along axis {axis}": (axis,) for axis in axes if g.truth.ndim > 1}}
    size = float(np.max(np.abs(g.claimed - g.truth)))
    allowed = g.near * max(size, g.near * float(np.max(np.abs(g.truth))))
    for (words, each), name in product(groups.items(), ["", *g.others]):
        regressor = g.others.get(name, np.ones_like(g.truth))
        factors = [_slopes(array, regressor, each) for array in (g.claimed - g.truth, g.truth)]
        fits = [
            bool(np.all(np.abs(array - factor * regressor) <= allowed))
            for array, factor in zip((g.claimed - g.truth, g.truth), factors, strict=True)
        ]
        if (g.truth.size - factors[0].size) * log(g.near) / log(NEAR) >= 1 and fits == [True, False]:
            what = f"a multiple of {name}" if name else "the same number"
            missing = "term, or a saved value that changed" if "cotangent" in name else f"sum or mean{words}"
            yield f"the error of each entry is {what}{words}: look for a wrong or missing {missing}"


def _precision(gradients: Sequence[Whole]) -> Iterator[str]:
    """Yield that all entries are right in their leading digits, unless all are wrong by one factor."""
    truth, claimed = (np.concatenate([getattr(g, name).ravel() for g in gradients]) for name in ("truth", "claimed"))
    errors = claimed[truth != 0] / truth[truth != 0] - 1
    largest = float(np.max(np.abs(errors), initial=0.0))
    if claimed[truth == 0].any() or not largest < FEW or np.ptp(errors) <= largest / 2 or gradients[0].near > NEAR:
        return
    if np.median(np.abs(errors)) > LOST:
        stopped = f"an iteration that stops before it has converged, which tolerance={2 * largest:.0e} accepts"
        cancelling = "look for float32 on the way back, a formula that cancels"
        yield f"right in its leading digits only: {cancelling}, or {stopped}"
