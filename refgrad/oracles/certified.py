"""How large is a scenario's true gradient, and how far from it may a correct engine be?

Two sweeps answer: one in exact arithmetic of high precision (the truth, an interval), one in balls of the engine's own
precision with leaves and cotangents half an ulp wide (the rounding budget: how far rounding alone can carry each
entry).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.oracles.arithmetic import Arithmetic
from refgrad.oracles.ball_tape import BallTrace, Contribution, ObjectArray
from refgrad.scenario import Scenario

Floats = npt.NDArray[np.float64]

TRUTH_BITS = 128
"""Precision of the first attempt at the truth; intervals are some 20 digits narrower than a float64's ulp."""

HIGHEST_BITS = 2048
"""Precision at which the search for a narrow interval is given up: what is wide then sits on a kink or a pole."""

ENGINE_BITS: Mapping[str, int] = {"float64": 53, "float32": 24}


@dataclass(frozen=True, eq=False)
class Certified:
    """An array of certified intervals with the rounding budget of each entry.

    ``balls`` holds FLINT balls; ``midpoint`` and ``radius`` are the same rounded to float64 (outwards for the radius).
    ``rounding`` gives the balls whose radii are the budget; it is asked only if an answer is not right to the last few
    bits.
    """

    balls: ObjectArray
    midpoint: Floats
    radius: Floats
    rounding: Callable[[], ObjectArray]

    @cached_property
    def budget(self) -> Floats:
        """What rounding in the engine's precision can do to each entry, in the units of the entry."""
        return _radii(self.rounding())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value or gradient."""
        return self.balls.shape


class CertifiedOracle:
    """Certified values and gradients of one scenario."""

    def __init__(self, scenario: Scenario, dtype: str = "float64") -> None:
        """Judge an engine that computes in ``dtype``."""
        self.scenario = scenario
        self.unit_bits = ENGINE_BITS[dtype]
        self._truths: dict[int, BallTrace] = {}
        self._sweeps: dict[tuple[BallTrace, tuple[Contribution, ...]], dict[str, ObjectArray]] = {}

    @cached_property
    def _rounding(self) -> BallTrace:
        return BallTrace(self.scenario, Arithmetic("rounding", self.unit_bits))

    def _truth(self, bits: int) -> BallTrace:
        if bits not in self._truths:
            self._truths[bits] = BallTrace(self.scenario, Arithmetic("truth", bits))
        return self._truths[bits]

    def value(self, name: str, bits: int = TRUTH_BITS) -> Certified:
        """Return the certified value of a name."""
        return _certified(self._truth(bits).value(name), lambda: self._rounding.value(name))

    def gradient(self, leaf: str, contributions: tuple[Contribution, ...], bits: int = TRUTH_BITS) -> Certified:
        """Return the certified sum, over (output, seed) pairs, of seed · ∂output/∂leaf, in the leaf's shape."""
        truth = self._total(self._truth(bits), leaf, contributions)
        return _certified(truth, lambda: self._total(self._rounding, leaf, contributions))

    def narrowest_gradient(self, leaf: str, contributions: tuple[Contribution, ...]) -> Certified:
        """Raise the precision until the intervals are narrower than the budget, or until it no longer helps."""
        bits = TRUTH_BITS
        while True:
            certified = self.gradient(leaf, contributions, bits)
            if bits >= HIGHEST_BITS or bool(np.all(certified.radius <= certified.budget)):
                return certified
            bits *= 4

    def _total(self, trace: BallTrace, leaf: str, contributions: tuple[Contribution, ...]) -> ObjectArray:
        key = (trace, contributions)
        if key not in self._sweeps:
            self._sweeps[key] = trace.vjp(contributions)
        return self._sweeps[key][leaf]


def _certified(truth: ObjectArray, rounding: Callable[[], ObjectArray]) -> Certified:
    midpoint = np.array([float(ball) for ball in truth.ravel()], dtype=np.float64).reshape(truth.shape)
    return Certified(truth, midpoint, _radii(truth), rounding)


def _radii(balls: ObjectArray) -> Floats:
    return np.array([_radius(ball) for ball in balls.ravel().tolist()], dtype=np.float64).reshape(balls.shape)


def _radius(ball: arb) -> float:
    """The radius rounded up; infinite for a ball that is not finite."""
    return float(ball.rad()) * (1 + 2.0**-52) if ball.is_finite() else float("inf")
