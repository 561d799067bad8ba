"""Scenarios that are evaluated once in balls, and gradients of their outputs by sweeps over the tape.

Contributions through a recorded gradient h = seed · ∂l/∂x: a cotangent u of h contributes ∂(u · h)/∂y to a leaf y.
Second derivatives are symmetric (Schwarz), so that is the coefficient of e in seed · ∂l/∂y, taken at x + e u, where
e² = 0. The tape therefore runs once more with one more infinitesimal, and its coefficients in the cotangents are the
result. No rule for second derivatives is needed (B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural
Computation 1994). If l depends on recorded gradients itself, these receive cotangents with an infinitesimal, and the
tape runs with a second one: a gradient of order n needs n - 1 of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flint import arb

from refgrad.interpreter import evaluate
from refgrad.oracles.certified.arithmetic import Arithmetic
from refgrad.oracles.certified.ball_tape import Ball, BallTape, ObjectArray, filled
from refgrad.scenario import Constant, Grad, Scenario
from refgrad.scenario.rewrite import needed

Contribution = tuple[str, Constant | None]
Scales = tuple[tuple[str, float], ...]


class BallTrace:
    """The forward part of a scenario, evaluated once in balls. Sweeps compute the gradients of its outputs."""

    def __init__(self, scenario: Scenario, arithmetic: Arithmetic) -> None:
        """Evaluate the forward part. Raises ScenarioEvaluationError where shapes do not match."""
        self.scenario = scenario
        self.arithmetic = arithmetic
        self.tape = BallTape(arithmetic, self._gradient)
        with arithmetic.context():
            self.values = evaluate(scenario, self.tape)

    def value(self, name: str) -> ObjectArray:
        """Return the balls of a named value, in its shape. A boolean is 1 or 0."""
        entries = self.values[name].ravel().tolist()
        balls = [entry.value if type(entry) is Ball else arb(int(entry)) for entry in entries]
        return filled(self.values[name].shape, balls)

    def vjp(self, contributions: tuple[Contribution, ...]) -> dict[str, ObjectArray]:
        """Return, for each leaf, the sum over (output, seed) of the cotangent that the seed (ones if None) contributes.

        An output without a value, such as a logarithm of -1, has no derivative either, although 1 / x has a value
        there.
        """
        with self.arithmetic.context():
            return self._pulled(self.values, contributions)

    def pushed(self, leaf: str, contributions: tuple[Contribution, ...]) -> ObjectArray:
        """Return the gradient of a leaf as an engine computes it that pushes a tangent forward from each entry.

        Contributions through recorded gradients are not included.
        """
        start, values = self.tape.leaf_slots[leaf], self.values[leaf]
        with self.arithmetic.context():
            ends = self._starts(self.values, contributions)
            slopes = (self.tape.push({slot: arb(1)}) for slot in range(start, start + values.size))
            terms = ([end * slope[at] for at, end in ends.items() if slope[at] is not None] for slope in slopes)
            return filled(values.shape, [sum(each, arb(0)) for each in terms])

    def reaches(self, output: str, leaf: str) -> bool:
        """Return True if any entry of an output depends on one of a leaf or of a recorded gradient.

        The latter counts because a recorded gradient may depend on the leaf.
        """
        with self.arithmetic.context():
            cotangents = self.tape.sweep(self._starts(self.values, ((output, None),)))
        starts = {**self.tape.gradient_slots, leaf: self.tape.leaf_slots[leaf]}
        slots = (slot for name, start in starts.items() for slot in range(start, start + self.values[name].size))
        return any(cotangents[slot] is not None for slot in slots)

    def arriving(self, at: str, contributions: tuple[Contribution, ...], scales: Scales) -> ObjectArray:
        """Return the cotangent of a name whose entries no other name shares.

        Each of ``scales`` multiplies the cotangent of a name on the way.
        """
        with self.arithmetic.context():
            factors = {b.slot: arb(factor) for name, factor in scales for b in self.values[name].ravel().tolist()}
            if at in self.tape.leaf_slots:
                return self._pulled(self.values, contributions, factors)[at]
            cotangents = self.tape.sweep(self._starts(self.values, contributions), factors)
            entries = [cotangents[ball.slot] for ball in self.values[at].ravel().tolist()]
            return filled(self.values[at].shape, [arb(0) if entry is None else entry for entry in entries])

    def _gradient(self, step: Grad, values: Mapping[str, Any]) -> ObjectArray:
        """Return the gradient that a step records; NaN where the shape of its seed makes the step fail."""
        if step.seed is not None and step.seed.shape != values[step.output].shape:
            return filled(values[step.leaf].shape, [arb.nan()] * values[step.leaf].size)
        return self._pulled(values, ((step.output, step.seed),))[step.leaf]

    def _pulled(
        self,
        values: Mapping[str, Any],
        contributions: tuple[Contribution, ...],
        factors: Mapping[int, arb] | None = None,
    ) -> dict[str, ObjectArray]:
        cotangents = self.tape.sweep(self._starts(values, contributions), factors)
        totals = {
            name: filled(values[name].shape, self._arrived(cotangents, start, values[name].size))
            for name, start in self.tape.leaf_slots.items()
        }
        for name, start in self.tape.gradient_slots.items():
            stretch = slice(start, start + values[name].size)
            if any(cotangent is not None for cotangent in cotangents[stretch]):
                arrived = self._arrived(cotangents, start, values[name].size)
                for leaf, share in self._sent_through(name, arrived).items():
                    totals[leaf] = np.add(totals[leaf], share, out=np.empty(share.shape, dtype=object))
        return totals

    def _sent_through(self, name: str, cotangent: list[Any]) -> dict[str, ObjectArray]:
        """Return the contribution of a cotangent of a recorded gradient to each leaf that it depends on."""
        step = self.scenario.definitions[name]
        assert isinstance(step, Grad)
        moving = self.arithmetic.along(step.leaf, cotangent)
        swept = BallTrace(Scenario(needed(self.scenario.steps, {step.output})), moving).vjp(((step.output, step.seed),))
        return {
            leaf: filled(array.shape, [moving.slope(number) for number in array.ravel().tolist()])
            for leaf, array in swept.items()
        }

    def _starts(self, values: Mapping[str, Any], contributions: tuple[Contribution, ...]) -> dict[int, Any]:
        starts: dict[int, Any] = {}
        for output, seed in contributions:
            for ball, number in zip(values[output].ravel().tolist(), self._seed(values[output], seed), strict=True):
                if ball.slot >= 0:
                    start = number if self.arithmetic.is_finite(ball.value) else arb.nan()
                    starts[ball.slot] = starts[ball.slot] + start if ball.slot in starts else start
        return starts

    def _seed(self, output: ObjectArray, seed: Constant | None) -> list[Any]:
        if seed is None:
            return [arb(1)] * output.size
        return [self.arithmetic.enter(x) for x in seed.to_numpy().astype(np.float64).ravel().tolist()]

    def _arrived(self, cotangents: list[Any], start: int, size: int) -> list[Any]:
        zero = arb(0)
        return [zero if c is None else c for c in cotangents[start : start + size]]
