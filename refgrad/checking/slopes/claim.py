"""A gradient that is claimed, under some seeds, and what differences say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from refgrad.checking.discrepancy import Discrepancy, flattened
from refgrad.checking.libraries.numbers import Array
from refgrad.checking.pullbacks import Seeds
from refgrad.checking.slopes.directions import FULL_INPUTS, HALVES, VAGUE_ABOVE, Direction, Directions, Places
from refgrad.checking.slopes.finest import split
from refgrad.oracles.judgement.judgement import ALLOWANCE
from refgrad.oracles.slopes.curves import BoundedSlopes, Floats

OTHER_OPINION = 0.7
"""A fault is reported only if steps shorter by this factor find it too."""

LEAST_SLOPE = 2.0**-10
"""A slope is looked for in this part of what it would be if the function changed by its own size."""

FAR_OFF = 1e4
"""A gradient is plainly wrong only if it is off by so many times what is left open."""

PLAIN = 2.0**-6
"""And by this part of the slopes."""


class Asked(Directions):
    """What a claim asks beside slopes."""

    @property
    def coarser(self) -> Asked:
        """Who knows the function's values by steps for float32, the noise included."""
        raise NotImplementedError

    def weights(self, seeds: Seeds) -> Floats:
        """Return the seeds of all outputs in a row, zeros where there is none."""
        return flattened([np.zeros(n) if s is None else s for s, n in zip(seeds, self.shapes, strict=True)])

    def jitter(self, seeds: Seeds) -> Floats:
        """Return how much rounding moves each entry of the gradient between neighbouring points."""
        raise NotImplementedError

    def right_beside(self, flat: int, seeds: Seeds) -> bool:
        """Whether the gradient by an entry is right a little to either side of the point."""
        raise NotImplementedError


