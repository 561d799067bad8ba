"""The judge of gradients of functions of which nothing is known but their values: finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb

import numpy as np

from refgrad.checking.discrepancy import Discrepancy, flattened
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Array
from refgrad.checking.pullbacks import Seeds, SideEffectError
from refgrad.checking.slopes.claim import LEAST_SLOPE, Asked, Claim, weighted
from refgrad.checking.slopes.directions import FULL_INPUTS
from refgrad.checking.slopes.finest import scale_of, split
from refgrad.oracles.slopes.curves import ROUNDING_SAFETY, Floats

CHANCE_TO_MISS = 2.0**-20

JITTER_POINTS = 6
JITTER_ORDER = 3

KNOWN = 1e-7
"""Slopes are known well whose intervals are narrower than this part of them."""

BESIDE = 2.0**-9
"""How far beside a kink, relatively, the gradient has to be right for the choice at the kink to be legal."""


class DifferencesJudge(Asked):
    """Judges by finite differences: along random directions, and entry by entry where these leave anything open."""

    method: str
    tolerance = 0.0
    """The relative error of an entry that is let pass."""

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right, up to the first entry that is wrong.

        Where nothing is known yet, a direction along which the gradient is far off will do.
        """
        looked_for = known is not None and known.entry is not None
        if not self.measured:
            if not looked_for and Claim(self, seeds, gradients).passes():
                return []
            if known is None and self.tolerance == 0:
                plain = Claim(self, seeds, gradients).plainly_wrong()
                if plain is not None:
                    return [plain]
            self.measure()
        claim = Claim(self, seeds, gradients)
        if known is not None and known.entry is not None:
            found = claim.of(self.axis_direction(self.flat_position(known.input, known.entry)))
            return [] if found is None else [found]
        open_questions: dict[int, Discrepancy] = {}
        for discrepancy in claim.discrepancies():
            if discrepancy.failing:
                return [discrepancy]
            open_questions.setdefault(discrepancy.input, discrepancy)
        return list(open_questions.values())

    def truths(self, seeds: Seeds) -> list[Array]:
        """Return the gradients, not numbers where slopes are not known well, or where there are too many."""
        weights = self.weights(seeds)
        found = np.full(self.flat.size, np.nan)
        for flat in range(self.flat.size if self.flat.size <= FULL_INPUTS else 0):
            if self.deadline.over:
                break
            if not self.measured:
                self.measure()
            lower, upper, _ = weighted(self.axis_direction(flat).slopes, weights)
            if upper - lower <= KNOWN * max(abs(lower + upper), LEAST_SLOPE):
                found[flat] = (lower + upper) / 2 / self.magnitude[flat]
        return list(split(found, tuple(array.astype(np.float64) for array in self.point)))

    @cached_property
    def coarser(self) -> DifferencesJudge:
        """Who knows the function's values by steps for float32, the noise included."""
        found = DifferencesJudge(self.subject, self.outputs, self.choices, "float32", self.deadline)
        found.measure()
        return found

    def jitter(self, seeds: Seeds) -> Floats:
        """Return how much rounding moves each entry of the gradient between neighbouring points."""
        signs = np.where(np.arange(self.flat.size) % 2 == 0, 1.0, -1.0)
        step = scale_of(self.precision).noise_steps[0]
        rows = []
        for k in range(JITTER_POINTS):
            moved = split(self.flat + k * step * signs * self.magnitude, self.subject.point)
            try:
                gradients = self.subject.pullback(moved).gradients(seeds)
            except (SubjectError, SideEffectError, UnsupportedError):
                return np.zeros(self.flat.size)
            rows.append(
                flattened([np.zeros(p.shape) if g is None else g for g, p in zip(gradients, moved, strict=True)])
            )
        differences = np.diff(np.stack(rows), JITTER_ORDER, axis=0)
        variance = np.mean(differences**2, axis=0) / comb(2 * JITTER_ORDER, JITTER_ORDER)
        return np.asarray(ROUNDING_SAFETY * np.sqrt(variance))

    def right_beside(self, flat: int, seeds: Seeds) -> bool:
        """Whether the gradient by an entry is right a little to either side of the point."""
        for side in (-BESIDE, BESIDE):
            moved = self.flat.copy()
            moved[flat] += side * self.magnitude[flat]
            subject = self.subject.at(split(moved, self.subject.point))
            try:
                pullback = subject.pullback(subject.point)
                gradients = [
                    np.zeros(p.shape) if g is None else g
                    for g, p in zip(pullback.gradients(seeds), subject.point, strict=True)
                ]
            except (SubjectError, SideEffectError, UnsupportedError):
                return False
            judge = DifferencesJudge(subject, pullback.outputs, self.choices, self.precision)
            position, entry = self.place(flat)
            about = Discrepancy("inconclusive", position, entry, 0.0, 0.0, 0.0, "")
            if judge.judge(seeds, gradients, about):
                return False
        return True
