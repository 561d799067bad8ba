"""Slopes of a function of which only values are known, along directions through all of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from refgrad.oracles.judgement import Discrepancy, vague_above
from refgrad.oracles.slopes.curves import Along, BoundedSlopes, Floats, Line, Positions
from refgrad.oracles.slopes.slopes import SCALES, Scale, noise_along, slopes_along
from refgrad.scenario.formats import FORMATS

Failure = TypeVar("Failure")

Arrays = tuple[npt.NDArray[Any], ...]

Seeds = Sequence[npt.NDArray[Any] | None]
"""The cotangent of each output; None for an output that takes no part."""

FULL_INPUTS = 200
"""Largest number of entries for which each may be differentiated by separately."""

DIRECTIONS = 4
"""Number of directions for large inputs.

One direction misses an error of 64 times its uncertainty with a probability of at most 1/32.
"""

FEW_DIRECTIONS = 2
"""Number of directions for each group of entries of small inputs, whose entries may be judged one by one."""

SPREAD = 1e-3
"""Contribution, relative to the largest of a group, below which entries belong to another group."""

GROUPS = 3
"""Largest number of groups of entries with a contribution."""

MOSTLY = 0.5
"""An output that changes in more than this share of the steps is not a staircase."""

OFF_GRID = 2 / 3
"""Factor of the steps along the first directions, when the noise is not known yet.

A staircase rounds whole multiples of the steps in the same way, but not thirds of them.
"""

FIRST_STEPS = 2
"""Number of step sizes along the first directions."""

TOWARDS_ZERO = np.linspace(0.0, 1.0, 17)
"""Fractions of the way to 0 at which the slope of a saturating function is computed to find the steepest."""

OFFSET = 2.0**-20
"""Step, as a fraction of a vector, for these slopes."""

TERMS = 4.0
"""Error of a gradient that is computed from outputs, such as ``1 - y * y``, in unit roundoffs of its format."""

VAGUE_ABOVE = 1e-3
"""Width, relative to max(|truth|, typical slope), above which an interval decides nothing; larger for halves."""

SINGLE = 2.0**4
"""Largest factor between a noise and the unit roundoff of float32 that makes the noise look like float32."""


class OutOfTime(BaseException):
    """Raised by the function under test if the time of a check is used up. Handlers of other errors do not catch it."""


class Sampled(Protocol):
    """A function at a point, of which values and claimed gradients can be computed at other points, too."""

    arrays: Arrays
    """Inputs at the point, in the precision in which values are computed."""

    positions: tuple[int, ...]
    """Numbers of these inputs among all inputs."""

    outputs: Arrays
    here: Floats
    """Outputs at the point, flattened, in the precision in which values are computed."""

    scale: Scale
    precision: str
    """Coarsest dtype of the arithmetic of the function."""

    def values(self, entries: Floats) -> Floats:
        """Return the flattened outputs at a flattened point, or NaN if they cannot be computed there."""

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        """Return the flattened gradient at a flattened point, or None if it cannot be computed there."""

    def moved(self, entries: Floats) -> Sampled | None:
        """Return the function at another point, or None if it cannot be computed there."""


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A direction in the space of all entries, and the slopes of all outputs along it."""

    vector: Floats
    slopes: BoundedSlopes


