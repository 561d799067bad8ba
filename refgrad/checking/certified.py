"""Judgement of gradients by certified balls, or by finite differences of a function of known values only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Array, Arrays, near
from refgrad.checking.subject import CheckedFunction, Seeds
from refgrad.checking.tracing import NEARBY, Trace
from refgrad.oracles import Discrepancy, Judgement, judge, screening
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.directions import flattened, seed_weights, split
from refgrad.oracles.slopes.slopes import SCALES, Scale
from refgrad.scenario import Constant
from refgrad.scenario.formats import FORMATS, least_precise

SHARP = 1e-3
"""Largest error that a screen may miss unless the function is large. In 16 bits a screen misses larger errors."""

PLAIN = 2.0**-6
"""Least error of a plainly wrong gradient along a direction, relative to its terms."""

AGREEING = 2.0**-8
"""Largest difference, relative to the terms, between the slope of a trace and the change of the function itself."""

FEW_OPERATIONS = 1_000
"""Number of scalar operations that are certified faster than a library traces a function for another gradient.

Of 16 wrong functions of JAX with 3 to 540 operations, 12 were checked in 18 to 42 % less time when they were certified
at once, the other 4 in as much up to noise.
"""

STEP = NEARBY
"""Step to either side for the change of the function, some ten digits of which survive."""

ASIDE = 2.0**-30
"""Distance to a second point for a gradient: numbers are rounded differently there, and no kink is met."""


@dataclass(eq=False)
class CertifiedJudge:
    """Judges gradients by certified intervals and rounding budgets.

    ``positions`` are those of the checked inputs among all inputs of the traced function. If the ``subject`` is given,
    plainly wrong gradients are not certified. ``rates`` are the rates of change of the outputs, once they are known.
    """

    trace: Trace
    positions: Sequence[int]
    choices: np.random.Generator
    tolerance: float = 0.0
    subject: CheckedFunction | None = None
    rates: Floats | None = None
    method: ClassVar[str] = "certified"

    @cached_property
    def rounding(self) -> screening.Rounding:
        """Rounding of the trace."""
        return screening.Rounding(self.trace.dtype, self.trace.terms, self.trace.large)

    @property
    def low(self) -> bool:
        """Return True if the function computes in at most 16 bits, so that all entries are compared at once."""
        return FORMATS[self.trace.dtype].narrow

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return a discrepancy for each input that has one. Without ``known``, stop at the first wrong one."""
        named = dict(zip(self.trace.inputs, gradients, strict=True))
        count = sum(gradient.size for gradient in gradients)
        if self.missed_below(count) < SHARP or (self.trace.large and not self.low):  # no other method finds more
            sweep = screening.Sweep(self.trace, named, self.choices)
            if self.rates is None and all(gradient.all() for gradient in gradients):
                self.rates = sweep.rates(self.trace.outputs)
            if sweep.passes(self.seeded(seeds), self.rounding):
                return []
        plain = self._plainly_wrong(seeds, named) if known is None else None
        if plain is not None:
            return [plain]
        if self.trace.large:  # it would take too long to certify it entry by entry
            return [] if self.low else [undecided(self.positions[0])]  # in 16 bits all entries are compared at once
        contributions = self._contributions(seeds)
        discrepancies = []
        for position, (name, gradient) in zip(self.positions, named.items(), strict=True):
            judgement = self._judgement(name, gradient, contributions)
            entry, outcome = judgement.entry, judgement.outcome
            if outcome != "passed":
                assert entry is not None
                bounds = float(entry.lower), float(entry.upper), entry.interval
                discrepancy = Discrepancy(outcome, position, entry.index, entry.observed, *bounds, entry.budgets)
                if discrepancy.failing and discrepancy.error <= self._lost(seeds):
                    continue
                discrepancies.append(discrepancy)
                if known is None and discrepancy.failing and discrepancy.relative_error > self.tolerance:
                    return [discrepancy]
        return discrepancies

    def _judgement(self, name: str, gradient: Array, contributions: Any) -> Judgement:
        """Return the judgement by a certified interval or, unless that passes, by the narrowest one."""
        judgement = judge(gradient, self.trace.oracle.gradient(name, contributions))
        if judgement.outcome == "passed":
            return judgement
        return judge(gradient, self.trace.oracle.narrowest_gradient(name, contributions))

    def seeded(self, seeds: Seeds) -> list[tuple[str, Array]]:
        """Return the outputs with a seed."""
        return [(name, seed) for name, seed in zip(self.trace.outputs, seeds, strict=True) if seed is not None]

    def _plainly_wrong(self, seeds: Seeds, gradients: Mapping[str, Array]) -> Discrepancy | None:
        """Return the discrepancy along a direction in which the gradient is plainly wrong, or None.

        The function itself must change along the direction as its trace does. At a kink nothing is plainly wrong, since
        the function changes differently to either side. Nor are the rounding errors of terms that cancel, which are
        visible in no value of the function and differ at a nearby point.
        """
        subject = self.subject
        if subject is None or self.tolerance or self.trace.dtype != "float64":
            return None
        if subject.library.pure and self.trace.work <= FEW_OPERATIONS:
            return None
        direction = {name: screening.random_signed(g.shape, self.choices) for name, g in gradients.items()}
        along = flattened(tuple(direction.values()))
        terms = along * flattened(tuple(gradients.values()))
        claimed = float(np.sum(terms))
        truth = screening.slope(self.trace, direction, self.seeded(seeds))
        size = float(np.sum(np.abs(terms))) + abs(truth)
        outputs, point = tuple(self.trace.values[name] for name in self.trace.outputs), flattened(subject.point)
        weights = seed_weights(seeds, outputs)
        function = UserFunction(subject, outputs, self.trace.dtype)
        lost = ALLOWANCE * FORMATS[self.trace.dtype].unit * float(np.sum(np.abs(function.here * weights)))
        if not abs(truth - claimed) > PLAIN * size + lost / STEP:  # a difference that rounding may hide
            return None
        sides = [(function.values(point + step * along) - function.here) @ weights / step for step in (STEP, -STEP)]
        if not all(abs(side - truth) <= AGREEING * size for side in sides):
            return None
        nearby = function.gradient(point + ASIDE * along, seeds)
        if nearby is None or not abs(float(along @ nearby) - claimed) <= PLAIN * abs(truth - claimed):
            return None
        return Discrepancy("wrong", self.positions[0], None, claimed, truth, truth, f"{truth:.10g}")

    def missed_below(self, count: int) -> float:
        """Return the least relative error that a screen of ``count`` entries never misses."""
        return screening.missed_below(self.trace.operations, count, self.rounding)

    def sees_from(self, count: int) -> float | None:
        """Return the least error of one of ``count`` entries that is never missed, or None if unknown."""
        missed = self.missed_below(count)
        return None if self.trace.large or missed >= SHARP else missed

    def truths(self, seeds: Seeds) -> list[Floats]:
        """Return the certified gradients, or NaN if there are too many entries."""
        if self.trace.large:
            return [np.full(shape, np.nan) for shape in self.trace.shapes.values()]
        return [self.trace.oracle.gradient(name, self._contributions(seeds)).midpoint for name in self.trace.inputs]

    def _lost(self, seeds: Seeds) -> float:
        """Return the error of a gradient that is caused by the underflow of an output that the backward rule uses."""
        largest = max(float(np.max(np.abs(seed), initial=1.0)) for seed in seeds if seed is not None)
        return ALLOWANCE * FORMATS[self.trace.dtype].underflow * largest

    def _contributions(self, seeds: Seeds) -> tuple[tuple[str, Constant | None], ...]:
        return tuple((name, Constant.of(seed)) for name, seed in self.seeded(seeds))

    def row_scales(self) -> Floats:
        """Return the rate of change of each entry of the outputs along a random direction, or 1 if it is zero.

        The rates found by the screen are used if there are any. Its direction is not suitable if a gradient has zeros.
        """
        if self.rates is not None:
            return self.rates
        return screening.row_scales(self.trace, self.trace.shapes, self.trace.outputs, self.choices)


