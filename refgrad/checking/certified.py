"""Judgement of gradients by certified balls, or by finite differences of a function of known values only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.trees import Array, Arrays
from refgrad.checking.subject import CheckedFunction, Seeds, SideEffectError
from refgrad.checking.tracing import Trace
from refgrad.oracles import CertifiedOracle, Discrepancy, Judgement, judge, screening
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.directions import HALVES, flattened, split
from refgrad.oracles.slopes.slopes import SCALES, Scale
from refgrad.scenario import Constant
from refgrad.scenario.formats import FORMATS, least_precise

SHARP = 1e-3
"""Largest error that a screen may miss: the screen of a function of halves misses larger ones, and is not used."""

PLAIN = 2.0**-6
"""Least error of a plainly wrong gradient along a direction, relative to its terms."""

AGREEING = 2.0**-8
"""Largest difference, relative to the terms, between the slope of a trace and the change of the function itself."""

STEP = 2.0**-20
"""Step to either side for the change of the function, which keeps some ten of its digits."""

BESIDE = 2.0**-36
"""Distance at which the gradient is computed once more, since other numbers are rounded there."""


class CertifiedJudge:
    """Judges gradients by certified intervals and rounding budgets."""

    method = "certified"

    def __init__(
        self,
        trace: Trace,
        positions: Sequence[int],
        choices: np.random.Generator,
        tolerance: float = 0.0,
        subject: CheckedFunction | None = None,
    ) -> None:
        """Take the trace of a function, and the positions of the checked inputs among all inputs.

        If the ``subject`` is given, plainly wrong gradients are not certified.
        """
        self.subject = subject
        self.tolerance = tolerance
        self.trace = trace
        self.positions = positions
        self.choices = choices
        self.rounding = screening.Rounding(trace.dtype, trace.terms, trace.large)
        self.rates: Floats | None = None

    @property
    def low(self) -> bool:
        """Return True if the function computes in 16 bits, so that its gradients are compared over all entries."""
        return FORMATS[self.trace.dtype].bits <= HALVES

    @cached_property
    def oracle(self) -> CertifiedOracle:
        """The certified oracle, which gradients that pass the screen do not need."""
        return CertifiedOracle(self.trace.scenario, self.trace.dtype)

    def judge(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right, at most one entry an input; if nothing is known, up to the first wrong one."""
        named = dict(zip(self.trace.inputs, gradients, strict=True))
        count = sum(gradient.size for gradient in gradients)
        if self.missed_below(count) < SHARP:
            sweep = screening.Sweep(self.trace, named, self.choices)
            if self.rates is None and all(gradient.all() for gradient in gradients):
                self.rates = sweep.rates(self.trace.outputs)
            if sweep.passes(self._seeded(seeds), self.rounding):
                return []
        plain = self._plainly_wrong(seeds, named) if known is None else None
        if plain is not None:
            return [plain]
        if self.trace.large:  # it would take too long to certify it entry by entry
            first = self.positions[0]
            late = Discrepancy("inconclusive", first, None, 0.0, -math.inf, math.inf, "anything", 0.0, "time")
            return [] if self.low else [late]  # in 16 bits all entries are compared at once instead
        contributions = self._contributions(seeds)
        found = []
        for position, (name, gradient) in zip(self.positions, named.items(), strict=True):
            judgement = self._judge(name, gradient, contributions, narrowest=known is not None)
            if judgement.outcome != "passed":
                discrepancy = _discrepancy(position, judgement)
                if discrepancy.failing and discrepancy.error <= self._lost(seeds):
                    continue
                found.append(discrepancy)
                if known is None and discrepancy.failing and discrepancy.relative_error > self.tolerance:
                    return [discrepancy]
        return found

    def _seeded(self, seeds: Seeds) -> list[tuple[str, Array]]:
        """Return the outputs with a seed."""
        return [(name, seed) for name, seed in zip(self.trace.outputs, seeds, strict=True) if seed is not None]

    def _plainly_wrong(self, seeds: Seeds, gradients: Mapping[str, Array]) -> Discrepancy | None:
        """Return what is far off along a direction along which the function itself changes as its trace does, or None.

        Nothing at a kink is plainly wrong: there the changes of the function to either side differ. Nor is what
        rounding leaves of terms that cancel: it shows in no value of the function, and differs beside the point.
        """
        subject = self.subject
        if subject is None or self.tolerance or self.trace.dtype != "float64":
            return None
        direction = {name: screening.random_direction(g.shape, self.choices) for name, g in gradients.items()}
        terms = np.concatenate([np.zeros(0), *((direction[name] * g).ravel() for name, g in gradients.items())])
        claimed = float(np.sum(terms))
        truth = screening.slope(self.trace, direction, self._seeded(seeds))
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
        """Return the largest slope of which rounding leaves nothing in the change by a step."""
        sizes = (float(np.sum(np.abs(self.trace.recorder.values[name] * seed))) for name, seed in self._seeded(seeds))
        return ALLOWANCE * FORMATS[self.trace.dtype].unit * sum(sizes) / STEP

    def _claimed_beside(self, subject: CheckedFunction, direction: Mapping[str, Array], seeds: Seeds) -> float:
        """Return the slope along a direction according to the gradient beside the point, NaN if there is none."""
        try:
            found = subject.pullback(_moved(subject, BESIDE, direction)).gradients(seeds)
        except (SubjectError, SideEffectError, UnsupportedError):
            return math.nan
        pairs = zip(direction.values(), found, strict=True)
        return sum(float(np.sum(part * gradient)) for part, gradient in pairs if gradient is not None)

    def _change(self, subject: CheckedFunction, step: float, direction: Mapping[str, Array], seeds: Seeds) -> float:
        """Return the difference quotient of the function along a direction, NaN if it has no value there."""
        try:
            found = subject.values(_moved(subject, step, direction))
        except SubjectError:
            return math.nan
        here = (self.trace.recorder.values[name] for name in self.trace.outputs)
        parts = zip(found, here, seeds, strict=True)
        return sum(float(np.sum((there - value) * seed)) for there, value, seed in parts if seed is not None) / step

    def missed_below(self, count: int) -> float:
        """Return the least relative error that a screen of so many entries never misses."""
        return screening.missed_below(self.trace.operations, count, self.rounding)

    def sees_from(self, count: int) -> float | None:
        """Return the least error of one entry of so many that is never missed, or None if it is not known."""
        missed = self.missed_below(count)
        return None if self.trace.large or missed >= SHARP else missed

    def truths(self, seeds: Seeds) -> list[Floats]:
        """Return the certified gradients, or NaN if there are too many entries."""
        if self.trace.large:
            return [np.full(shape, np.nan) for shape in self.trace.shapes.values()]
        return [self.oracle.gradient(name, self._contributions(seeds)).midpoint for name in self.trace.inputs]

    def _lost(self, seeds: Seeds) -> float:
        """Return the error that is explained by an output, used by a rule, that underflows."""
        largest = max(float(np.max(np.abs(seed), initial=1.0)) for seed in seeds if seed is not None)
        return ALLOWANCE * FORMATS[self.trace.dtype].underflow * largest

    def _contributions(self, seeds: Seeds) -> tuple[tuple[str, Constant | None], ...]:
        return tuple((name, Constant.of(seed)) for name, seed in self._seeded(seeds))

    def row_scales(self) -> Floats:
        """Return the rate of change of each entry of the outputs along a random direction, or 1 if it is zero.

        The direction of a screen is used, unless it moves far along entries whose gradient is zero.
        """
        if self.rates is not None:
            return self.rates
        return screening.row_scales(self.trace, self.trace.shapes, self.trace.outputs, self.choices)

    def _judge(
        self, name: str, gradient: Array, contributions: tuple[tuple[str, Constant | None], ...], *, narrowest: bool
    ) -> Judgement:
        judgement = judge(gradient, self.oracle.gradient(name, contributions))
        if judgement.outcome == "passed" or (judgement.outcome == "wrong" and not narrowest):
            return judgement
        return judge(gradient, self.oracle.narrowest_gradient(name, contributions))


