"""The judge of a function that is a scenario: a quick screen, and certified balls where it does not pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from refgrad.checking import screening
from refgrad.checking.discrepancy import Discrepancy, Severity
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Array, Arrays
from refgrad.checking.pullbacks import Seeds, SideEffectError
from refgrad.checking.subject import Subject
from refgrad.checking.tracing import Trace
from refgrad.oracles import CertifiedOracle, Judgement, judge
from refgrad.oracles.judgement.judgement import ALLOWANCE
from refgrad.oracles.slopes.curves import Floats
from refgrad.scenario import Constant
from refgrad.scenario.formats import FORMATS

SHARP = 1e-3
"""A screen that misses larger errors, as one of halves does, is no help."""


PLAIN = 2.0**-6
"""A gradient is plainly wrong that is off by more than this part of its terms along a direction."""

AGREEING = 2.0**-8
"""As long as the function changes to either side as its trace does, to this part of the terms."""

STEP = 2.0**-20
"""How far the function is asked to either side: some ten digits are left of what it changes by."""

BESIDE = 2.0**-36
"""How far beside the point the gradient is asked for once more: other numbers are rounded there."""


class CertifiedJudge:
    """Judges by certified intervals and rounding budgets."""

    method = "certified"

    def __init__(
        self,
        trace: Trace,
        positions: Sequence[int],
        choices: np.random.Generator,
        tolerance: float = 0.0,
        subject: Subject | None = None,
    ) -> None:
        """``positions`` are those of the checked inputs among all inputs.

        With the ``subject`` itself, what is plainly wrong need not be certified to be so.
        """
        self.subject = subject
        self.tolerance = tolerance
        self.trace = trace
        self.positions = positions
        self.choices = choices
        self.rounding = screening.Rounding(trace.dtype, trace.terms, trace.large)
        self.rates: Floats | None = None
        self.missed: float | None = None

    @cached_property
    def oracle(self) -> CertifiedOracle:
        """What certifies; a gradient that passes the screen does without."""
        return CertifiedOracle(self.trace.scenario, self.trace.dtype)

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right, at most one entry an input; of what nothing is known, up to the first wrong one."""
        named = dict(zip(self.trace.inputs, gradients, strict=True))
        count = sum(gradient.size for gradient in gradients)
        if self.missed_below(count) < SHARP:
            sweep = screening.Sweep(self.trace, named, self.choices)
            if self.rates is None and all(gradient.all() for gradient in gradients):
                self.rates = sweep.rates(self.trace.outputs)
            if sweep.passes(
                [(n, s) for n, s in zip(self.trace.outputs, seeds, strict=True) if s is not None], self.rounding
            ):
                return []
        plain = self._plainly_wrong(seeds, named) if known is None else None
        if plain is not None:
            return [plain]
        if self.trace.large:
            return [self._undecided(position) for position in self.positions[:1]]
        contributions = self._contributions(seeds)
        found = []
        for position, (name, gradient) in zip(self.positions, named.items(), strict=True):
            judgement = self._judge(name, gradient, contributions, narrowest=known is not None)
            if judgement.outcome != "passed":
                discrepancy = self._discrepancy(position, judgement)
                if discrepancy.failing and discrepancy.error <= self._lost(seeds):
                    continue
                found.append(discrepancy)
                if known is None and found[-1].failing and found[-1].relative_error > self.tolerance:
                    return found[-1:]
        return found

    def _plainly_wrong(self, seeds: Seeds, gradients: Mapping[str, Array]) -> Discrepancy | None:
        """Return what is far off along a direction along which the function itself changes as its trace does.

        Nothing at a kink is: there the function's changes to either side differ. Nor is what rounding may have left of
        terms that cancel: that shows in no value of the function, and is another number beside the point.
        """
        subject = self.subject
        if subject is None or self.tolerance or self.trace.dtype != "float64":
            return None
        direction = {name: screening.random_direction(g.shape, self.choices) for name, g in gradients.items()}
        terms = np.concatenate([np.zeros(0), *((direction[name] * g).ravel() for name, g in gradients.items())])
        claimed = float(np.sum(terms))
        truth = screening.slope(self.trace, direction, zip(self.trace.outputs, seeds, strict=True))
        size = float(np.sum(np.abs(terms))) + abs(truth)
        if not abs(truth - claimed) > PLAIN * size + self._unseen(seeds):
            return None
        sides = [self._change(subject, step, direction, seeds) for step in (STEP, -STEP)]
        if not all(abs(side - truth) <= AGREEING * size for side in sides):
            return None
        if not abs(self._claimed_beside(subject, direction, seeds) - claimed) <= PLAIN * abs(truth - claimed):
            return None
        return Discrepancy("wrong", self.positions[0], None, claimed, truth, truth, f"{truth:.10g}")

    def _unseen(self, seeds: Seeds) -> float:
        """Return the slope that a function may have of which rounding leaves nothing in its changes by a step."""
        pairs = zip(self.trace.outputs, seeds, strict=True)
        sizes = (float(np.sum(np.abs(self.trace.recorder.values[n] * s))) for n, s in pairs if s is not None)
        return ALLOWANCE * FORMATS[self.trace.dtype].unit * sum(sizes) / STEP

    def _claimed_beside(self, subject: Subject, direction: Mapping[str, Array], seeds: Seeds) -> float:
        """Return what the gradient right beside the point says of a direction; not a number where there is none."""
        try:
            found = subject.pullback(_moved(subject, BESIDE, direction)).gradients(seeds)
        except (SubjectError, SideEffectError, UnsupportedError):
            return math.nan
        pairs = zip(direction.values(), found, strict=True)
        return sum(float(np.sum(part * gradient)) for part, gradient in pairs if gradient is not None)

    def _change(self, subject: Subject, step: float, direction: Mapping[str, Array], seeds: Seeds) -> float:
        """Return how fast the function changes by a step along a direction; not a number where it has no value."""
        try:
            found = subject.values(_moved(subject, step, direction))
        except SubjectError:
            return math.nan
        here = (self.trace.recorder.values[name] for name in self.trace.outputs)
        parts = zip(found, here, seeds, strict=True)
        return sum(float(np.sum((there - value) * seed)) for there, value, seed in parts if seed is not None) / step

    def missed_below(self, count: int) -> float:
        """Return the relative error that a screen of so many entries misses."""
        if self.missed is None:
            self.missed = screening.missed_below(self.trace.operations, count, self.rounding)
        return self.missed

    def sees_from(self, count: int) -> float | None:
        """Return the error of one entry among so many that is never missed, if that is known beforehand."""
        missed = self.missed_below(count)
        return None if self.trace.large or missed >= SHARP else missed

    def truths(self, seeds: Seeds) -> list[Floats]:
        """Return the gradients by certified intervals; not numbers where there would be too many."""
        if self.trace.large:
            return [np.full(shape, np.nan) for shape in self.trace.shapes.values()]
        return [self.oracle.gradient(name, self._contributions(seeds)).midpoint for name in self.trace.inputs]

    def _lost(self, seeds: Seeds) -> float:
        """Return what is lost where an output that a rule is made of is smaller than numbers are."""
        largest = max(float(np.max(np.abs(seed), initial=1.0)) for seed in seeds if seed is not None)
        return ALLOWANCE * FORMATS[self.trace.dtype].underflow * largest

    def _contributions(self, seeds: Seeds) -> tuple[tuple[str, Constant | None], ...]:
        pairs = zip(self.trace.outputs, seeds, strict=True)
        return tuple((name, Constant.of(seed)) for name, seed in pairs if seed is not None)

    def row_scales(self) -> Floats:
        """Return how fast each entry of the outputs changes along a random direction; 1 where it does not.

        The direction of a screen will do, unless it goes far along entries whose gradient is zero.
        """
        if self.rates is not None:
            return self.rates
        return screening.row_scales(self.trace, self.trace.shapes, self.trace.outputs, self.choices)

    def _undecided(self, position: int) -> Discrepancy:
        """Say that a function is too large to be certified entry by entry."""
        return Discrepancy("inconclusive", position, None, 0.0, -math.inf, math.inf, "anything", 0.0, "time")

    def _judge(
        self, name: str, gradient: Array, contributions: tuple[tuple[str, Constant | None], ...], *, narrowest: bool
    ) -> Judgement:
        judgement = judge(gradient, self.oracle.gradient(name, contributions))
        if judgement.outcome == "passed" or (judgement.outcome == "wrong" and not narrowest):
            return judgement
        return judge(gradient, self.oracle.narrowest_gradient(name, contributions))

    def _discrepancy(self, position: int, judgement: Judgement) -> Discrepancy:
        entry = judgement.entry
        assert entry is not None
        assert judgement.outcome != "passed"
        severity: Severity = judgement.outcome
        return Discrepancy(
            severity=severity,
            input=position,
            entry=entry.index,
            observed=entry.observed,
            lower=float(entry.lower),
            upper=float(entry.upper),
            truth=entry.interval,
            explained=entry.budgets,
        )


def _moved(subject: Subject, step: float, direction: Mapping[str, Array]) -> Arrays:
    """Return the point, moved by a step along a direction."""
    return tuple(array + step * part for array, part in zip(subject.point, direction.values(), strict=True))