class Directions:
    """The slopes of a function at a point along any direction, and the noise of its values."""

    def __init__(self, function: Sampled, choices: np.random.Generator) -> None:
        """Start with an estimate of the noise."""
        self.function = function
        self.choices = choices
        self.interrupted = False
        self.here, self.scale = function.here, function.scale
        self.form = FORMATS[function.precision]
        self.vague = vague_above(self.form) if self.form.narrow else VAGUE_ABOVE
        self.flat = flattened(function.arrays)
        self.ends = np.cumsum([array.size for array in function.arrays])
        self.magnitude = 2.0 ** np.frexp(np.maximum(np.abs(self.flat), 0.5))[1]
        self.sizes = np.where(np.isfinite(self.here), np.abs(self.here), 0.0)
        self.refined = False
        self.measured = False
        self.rough = np.zeros(self.here.size)
        self.deviation = np.full(self.here.size, self.scale.unit * float(np.max(self.sizes, initial=0.0)))
        self.method = "differences" if self.flat.size <= FULL_INPUTS else "directions"
        self.looked_at: set[int] = set()
        self._vectors: list[Floats] = []
        self.first: list[Direction] = []
        """Those of :meth:`quick` so far."""
        self._members: list[Positions] = []
        self._groups: list[list[Direction]] = []
        self._axes: dict[int, Direction] = {}

    @property
    def open(self) -> bool:
        """Return True if the error of an entry may be hidden, since the entry only moved together with others."""
        return (self.interrupted or self.method == "directions") and len(self.looked_at) < self.flat.size

    def along(self, vector: Floats) -> Along:
        """Return the outputs as a function of the distance along a direction."""
        return lambda distance: self.function.values(self.flat + distance * vector)

    def signs(self) -> Floats:
        """Return a direction that moves each entry by its magnitude, with a random sign."""
        return np.asarray(self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude)

    def measure(self) -> None:
        """Measure the noise, and forget slopes that were estimated without it."""
        self.measured = True
        self.deviation = self.noise(self.signs())
        self.rough = self.deviation
        self._axes.clear()
        self._groups.clear()
        self._members.clear()

    @property
    def rounds_to_single(self) -> bool:
        """Return True if a function of float64 is as noisy at large steps as one of float32."""
        if self.function.precision != "float64" or not self.measured:
            return False
        parts = self.rough / np.maximum(self.sizes, np.finfo(np.float64).tiny)
        unit = FORMATS["float32"].unit
        return bool(np.any((parts > unit / SINGLE) & (parts < unit * SINGLE)))

    def noise(self, vector: Floats) -> Floats:
        """Return the noise along a direction, by large steps, which reveal a staircase, if these stay in the domain."""
        along = self.along(vector)
        inside = []

        def watched(distance: float) -> Floats:
            values = along(distance)
            known = np.isfinite(values)
            inside.append(bool(known.all()))
            self.sizes = np.maximum(self.sizes, np.where(known, np.abs(values), 0.0))
            return values

        noise = noise_along(watched, replace(self.scale, noise_steps=self.scale.noise_steps[-1:]))
        return noise if all(inside) else noise_along(along, self.scale)

    def refine(self) -> None:
        """Measure the noise by small steps, which rarely reach a kink, except for outputs that are staircases."""
        self.refined = True
        along = self.along(self.signs())
        values: list[Floats] = []

        def watched(distance: float) -> Floats:
            values.append(along(distance))
            return values[-1]

        noise = noise_along(watched, replace(self.scale, noise_steps=self.scale.noise_steps[:1]))
        moving = np.mean(np.diff(np.stack(values), axis=0) != 0, axis=0) > MOSTLY
        self.deviation = np.where(moving, np.minimum(noise, self.deviation), self.deviation)
        self._axes.clear()

    def row_scales(self) -> Floats:
        """Return the rate of change of each entry of the outputs along a direction, or 1 if it is zero."""
        if self.first and not self.measured:
            rates = np.abs(self.first[0].slopes.value)
        else:
            step = self.scale.steps[-1]
            rates = np.abs(self.along(self.signs())(step) - self.here) / step
        return np.where(np.isfinite(rates) & (rates > 0), rates, 1.0)

    def quick(self, claimed: Floats) -> Iterator[Direction]:
        """Yield the first directions, each through entries whose contributions have a similar size."""
        if not self._vectors:
            first, *others = _alike(np.abs(claimed * self.magnitude))
            nothing = [members for members in others if not claimed[members].any()]
            single = [members for members in others if claimed[members].any()]
            count = DIRECTIONS if self.method == "directions" else 1
            for members in (np.concatenate([first, *nothing]), *single):
                self._vectors += [self.random_vector(members) for _ in range(count if len(members) > 1 else 1)]
        for number, vector in enumerate(self._vectors):
            if number == len(self.first):
                self.first.append(self.quick_slopes(vector))
            yield self.first[number]

    def quick_slopes(self, vector: Floats, shrink: float = 1.0) -> Direction:
        """Return a direction with its slopes by few steps."""
        return self._with_slopes(vector, self.scale.steps[:FIRST_STEPS], OFF_GRID * shrink, sides=False)

    def near_slopes(self, vector: Floats) -> Direction:
        """Return a direction with its slopes by the smallest step only, which resolves kinks between larger steps."""
        if self.measured and not self.refined:
            self.refine()
        return self._with_slopes(vector, self.scale.steps[-1:], OFF_GRID, sides=False)

    def _with_slopes(self, vector: Floats, steps: Sequence[float], shrink: float, *, sides: bool = True) -> Direction:
        line = Line(self.along(vector), self.here, self.deviation, self.scale.unit)
        return Direction(vector, slopes_along(line, [step * shrink for step in steps], sides=sides))

    def groups(self, claimed: Floats) -> Iterator[list[Direction]]:
        """Yield directions through each group of entries that contribute alike to the first gradient."""
        if not self._members:
            self._members = _alike(np.abs(claimed * self.magnitude))
        count = DIRECTIONS if self.method == "directions" else FEW_DIRECTIONS
        for number, members in enumerate(self._members):
            if number == len(self._groups):
                self._groups.append([self.random_direction(members) for _ in range(count if len(members) > 1 else 1)])
            yield self._groups[number]

    def direction(self, vector: Floats, shrink: float = 1.0) -> Direction:
        """Return a direction with its slopes by all steps, each multiplied by ``shrink``."""
        return self._with_slopes(vector, self.scale.steps, shrink)

    def random_direction(self, members: Positions) -> Direction:
        """Return a direction that moves some entries by random parts of their magnitudes."""
        return (
            self.axis_direction(int(members[0])) if len(members) == 1 else self.direction(self.random_vector(members))
        )

    def random_vector(self, members: Positions) -> Floats:
        """Return a vector that moves some entries by random parts of their magnitudes."""
        vector = np.zeros(self.flat.size)
        sizes = self.choices.uniform(0.5, 1.0, len(members)) if len(members) > 1 else np.ones(1)
        vector[members] = sizes * self.choices.choice((-1.0, 1.0), len(members)) * self.magnitude[members]
        return vector

    def axis_direction(self, flat: int) -> Direction:
        """Return the direction of one entry, whose length is the magnitude of the entry."""
        if flat not in self._axes:
            vector = np.zeros(self.flat.size)
            vector[flat] = self.magnitude[flat]
            self._axes[flat] = self.direction(vector)
        return self._axes[flat]

    def saturation(self, vector: Floats) -> Floats:
        """Return the error of a slope along a vector that a rule computes from the rounded output, for each output.

        The terms of ``1 - y * y`` are as large as the steepest slope on the way from 0, however small their difference
        is. An output that is small at the point is rounded by as much less, except for what libraries compute from it
        in float32 where tensors are halves. In float32 a rule may err as the output does: both may add 1 to erf.
        """
        moved = np.where(vector == 0, 0.0, self.flat)
        if self.scale == SCALES[self.function.precision] or not moved.any():
            return np.zeros(self.here.size)
        points = [self.flat - part * moved for part in TOWARDS_ZERO]
        values = np.stack([self.function.values(point) for point in points])
        nearby = np.stack([self.function.values(point + OFFSET * vector) for point in points])
        steepest = np.max(np.abs(nearby - values), axis=0) / OFFSET
        size = np.maximum(np.max(np.abs(values), axis=0), np.finfo(np.float64).tiny)
        units = np.full(size.size, self.form.unit)
        if np.count_nonzero(moved) <= size.size:  # a sum of many entries may be small because they cancel
            units *= np.abs(values[0]) / size
        if self.form.narrow:
            units += FORMATS["float32"].unit
        errors = TERMS * steepest * units
        if not self.form.narrow:
            errors += np.abs(np.concatenate([np.ravel(each) for each in self.function.outputs]) - self.here)
        return np.where(np.isfinite(errors), errors, 0.0)

    def discrepancy(
        self, vector: Floats, observed: float, ends: tuple[float, float], position: int, *, kink: bool = False
    ) -> Discrepancy:
        """Return the discrepancy of an ``observed`` slope along a vector from an interval with these ends.

        If the vector moves one entry, the discrepancy is about this entry, else about the input at a position.
        """
        flats, entry, length = np.flatnonzero(vector), None, 1.0
        if len(flats) == 1:
            (position, entry), length = self.index_of(int(flats[0])), float(vector.sum())
        low, high = sorted((ends[0] / length, ends[1] / length))
        if kink:
            low, high = (0.0 if abs(end) < VAGUE_ABOVE * (high - low) else end for end in (low, high))
        truth = f"between {low:.8g} and {high:.8g}" if kink else f"{(low + high) / 2:.10g} ± {(high - low) / 2:.1g}"
        return Discrepancy("wrong", position, entry, observed / length, low, high, truth, 0.0)

    def index_of(self, flat: int) -> tuple[int, tuple[int, ...]]:
        """Return the number of the input and the index in it of an entry of all."""
        k = int(np.searchsorted(self.ends, flat, side="right"))
        array = self.function.arrays[k]
        index = np.unravel_index(int(flat - (self.ends[k] - array.size)), array.shape)
        return self.function.positions[k], tuple(int(i) for i in index)

    def flat_position(self, position: int, entry: tuple[int, ...]) -> int:
        """Return the position of an entry of an input among all entries."""
        k = self.function.positions.index(position)
        array = self.function.arrays[k]
        return int(self.ends[k] - array.size + (np.ravel_multi_index(entry, array.shape) if array.shape else 0))


