"""Judgement of a claimed gradient by finite differences of the function, along directions and entry by entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.oracles.judgement import ALLOWANCE, Discrepancy
from refgrad.oracles.slopes import directions
from refgrad.oracles.slopes.curves import ROUNDING_SAFETY, BoundedSlopes, Floats, Positions
from refgrad.oracles.slopes.directions import Direction, Directions, OutOfTime, Seeds, without
from refgrad.oracles.slopes.slopes import SCALES
from refgrad.oracles.slopes.stairs import StaircaseClaim, Stairs, stairs_of
from refgrad.scenario.formats import FORMATS

CHANCE_TO_MISS = 2.0 ** (-5 * directions.DIRECTIONS)
"""Probability that all directions miss an error of 64 times their uncertainty."""

OTHER_STEPS = 0.7
"""Factor of the steps of a second estimate, which has to confirm a fault."""

LEAST_SLOPE = 2.0**-10
"""Least typical slope, as a fraction of the slope of a function that changes by its own size."""

FAR_OFF = 1e4
"""Least error of a plainly wrong gradient, in multiples of the uncertainty of the differences."""

PLAIN = 2.0**-6
"""Least error of a plainly wrong gradient, relative to the slopes."""

JITTER_POINTS = 6
"""Number of neighbouring points at which the noise of a gradient is measured."""

JITTER_ORDER = 3
"""Order of the differences that measure this noise."""

KNOWN = 1e-7
"""Width of an interval, relative to its slope, below which the slope counts as the truth."""

SIDE_STEP = 2.0**-9
"""Relative distance from a kink at which the gradient must be right for a choice at the kink to be legal."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval that contains the true slope along a direction, and the error that rounding allows in addition.

    ``kink`` is True if the interval contains the slopes of both sides of a kink.
    """

    lower: float
    upper: float
    kink: bool
    allowed: float


class DifferencesJudge(Directions):
    """Judges gradients by finite differences: along random directions, and entry by entry if these are inconclusive."""

    tolerance = 0.0
    """Relative error of an entry that passes."""

    def judge(
        self, seeds: Seeds, gradients: Sequence[npt.NDArray[Any]], known: Discrepancy | None = None
    ) -> list[Discrepancy]:
        """Return the discrepancies, up to the first entry that is wrong.

        If the gradient is plainly wrong along a direction and nothing is known yet, that direction is returned. If an
        entry is ``known`` to be wrong under other seeds, only this entry is judged.
        """
        claim = ClaimedGradient(self, seeds, gradients)
        is_about_entry = known is not None and known.entry is not None
        if not self.measured:
            if not is_about_entry and claim.passes() and (claim.claimed.any() or self.stairs is None):
                return []
            if self.stairs is None or not claim.is_finite:
                if known is None and self.tolerance == 0 and (plain := claim.plainly_wrong()) is not None:
                    return [plain]
                self.measure()
                if self.rounds_to_single:
                    self.stairs = Stairs("float32", sure=True)
                claim = ClaimedGradient(self, seeds, gradients)
        if self.stairs is not None and claim.is_finite:
            return self.first_wrong(StaircaseClaim(self, self.stairs, seeds, claim.weights, claim.claimed), known)
        return self.first_wrong(claim, known)

    def first_wrong(self, claim: ClaimedGradient | StaircaseClaim, known: Discrepancy | None) -> list[Discrepancy]:
        """Return the first wrong discrepancy, or else the first inconclusive one of each input."""
        if known is not None and known.entry is not None:
            wrong = claim.of_entry(self.flat_position(known.input, known.entry))
            return [] if wrong is None else [wrong]
        open_questions: dict[int, Discrepancy] = {}
        for discrepancy in filter(None, claim.discrepancies()):
            if discrepancy.failing and discrepancy.relative_error <= self.tolerance:
                continue
            if discrepancy.failing:
                return [discrepancy]
            open_questions.setdefault(discrepancy.input, discrepancy)
        return list(open_questions.values())

    @cached_property
    def stairs(self) -> Stairs | None:
        """The stairs of a function of float64 that rounds its values to a lower precision, or None."""
        return stairs_of(self) if self.scale.unit == FORMATS["float64"].unit else None

    def truths(self, seeds: Seeds) -> list[npt.NDArray[Any]]:
        """Return the true gradients; NaN for uncertain slopes, and for all if entries are too many or on stairs."""
        weights = directions.seed_weights(seeds, self.function.outputs)
        slopes = np.full(self.flat.size, np.nan)
        for flat in range(self.flat.size if self.flat.size <= directions.FULL_INPUTS and self.stairs is None else 0):
            if not self.measured:
                self.measure()
            lower, upper, _ = weighted(self.axis_direction(flat).slopes, weights)
            if upper - lower <= KNOWN * max(abs(lower + upper), LEAST_SLOPE):
                slopes[flat] = (lower + upper) / 2 / self.magnitude[flat]
        return list(directions.split(slopes, tuple(array.astype(np.float64) for array in self.function.arrays)))

    def jitter(self, seeds: Seeds) -> Floats:
        """Return how much rounding moves each entry of the gradient between neighbouring points.

        In float32, points that are further apart reveal a staircase, such as 1 + erf far left of 0.
        """
        signs = np.where(np.arange(self.flat.size) % 2 == 0, 1.0, -1.0)
        largest = np.zeros(self.flat.size)
        steps = SCALES[self.function.precision].noise_steps
        for step in steps if self.function.precision == "float32" else steps[:1]:
            points = [self.flat + k * step * signs * self.magnitude for k in range(JITTER_POINTS)]
            rows = [gradient for x in points if (gradient := self.function.gradient(x, seeds)) is not None]
            if len(rows) < JITTER_POINTS:
                break
            variance = np.mean(np.diff(np.stack(rows), JITTER_ORDER, axis=0) ** 2, axis=0)
            largest = np.maximum(largest, variance)
        return np.asarray(ROUNDING_SAFETY * np.sqrt(largest / comb(2 * JITTER_ORDER, JITTER_ORDER)))

    def right_nearby(self, flat: int, seeds: Seeds) -> bool:
        """Return True if the derivative by an entry is right a little to either side of the point."""
        for side in (-SIDE_STEP, SIDE_STEP):
            entries = self.flat.copy()
            entries[flat] += side * self.magnitude[flat]
            function = self.function.moved(entries)
            gradient = None if function is None else function.gradient(entries, seeds)
            if function is None or gradient is None:
                return False
            about = Discrepancy("inconclusive", *self.index_of(flat), 0.0, 0.0, 0.0, "")
            if DifferencesJudge(function, self.choices).judge(seeds, [gradient], about):
                return False
        return True


class ClaimedGradient:
    """A claimed gradient of the sum of seed · output, and its comparison with differences."""

    def __init__(self, judge: DifferencesJudge, seeds: Seeds, gradients: Sequence[npt.NDArray[Any]]) -> None:
        """Take the claimed gradients of all inputs."""
        self.judge = judge
        self.seeds = seeds
        self.weights = directions.seed_weights(seeds, judge.function.outputs)
        self.claimed = directions.flattened(gradients)
        sizes = np.abs(self.claimed * judge.magnitude)
        least = LEAST_SLOPE * float(np.abs(self.weights) @ judge.sizes)
        self.typical = float(np.max(sizes[np.isfinite(sizes)], initial=least))

    @cached_property
    def jitter(self) -> Floats:
        """Noise of each entry of the gradient."""
        return self.judge.jitter(self.seeds) if self.is_finite else np.zeros(self.claimed.size)

    @property
    def is_finite(self) -> bool:
        """Return True if all entries are finite."""
        return bool(np.isfinite(self.claimed).all())

    def passes(self) -> bool:
        """Return True if a few directions confirm every entry, even with no allowance for noise."""
        judge = self.judge
        if not self.claimed.size or not self.is_finite:
            return False
        everywhere = np.arange(self.claimed.size)
        for direction in judge.quick(self.claimed):
            if self.meets_kink(direction) or self.compared(direction) is not None:
                return False
            everywhere = without(everywhere, self.seen_along(direction))
        if everywhere.size or any(self.by_sign()):
            return False
        judge.looked_at.update(range(self.claimed.size))
        return True

    def plainly_wrong(self) -> Discrepancy | None:
        """Return the discrepancy along a tried direction that is plainly wrong by two sets of steps, or None.

        The second set has the smallest steps or, if these are too inaccurate, steps somewhat smaller than the first
        ones.
        """
        if not self.claimed.size or not self.is_finite:
            return None
        for direction in self.judge.first:
            wrong = self.far_off(direction)
            if wrong is None:
                continue
            near = self.judge.near_slopes(direction.vector)
            if self.denied(direction, near):
                continue
            if self.far_off(near) or self.far_off(self.judge.quick_slopes(direction.vector, OTHER_STEPS)):
                return wrong
        return None

    def meets_kink(self, direction: Direction) -> bool:
        """Return True if an output with a seed has a kink along a direction."""
        return bool((direction.slopes.kink & (self.weights != 0)).any())

    def far_off(self, direction: Direction) -> Discrepancy | None:
        """Return the discrepancy along a direction if it is too large for probable noise, else None."""
        wrong = None if self.meets_kink(direction) else self.compared(direction)
        if wrong is None or not wrong.failing or wrong.explained < FAR_OFF:
            return None
        size = max(self.typical, abs(wrong.lower), abs(wrong.upper))
        return wrong if wrong.error > PLAIN * size else None

    def denied(self, direction: Direction, near: Direction) -> bool:
        """Return True if the smallest steps give contradictory slopes: a pole may lie within the larger steps."""
        far, close = self.interval(direction), self.interval(near)
        apart = close.lower - close.allowed > far.upper or close.upper + close.allowed < far.lower
        return bool(np.isfinite(close.lower + close.upper) and apart)

    def seen_along(self, direction: Direction) -> Positions:
        """Return the entries that a direction moves and in which an error would be visible along it."""
        members = np.flatnonzero(direction.vector)
        return without(members, self.unseen(members, [direction]))

    def discrepancies(self) -> Iterator[Discrepancy | None]:
        """Yield discrepancies, and None for right parts. Entries are tried where directions are inconclusive."""
        for flat in np.flatnonzero(~np.isfinite(self.claimed))[: directions.FULL_INPUTS]:
            yield self.of_entry(int(flat))
        for group in self.judge.groups(np.where(np.isfinite(self.claimed), self.claimed, 0.0)):
            yield from self.of_group(group)
        yield from self.by_sign()

    def by_sign(self) -> Iterator[Discrepancy]:
        """Yield discrepancies of a 16-bit gradient along its entries of one sign.

        A term of the only output's gradient that is too large by some percent may be hidden by larger entries of the
        other sign, as probabilities are by those of the targets.
        """
        judge = self.judge
        for sign in (1, -1) if judge.form.narrow and judge.here.size == 1 else ():
            vector = np.where(sign * self.claimed > 0, sign * judge.magnitude, 0.0)
            if 1 < np.count_nonzero(vector) < vector.size:
                direction = judge.direction(vector)
                wrong = self.compared(direction)
                if wrong is not None and wrong.failing:
                    yield self.of(direction) or replace(wrong, severity="inconclusive", cause="noise")

    def of_group(self, group: list[Direction]) -> Iterator[Discrepancy | None]:
        """Yield discrepancies of the entries that some directions move."""
        judge = self.judge
        first = [self.compared(direction) for direction in group]
        members = np.flatnonzero(group[0].vector)
        members = members[np.isfinite(self.claimed[members])]
        errors = first
        if judge.method == "directions" and any(each is not None for each in first):
            errors = []
            for direction in group:
                wrong = self.of(direction)
                if wrong is not None and wrong.failing:
                    yield wrong
                    return
                errors.append(wrong)
        if all(each is None for each in errors):
            if any(each is not None and each.failing for each in first):
                return  # rounding explains so much that an error in one entry would be invisible
            unseen = self.unseen(members, group)
            judge.looked_at.update(set(members.tolist()) - set(unseen.tolist()))
            members = unseen
        elif judge.method == "directions":
            yield from self.resolved(members)
            return
        for flat in members[: directions.FULL_INPUTS]:
            try:
                wrong = self.of_entry(int(flat))
            except OutOfTime:
                judge.interrupted = True
                if all(each is None for each in errors):
                    return  # errors in several of the other entries would be visible
                raise
            judge.looked_at.add(int(flat))
            yield wrong

    def resolved(self, members: Positions) -> Iterator[Discrepancy | None]:
        """Yield the discrepancies of entries at a kink or a pole, which are located by bisection."""
        judge = self.judge
        if len(members) == 1:
            judge.looked_at.update(members.tolist())
            yield self.of_entry(int(members[0]))
            return
        direction = judge.random_direction(members)
        first = self.compared(direction)
        wrong = self.of(direction)
        if wrong is None:
            if first is None or not first.failing:
                judge.looked_at.update(set(members.tolist()) - set(self.unseen(members, [direction]).tolist()))
        elif wrong.failing or wrong.cause == "noise":
            yield wrong
        else:
            for half in directions.halves(members):
                yield from self.resolved(half)

    def unseen(self, members: Positions, group: list[Direction]) -> Positions:
        """Return the entries whose contribution is so small that an error in one of them would be invisible."""
        if len(members) == 1:
            return members[:0]
        intervals = map(self.interval, group)
        blur = min(each.upper - each.lower + 2 * each.allowed for each in intervals)  # the smallest visible error
        parts = np.abs(self.claimed[members]) * self.judge.magnitude[members] / 2
        return members[(parts * self.judge.vague < blur) & (parts > 0)]

    def of_entry(self, flat: int) -> Discrepancy | None:
        """Return a confirmed discrepancy along the axis of one entry, or None."""
        return self.of(self.judge.axis_direction(flat))

    def of(self, direction: Direction) -> Discrepancy | None:
        """Return a confirmed discrepancy along a direction, or None."""
        wrong = self.compared(direction)
        if wrong is not None and not wrong.failing and not self.judge.refined:
            self.judge.refine()
        if wrong is not None and not wrong.failing:
            direction = self.judge.direction(direction.vector)
            wrong = self.compared(direction)
        if wrong is not None and wrong.failing:
            wrong = self.asked_again(direction)
        if wrong is not None and self.at_kink(direction, wrong):
            return replace(wrong, severity="convention", explained=0.0, cause="")
        return wrong

    def at_kink(self, direction: Direction, wrong: Discrepancy) -> bool:
        """Return True if an entry has a legal value at a kink and the gradient is right on both sides of it."""
        flat = np.flatnonzero(direction.vector)
        slack = self.judge.vague * (wrong.upper - wrong.lower)
        legal = wrong.severity == "inconclusive" and wrong.lower - slack <= wrong.observed <= wrong.upper + slack
        return legal and wrong.cause == "kink" and len(flat) == 1 and self.judge.right_nearby(int(flat[0]), self.seeds)

    def interval(self, direction: Direction, jitter: float = 0.0) -> Interval:
        """Return the interval of the sum of seed · slope, and the rounding error of the claimed gradient along it."""
        lower, upper, kink = weighted(direction.slopes, self.weights)
        along = direction.vector != 0
        unit = self.judge.form.unit
        terms = float(np.abs(direction.vector[along]) @ np.abs(self.claimed[along]))
        summed = float(np.abs(self.weights) @ np.abs(direction.slopes.value))  # a sum over outputs is rounded, too
        allowed = ALLOWANCE * unit * (summed if np.isfinite(lower + upper + summed) else 0.0)
        allowed += (ALLOWANCE * unit * terms if np.isfinite(terms) else 0.0) + jitter
        lost = self.judge.form.underflow * max(1.0, float(np.max(np.abs(self.weights), initial=0.0)))
        allowed += ALLOWANCE * lost * float(np.sum(np.abs(direction.vector)))
        return Interval(lower, upper, kink, allowed)

    def observed(self, direction: Direction) -> float:
        """Return the slope along a direction according to the claimed gradient."""
        along = direction.vector != 0
        return float(direction.vector[along] @ self.claimed[along])

    def compared(self, direction: Direction, jitter: float = 0.0) -> Discrepancy | None:
        """Compare the claimed gradient with the slopes along a direction, and return the discrepancy or None."""
        interval, observed = self.interval(direction, jitter), self.observed(direction)
        lower, upper = interval.lower, interval.upper
        along = direction.vector != 0
        known = np.isfinite(lower + upper)
        typical = max(self.typical, float(np.linalg.norm(direction.vector[along] * self.claimed[along])))
        vague = not known or not upper - lower <= self.judge.vague * max(abs(lower + upper) / 2, typical)
        inside = lower - interval.allowed <= observed <= upper + interval.allowed
        if inside and not vague:
            return None
        kink, first = interval.kink and vague, self.judge.function.positions[0]
        discrepancy = self.judge.discrepancy(direction.vector, observed, (lower, upper), first, kink=kink)
        if not known or inside:
            return replace(
                discrepancy, severity="inconclusive", cause="pole" if not known else "kink" if kink else "noise"
            )
        error = max(lower - observed, observed - upper, 0.0) if np.isfinite(observed) else np.inf
        multiple = (error + (upper - lower) / 2) / max(interval.allowed + (upper - lower) / 2, 1e-300)
        return replace(discrepancy, explained=multiple)

    def asked_again(self, direction: Direction) -> Discrepancy | None:
        """Measure again with other steps, allow for the gradient's own noise, and return the discrepancy or None."""
        judge = self.judge
        jitter = min(float(np.abs(direction.vector) @ self.jitter), judge.vague * self.typical)
        jitter += self.saturation(direction)
        again = judge.direction(direction.vector, OTHER_STEPS)
        first, second = (self.compared(d, jitter) for d in (direction, again))
        if first is None or second is None or not first.failing or not second.failing:
            return first if second is None or second.failing else second
        if self.between(direction, again):
            return None
        near = self.judge.near_slopes(direction.vector)
        if self.denied(direction, near):
            return self.compared(near, jitter) or replace(first, severity="inconclusive", cause="pole")
        if first.entry is not None:
            return first
        wrong = self.narrowed(direction.vector, jitter, first)
        if not judge.form.narrow:
            return wrong or first
        return None if wrong is first and first.error <= self.rounded(direction) else wrong

    def narrowed(self, vector: Floats, jitter: float, whole: Discrepancy) -> Discrepancy | None:
        """Return the discrepancy of the single wrong entry that a direction moves; ``whole`` without one."""

        def failing(half: Positions) -> Discrepancy | None:
            part = np.zeros(vector.size)
            part[half] = vector[half]
            direction = self.judge.direction(part)
            wrong = self.compared(direction, jitter + self.saturation(direction))
            return wrong if wrong is not None and wrong.failing else None

        entries, _ = directions.halved(np.flatnonzero(vector), failing)
        if len(entries) != 1:
            return whole
        axis = self.judge.axis_direction(int(entries[0]))
        return self.compared(axis, jitter + self.saturation(axis))

    def between(self, direction: Direction, again: Direction) -> bool:
        """Return True if slopes by two step sizes contradict each other, and the claimed one is about as far from both.

        In that case the noise is larger than estimated, and the slope is only known to lie near the two.
        """
        one, other = self.interval(direction), self.interval(again)
        if not (one.upper < other.lower or other.upper < one.lower):
            return False
        low, high = min(one.lower, other.lower), max(one.upper, other.upper)
        known = 3 * (high - low) <= self.judge.vague * abs(low + high) / 2
        return known and 2 * low - high <= self.observed(direction) <= 2 * high - low

    def saturation(self, direction: Direction) -> float:
        """Return the error along a direction that the rounding of outputs explains.

        The roundings of many outputs add up like random steps. The error is limited so that typical slopes can still
        be judged: it has no limit for a function that is steep at 0, such as a normalization of rows.
        """
        count = int(np.count_nonzero(direction.vector))
        if count == 1:
            return float(np.abs(self.weights) @ self.judge.saturation(direction.vector))
        return min(self.rounded(direction), self.judge.vague * self.typical * sqrt(count))

    def rounded(self, direction: Direction) -> float:
        """Return the error along a direction that the rounding of outputs may cause, however large it is."""
        return ALLOWANCE * float(np.linalg.norm(self.weights * self.judge.saturation(direction.vector)))


def weighted(slopes: BoundedSlopes, weights: Floats) -> tuple[float, float, bool]:
    """Return the ends of the interval of the sum of weight · slope, and whether an output with a weight has a kink."""
    used = weights != 0
    w, value = weights[used], slopes.value[used]
    middle, radius = float(w @ value), float(np.abs(w) @ slopes.error[used])
    return middle - radius, middle + radius, bool(slopes.kink[used].any())
