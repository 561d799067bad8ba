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

import numpy as np

from refgrad.grading.settings import NUMBERS

GROWTH: Final = NUMBERS["growth"]


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds of processor time by size, in increasing order, and the first size that was not tried, if any."""

    times: dict[int, float]
    left_out: int | None = None

    @property
    def fitted(self) -> dict[int, float]:
        """Times of the largest sizes, without those that are too short to measure."""
        return {size: t for size, t in list(self.times.items())[-GROWTH["fitted"] :] if t >= GROWTH["measurable"]}

    @property
    def exponent(self) -> float | None:
        """Slope of log time over log size by least squares; None if too few sizes take a measurable time."""
        return slope(self.fitted) if len(self.fitted) >= GROWTH["fewest"] else None

    @property
    def steep(self) -> bool:
        """Return True if the exponent is more than linear."""
        return self.exponent is not None and self.exponent > GROWTH["steepest"]

    @property
    def described(self) -> str:
        """Description of the growth that is the same in repeated runs."""
        if self.exponent is None or not self.steep:
            return "time grows no faster than about n"
        nearest = round(self.exponent)
        fastest = GROWTH["fastest"]
        return f"time grows about as n^{nearest}" if nearest <= fastest else f"time grows faster than n^{fastest}"


def slope(times: Mapping[int, float]) -> float:
    """Return the slope of log time over log size by least squares."""
    return float(np.polyfit(np.log([*times]), np.log([*times.values()]), 1)[0])


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
    if second < GROWTH["measurable"]:
        return second
    exponent = max(0.0, math.log(second / max(first, GROWTH["least_time"])) / math.log(m / n))
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
    return min(Growth(least), Growth(growth.times | afresh), key=lambda each: each.exponent or 0.0)