def _alike(contributions: Floats) -> list[Positions]:
    """Return groups of entries whose contributions have a similar size. Those of the last group contribute nothing."""
    order = np.argsort(-contributions, kind="stable")
    order, nothing = order[contributions[order] > 0], order[contributions[order] == 0]
    groups: list[Positions] = []
    while order.size and len(groups) < GROUPS - 1:
        near = contributions[order] >= SPREAD * contributions[order[0]]
        groups.append(order[near])
        order = order[~near]
    return [members for members in (*groups, order, nothing) if members.size]


def without(members: Positions, others: Positions) -> Positions:
    """Return the members that are not among ``others``, in linear time."""
    return members[np.isin(members, others, assume_unique=True, invert=True, kind="table")]


def flattened(arrays: Sequence[npt.NDArray[Any]]) -> Floats:
    """Return the entries of all arrays in one array."""
    return np.concatenate([np.zeros(0), *(array.astype(np.float64).ravel() for array in arrays)])


def seed_weights(seeds: Seeds, outputs: Arrays) -> Floats:
    """Return the seeds of all outputs, flattened, with zeros for outputs without one."""
    pairs = zip(seeds, outputs, strict=True)
    return flattened([np.zeros(output.shape) if seed is None else seed for seed, output in pairs])


def split(flat: Floats, like: Arrays) -> Arrays:
    """Return the entries as arrays of these shapes and dtypes."""
    ends = np.cumsum([array.size for array in like])[:-1]
    parts = zip(np.split(flat, ends) if like else (), like, strict=True)
    return tuple(part.reshape(array.shape).astype(array.dtype) for part, array in parts)


def halves(members: Any) -> tuple[Any, Any]:
    """Return the first and the second half of a sequence."""
    return members[: len(members) // 2], members[len(members) // 2 :]


def halved(members: Any, failing: Callable[[Any], Failure | None]) -> tuple[Any, Failure | None]:
    """Halve a sequence repeatedly, keeping a half that fails, while there is one and time is left.

    Return the remaining sequence and the last failure, or None without one.
    """
    last: Failure | None = None
    with suppress(OutOfTime):
        while len(members) > 1:
            failed = next(((half, each) for half in halves(members) if (each := failing(half)) is not None), None)
            if failed is None:
                break
            members, last = failed
    return members, last
