"""The slopes of a function of which nothing is known but its values, along directions through all of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from refgrad.checking.discrepancy import flattened, index
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.numbers import Arrays
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.slopes.finest import Finest, finest, scale_of, split
from refgrad.checking.subject import Subject
from refgrad.oracles.judgement.judgement import vague_above
from refgrad.oracles.slopes.curves import BoundedSlopes, Floats
from refgrad.oracles.slopes.lines import Along, noise_along, slopes_along, slopes_around
from refgrad.scenario.formats import FORMATS, least_precise

Places = npt.NDArray[np.intp]

FULL_INPUTS = 200
"""Up to this many entries each is differentiated by, where directions leave anything open."""

DIRECTIONS = 4
"""Of large inputs. An error that is 64 times what a direction leaves open is missed by one direction in 32 at most."""

FEW_DIRECTIONS = 2
"""Of small inputs, and of each group of entries: what is left open is looked at entry by entry."""

SPREAD = 1e-3
"""Entries that contribute less than this part of the largest are moved in a direction of their own."""

GROUPS = 3

MOSTLY = 0.5
"""An output that changes at more than this part of steps is no staircase."""

HALVES = 11
"""Formats of so many bits or fewer are halves."""

OFF_GRID = 2 / 3
"""Shortens the steps of a first look, which knows no noise: a staircase rounds whole multiples of its steps alike."""

FIRST_STEPS = 2
"""A first look tries so many steps."""

TOWARDS_ZERO = np.linspace(0.0, 1.0, 17)
"""Entries go by these parts of themselves to 0: what saturates is steep there, or where one of them meets another."""

BESIDE = 2.0**-20
"""The slope on that way is seen by a step of this part of a vector."""

TERMS = 4.0
"""So many units of its format are what a gradient that is made of outputs, as ``1 - y * y``, is off by."""

VAGUE_ABOVE = 1e-3
"""An interval wider than this part of max(|truth|, typical slope) says nothing; of halves, a wider one."""


SINGLE = 2.0**4
"""Noise is that of float32 if it is within this factor of its unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A direction in the space of all entries, and the slopes of all outputs along it."""

    vector: Floats
    slopes: BoundedSlopes


class Directions:
    """The slopes of a function at a point along any direction, and the noise of its values."""

    def __init__(
        self,
        subject: Subject,
        outputs: Arrays,
        choices: np.random.Generator,
        precision: str = "",
        deadline: Deadline | None = None,
    ) -> None:
        """Take the outputs of the function at the point, and the coarsest dtype of its arithmetic as ``precision``."""
        self.subject = subject
        self.choices = choices
        self.deadline = deadline or Deadline()
        self.outputs = outputs
        self.shapes = tuple(output.shape for output in outputs)
        self.precision = precision or least_precise([*(kind.part for kind in subject.kinds), *_dtypes(outputs)])
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
        self.rough = np.zeros(self.here.size)
        self.deviation = np.full(self.here.size, self.scale.unit * float(np.max(self.sizes, initial=0.0)))
        self.method = "differences" if self.flat.size <= FULL_INPUTS else "directions"
        self.looked_at: set[int] = set()
        self._vectors: list[Floats] = []
        self._quick: list[Direction] = []
        self._groups: list[list[Direction]] = []
        self._axes: dict[int, Direction] = {}

    @property
    def open(self) -> bool:
        """Whether entries are left whose errors would have shown together with others only."""
        return self.method == "directions" and len(self.looked_at) < self.flat.size

    def along(self, vector: Floats) -> Along:
        """Return the outputs as a function of the distance along a direction; not finite where it has none such."""
        return lambda distance: self.at(self.flat + distance * vector)

    def at(self, entries: Floats) -> Floats:
        """Return the outputs at a point; not finite where there are none such."""
        with suppress(SubjectError):
            values = flattened(self.fine.subject.values(split(entries, self.point)))
            if values.size == self.here.size:
                return values
        return np.full(self.here.size, np.nan)

    def measure(self) -> None:
        """Look for the noise; slopes that were found without it are forgotten."""
        self.measured = True
        self.deviation = self.noise(self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude)
        self.rough = self.deviation
        self._axes.clear()
        self._groups.clear()

    @property
    def looks_single(self) -> bool:
        """Whether what is said to compute in float64 is as noisy by large steps as what computes in float32."""
        if self.precision != "float64" or not self.measured:
            return False
        parts = self.rough / np.maximum(self.sizes, np.finfo(np.float64).tiny)
        unit = FORMATS["float32"].unit
        return bool(np.any((parts > unit / SINGLE) & (parts < unit * SINGLE)))

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

    def again(self, direction: Direction) -> Direction:
        """Return a direction with its slopes as they are known by now."""
        return Direction(direction.vector, self.slopes(direction.vector))

    def row_scales(self) -> Floats:
        """Return how fast each entry of the outputs changes along a direction; 1 where it does not."""
        if self._quick and not self.measured:
            rates = np.abs(self._quick[0].slopes.value)
        else:
            vector = self.choices.choice((-1.0, 1.0), self.flat.size) * self.magnitude
            step = self.scale.steps[-1]
            rates = np.abs(self.along(vector)(step) - self.here) / step
        return np.where(np.isfinite(rates) & (rates > 0), rates, 1.0)

    def quick(self, claimed: Floats) -> Iterator[Direction]:
        """Yield the directions of a first look: one by entries that contribute alike, more of large inputs."""
        if not self._vectors:
            first, *others = _alike(np.abs(claimed * self.magnitude))
            nothing = [members for members in others if not claimed[members].any()]
            alone = [members for members in others if claimed[members].any()]
            count = DIRECTIONS if self.method == "directions" else 1
            for members in (np.concatenate([first, *nothing]), *alone):
                self._vectors += [self.random_vector(members) for _ in range(count if len(members) > 1 else 1)]
        for number, vector in enumerate(self._vectors):
            if number == len(self._quick):
                self._quick.append(self.quick_slopes(vector))
            yield self._quick[number]

    def quick_slopes(self, vector: Floats, shrink: float = 1.0) -> Direction:
        """Return a direction with slopes by few steps."""
        few = replace(self.scale, steps=self.scale.steps[:FIRST_STEPS])
        return Direction(vector, slopes_around(self.along(vector), self.here, self.deviation, few, OFF_GRID * shrink))

    def near_slopes(self, vector: Floats) -> Direction:
        """Return a direction with slopes by the smallest steps alone, which see what lies between the larger ones."""
        near = replace(self.scale, steps=self.scale.steps[-1:])
        return Direction(vector, slopes_around(self.along(vector), self.here, self.deviation, near, OFF_GRID))

    def groups(self, claimed: Floats) -> list[list[Direction]]:
        """Return the directions, by entries that contribute alike to the first gradient that is asked about."""
        if not self._groups:
            count = DIRECTIONS if self.method == "directions" else FEW_DIRECTIONS
            for members in _alike(np.abs(claimed * self.magnitude)):
                self._groups.append([self.random_direction(members) for _ in range(count if len(members) > 1 else 1)])
        return self._groups

    def random_direction(self, members: Places) -> Direction:
        """Return a direction that moves some entries by different parts of their size."""
        if len(members) == 1:
            return self.axis_direction(int(members[0]))
        vector = self.random_vector(members)
        return Direction(vector, self.slopes(vector))

    def random_vector(self, members: Places) -> Floats:
        """Return a vector that moves some entries by different parts of their size."""
        vector = np.zeros(self.flat.size)
        sizes = self.choices.uniform(0.5, 1.0, len(members)) if len(members) > 1 else np.ones(1)
        vector[members] = sizes * self.choices.choice((-1.0, 1.0), len(members)) * self.magnitude[members]
        return vector

    def axis_direction(self, flat: int) -> Direction:
        """Return the direction of one entry, with the magnitude of the entry as its length."""
        if flat not in self._axes:
            vector = np.zeros(self.flat.size)
            vector[flat] = self.magnitude[flat]
            self._axes[flat] = Direction(vector, self.slopes(vector))
        return self._axes[flat]

    def saturation(self, vector: Floats) -> Floats:
        """Return by how much the rounding of an output alone moves what a rule makes of it: its slope along a vector.

        The terms of ``1 - y * y`` are as large as the steepest slope on the way from 0, however small their difference
        is. An output that became small on that way is rounded by as much less, but for what libraries take from it in
        float32, in which they compute of halves.
        """
        moved = np.where(vector == 0, 0.0, self.flat)
        if self.scale == scale_of(self.precision) or not moved.any():
            return np.zeros(self.here.size)
        points = [self.flat - part * moved for part in TOWARDS_ZERO]
        values = np.stack([self.at(point) for point in points])
        beside = np.stack([self.at(point + BESIDE * vector) for point in points])
        steepest = np.max(np.abs(beside - values), axis=0) / BESIDE
        size = np.maximum(np.max(np.abs(values), axis=0), np.finfo(np.float64).tiny)
        units = np.full(size.size, self.form.unit)
        if np.count_nonzero(moved) <= size.size:  # a sum of many entries may be small because they cancel
            units *= np.abs(values[0]) / size
        if self.form.bits <= HALVES:
            units += FORMATS["float32"].unit
        found = TERMS * steepest * units
        return np.where(np.isfinite(found), found, 0.0)

    def slopes(self, vector: Floats, shrink: float = 1.0) -> BoundedSlopes:
        """Return the slopes of all outputs along a direction."""
        return slopes_along(self.along(vector), self.here, self.deviation, self.scale, shrink)

    def place(self, flat: int) -> tuple[int, tuple[int, ...]]:
        """Return the input and the entry at a place in the row of all entries."""
        k = int(np.searchsorted(self.ends, flat, side="right"))
        start = self.ends[k] - self.point[k].size
        return self.subject.positions[k], index(int(flat - start), self.point[k].shape)

    def flat_position(self, position: int, entry: tuple[int, ...]) -> int:
        """Return where an entry of an input stands among all entries."""
        k = self.subject.positions.index(position)
        shape = self.point[k].shape
        return int(self.ends[k] - self.point[k].size + (np.ravel_multi_index(entry, shape) if shape else 0))


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


def _dtypes(outputs: Arrays) -> list[str]:
    return [output.dtype.name for output in outputs]
