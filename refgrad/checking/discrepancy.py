"""What is said of one entry of a gradient that is not simply right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from refgrad.checking.libraries.numbers import Array
from refgrad.checking.pullbacks import Seeds

Severity = Literal["wrong", "inaccurate", "inconclusive", "convention"]
SEVERITIES: tuple[Severity, ...] = ("wrong", "inaccurate", "inconclusive", "convention")
FAILING: frozenset[Severity] = frozenset({"wrong", "inaccurate"})


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """An entry of the gradient of one input: what backward gives, and the interval in which the truth lies.

    ``input`` counts the function's inputs; ``entry`` is an index into it, None where only a direction is known.
    """

    severity: Severity
    input: int
    entry: tuple[int, ...] | None
    observed: float
    lower: float
    upper: float
    truth: str
    explained: float = float("inf")
    """The error as a multiple of what rounding, and the uncertainty of the truth, explain."""

    cause: str = ""
    """Why nothing can be said: ``kink``, ``pole`` or ``noise``."""

    @property
    def failing(self) -> bool:
        """Whether the gradient is at fault."""
        return self.severity in FAILING

    @property
    def error(self) -> float:
        """How far the observed number is from the interval; infinite for one that is not finite."""
        if not math.isfinite(self.observed):
            return math.inf
        return max(self.lower - self.observed, self.observed - self.upper, 0.0)

    @property
    def relative_error(self) -> float:
        """The error relative to the truth; infinite where that is zero."""
        size = min(abs(self.lower), abs(self.upper))
        return self.error / size if size else float("inf")


class Judge(Protocol):
    """Knows the truth of one function at one point."""

    method: str
    """``certified``, ``differences`` or ``directions``."""

    def row_scales(self) -> npt.NDArray[np.float64]:
        """Return how fast each entry of the outputs changes along a random direction; 1 where it does not."""

    def truths(self, seeds: Seeds) -> list[Array]:
        """Return the gradients of the sum of seed · output; not numbers where they are not known, or take too long."""

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right in the gradients of the sum of seed · output, at most one an input.

        Where something is ``known`` to be wrong under other seeds, only that need be looked at.
        """


def worst(discrepancies: Sequence[Discrepancy]) -> Discrepancy | None:
    """Return the most severe one, and of those the one furthest off."""
    return min(discrepancies, key=_rank, default=None)


def _rank(discrepancy: Discrepancy) -> tuple[int, float]:
    error = discrepancy.relative_error
    return SEVERITIES.index(discrepancy.severity), -(error if np.isfinite(error) else 1e300)


def index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the entry at a flat position."""
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def flattened(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Return all entries of all arrays in a row."""
    return np.concatenate([np.zeros(0), *(array.astype(np.float64).ravel() for array in arrays)])