def _discrepancy(position: int, judgement: Judgement) -> Discrepancy:
    entry = judgement.entry
    assert entry is not None
    assert judgement.outcome != "passed"
    return Discrepancy(
        judgement.outcome,
        position,
        entry.index,
        entry.observed,
        float(entry.lower),
        float(entry.upper),
        entry.interval,
        entry.budgets,
    )


def _moved(subject: CheckedFunction, step: float, direction: Mapping[str, Array]) -> Arrays:
    return tuple(array + step * part for array, part in zip(subject.point, direction.values(), strict=True))


AGREEMENT: Mapping[str, float] = MappingProxyType({"float64": 1e-2, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.2})
"""Largest relative difference between a function and its run in float64 that makes them the same function."""


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
        self.finest, self.arrays, self.here, self.scale = _finest(subject, outputs, self.precision)

    def values(self, entries: Floats) -> Floats:
        """Return the flattened outputs at a flattened point, or NaN if there are none, or more or fewer than here."""
        try:
            values = flattened(self.finest.values(split(entries, self.arrays)))
        except SubjectError:
            return np.full(self.here.size, np.nan)
        return values if values.size == self.here.size else np.full(self.here.size, np.nan)

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        """Return the flattened gradient at a flattened point, or None if the function does not run there."""
        point = split(entries, self.subject.point)
        try:
            gradients = self.subject.pullback(point).gradients(seeds)
        except (SubjectError, SideEffectError, UnsupportedError):
            return None
        return flattened([np.zeros(p.shape) if g is None else g for g, p in zip(gradients, point, strict=True)])

    def moved(self, entries: Floats) -> UserFunction | None:
        """Return the function at another point, or None if it does not run there."""
        subject = self.subject.at(split(entries, self.subject.point))
        try:
            return UserFunction(subject, subject.pullback(subject.point).outputs, self.precision)
        except (SubjectError, SideEffectError, UnsupportedError):
            return None


def _finest(subject: CheckedFunction, outputs: Arrays, precision: str) -> tuple[CheckedFunction, Arrays, Floats, Scale]:
    """Return the function, its inputs and flattened outputs, and its steps.

    They are in float64 if the function accepts that and has about the same values then.
    """
    here = flattened(outputs)
    if precision == "float64":
        return subject, subject.point, here, SCALES["float64"]
    point = tuple(array.astype(np.float64) for array in subject.point)
    for finer in _finer(subject):
        try:
            values = finer.values(point)
        except SubjectError:
            continue
        fine = flattened(values)
        same = [
            v.shape == o.shape and (v.dtype == np.float64 or o.dtype.kind != "f")
            for v, o in zip(values, outputs, strict=True)
        ]
        if all(same) and _agree(fine, here, AGREEMENT[precision]):
            return finer, point, fine, SCALES["float64"]
    return subject, subject.point, here, SCALES[precision]


def _finer(subject: CheckedFunction) -> Iterator[CheckedFunction]:
    raised = subject.raised()
    if raised is not None:
        yield raised
    if any(kind.part != "float64" for kind in subject.kinds):
        yield subject


def _agree(fine: Floats, here: Floats, tolerance: float) -> bool:
    size = min(1.0, float(np.max(np.abs(here[np.isfinite(here)]), initial=0.0)))
    return bool(np.allclose(fine, here, rtol=tolerance, atol=tolerance * size, equal_nan=True))