def undecided(position: int) -> Discrepancy:
    """Return an inconclusive discrepancy: there is no time to judge the gradients of this input and the others."""
    return Discrepancy("inconclusive", position, None, 0.0, -math.inf, math.inf, "anything", 0.0, "time")


class UserFunction:
    """A function of an engine's tensors at a point, of which values and gradients are known at other points, too.

    Values are computed in float64, if the function accepts that and has about the same values then. ``precision`` is
    the coarsest dtype of its arithmetic.
    """

    def __init__(self, subject: CheckedFunction, outputs: Arrays, precision: str = "") -> None:
        """Take a function and its outputs at its point."""
        self.subject, self.outputs = subject, outputs
        self.positions = subject.positions
        dtypes = [*(kind.part for kind in subject.kinds), *(output.dtype.name for output in outputs)]
        self.precision = precision or least_precise(dtypes)
        self.most_precise, self.arrays, self.here, self.scale = _most_precise(subject, outputs, self.precision)

    def values(self, entries: Floats) -> Floats:
        """Return the flattened outputs at a flattened point, or NaN if they do not exist or have another size."""
        with suppress(SubjectError):
            values = flattened(self.most_precise.values(split(entries, self.arrays)))
            if values.size == self.here.size:
                return values
        return np.full(self.here.size, np.nan)

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        """Return the flattened gradient at a flattened point, or None if the function does not run there."""
        point = split(entries, self.subject.point)
        with suppress(SubjectError):
            gradients = self.subject.pullback(point).gradients(seeds)
            return flattened([np.zeros(p.shape) if g is None else g for g, p in zip(gradients, point, strict=True)])
        return None

    def moved(self, entries: Floats) -> UserFunction | None:
        """Return the function at another point, or None if it does not run there."""
        subject = self.subject.at(split(entries, self.subject.point))
        with suppress(SubjectError):
            return UserFunction(subject, subject.pullback(subject.point).outputs, self.precision)
        return None


def _most_precise(
    subject: CheckedFunction, outputs: Arrays, precision: str
) -> tuple[CheckedFunction, Arrays, Floats, Scale]:
    """Return the function, its inputs and flattened outputs, and its steps.

    They are in float64 if the function accepts that, in all operations or in its inputs, and has about the same values.
    """
    here = flattened(outputs)
    point = tuple(array.astype(np.float64) for array in subject.point)
    finer = [subject.raised(), subject if any(kind.part != "float64" for kind in subject.kinds) else None]
    for candidate in filter(None, finer if precision != "float64" else ()):
        try:
            values = candidate.values(point)
        except SubjectError:
            continue
        pairs = zip(values, outputs, strict=True)
        same = all(v.shape == o.shape and (v.dtype == np.float64 or o.dtype.kind != "f") for v, o in pairs)
        if same and near(here, flattened(values), NEARBY_TOLERANCE[precision] ** 0.5):
            return candidate, point, flattened(values), SCALES["float64"]
    return subject, subject.point, here, SCALES[precision]
