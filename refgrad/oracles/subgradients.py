"""Do the elements that an engine chose at kinks belong to one legal choice?

Each entry of a gradient at a kink may lie in the certified interval, but the entries hang together: where x and y tie
for a maximum, 1 is legal for either of them, not for both. Whatever the legal choice, the gradient's product with a
direction lies in the certified interval of the directional derivative, in which weights that sum to one do sum to one.
So it is held against some directions. A legal choice is inside of all of them; hence none is ever condemned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from refgrad.oracles.certified import Certified
from refgrad.oracles.directional import Contributions, directional_derivative
from refgrad.oracles.judgement import ALLOWANCE, VAGUE_ABOVE
from refgrad.scenario import Scenario

Floats = npt.NDArray[np.float64]

RANDOM_DIRECTIONS = 12
"""Beside two that are made for the purpose; a choice that is not legal shows in the first of them as a rule."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A direction along which a gradient says what no legal choice does: its rate of change, and the legal interval."""

    direction: Mapping[str, Floats]
    rate: float
    lower: float
    upper: float

    def describe(self) -> str:
        """Say it in one line: which entries move, what the gradient says of it, and what is legal."""
        moving = " and ".join(f"{name} by {speeds.tolist()}" for name, speeds in self.direction.items() if speeds.any())
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
    """Return a direction that shows that gradients observed together are no legal choice, or None.

    ``observed`` and ``certified`` are by leaf, for the same contributions, entries each within their own intervals.
    """
    names = sorted(observed)
    gradient = _joined([observed[name] for name in names])
    middle = _joined([certified[name].midpoint for name in names])
    radius = _joined([certified[name].radius for name in names])
    kinked = np.isfinite(radius) & (radius > VAGUE_ABOVE * np.maximum(1.0, np.abs(middle)))
    if not kinked.any():
        return None
    budget = _joined([certified[name].budget for name in names])
    slack = VAGUE_ABOVE * np.maximum(1.0, np.abs(middle) + radius) + ALLOWANCE * np.maximum(budget - radius, 0.0)
    shapes = {name: observed[name].shape for name in names}
    for direction in _directions(gradient - middle, middle, radius, kinked):
        moving = _split(direction, shapes)
        legal = directional_derivative(scenario, contributions, moving)
        rate, room = float(gradient[kinked] @ direction[kinked]), float(slack[kinked] @ np.abs(direction[kinked]))
        lower, upper = float(legal.lower()), float(legal.upper())
        if lower - rate > room or rate - upper > room:
            return Violation(moving, rate, lower, upper)
    return None


def _directions(offset: Floats, middle: Floats, radius: Floats, kinked: npt.NDArray[np.bool_]) -> Iterator[Floats]:
    """Yield directions that move nothing but entries at kinks.

    First all of them by as much as makes each whole interval count as one: what ties then moves alike. Then away from
    the interval's middle, as the engine did, where choices at other kinks leave no room. Then some of them at random.
    """
    size = np.where(kinked, np.abs(middle) + radius, 1.0)
    unit = np.where(kinked, np.where(middle < 0, -1.0, 1.0) * _rounded(1.0 / size), 0.0)
    yield unit
    away = np.where(kinked, offset, 0.0)
    if away.any():
        yield away
    random = np.random.default_rng(0)
    places = np.flatnonzero(kinked)
    for number in range(RANDOM_DIRECTIONS):
        chosen = np.zeros(kinked.size)
        some = random.choice(places, size=int(random.integers(1, places.size + 1)), replace=False)
        chosen[some] = 1.0 if number % 2 else random.choice((-1.0, 1.0), size=some.size)
        yield unit * chosen


def _rounded(numbers: Floats) -> Floats:
    """Six digits: a ball's radius has no more than nine, and entries that are meant to move alike shall do so."""
    return np.array([float(f"{number:.6g}") for number in numbers.tolist()])


def _joined(arrays: list[Floats]) -> Floats:
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _split(direction: Floats, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    starts = np.concatenate([[0], ends[:-1]])
    return {
        name: direction[start:end].reshape(shape)
        for (name, shape), start, end in zip(shapes.items(), starts, ends, strict=True)
    }
