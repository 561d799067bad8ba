"""The judge of gradients of functions of which nothing is known but their values: finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from refgrad.checking.discrepancy import Discrepancy, flattened, index
from refgrad.checking.subject import Array, Arrays, Seeds, Subject, SubjectError
from refgrad.oracles.judgement.judgement import ALLOWANCE
from refgrad.oracles.slopes.curves import ROUNDING_SAFETY, BoundedSlopes, Floats
from refgrad.oracles.slopes.lines import Along, noise_along, slopes_along
from refgrad.oracles.slopes.slopes import SCALES

FULL_INPUTS = 200
"""Up to this many entries each is differentiated by; beyond, random directions are."""

DIRECTIONS = 20
"""Errors in several entries that are all missed in this many directions: a chance of one in a million."""

OTHER_OPINION = 0.7
"""A fault is reported only if steps shorter by this factor find it too."""

JITTER_POINTS = 6
JITTER_ORDER = 3
VAGUE_ABOVE = 1e-3
"""An interval wider than this part of max(|truth|, typical slope) says nothing."""

AGREEMENT = 1e-2
"""Relative difference up to which a float32 function and its run in float64 count as the same function."""


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """A direction in the space of all entries, and the slopes of all outputs along it."""

    vector: Floats
    slopes: BoundedSlopes


class DifferencesJudge:
    """Judges by finite differences: by every entry where there are few, else along random directions."""

    def __init__(self, subject: Subject, outputs: Arrays, choices: np.random.Generator) -> None:
        """``outputs`` are the function's at the point."""
        self.subject = subject
        self.choices = choices
        self.shapes = tuple(output.shape for output in outputs)
        self.unit_dtype = "float32" if any(a.dtype == np.float32 for a in (*subject.point, *outputs)) else "float64"
        self.point, self.here = _finest(subject, outputs)
        self.scale = SCALES["float32" if any(a.dtype == np.float32 for a in self.point) else "float64"]
        self.flat = flattened(self.point)
        self.ends = np.cumsum([array.size for array in self.point])
        self.magnitude = 2.0 ** np.frexp(np.maximum(np.abs(self.flat), 0.5))[1]
        signs = choices.choice((-1.0, 1.0), self.flat.size)
        self.deviation = noise_along(self.along(signs * self.magnitude), self.scale)
        self.method = "differences" if self.flat.size <= FULL_INPUTS else "directions"
        self._random: list[_Direction] = []
        self._axes: dict[int, _Direction] = {}

    def along(self, vector: Floats) -> Along:
        """The outputs as a function of the distance along a direction; not finite where the function refuses."""

        def evaluated(distance: float) -> Floats:
            moved = _split(self.flat + distance * vector, self.point)
            try:
                return flattened(self.subject.values(moved))
            except SubjectError:
                return np.full(self.here.size, np.nan)

        return evaluated

    def directions(self) -> list[_Direction]:
        """The directions that every seed is judged along, with their slopes."""
        if self.method == "differences":
            return [self.axis_direction(flat) for flat in range(self.flat.size)]
        if not self._random:
            signs = self.choices.choice((-1.0, 1.0), (DIRECTIONS, self.flat.size))
            self._random = [_Direction(row, self.slopes(row)) for row in signs * self.magnitude]
        return self._random

    def axis_direction(self, flat: int) -> _Direction:
        """The direction of one entry, as long as the entry is large."""
        if flat not in self._axes:
            vector = np.zeros(self.flat.size)
            vector[flat] = self.magnitude[flat]
            self._axes[flat] = _Direction(vector, self.slopes(vector))
        return self._axes[flat]

    def slopes(self, vector: Floats, shrink: float = 1.0) -> BoundedSlopes:
        """Return the slopes of all outputs along a direction."""
        return slopes_along(self.along(vector), self.here, self.deviation, self.scale, shrink)

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right, up to the first entry that is wrong."""
        weights = self.weights(seeds)
        claimed = flattened(gradients)
        if known is not None and known.entry is not None:
            direction = self.axis_direction(self.flat_position(known.input, known.entry))
            found = self.compare(direction, weights, claimed)
            return [] if found is None else [found]
        open_questions: dict[int, Discrepancy] = {}
        for direction in self.directions():
            discrepancy = self.compare(direction, weights, claimed)
            if discrepancy is not None and discrepancy.failing:
                discrepancy = self.confirmed(direction, seeds, weights, claimed)
            if discrepancy is not None and discrepancy.failing:
                return [discrepancy]
            if discrepancy is not None:
                open_questions.setdefault(discrepancy.input, discrepancy)
        return list(open_questions.values())

    def weights(self, seeds: Seeds) -> Floats:
        """Return the seeds of all outputs in a row, zeros where there is none."""
        return flattened([np.zeros(n) if s is None else s for s, n in zip(seeds, self.shapes, strict=True)])

    def compare(
        self, direction: _Direction, weights: Floats, claimed: Floats, jitter: float = 0.0
    ) -> Discrepancy | None:
        """Hold the claimed gradient against the slopes along a direction."""
        sizes = np.abs(claimed * self.magnitude)
        typical = float(np.max(sizes[np.isfinite(sizes)], initial=0.0))
        lower, upper, kink = _weighted(direction.slopes, weights)
        along = direction.vector != 0
        observed = float(direction.vector[along] @ claimed[along])
        unit = SCALES[self.unit_dtype].unit
        terms = float(np.abs(direction.vector[along]) @ np.abs(claimed[along]))
        allowed = ALLOWANCE * unit * (max(abs(lower), abs(upper)) if np.isfinite(lower + upper) else 0.0)
        allowed += (ALLOWANCE * unit * terms if np.isfinite(terms) else 0.0) + jitter
        vague = not np.isfinite(lower + upper) or upper - lower > VAGUE_ABOVE * max(abs(lower + upper) / 2, typical)
        inside = lower - allowed <= observed <= upper + allowed
        if inside and not vague:
            return None
        place, entry = self.place(direction.vector)
        length = 1.0 if entry is None else float(np.sum(direction.vector))
        low, high = sorted((lower / length, upper / length))
        if kink:
            low, high = (0.0 if abs(end) < VAGUE_ABOVE * (high - low) else end for end in (low, high))
        middle = (low + high) / 2
        kink = kink and vague
        truth = f"between {low:.8g} and {high:.8g}" if kink else f"{middle:.10g} ± {(high - low) / 2:.1g}"
        error = max(lower - observed, observed - upper, 0.0) if np.isfinite(observed) else np.inf
        if not np.isfinite(lower + upper) or inside:
            return Discrepancy("inconclusive", place, entry, observed / length, low, high, truth, 0.0)
        multiple = (error + (upper - lower) / 2) / max(allowed + (upper - lower) / 2, 1e-300)
        return Discrepancy("wrong", place, entry, observed / length, low, high, truth, multiple)

    def confirmed(self, direction: _Direction, seeds: Seeds, weights: Floats, claimed: Floats) -> Discrepancy | None:
        """Ask again with other steps and with the gradient's own noise allowed; then find the entry."""
        jitter = float(np.abs(direction.vector) @ self.jitter(seeds)) if np.isfinite(claimed).all() else 0.0
        again = _Direction(direction.vector, self.slopes(direction.vector, OTHER_OPINION))
        first, second = (self.compare(d, weights, claimed, jitter) for d in (direction, again))
        if first is None or second is None or not first.failing or not second.failing:
            return first if second is None or second.failing else second
        if first.entry is not None:
            return first
        return self.narrowed(direction.vector, lambda d: self.compare(d, weights, claimed, jitter)) or first

    def narrowed(self, vector: Floats, compare: Callable[[_Direction], Discrepancy | None]) -> Discrepancy | None:
        """Halve a direction along which the gradient is wrong until one entry is left."""
        entries = np.flatnonzero(vector)
        while len(entries) > 1:
            for half in (entries[: len(entries) // 2], entries[len(entries) // 2 :]):
                part = np.zeros(vector.size)
                part[half] = vector[half]
                found = compare(_Direction(part, self.slopes(part)))
                if found is not None and found.failing:
                    entries = half
                    break
            else:
                return None
        return compare(self.axis_direction(int(entries[0])))

    def jitter(self, seeds: Seeds) -> Floats:
        """Return how much rounding moves each entry of the gradient between neighbouring points."""
        signs = np.where(np.arange(self.flat.size) % 2 == 0, 1.0, -1.0)
        step = SCALES[self.unit_dtype].noise_steps[0]
        rows = []
        for k in range(JITTER_POINTS):
            moved = _split(self.flat + k * step * signs * self.magnitude, self.subject.point)
            try:
                gradients = self.subject.pullback(moved).gradients(seeds)
            except SubjectError:
                return np.zeros(self.flat.size)
            rows.append(
                flattened([np.zeros(p.shape) if g is None else g for g, p in zip(gradients, moved, strict=True)])
            )
        differences = np.diff(np.stack(rows), JITTER_ORDER, axis=0)
        variance = np.mean(differences**2, axis=0) / comb(2 * JITTER_ORDER, JITTER_ORDER)
        return np.asarray(ROUNDING_SAFETY * np.sqrt(variance))

    def place(self, vector: Floats) -> tuple[int, tuple[int, ...] | None]:
        """Return the input and the entry that a direction is about; no entry if it has several."""
        entries = np.flatnonzero(vector)
        if len(entries) != 1:
            return self.subject.positions[0], None
        k = int(np.searchsorted(self.ends, entries[0], side="right"))
        start = self.ends[k] - self.point[k].size
        return self.subject.positions[k], index(int(entries[0] - start), self.point[k].shape)

    def flat_position(self, position: int, entry: tuple[int, ...]) -> int:
        """Return where an entry of an input stands among all entries."""
        k = self.subject.positions.index(position)
        shape = self.point[k].shape
        return int(self.ends[k] - self.point[k].size + (np.ravel_multi_index(entry, shape) if shape else 0))


def _weighted(slopes: BoundedSlopes, weights: Floats) -> tuple[float, float, bool]:
    """Return the interval of the sum of weight · slope, and whether a kink takes part."""
    used = weights != 0
    w, value = weights[used], slopes.value[used]
    middle, radius = float(w @ value), float(np.abs(w) @ slopes.error[used])
    return middle - radius, middle + radius, bool(slopes.kink[used].any())


def _finest(subject: Subject, outputs: Arrays) -> tuple[Arrays, Floats]:
    """Return the point, in float64 if the function takes that and means the same, and the outputs there."""
    here = flattened(outputs)
    point = subject.point
    if all(array.dtype == np.float64 for array in point):
        return point, here
    finer = tuple(array.astype(np.float64) for array in point)
    try:
        values = subject.values(finer)
    except SubjectError:
        return point, here
    same = [v.dtype == np.float64 and v.shape == o.shape for v, o in zip(values, outputs, strict=True)]
    fine = flattened(values)
    if all(same) and np.allclose(fine, here, rtol=AGREEMENT, atol=AGREEMENT):
        return finer, fine
    return point, here


def _split(flat: Floats, like: Arrays) -> Arrays:
    """Cut a row of entries into arrays of these shapes and dtypes."""
    parts = []
    offset = 0
    for array in like:
        parts.append(flat[offset : offset + array.size].reshape(array.shape).astype(array.dtype))
        offset += array.size
    return tuple(parts)
