"""Growth of time with size, measured independently of the machine and of its other users.

Times are processor times of the engine's process, so that waiting does not count. Of several measurements the least
counts: nothing makes a program faster than it is. An exponent that is too large counts only if new measurements, made
after all others, show it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

STEEPEST: Final = 1.5
"""Largest exponent that counts as linear: halfway to quadratic.

n log n gives 1.1. Graphs that outgrow caches on the way from thousands to 100,000 nodes give up to 1.3.
"""

MEASURABLE: Final = 0.002
"""Least time in seconds that is long enough to show growth."""

FITTED: Final = 4
"""Number of the largest sizes to which an exponent is fitted."""

FEWEST: Final = 3
"""Least number of sizes with a measurable time that a fit needs."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds of processor time by size, in increasing order, and the first size that was not tried, if any."""

    times: dict[int, float]
    left_out: int | None = None

    @property
    def fitted(self) -> dict[int, float]:
        """Times of the largest sizes, as far as they are measurable."""
        return {size: t for size, t in list(self.times.items())[-FITTED:] if t >= MEASURABLE}

    @property
    def exponent(self) -> float | None:
        """Slope of log time over log size by least squares; None if too few sizes take a measurable time."""
        return slope(self.fitted) if len(self.fitted) >= FEWEST else None

    @property
    def steep(self) -> bool:
        """Return True if the exponent is more than linear."""
        return self.exponent is not None and self.exponent > STEEPEST

    @property
    def described(self) -> str:
        """Description of the growth that is the same in repeated runs."""
        if self.exponent is None or not self.steep:
            return "time grows no faster than about n"
        nearest = round(self.exponent)
        return f"time grows about as n^{nearest}" if nearest <= FASTEST else f"time grows faster than n^{FASTEST}"

    @property
    def figures(self) -> str:
        """Text of the exponent and the times."""
        exponent = "" if self.exponent is None else f"exponent {self.exponent:.2f}; "
        return exponent + ", ".join(f"{size:,}: {1000 * t:.1f} ms" for size, t in self.times.items())


FASTEST: Final = 3
"""Largest exponent that is reported as a number. For a time that doubles with every step the fit gives 10 or 20."""


def slope(times: Mapping[int, float]) -> float:
    """Return the slope of log time over log size by least squares."""
    points = [(math.log(size), math.log(t)) for size, t in times.items()]
    center = math.fsum(x for x, _ in points) / len(points)
    across = math.fsum((x - center) * (x - center) for x, _ in points)
    return math.fsum((x - center) * y for x, y in points) / across


Run = Callable[[int], float]
"""Function that runs a program of a size and returns the seconds of processor time that it took."""


def measure(run: Run, sizes: Sequence[int], limit: float) -> Growth:
    """Time a program over growing sizes, and stop if the next one would take more than ``limit`` seconds."""
    times: dict[int, float] = {}
    for size in sizes:
        if len(times) > 1 and _foreseen(times, size) > limit and _foreseen(_again(run, times), size) > limit:
            return Growth(times, size)
        times[size] = run(size)
    growth = Growth(times)
    return _confirmed(run, growth) if growth.steep else growth


def _foreseen(times: Mapping[int, float], size: int) -> float:
    """Return the time of the next size, extrapolated from the growth over the last two."""
    (n, first), (m, second) = list(times.items())[-2:]
    if second < MEASURABLE:
        return second
    exponent = max(0.0, math.log(second / max(first, 1e-6)) / math.log(m / n))
    return second * math.pow(size / m, exponent)


def _again(run: Run, times: dict[int, float]) -> dict[int, float]:
    """Measure the last two sizes again, and keep the smaller times."""
    for size in list(times)[-2:]:
        times[size] = min(times[size], run(size))
    return times


def _confirmed(run: Run, growth: Growth) -> Growth:
    """Return the less steep of two growths: by the least times of three rounds, or of two new rounds only."""
    rounds = [{size: run(size) for size in growth.fitted} for _ in range(2)]
    afresh = {size: min(each[size] for each in rounds) for size in growth.fitted}
    least = {size: min(t, afresh.get(size, t)) for size, t in growth.times.items()}
    candidates = [Growth(least), Growth(growth.times | afresh)]
    return min(candidates, key=lambda each: each.exponent or 0.0)
