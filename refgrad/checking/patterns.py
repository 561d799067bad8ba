"""Patterns of a wrong gradient: the mistake that all of its entries together show beyond doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import comb

import numpy as np

from refgrad.checking.libraries.trees import Array

NEAR = 1e-6
"""Relative tolerance for entries that are the same."""

BY_CHANCE = 100
"""Least number of sets of wrong entries of the same size for which a condition on their values is no coincidence."""

SHORTEST = 3
"""Least length of an axis that explains a factor: a factor of 2 may also be a term that is added twice."""

LOST, FEW = 2.0**-40, 2.0**-6
"""Bounds of the relative error of numbers whose leading digits are right."""


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """The claimed and the true gradient of one input under some seeds, and the input itself."""

    name: str
    claimed: Array
    truth: Array
    point: Array

    @property
    def right(self) -> Array:
        """Mask of the right entries."""
        return same(self.claimed, self.truth)


def same(a: Array, b: Array) -> Array:
    """Return the mask of entries of two arrays that agree, relative to their size and to the largest."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(b), NEAR * np.max(np.abs(b), initial=0.0))
        return np.asarray(np.abs(a - b) <= NEAR * size)


def pattern(gradients: Sequence[Whole], output_shapes: Sequence[tuple[int, ...]]) -> str:
    """Return the pattern of the entries, or an empty string if there is any doubt."""
    if not all(np.isfinite(g.truth).all() and np.isfinite(g.claimed).all() for g in gradients):
        return ""
    several = next(_of_several(gradients), "")
    wrong = [g for g in gradients if not g.right.all()]
    texts = {next(_of_one(g, output_shapes), "") for g in wrong}
    if several or len(texts) != 1 or "" in texts:
        return several or next(_precision(gradients), "")
    (text,) = texts
    return f"{_where(wrong, gradients)}{text}"


def _where(wrong: Sequence[Whole], gradients: Sequence[Whole]) -> str:
    if len(wrong) == len(gradients):
        return ""
    names = " and ".join(g.name for g in wrong)
    return f"the gradient of input {names} alone is wrong: "


def _of_several(gradients: Sequence[Whole]) -> Iterator[str]:
    """Yield the inputs that get each other's gradients."""
    for one, other in permutations(gradients, 2):
        if one.claimed.shape != other.truth.shape or one.right.all() or same(one.truth, other.truth).all():
            continue
        if same(one.claimed, other.truth).all() and other.truth.any():
            if same(other.claimed, one.truth).all():
                yield f"the gradients of inputs {one.name} and {other.name} are swapped"
            yield f"input {one.name} gets the gradient of input {other.name}"


def _of_one(g: Whole, output_shapes: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Yield the patterns of one gradient."""
    if g.claimed.size > 1 and not g.claimed.any():
        yield "nothing arrives: look for a value that leaves the graph (item, numpy, detach, a copy)"
    if g.truth.ndim > 1 and g.truth.shape[-1] == g.truth.shape[-2]:
        turned = np.swapaxes(g.truth, -1, -2)
        if same(g.claimed, turned).all():
            yield "the gradient is transposed"
    yield from _factor(g, output_shapes)
    yield from _mask(g)


def _factor(g: Whole, output_shapes: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Yield the factor of all entries if it has a meaning: the length of an axis, or a whole number."""
    at = int(np.argmax(np.abs(g.truth)))
    if np.count_nonzero(g.truth) <= 1 or g.truth.flat[at] == 0:
        return
    factor = float(g.claimed.flat[at] / g.truth.flat[at])
    if factor == 0 or not same(g.claimed, factor * g.truth).all():
        return
    shapes = {f"input {g.name}": g.truth.shape, **{f"output {k}": shape for k, shape in enumerate(output_shapes)}}
    for name, shape in shapes.items():
        lengths = [(n, f"the length of axis {axis} of {name}") for axis, n in enumerate(shape)]
        lengths.append((int(np.prod(shape)), f"the number of entries of {name}"))
        for length, what in lengths:
            if length >= SHORTEST and abs(factor / length - 1) < NEAR:
                yield f"every entry is {length} times too large, {what}: a sum where there should be a mean"
            if length >= SHORTEST and abs(factor * length - 1) < NEAR:
                yield f"every entry is {length} times too small, {what}: a mean where there should be a sum"
    if abs(factor + 1) < NEAR:
        yield "the sign is flipped"
    if abs(factor - round(factor)) < NEAR and abs(factor) > 2 + NEAR:
        yield f"every entry is {round(factor)} times what it should be"
    if abs(1 / factor - round(1 / factor)) < NEAR and abs(1 / factor) > 2 + NEAR:
        yield f"every entry lacks a factor of {round(1 / factor)}"


def _mask(g: Whole) -> Iterator[str]:
    """Yield the value of the input above or below which the entries are wrong."""
    if g.point.shape != g.claimed.shape:
        return
    right, wrong = g.point[g.right], g.point[~g.right]
    if not right.size or comb(g.point.size, wrong.size) < BY_CHANCE:
        return
    for below, above, word in ((right, wrong, ">"), (wrong, right, "<")):
        low, high = float(below.max()), float(above.min())
        if low < high:
            yield f"wrong only where the input is {word} {_round_number(low, high)}"


def _round_number(low: float, high: float) -> str:
    """Return the number with the fewest digits between two others."""
    for digits in range(17):
        number = round((low + high) / 2, digits)
        if low <= number <= high:
            return f"{number:g}"
    return f"{low:.17g}"


def _precision(gradients: Sequence[Whole]) -> Iterator[str]:
    """Yield that all entries are right in their leading digits, unless all are wrong by one factor."""
    truth, claimed = (np.concatenate([getattr(g, name).ravel() for g in gradients]) for name in ("truth", "claimed"))
    errors = claimed[truth != 0] / truth[truth != 0] - 1
    largest = float(np.max(np.abs(errors), initial=0.0))
    if claimed[truth == 0].any() or not largest < FEW or np.ptp(errors) <= largest / 2:
        return
    if np.median(np.abs(errors)) > LOST:
        stopped = f"an iteration that stops before it has converged, which tolerance={2 * largest:.0e} accepts"
        cancelling = "look for float32 on the way back, a formula that cancels"
        yield f"right in its leading digits only: {cancelling}, or {stopped}"