class Claim:
    """A gradient that is claimed, under some seeds, and what differences say of it."""

    def __init__(self, judge: Asked, seeds: Seeds, gradients: Sequence[Array]) -> None:
        self.judge = judge
        self.seeds = seeds
        self.weights = judge.weights(seeds)
        self.claimed = flattened(gradients)
        sizes = np.abs(self.claimed * judge.magnitude)
        least = LEAST_SLOPE * float(np.abs(self.weights) @ judge.sizes)
        self.typical = float(np.max(sizes[np.isfinite(sizes)], initial=least))
        self._jitter: Floats | None = None

    def passes(self) -> bool:
        """Whether nothing is left open along a few directions, even without the noise, which would allow for more."""
        judge = self.judge
        if not self.claimed.size or not np.isfinite(self.claimed).all():
            return False
        everywhere = np.arange(self.claimed.size)
        for direction in judge.quick(self.claimed):
            used = direction.slopes.kink & (self.weights != 0)
            if used.any() or self.compared(direction) is not None:
                return False
            everywhere = np.setdiff1d(everywhere, self.seen_along(direction))
        if everywhere.size:
            return False
        judge.looked_at.update(range(self.claimed.size))
        return True

    def plainly_wrong(self) -> Discrepancy | None:
        """Return what is far off along a direction of the first look, by other steps too; there must be no doubt.

        The smallest steps are such, and where these are too rough, somewhat smaller ones than the first are asked.
        """
        judge = self.judge
        if not self.claimed.size or not np.isfinite(self.claimed).all():
            return None
        for direction in judge.quick(self.claimed):
            found = self.far_off(direction)
            if found is None:
                continue
            near = self.near(direction)
            if self.denied(direction, near):
                continue
            if self.far_off(near) or self.far_off(judge.quick_slopes(direction.vector, OTHER_OPINION)):
                return found
        return None

    def far_off(self, direction: Direction) -> Discrepancy | None:
        """Return what is wrong along a direction if no noise that is likely explains it."""
        if (direction.slopes.kink & (self.weights != 0)).any():
            return None
        found = self.compared(direction)
        if found is None or not found.failing or found.explained < FAR_OFF:
            return None
        size = max(self.typical, abs(found.lower), abs(found.upper))
        return found if found.error > PLAIN * size else None

    def belied(self, direction: Direction) -> Direction | None:
        """Return the slopes by the smallest steps, if they deny those by larger ones: a pole may lie between these."""
        near = self.near(direction)
        return near if self.denied(direction, near) else None

    def near(self, direction: Direction) -> Direction:
        """Return the slopes by the smallest steps."""
        if self.judge.measured and not self.judge.refined:
            self.judge.refine()
        return self.judge.near_slopes(direction.vector)

    def denied(self, direction: Direction, near: Direction) -> bool:
        """Whether the slopes by the smallest steps deny others."""
        far, close = self.interval(direction), self.interval(near)
        apart = close.lower - close.allowed > far.upper or close.upper + close.allowed < far.lower
        return bool(np.isfinite(close.lower + close.upper) and apart)

    def seen_along(self, direction: Direction) -> Places:
        """Return the entries that a direction moves whose errors would have shown along it."""
        members = np.flatnonzero(direction.vector)
        return np.setdiff1d(members, self.unseen(members, [direction]))

    def discrepancies(self) -> Iterator[Discrepancy]:
        """Yield what is not right, entry by entry where a direction leaves anything open."""
        judge = self.judge
        for flat in np.flatnonzero(~np.isfinite(self.claimed))[:FULL_INPUTS]:
            yield from self.settled(judge.axis_direction(int(flat)))
        for directions in judge.groups(np.where(np.isfinite(self.claimed), self.claimed, 0.0)):
            yield from self.of_group(directions)

    def of_group(self, directions: list[Direction]) -> Iterator[Discrepancy]:
        """Yield what is not right in the entries that some directions move."""
        judge = self.judge
        first = [self.compared(direction) for direction in directions]
        members = np.flatnonzero(directions[0].vector)
        members = members[np.isfinite(self.claimed[members])]
        found = first
        if judge.method == "directions" and any(each is not None for each in first):
            found = [self.of(direction) for direction in directions]
            wrong = next((each for each in found if each is not None and each.failing), None)
            if wrong is not None:
                yield wrong
                return
        if all(each is None for each in found):
            if any(each is not None and each.failing for each in first):
                return  # rounding explains it, so that an error in one entry would not have shown
            unseen = self.unseen(members, directions)
            judge.looked_at.update(set(members.tolist()) - set(unseen.tolist()))
            members = unseen
        elif judge.method == "directions":
            yield from self.resolved(members)
            return
        for flat in members[:FULL_INPUTS]:
            if judge.deadline.over:
                return
            judge.looked_at.add(int(flat))
            yield from self.settled(judge.axis_direction(int(flat)))

    def resolved(self, members: Places) -> Iterator[Discrepancy]:
        """Halve the entries of a direction at a kink or a pole until those are found that lie there."""
        judge = self.judge
        if len(members) == 1:
            judge.looked_at.update(members.tolist())
            yield from self.settled(judge.axis_direction(int(members[0])))
            return
        direction = judge.random_direction(members)
        first = self.compared(direction)
        found = self.of(direction)
        if found is None:
            if first is None or not first.failing:
                judge.looked_at.update(set(members.tolist()) - set(self.unseen(members, [direction]).tolist()))
        elif found.failing or found.cause == "noise" or judge.deadline.over:
            yield found
        else:
            for half in (members[: len(members) // 2], members[len(members) // 2 :]):
                yield from self.resolved(half)

    def unseen(self, members: Places, directions: list[Direction]) -> Places:
        """Return the entries whose own part is so small that an error in them alone would not have been noticed."""
        if len(members) == 1:
            return members[:0]
        blurs = [self.interval(direction).blur for direction in directions]
        parts = np.abs(self.claimed[members]) * self.judge.magnitude[members] / 2
        return members[(parts * self.judge.vague < min(blurs)) & (parts > 0)]

    def settled(self, direction: Direction) -> Iterator[Discrepancy]:
        """Yield what is not right along the axis of one entry, if anything is."""
        found = self.of(direction)
        if found is not None:
            yield found

    def of(self, direction: Direction) -> Discrepancy | None:
        """Return what is not right along a direction, confirmed."""
        found = self.compared(direction)
        if found is not None and not found.failing and not self.judge.refined:
            self.judge.refine()
        if found is not None and not found.failing:
            direction = self.judge.again(direction)
            found = self.compared(direction)
        if found is not None and found.failing:
            found = self.confirmed(direction)
        if found is not None and self.at_kink(direction, found):
            return Discrepancy(
                "convention", found.input, found.entry, found.observed, found.lower, found.upper, found.truth, 0.0
            )
        return found

    def at_kink(self, direction: Direction, found: Discrepancy) -> bool:
        """Whether an entry has a legal value at a kink, beside which the gradient is right."""
        flat = np.flatnonzero(direction.vector)
        slack = self.judge.vague * (found.upper - found.lower)
        legal = found.severity == "inconclusive" and found.lower - slack <= found.observed <= found.upper + slack
        return legal and found.cause == "kink" and len(flat) == 1 and self.judge.right_beside(int(flat[0]), self.seeds)

    def interval(self, direction: Direction, jitter: float = 0.0) -> Interval:
        """Return in what interval the sum of seed · slope lies, and what rounding allows beside it."""
        lower, upper, kink = weighted(direction.slopes, self.weights)
        along = direction.vector != 0
        unit = self.judge.form.unit
        terms = float(np.abs(direction.vector[along]) @ np.abs(self.claimed[along]))
        summed = float(np.abs(self.weights) @ np.abs(direction.slopes.value))  # what a sum over outputs rounds by
        allowed = ALLOWANCE * unit * (summed if np.isfinite(lower + upper + summed) else 0.0)
        allowed += (ALLOWANCE * unit * terms if np.isfinite(terms) else 0.0) + jitter
        lost = self.judge.form.underflow * max(1.0, float(np.max(np.abs(self.weights), initial=0.0)))
        allowed += ALLOWANCE * lost * float(np.sum(np.abs(direction.vector)))
        return Interval(lower, upper, kink, allowed)

    def compared(self, direction: Direction, jitter: float = 0.0) -> Discrepancy | None:
        """Hold the claimed gradient against the slopes along a direction."""
        interval = self.interval(direction, jitter)
        lower, upper = interval.lower, interval.upper
        along = direction.vector != 0
        observed = float(direction.vector[along] @ self.claimed[along])
        known = np.isfinite(lower + upper)
        typical = max(self.typical, float(np.linalg.norm(direction.vector[along] * self.claimed[along])))
        vague = not known or not upper - lower <= self.judge.vague * max(abs(lower + upper) / 2, typical)
        inside = lower - interval.allowed <= observed <= upper + interval.allowed
        if inside and not vague:
            return None
        flats = np.flatnonzero(along)
        alone = len(flats) == 1
        place, entry = self.judge.place(int(flats[0])) if alone else (self.judge.subject.positions[0], None)
        length = float(np.sum(direction.vector)) if alone else 1.0
        low, high = sorted((lower / length, upper / length))
        kink = interval.kink and vague
        if kink:
            low, high = (0.0 if abs(end) < VAGUE_ABOVE * (high - low) else end for end in (low, high))
        truth = f"between {low:.8g} and {high:.8g}" if kink else f"{(low + high) / 2:.10g} ± {(high - low) / 2:.1g}"
        if not known or inside:
            cause = "pole" if not known else "kink" if kink else "noise"
            return Discrepancy("inconclusive", place, entry, observed / length, low, high, truth, 0.0, cause)
        error = max(lower - observed, observed - upper, 0.0) if np.isfinite(observed) else np.inf
        multiple = (error + (upper - lower) / 2) / max(interval.allowed + (upper - lower) / 2, 1e-300)
        return Discrepancy("wrong", place, entry, observed / length, low, high, truth, multiple)

    def confirmed(self, direction: Direction) -> Discrepancy | None:
        """Return what is wrong along a direction, or where the entry is; inconclusive where steps deny one another."""
        found = self.asked_again(direction)
        if found is None or not found.failing or not self.rounds_inside(found, direction):
            return found
        return replace(found, severity="inconclusive", cause="noise")

    def rounds_inside(self, found: Discrepancy, direction: Direction) -> bool:
        """Whether a gradient is not wrong by steps for float32, in which something inside seems to be computed.

        That is a staircase, of which small steps see the slope of a stair: the large steps deny it, or see noise that
        is that of float32.
        """
        if self.judge.precision != "float64":
            return False
        vector, length = direction.vector, 1.0
        if found.entry is not None:
            vector = self.judge.axis_direction(self.judge.flat_position(found.input, found.entry)).vector
            length = float(np.sum(vector))
        coarser = self.judge.coarser
        claim = Claim(coarser, self.seeds, split(self.claimed, coarser.point))
        far = Direction(vector, coarser.slopes(vector))
        said, interval = claim.compared(far), claim.interval(far)
        low, high = sorted((found.lower * length, found.upper * length))
        denied = high + interval.allowed < interval.lower or low - interval.allowed > interval.upper
        return (denied or self.judge.looks_single) and (said is None or not said.failing)

    def asked_again(self, direction: Direction) -> Discrepancy | None:
        """Ask again with other steps and with the gradient's own noise allowed; then find the entry."""
        judge = self.judge
        if self._jitter is None:
            finite = bool(np.isfinite(self.claimed).all())
            self._jitter = judge.jitter(self.seeds) if finite else np.zeros(self.claimed.size)
        jitter = min(float(np.abs(direction.vector) @ self._jitter), judge.vague * self.typical)
        jitter += self.saturation(direction)
        again = Direction(direction.vector, judge.slopes(direction.vector, OTHER_OPINION))
        first, second = (self.compared(d, jitter) for d in (direction, again))
        if first is None or second is None or not first.failing or not second.failing:
            return first if second is None or second.failing else second
        if self.between(direction, again):
            return None
        near = self.belied(direction)
        if near is not None:
            return self.compared(near, jitter) or replace(first, severity="inconclusive", cause="pole")
        if first.entry is not None:
            return first
        found = self.narrowed(direction.vector, jitter, first)
        if judge.form.bits > HALVES:
            return found or first
        return None if found is first and first.error <= self.rounded(direction) else found

    def narrowed(self, vector: Floats, jitter: float, whole: Discrepancy) -> Discrepancy | None:
        """Halve a direction along which the gradient is wrong until one entry is left, or return the ``whole``."""
        judge = self.judge
        entries = np.flatnonzero(vector)
        while len(entries) > 1 and not judge.deadline.over:
            for half in (entries[: len(entries) // 2], entries[len(entries) // 2 :]):
                part = np.zeros(vector.size)
                part[half] = vector[half]
                direction = Direction(part, judge.slopes(part))
                found = self.compared(direction, jitter + self.saturation(direction))
                if found is not None and found.failing:
                    entries = half
                    break
            else:
                return whole
        if len(entries) != 1:
            return whole
        axis = judge.axis_direction(int(entries[0]))
        return self.compared(axis, jitter + self.saturation(axis))

    def between(self, direction: Direction, again: Direction) -> bool:
        """Whether slopes by other steps deny the first, and what is claimed lies about as far from both as they do.

        The noise is larger than it was found to be then; no more is known than both together say.
        """
        one, other = self.interval(direction), self.interval(again)
        if not (one.upper < other.lower or other.upper < one.lower):
            return False
        low, high = min(one.lower, other.lower), max(one.upper, other.upper)
        along = direction.vector != 0
        observed = float(direction.vector[along] @ self.claimed[along])
        known = 3 * (high - low) <= self.judge.vague * abs(low + high) / 2
        return known and 2 * low - high <= observed <= 2 * high - low

    def saturation(self, direction: Direction) -> float:
        """Return what the rounding of outputs allows along a direction.

        Of many, roundings add up like random steps. No more is allowed than leaves typical slopes telling: a function
        that is steep at 0, as one of normalized rows, would be allowed anything.
        """
        count = int(np.count_nonzero(direction.vector))
        if count == 1:
            return float(np.abs(self.weights) @ self.judge.saturation(direction.vector))
        return min(self.rounded(direction), self.judge.vague * self.typical * sqrt(count))

    def rounded(self, direction: Direction) -> float:
        """Return what the rounding of outputs may do along a direction, however little that leaves it telling."""
        return ALLOWANCE * float(np.linalg.norm(self.weights * self.judge.saturation(direction.vector)))


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the truth along a direction lies, whether a kink takes part, and how far off rounding may be."""

    lower: float
    upper: float
    kink: bool
    allowed: float

    @property
    def blur(self) -> float:
        """How large an error has to be to be seen."""
        return self.upper - self.lower + 2 * self.allowed


def weighted(slopes: BoundedSlopes, weights: Floats) -> tuple[float, float, bool]:
    """Return the interval of the sum of weight · slope, and whether a kink takes part."""
    used = weights != 0
    w, value = weights[used], slopes.value[used]
    middle, radius = float(w @ value), float(np.abs(w) @ slopes.error[used])
    return middle - radius, middle + radius, bool(slopes.kink[used].any())
