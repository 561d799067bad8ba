"""The certified oracle: a scenario's true gradient, and the largest error that a correct engine may have.

Two sweeps compute them: one in balls of high precision (the truth, an interval), one in balls of the engine's own
precision with leaves and cotangents half an ulp wide (the rounding budget: the largest error of each entry that
rounding alone can cause).

The precision of the second sweep is the coarsest of the engine's dtype and the dtypes of all leaves of the scenario. An
engine that mixes float32 with float64 computes in the wider one after promotion. But values that depend on float32
leaves only, and the gradients of those leaves, are rounded to float32, and all values that depend on them have that
error. A result is never expected to have more bits than the least precise number that it depends on. Which numbers
those are depends on an engine's rules of promotion (for example, whether a 0-d array counts), and no entry is judged
wrong because of such a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.interpreter import expanded
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.ball_tape import ObjectArray
from refgrad.oracles.certified.ball_trace import BallTrace, Contribution, Scales
from refgrad.oracles.certified.ranged import RangedArithmetic, plain_ball
from refgrad.scenario import Constant, Scenario
from refgrad.scenario.formats import FLOAT64, Format, coarsest
from refgrad.scenario.rewrite import floating_dtypes

Floats = npt.NDArray[np.float64]

Arrival = Contribution | tuple[str, Constant | None, Scales, str]

TRUTH_BITS = 128
"""Bits of precision of the first attempt at the truth. Intervals are some 20 digits narrower than a float64's ulp."""

HIGHEST_BITS = 2048
"""Precision at which the search for a narrow interval ends: one that is still wide lies at a kink or a pole."""


