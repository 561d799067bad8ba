"""Checks that the elements that an engine chose at kinks belong to one legal choice.

Each entry of a gradient at a kink may lie in its certified interval, but the entries depend on each other: where x and
y tie for a maximum, 1 is legal for either of them, but not for both. For every legal choice, the product of the
gradient with a direction lies in the certified interval of the directional derivative, which respects that weights sum
to one. So the product is compared with that interval for some directions. A legal choice is inside all of these
intervals, so it is never judged wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.oracles.certified.certified import Certified
from refgrad.oracles.certified.directional import Contributions, directional_derivative, gaps_at_kinks
from refgrad.oracles.judgement.judgement import ALLOWANCE, VAGUE_ABOVE, vague_above
from refgrad.scenario import Scenario

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Shapes = Mapping[str, tuple[int, ...]]

LARGEST_NUMBER = 64
"""Largest number of entries at kinks that directions move."""

NULL = 1e-9
"""Size, relative to the largest number, below which a number counts as zero."""

RANDOM_DIRECTIONS = 4
"""Number of random directions of each kind.

One random direction in a null space detects whatever lies outside of its complement with probability one.
"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A direction along which a gradient has a rate of change that no legal choice has, with both rates."""

    direction: Mapping[str, Floats]
    rate: float
    lower: float
    upper: float

    def describe(self) -> str:
        """Return one line: which entries move, the rate according to the gradient, and the legal rates."""
        speeds = {name: array for name, array in self.direction.items() if array.any()}
        moving = " and ".join(f"{name} by {_printed(array.tolist())}" for name, array in speeds.items())
        width = self.upper - self.lower
        interval = f"is {self.upper:.6g}" if width <= VAGUE_ABOVE else f"lies in [{self.lower:.6g}, {self.upper:.6g}]"
        return (
            f"no choice that is legal at the kinks: moving {moving} changes the output by {self.rate:.6g} "
            f"according to it, but the truth {interval}"
        )


def violation(
    scenario: Scenario,
    contributions: Contributions,
    observed: Mapping[str, Floats],
    certified: Mapping[str, Certified],
) -> Violation | None:
    """Return a direction which proves that gradients observed together are not a legal choice, or None.

    ``observed`` and ``certified`` are by leaf, for the same contributions. Each entry must lie in its own interval.
    """
    names = sorted(observed)
    gradient = _joined([observed[name] for name in names])
    middle = _joined([certified[name].midpoint for name in names])
    radius = _joined([certified[name].radius for name in names])
    kinked = np.isfinite(radius) & (radius > VAGUE_ABOVE * np.maximum(1.0, np.abs(middle)))
    if not kinked.any():
        return None
    budget = _joined([certified[name].budget for name in names])
    vague = max(vague_above(certified[name].form) for name in names)
    slack = vague * np.maximum(1.0, np.abs(middle) + radius) + ALLOWANCE * np.maximum(budget - radius, 0.0)
    shapes = {name: observed[name].shape for name in names}
    indices = np.flatnonzero(kinked)[:LARGEST_NUMBER]
    smooth = smooth_directions(scenario, contributions, indices, shapes)
    for direction in _directions(gradient - middle, middle, indices, smooth):
        moving = _split(direction, shapes)
        legal = directional_derivative(scenario, contributions, moving)
        rate = float(gradient[indices] @ direction[indices])
        room = float(slack[indices] @ np.abs(direction[indices]))
        lower, upper = float(legal.lower()), float(legal.upper())
        if lower - rate > room or rate - upper > room:
            return Violation(moving, rate, lower, upper)
    return None


def smooth_directions(scenario: Scenario, contributions: Contributions, indices: Indices, shapes: Shapes) -> Floats:
    """Return a basis, as columns, of the directions of these entries with equal slopes on both sides of each kink."""
    total = sum(int(np.prod(shape)) for shape in shapes.values())
    units = (np.where(np.arange(total) == index, 1.0, 0.0) for index in indices)
    gaps = np.array([gaps_at_kinks(scenario, contributions, _split(unit, shapes)) for unit in units]).T
    if not np.all(np.isfinite(gaps)) or gaps.size == 0:
        return np.zeros((indices.size, 0))
    _, sizes, rows = np.linalg.svd(gaps)
    rank = int(np.sum(sizes > NULL * max(sizes.max(), 1.0)))
    return np.asarray(rows[rank:].T)


def _directions(offset: Floats, middle: Floats, indices: Indices, smooth: Floats) -> Iterator[Floats]:
    """Yield directions that move only entries at kinks, first those along which the output is smooth.

    Along these the rate is one number, e.g. where all entries that tie move alike. The others are the engine's own
    offset from the middle of the interval, and some at random.
    """
    random = np.random.default_rng(0)
    sign = np.where(middle[indices] < 0, -1.0, 1.0)
    vectors = [sign, np.abs(sign), offset[indices], *random.normal(size=(RANDOM_DIRECTIONS, indices.size))]
    others = [offset[indices], *random.choice((-1.0, 0.0, 1.0), size=(RANDOM_DIRECTIONS, indices.size))]
    for chosen in (*(smooth @ (smooth.T @ vector) for vector in vectors), *others):
        size = np.abs(chosen).max()
        if size > NULL:
            direction = np.zeros(middle.size)
            direction[indices] = np.where(np.abs(chosen) > NULL * size, chosen / size, 0.0)
            yield direction


def _printed(speeds: Any) -> str:
    return f"[{', '.join(map(_printed, speeds))}]" if isinstance(speeds, list) else f"{speeds:.6g}"


def _joined(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _split(direction: Floats, shapes: Shapes) -> dict[str, Floats]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    starts = np.concatenate([[0], ends[:-1]])
    return {
        name: direction[start:end].reshape(shape)
        for (name, shape), start, end in zip(shapes.items(), starts, ends, strict=True)
    }
