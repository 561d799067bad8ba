"""What is the slope on either side of a point, where no stencil may lie across it?

A leaf on the border of a domain (``x ** 1.5`` at 0) has points on one side alone; there the one-sided derivative is the
limit that is asked for. Where a choice is open at the point itself, a tie or a corner, both sides are asked, and only
if they agree is there a derivative: the slope on one side of a kink is never given out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import Shaking
from refgrad.oracles.branches import Pattern

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

HALVINGS = 5
SHIFTS = np.concatenate([[0.0], 0.5 ** np.arange(HALVINGS), -(0.5 ** np.arange(HALVINGS))])
RIGHT, LEFT = slice(1, HALVINGS + 1), slice(HALVINGS + 1, None)

SLOWEST = 0.93
"""Slopes whose changes shrink by less at each halving, as those of x ** 1.1 at 0 do, are not extrapolated."""

ROUGHLY = 2.0**-8
"""Sides whose nearest slopes differ by more than this fraction do not agree to any useful number of digits."""

TRUNCATION_SAFETY = 8.0
REPETITIONS = 4
SPREAD_SAFETY = 4.0
"""Times the largest deviation of a slope under shaking, in which each operation is off by more than it can be."""


class Function(Protocol):
    """A function of all entries of the leaves."""

    base: Floats

    def __call__(self, points: Floats, shaking: Shaking | None = None) -> tuple[Floats, list[Pattern]]:
        """Return the function at every column of ``points``, and the branches that were taken there."""


def one_sided_differences(function: Function, entries: npt.NDArray[np.intp], steps: Floats) -> tuple[Floats, Floats]:
    """Return slope and error bound of each of the entries; the bound is infinite where the two sides do not agree."""
    points = _points(function.base, entries, steps)
    totals, taken = function(points.reshape(len(points), -1))
    stencils = _Stencils(
        totals.reshape(SHIFTS.size, -1),
        points[entries, :, np.arange(len(entries))].T - function.base[entries],
        tuple(pattern.reshape(-1, SHIFTS.size, len(entries)) for pattern in taken),
    )
    values, errors = np.zeros(len(entries)), np.full(len(entries), np.inf)
    kept = np.flatnonzero(stencils.promising)
    if kept.size:
        columns, shaking = points[:, :, kept].reshape(len(points), -1), Shaking(np.random.default_rng(0))
        shaken = np.stack([function(columns, shaking)[0].reshape(SHIFTS.size, -1) for _ in range(REPETITIONS)])
        values[kept], errors[kept] = _chosen(stencils.only(kept), shaken)
    return values, errors


def _points(base: Floats, entries: npt.NDArray[np.intp], steps: Floats) -> Floats:
    """Return the base once for each shift and entry, which has moved by it."""
    points = np.repeat(base[:, None], SHIFTS.size * len(entries), axis=1).reshape(-1, SHIFTS.size, len(entries))
    points[entries, :, np.arange(len(entries))] += np.multiply.outer(steps, SHIFTS)
    return points


@dataclass(frozen=True, slots=True)
class _Stencils:
    """What was found at the points of each stencil: the shifts are the last axis but one, the entries the last."""

    totals: Floats
    distances: Floats
    codes: tuple[Pattern, ...]

    def only(self, entries: npt.NDArray[np.intp]) -> _Stencils:
        """Return the stencils of some entries."""
        codes = tuple(code[..., entries] for code in self.codes)
        return _Stencils(self.totals[:, entries], self.distances[:, entries], codes)

    @property
    def alone(self) -> list[Booleans]:
        """Whether the right or the left side is all that there is, and takes the branches of the middle, none open."""
        return [
            self._same(side, lambda middle, near: middle == near) & ~np.isfinite(self.totals[other]).any(axis=0)
            for side, other in ((RIGHT, LEFT), (LEFT, RIGHT))
        ]

    @property
    def between(self) -> Booleans:
        """Whether the points of each side take the same branches, and those of the middle but where that is open."""
        right, left = (
            self._same(side, lambda middle, near: (middle == near) | (middle == 0)) for side in (RIGHT, LEFT)
        )
        return right & left

    @property
    def promising(self) -> Booleans:
        """Whether shaking can tell anything: sides that differ much make a kink, however they are rounded."""
        right, left = ((self.totals[side] - self.totals[0])[-1] / self.distances[side][-1] for side in (RIGHT, LEFT))
        near = np.abs(right - left) <= ROUGHLY * np.maximum(1.0, np.abs(right))
        return np.asarray(self.alone[0] | self.alone[1] | (self.between & near))

    def _same(self, side: slice, fits: Callable[[Pattern, Pattern], Booleans]) -> Booleans:
        result = np.ones(self.totals.shape[1], dtype=bool)
        for code in self.codes:
            nearest = code[:, side.start : side.start + 1]
            result &= np.all((code[:, side] == nearest) & fits(code[:, :1], nearest), axis=(0, 1))
        return result


def _chosen(stencils: _Stencils, shaken: Floats) -> tuple[Floats, Floats]:
    """Take the side beyond which there is nothing, or the middle of two sides that agree."""
    (right, right_error), (left, left_error) = (_side(side, stencils, shaken) for side in (RIGHT, LEFT))
    apart = np.abs(right - left)
    agree = stencils.between & (apart <= right_error + left_error)
    both = np.where(agree, np.maximum(right_error, left_error) + apart / 2, np.inf)
    value = np.select(stencils.alone, [right, left], (right + left) / 2)
    error = np.select(stencils.alone, [right_error, left_error], both)
    told = error <= np.abs(value) + 1.0
    return np.where(told, value, 0.0), np.where(told, error, np.inf)


def _side(side: slice, stencils: _Stencils, shaken: Floats) -> tuple[Floats, Floats]:
    """Extrapolate the slopes of one side to a distance of zero (Richardson), with an error bound."""
    slopes = (stencils.totals[side] - stencils.totals[0]) / stencils.distances[side]
    moved = (shaken[:, side] - shaken[:, :1]) / stencils.distances[side]
    noise = SPREAD_SAFETY * np.abs(moved - slopes).max(axis=0)
    levels = _levels(slopes)
    value = levels[-1][-1]
    change = np.maximum(np.abs(value - levels[-2][-1]), np.abs(value - levels[-2][-2]))
    spread = np.max([np.abs(_levels(repetition)[-1][-1] - value) for repetition in moved], axis=0)
    error = TRUNCATION_SAFETY * change + SPREAD_SAFETY * spread + 2.0**-52 * np.abs(value)
    return value, np.where(np.isfinite(error) & _converge(slopes, noise), error, np.inf)


def _levels(slopes: Floats) -> list[Floats]:
    """Return the columns of Richardson's table for errors of the orders 1, 2, 3 and so on."""
    levels = [slopes]
    for order in range(1, len(slopes)):
        levels.append((2.0**order * levels[-1][1:] - levels[-1][:-1]) / (2.0**order - 1))
    return levels


def _converge(slopes: Floats, noise: Floats) -> Booleans:
    """Whether the changes of the slopes shrink with each halving, as far as rounding lets one see."""
    changes = np.abs(np.diff(slopes, axis=0))
    return np.asarray(np.all(changes[1:] <= SLOWEST * changes[:-1] + noise[1:-1] + noise[2:], axis=0))