@dataclass(frozen=True, eq=False)
class Certified:
    """An array of certified intervals with the rounding budget of each entry.

    ``balls`` holds FLINT balls. ``rounding`` returns the balls whose radii are the budget. It is called only if an
    answer is not right to the last few bits. ``form`` is the format in which the engine computes.
    """

    balls: ObjectArray
    rounding: Callable[[], ObjectArray]
    form: Format = FLOAT64

    @cached_property
    def midpoint(self) -> Floats:
        """Midpoint of each ball, rounded to float64."""
        return np.array(list(map(float, self.balls.ravel().tolist())), dtype=np.float64).reshape(self.shape)

    @cached_property
    def radius(self) -> Floats:
        """Radius of each ball, rounded up to float64."""
        return _radii(self.balls)

    @cached_property
    def budget(self) -> Floats:
        """Largest absolute error of each entry that rounding in the engine's precision can cause."""
        return _radii(self.rounding())

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value or gradient."""
        return self.balls.shape

    @property
    def is_zero(self) -> bool:
        """Return True if every entry is exactly 0, which no higher precision changes."""
        return all(ball.is_zero() for ball in self.balls.ravel())

    @property
    def is_finite(self) -> bool:
        """Return True if every entry has a finite value."""
        return all(ball.is_finite() for ball in self.balls.ravel())


class CertifiedOracle:
    """Certified values and gradients of one scenario."""

    def __init__(self, scenario: Scenario, dtype: str = "float64") -> None:
        """Certify for an engine that computes in ``dtype``, or in the coarsest dtype of the leaves if it is coarser."""
        self.original = scenario
        self.scenario = expanded(scenario)
        self.form = coarsest((dtype, *(leaf.value.dtype for leaf in scenario.leaves)))
        self._truths: dict[int, BallTrace] = {}
        self._sweeps: dict[tuple[BallTrace, tuple[Contribution, ...]], dict[str, ObjectArray]] = {}

    @cached_property
    def dtypes(self) -> dict[str, frozenset[str]]:
        """Floating dtypes of the leaves that each name depends on."""
        return floating_dtypes(self.original)

    @cached_property
    def _rounding(self) -> BallTrace:
        """Trace of the scenario with rounding error tracked per operation.

        The range of float64 is ignored, and that of other formats if gradients are recorded.
        """
        bits = self.form.bits
        if self.form == FLOAT64 or self.scenario.gradients:
            return BallTrace(self.scenario, Arithmetic("rounding", bits))
        return BallTrace(self.scenario, RangedArithmetic("rounding", bits, self.form))

    def _truth(self, bits: int) -> BallTrace:
        if bits not in self._truths:
            self._truths[bits] = BallTrace(self.scenario, Arithmetic("truth", bits))
        return self._truths[bits]

    def value(self, name: str, bits: int = TRUTH_BITS) -> Certified:
        """Return the certified value of a name."""
        return Certified(self._truth(bits).value(name), lambda: self._rounding.value(name), self.form)

    def gradient(
        self, leaf: str, contributions: tuple[Arrival, ...], bits: int = TRUTH_BITS, *, forward: bool = False
    ) -> Certified:
        """Return the certified sum, over (output, seed) pairs, of seed · ∂output/∂leaf, in the leaf's shape.

        A contribution may also be (output, seed, scales, name): the cotangent of a name whose entries no other name
        shares, where each of the scales multiplies the cotangent of a name on the way. With ``forward`` the budget is
        that of an engine that pushes tangents from the leaf, unless gradients are recorded or a contribution has
        scales.
        """
        truth = self._arrived(self._truth(bits), leaf, contributions)
        plain = tuple(c for c in contributions if len(c) == 2)  # noqa: PLR2004 (an output and its seed)
        if forward and plain == contributions and not self.scenario.gradients:
            return Certified(truth, lambda: self._rounding.pushed(leaf, plain), self.form)
        return Certified(truth, lambda: self._arrived(self._rounding, leaf, contributions), self.form)

    def reaches(self, output: str, leaf: str) -> bool:
        """Return True if an output depends on a leaf, or may through a recorded gradient, whatever the slope is."""
        return self._truth(TRUTH_BITS).reaches(output, leaf)

    def narrowest_gradient(self, leaf: str, contributions: tuple[Arrival, ...]) -> Certified:
        """Return the gradient, with the precision raised until the intervals are narrower than the budget.

        The precision is at most ``HIGHEST_BITS``.
        """
        return narrowest(lambda bits: self.gradient(leaf, contributions, bits))

    def narrowest_value(self, name: str) -> Certified:
        """Return a value or a directional derivative, with the precision raised likewise."""
        return narrowest(lambda bits: self.value(name, bits))

    def _arrived(self, trace: BallTrace, at: str, contributions: tuple[Arrival, ...]) -> ObjectArray:
        """Return the sum of the contributions to a leaf.

        For the budget each contribution is rounded separately, as backward calls accumulate gradients in a leaf: if two
        of them cancel in the sum, each has been rounded.
        """
        if not contributions:
            return np.full(trace.values[at].shape, arb(0), dtype=object)
        plain = tuple(c for c in contributions if len(c) == 2)  # noqa: PLR2004 (an output and its seed)
        together = (plain,) if plain and trace.arithmetic.purpose == "truth" else tuple((c,) for c in plain)
        shares = [self._total(trace, at, some) for some in together]
        with trace.arithmetic.context():
            shares += [trace.arriving(c[3], (c[:2],), c[2]) for c in contributions if len(c) == 4]  # noqa: PLR2004
            return reduce(lambda total, share: np.add(total, share, out=np.empty(share.shape, dtype=object)), shares)

    def _total(self, trace: BallTrace, leaf: str, contributions: tuple[Contribution, ...]) -> ObjectArray:
        key = (trace, contributions)
        if key not in self._sweeps:
            self._sweeps[key] = trace.vjp(contributions)
        return self._sweeps[key][leaf]


def narrowest(at: Callable[[int], Certified]) -> Certified:
    """Return the result of a function of the precision, with the precision raised as for ``narrowest_gradient``."""
    bits = TRUTH_BITS
    while True:
        certified = at(bits)
        if bits >= HIGHEST_BITS or bool(np.all(certified.radius <= certified.budget)):
            return certified
        bits *= 4


def _radii(balls: ObjectArray) -> Floats:
    """Return the radii rounded up; infinity for balls that are not finite."""
    plain = map(plain_ball, balls.ravel().tolist())
    radii = [float(ball.rad()) * (1 + 2.0**-52) if ball.is_finite() else np.inf for ball in plain]
    return np.array(radii, dtype=np.float64).reshape(balls.shape)
