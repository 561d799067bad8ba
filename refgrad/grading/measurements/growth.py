"""How a time grows with a size, whatever the machine and whoever else uses it.

Times are processor times of the engine's process, so that it does not matter who waits for whom. Of several
measurements the least counts: nothing makes a program faster than it is. An exponent that accuses is believed only if
measurements made afresh, after all others, show it once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

STEEPEST: Final = 1.5
"""The largest exponent that passes for linear: halfway to quadratic. n log n shows 1.1, larger caches that are left
behind on the way from thousands to 100,000 nodes up to 1.3."""

MEASURABLE: Final = 0.002
"""Seconds below which a time says nothing of its growth."""

FITTED: Final = 4
"""How many of the largest sizes an exponent is fitted to."""

FEWEST: Final = 3
"""And how many there must be at least that take a time that can be measured."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds of processor time by size, in the order of sizes, and the size that was not tried any more, if any."""

    times: dict[int, float]
    left_out: int | None = None

    @property
    def fitted(self) -> dict[int, float]:
        """The largest sizes, as far as they take a time that can be measured."""
        return {size: t for size, t in list(self.times.items())[-FITTED:] if t >= MEASURABLE}

    @property
    def exponent(self) -> float | None:
        """The slope of log time over log size, by least squares; None where too few sizes take long enough to tell."""
        return slope(self.fitted) if len(self.fitted) >= FEWEST else None

    @property
    def steep(self) -> bool:
        """Whether that is more than linear."""
        return self.exponent is not None and self.exponent > STEEPEST

    @property
    def described(self) -> str:
        """The growth in words that a repeated run repeats."""
        if self.exponent is None or not self.steep:
            return "time grows no faster than about n"
        nearest = round(self.exponent)
        return f"time grows about as n^{nearest}" if nearest <= FASTEST else f"time grows faster than n^{FASTEST}"

    @property
    def figures(self) -> str:
        """The exponent and the times."""
        exponent = "" if self.exponent is None else f"exponent {self.exponent:.2f}; "
        return exponent + ", ".join(f"{size:,}: {1000 * t:.1f} ms" for size, t in self.times.items())


FASTEST: Final = 3
"""The largest exponent that is told apart: what doubles with every step has no exponent, and shows 10 or 20."""


def slope(times: Mapping[int, float]) -> float:
    """Return the slope of log time over log size by least squares."""
    points = [(math.log(size), math.log(t)) for size, t in times.items()]
    center = math.fsum(x for x, _ in points) / len(points)
    across = math.fsum((x - center) * (x - center) for x, _ in points)
    return math.fsum((x - center) * y for x, y in points) / across


Run = Callable[[int], float]
"""A program of a size, which returns the seconds of processor time that it took."""


def measure(run: Run, sizes: Sequence[int], limit: float) -> Growth:
    """Time a program over growing sizes, and stop where the next one would take more than ``limit`` seconds."""
    times: dict[int, float] = {}
    for size in sizes:
        if len(times) > 1 and _foreseen(times, size) > limit and _foreseen(_again(run, times), size) > limit:
            return Growth(times, size)
        times[size] = run(size)
    growth = Growth(times)
    return _confirmed(run, growth) if growth.steep else growth


def _foreseen(times: Mapping[int, float], size: int) -> float:
    """Return how long the next size will take if time goes on to grow as it did over the last two."""
    (n, first), (m, second) = list(times.items())[-2:]
    if second < MEASURABLE:
        return second
    exponent = max(0.0, math.log(second / max(first, 1e-6)) / math.log(m / n))
    return second * math.pow(size / m, exponent)


def _again(run: Run, times: dict[int, float]) -> dict[int, float]:
    """Measure the last two sizes once more."""
    for size in list(times)[-2:]:
        times[size] = min(times[size], run(size))
    return times


def _confirmed(run: Run, growth: Growth) -> Growth:
    """Return what is least steep: the least times of three rounds, or those of two rounds made afresh."""
    rounds = [{size: run(size) for size in growth.fitted} for _ in range(2)]
    afresh = {size: min(each[size] for each in rounds) for size in growth.fitted}
    least = {size: min(t, afresh.get(size, t)) for size, t in growth.times.items()}
    candidates = [Growth(least), Growth(growth.times | afresh)]
    return min(candidates, key=lambda each: each.exponent or 0.0)
