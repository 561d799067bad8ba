"""The judge of gradients of functions of which nothing is known but their values: finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
import numpy.typing as npt

from refgrad.checking.discrepancy import Discrepancy, flattened, index
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Array, Arrays
from refgrad.checking.pullbacks import Seeds, SideEffectError
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.slopes.finest import Finest, finest, scale_of, split
from refgrad.checking.subject import Subject
from refgrad.oracles.judgement.judgement import ALLOWANCE, vague_above
from refgrad.oracles.slopes.curves import ROUNDING_SAFETY, BoundedSlopes, Floats
from refgrad.oracles.slopes.lines import Along, noise_along, slopes_along
from refgrad.scenario.formats import FORMATS

Places = npt.NDArray[np.intp]

FULL_INPUTS = 200
"""Up to this many entries each is differentiated by, where directions leave anything open."""

DIRECTIONS = 4
"""Of large inputs. An error that is 64 times what a direction leaves open is missed by one direction in 32 at most."""

FEW_DIRECTIONS = 2
"""Of small inputs, and of each group of entries: what is left open is looked at entry by entry."""

CHANCE_TO_MISS = 2.0**-20

SPREAD = 1e-3
"""Entries that contribute less than this part of the largest are moved in a direction of their own."""

GROUPS = 3
OTHER_OPINION = 0.7
"""A fault is reported only if steps shorter by this factor find it too."""

JITTER_POINTS = 6
JITTER_ORDER = 3
VAGUE_ABOVE = 1e-3
"""An interval wider than this part of max(|truth|, typical slope) says nothing; of halves, a wider one."""

LEAST_SLOPE = 2.0**-10
"""A slope is looked for in this part of what it would be if the function changed by its own size."""

KNOWN = 1e-7
"""Slopes are known well whose intervals are narrower than this part of them."""

MOSTLY = 0.5
"""An output that changes at more than this part of steps is no staircase."""

HALVES = 11
"""Formats of so many bits or fewer are halves."""

BESIDE = 2.0**-9
"""How far beside a kink, relatively, the gradient has to be right for the choice at the kink to be legal."""


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """A direction in the space of all entries, and the slopes of all outputs along it."""

    vector: Floats
    slopes: BoundedSlopes


class DifferencesJudge:
    """Judges by finite differences: along random directions, and entry by entry where these leave anything open."""

    def __init__(
        self,
        subject: Subject,
        outputs: Arrays,
        choices: np.random.Generator,
        precision: str = "",
        deadline: Deadline | None = None,
    ) -> None:
        """``outputs`` are the function's at the point, ``precision`` the coarsest dtype that it computes in."""
        self.subject = subject
        self.choices = choices
        self.deadline = deadline or Deadline()
        self.shapes = tuple(output.shape for output in outputs)
        self.precision = precision or _coarsest([*(kind.part for kind in subject.kinds), *_dtypes(outputs)])
        self.form = FORMATS[self.precision]
        self.vague = VAGUE_ABOVE if self.form.bits > HALVES else vague_above(self.form)
        self.fine: Finest = finest(subject, outputs, self.precision)
        self.point, self.here, self.scale = self.fine.point, self.fine.here, self.fine.scale
        self.flat = flattened(self.point)
        self.ends = np.cumsum([array.size for array in self.point])
        self.magnitude = 2.0 ** np.frexp(np.maximum(np.abs(self.flat), 0.5))[1]
        self.sizes = np.where(np.isfinite(self.here), np.abs(self.here), 0.0)
        self.refined = False
        self.measured = False
        self.deviation = self.scale.unit * self.sizes  # as little as can be, as long as it is not measured
        self.method = "differences" if self.flat.size <= FULL_INPUTS else "directions"
        self.looked_at: set[int] = set()
        self._quick: list[_Direction] = []
        self._groups: list[list[_Direction]] = []
        self._axes: dict[int, _Direction] = {}

    @property
    def open(self) -> bool:
        """Whether entries are left whose errors would have shown together with others only."""
        return self.method == "directions" and len(self.looked_at) < self.flat.size

    def along(self, vector: Floats) -> Along:
        """The outputs as a function of the distance along a direction; not finite where the function refuses."""

        def evaluated(distance: float) -> Floats:
            moved = split(self.flat + distance * vector, self.point)
            try:
                return flattened(self.fine.subject.values(moved))
            except SubjectError:
                return np.full(self.here.size, np.nan)

        return evaluated

    def measure(self) -> None:
        """Look for the noise; slopes that were found without it are forgotten."""
        self.measured = True
        self.deviation = self.noise(self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude)
        self._axes.clear()
        self._groups.clear()
        self._quick.clear()

    def noise(self, vector: Floats) -> Floats:
        """Return the noise along a direction: by large steps, which show a staircase, unless these lead out of it."""
        along = self.along(vector)
        inside = []

        def watched(distance: float) -> Floats:
            values = along(distance)
            known = np.isfinite(values)
            inside.append(bool(known.all()))
            self.sizes = np.maximum(self.sizes, np.where(known, np.abs(values), 0.0))
            return values

        found = noise_along(watched, replace(self.scale, noise_steps=self.scale.noise_steps[-1:]))
        return found if all(inside) else noise_along(along, self.scale)

    def refine(self) -> None:
        """See the noise from near, where no kinks add to it, of outputs that are no staircases there."""
        self.refined = True
        along = self.along(self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude)
        values: list[Floats] = []

        def watched(distance: float) -> Floats:
            values.append(along(distance))
            return values[-1]

        found = noise_along(watched, replace(self.scale, noise_steps=self.scale.noise_steps[:1]))
        moving = np.mean(np.diff(np.stack(values), axis=0) != 0, axis=0) > MOSTLY
        self.deviation = np.where(moving, np.minimum(found, self.deviation), self.deviation)
        self._axes.clear()

    def again(self, direction: _Direction) -> _Direction:
        """Return a direction with its slopes as they are known by now."""
        return _Direction(direction.vector, self.slopes(direction.vector))

    def row_scales(self) -> Floats:
        """Return how fast each entry of the outputs changes along a direction; 1 where it does not."""
        if self._quick:
            rates = np.abs(self._quick[0].slopes.value)
        else:
            vector = self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude
            step = self.scale.steps[-1]
            rates = np.abs(self.along(vector)(step) - self.here) / step
        return np.where(np.isfinite(rates) & (rates > 0), rates, 1.0)

    def quick(self, claimed: Floats) -> list[_Direction]:
        """Return the directions of a first look: one by entries that contribute alike, more of large inputs."""
        if not self._quick:
            first, *others = _alike(np.abs(claimed * self.magnitude))
            nothing = [members for members in others if not claimed[members].any()]
            alone = [members for members in others if claimed[members].any()]
            count = DIRECTIONS if self.method == "directions" else 1
            for members in (np.concatenate([first, *nothing]), *alone):
                self._quick += [self.random_direction(members) for _ in range(count if len(members) > 1 else 1)]
        return self._quick

    def groups(self, claimed: Floats) -> list[list[_Direction]]:
        """Return the directions, by entries that contribute alike to the first gradient that is asked about."""
        if not self._groups:
            count = DIRECTIONS if self.method == "directions" else FEW_DIRECTIONS
            for members in _alike(np.abs(claimed * self.magnitude)):
                self._groups.append([self.random_direction(members) for _ in range(count if len(members) > 1 else 1)])
        return self._groups

    def random_direction(self, members: Places) -> _Direction:
        """Return a direction that moves some entries by different parts of their size."""
        vector = np.zeros(self.flat.size)
        sizes = self.choices.uniform(0.5, 1.0, len(members)) if len(members) > 1 else np.ones(1)
        vector[members] = sizes * self.choices.choice((-1.0, 1.0), len(members)) * self.magnitude[members]
        if len(members) == 1:
            return self.axis_direction(int(members[0]))
        return _Direction(vector, self.slopes(vector))

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
        claim = _Claim(self, seeds, gradients)
        if known is not None and known.entry is not None:
            if not self.measured:
                self.measure()
            found = claim.of(self.axis_direction(self.flat_position(known.input, known.entry)))
            return [] if found is None else [found]
        if not self.measured:
            if claim.passes():
                return []
            self.measure()
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
            lower, upper, _ = _weighted(self.axis_direction(flat).slopes, weights)
            if upper - lower <= KNOWN * max(abs(lower + upper), LEAST_SLOPE):
                found[flat] = (lower + upper) / 2 / self.magnitude[flat]
        return list(split(found, tuple(array.astype(np.float64) for array in self.point)))

    def weights(self, seeds: Seeds) -> Floats:
        """Return the seeds of all outputs in a row, zeros where there is none."""
        return flattened([np.zeros(n) if s is None else s for s, n in zip(seeds, self.shapes, strict=True)])

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

    def place(self, flat: int) -> tuple[int, tuple[int, ...]]:
        """Return the input and the entry at a place in the row of all entries."""
        k = int(np.searchsorted(self.ends, flat, side="right"))
        start = self.ends[k] - self.point[k].size
        return self.subject.positions[k], index(int(flat - start), self.point[k].shape)

    def narrowed(self, vector: Floats, compare: Callable[[_Direction], Discrepancy | None]) -> Discrepancy | None:
        """Halve a direction along which the gradient is wrong until one entry is left."""
        entries = np.flatnonzero(vector)
        while len(entries) > 1 and not self.deadline.over:
            for half in (entries[: len(entries) // 2], entries[len(entries) // 2 :]):
                part = np.zeros(vector.size)
                part[half] = vector[half]
                found = compare(_Direction(part, self.slopes(part)))
                if found is not None and found.failing:
                    entries = half
                    break
            else:
                return None
        return compare(self.axis_direction(int(entries[0]))) if len(entries) == 1 else None

    def flat_position(self, position: int, entry: tuple[int, ...]) -> int:
        """Return where an entry of an input stands among all entries."""
        k = self.subject.positions.index(position)
        shape = self.point[k].shape
        return int(self.ends[k] - self.point[k].size + (np.ravel_multi_index(entry, shape) if shape else 0))


class _Claim:
    """A gradient that is claimed, under some seeds, and what differences say of it."""

    def __init__(self, judge: DifferencesJudge, seeds: Seeds, gradients: Sequence[Array]) -> None:
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

    def seen_along(self, direction: _Direction) -> Places:
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

    def of_group(self, directions: list[_Direction]) -> Iterator[Discrepancy]:
        """Yield what is not right in the entries that some directions move."""
        judge = self.judge
        found = [self.compared(direction) for direction in directions]
        members = np.flatnonzero(directions[0].vector)
        members = members[np.isfinite(self.claimed[members])]
        if judge.method == "directions" and any(each is not None and not each.failing for each in found):
            found = [self.of(direction) for direction in directions]
        if all(each is None for each in found):
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
        found = self.of(direction)
        if found is None:
            judge.looked_at.update(set(members.tolist()) - set(self.unseen(members, [direction]).tolist()))
        elif found.failing or found.cause == "noise" or judge.deadline.over:
            yield found
        else:
            for half in (members[: len(members) // 2], members[len(members) // 2 :]):
                yield from self.resolved(half)

    def unseen(self, members: Places, directions: list[_Direction]) -> Places:
        """Return the entries whose own part is so small that an error in them alone would not have been noticed."""
        if len(members) == 1:
            return members[:0]
        blurs = [self.interval(direction).blur for direction in directions]
        parts = np.abs(self.claimed[members]) * self.judge.magnitude[members] / 2
        return members[(parts * self.judge.vague < min(blurs)) & (parts > 0)]

    def settled(self, direction: _Direction) -> Iterator[Discrepancy]:
        """Yield what is not right along the axis of one entry, if anything is."""
        found = self.of(direction)
        if found is not None:
            yield found

    def of(self, direction: _Direction) -> Discrepancy | None:
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

    def at_kink(self, direction: _Direction, found: Discrepancy) -> bool:
        """Whether an entry has a legal value at a kink, beside which the gradient is right."""
        flat = np.flatnonzero(direction.vector)
        slack = self.judge.vague * (found.upper - found.lower)
        legal = found.severity == "inconclusive" and found.lower - slack <= found.observed <= found.upper + slack
        return legal and found.cause == "kink" and len(flat) == 1 and self.judge.right_beside(int(flat[0]), self.seeds)

    def interval(self, direction: _Direction, jitter: float = 0.0) -> _Interval:
        """Return in what interval the sum of seed · slope lies, and what rounding allows beside it."""
        lower, upper, kink = _weighted(direction.slopes, self.weights)
        along = direction.vector != 0
        unit = self.judge.form.unit
        terms = float(np.abs(direction.vector[along]) @ np.abs(self.claimed[along]))
        summed = float(np.abs(self.weights) @ np.abs(direction.slopes.value))  # what a sum over outputs rounds by
        allowed = ALLOWANCE * unit * (summed if np.isfinite(lower + upper + summed) else 0.0)
        allowed += (ALLOWANCE * unit * terms if np.isfinite(terms) else 0.0) + jitter
        return _Interval(lower, upper, kink, allowed)

    def compared(self, direction: _Direction, jitter: float = 0.0) -> Discrepancy | None:
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

    def confirmed(self, direction: _Direction) -> Discrepancy | None:
        """Ask again with other steps and with the gradient's own noise allowed; then find the entry."""
        judge = self.judge
        if self._jitter is None:
            finite = bool(np.isfinite(self.claimed).all())
            self._jitter = judge.jitter(self.seeds) if finite else np.zeros(self.claimed.size)
        jitter = float(np.abs(direction.vector) @ self._jitter)
        again = _Direction(direction.vector, judge.slopes(direction.vector, OTHER_OPINION))
        first, second = (self.compared(d, jitter) for d in (direction, again))
        if first is None or second is None or not first.failing or not second.failing:
            return first if second is None or second.failing else second
        if first.entry is not None:
            return first
        return judge.narrowed(direction.vector, lambda d: self.compared(d, jitter)) or first


@dataclass(frozen=True, slots=True)
class _Interval:
    """Where the truth along a direction lies, whether a kink takes part, and how far off rounding may be."""

    lower: float
    upper: float
    kink: bool
    allowed: float

    @property
    def blur(self) -> float:
        """How large an error has to be to be seen."""
        return self.upper - self.lower + 2 * self.allowed


def _alike(contributions: Floats) -> list[Places]:
    """Return the places of entries that contribute alike, those that contribute nothing by themselves."""
    order = np.argsort(-contributions, kind="stable")
    order, nothing = order[contributions[order] > 0], order[contributions[order] == 0]
    groups: list[Places] = []
    while order.size and len(groups) < GROUPS - 1:
        near = contributions[order] >= SPREAD * contributions[order[0]]
        groups.append(order[near])
        order = order[~near]
    return [places for places in (*groups, order, nothing) if places.size]


def _coarsest(dtypes: Sequence[str]) -> str:
    return min((dtype for dtype in dtypes if dtype in FORMATS), key=lambda dtype: FORMATS[dtype].bits)


def _dtypes(outputs: Arrays) -> list[str]:
    return [output.dtype.name for output in outputs]


def _weighted(slopes: BoundedSlopes, weights: Floats) -> tuple[float, float, bool]:
    """Return the interval of the sum of weight · slope, and whether a kink takes part."""
    used = weights != 0
    w, value = weights[used], slopes.value[used]
    middle, radius = float(w @ value), float(np.abs(w) @ slopes.error[used])
    return middle - radius, middle + radius, bool(slopes.kink[used].any())
