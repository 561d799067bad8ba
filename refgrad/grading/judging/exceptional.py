"""Judgement of scenarios in which one entry of an operand is exceptional: NaN, an infinity, or an extreme number.

Results that do not depend on the entry are compared with the certified truth of the same scenario with an ordinary
number there. A value that depends on NaN must be NaN, and so must a gradient that depends on it everywhere. A value
that is the largest or a subnormal number itself must be that number. An operator with kinks chooses by comparisons,
which are false for NaN: a number where NaN is expected is a milder failure there. At an infinity a value or a
derivative must be its limit if the limit is certain. Everything else is left to the engine.

The same search tries numbers far out, where a derivative must keep some of its digits, and vectors of NaN, whose
entries must all have the same result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.facts import Entry, Error, Subject
from refgrad.generation import Position
from refgrad.grading.judging.comparison import Expected, compare_array
from refgrad.grading.judging.examination import confront, examine
from refgrad.grading.judging.verdict import Finding, worst
from refgrad.grading.settings import NUMBERS
from refgrad.interpreter import NUMPY_FUNCTIONS, Float64, evaluate, keywords
from refgrad.lifecycle import ExpectedValue, Gradient, lower
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Array, Observation
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import differentiate
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.certified.certified import Certified
from refgrad.oracles.certified.ranged import plain_ball
from refgrad.oracles.judgement import inaccurate_below, negligible_below
from refgrad.oracles.screening import DIFFERENTIABLE
from refgrad.scenario import Apply, Backward, Grad, Leaf
from refgrad.scenario.formats import FLOAT64

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
Expectation = ExpectedValue | Gradient

PROBES: Final = NUMBERS["dependence"]


TOWARDS_INFINITY: Final = tuple(2.0**exponent for exponent in PROBES["towards_infinity"])
"""Magnitudes at which a limit is estimated. Each is the square of the last, and FLINT can compute exp of all."""


@dataclass(frozen=True)
class Dependence:
    """Dependence of the results of a scenario on one entry of an operand."""

    position: Position
    adapter: AnyAdapter

    def oracle(self, number: float) -> CertifiedOracle:
        """Return the certified oracle of the scenario with a number at the position."""
        return _oracle(self.position, number, self.adapter.dtype)

    @cached_property
    def row(self) -> Operator:
        """Row of the operator."""
        return operator_table()[self._step.operator]

    def expected(self, read: Expectation) -> Expected:
        """Return the expected result with the ordinary number."""
        return Expected(self.oracle(self.position.number), read, self.adapter)

    def is_free(self, read: Expectation) -> Mask:
        """Return the mask of result entries that do not depend on the entry.

        NaN cannot reach them, and they are the same for all numbers. The derivative with respect to the entry itself is
        never free: a rule may be written with its number, such as a product divided by a factor.
        """
        return self.may_be_free(read) & ~self.moves(read)

    def may_be_free(self, read: Expectation) -> Mask:
        """Return the mask of result entries that are finite in the oracle with NaN in the entry; a branch may hide it.

        The derivative with respect to the entry itself is left out.
        """
        is_own = isinstance(read, Gradient) and read.leaf == self.position.leaf
        return _finite(self.certified(math.nan, read)) & ~(self._is_same_entry(read) & is_own)

    def may_move(self, read: Expectation) -> Mask:
        """Return the mask of result entries that NaN reaches in the oracle or, for a value, in float64."""
        mask = ~self.may_be_free(read)
        return mask | np.isnan(self._plain(read, math.nan)) if isinstance(read, ExpectedValue) else mask

    def moves(self, read: Expectation) -> Mask:
        """Return the mask of result entries that differ for at least two of the probed numbers."""
        return _differ(self, read)[0]

    def always_moves(self, read: Expectation) -> Mask:
        """Return the mask of result entries that differ for every two of the probed numbers."""
        return _differ(self, read)[1]

    def passed_on(self, value: ExpectedValue, number: float) -> Numbers:
        """Return the values that are ``number`` itself, or a function of it alone if it is large; NaN elsewhere.

        A value is NaN, too, where evaluation in float64 does not agree with it.
        """
        plain = self._plain(value, number)
        truth = self.certified(number, value).midpoint
        is_itself = truth == number
        if is_itself.any() and not self.row.elementwise:
            is_itself &= np.all([self.certified(each, value).midpoint == each for each in self.numbers], axis=0)
        is_function = np.full(truth.shape, abs(number) > 1 and self.row.elementwise and len(self.row.arguments) == 1)
        with np.errstate(all="ignore"):
            known = np.isfinite(truth) & (np.abs(plain - truth) <= PROBES["close"] * np.abs(truth))
        return np.where(known & (is_itself | is_function), truth, math.nan)

    def limits(self, read: Expectation, number: float) -> Numbers:
        """Return the limits of result entries towards an infinity; NaN where one is not certain or not easy to compute.

        A limit is easy to compute if the operator is not composite and the formula of the value, or of a derivative
        that is finite, gives it at the infinity.
        """
        if self.row.composite is not None or (isinstance(read, Gradient) and not self.row.elementwise):
            return np.full(self.expected(read).certified().shape, math.nan)
        plain = self._plain(read, number) if isinstance(read, ExpectedValue) else self._plain_slope(read, number)
        if np.isnan(plain).all():
            return plain
        moving = self.moves(read) | self._is_same_entry(read)
        towards = [self.certified(math.copysign(far, number), read) for far in TOWARDS_INFINITY]
        return np.where(_approached(towards, plain) & moving, plain, math.nan)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The probed numbers: the ordinary one, one near it, and others beyond all other numbers of the operands."""
        number, others = self.position.number, self.position.others
        low, high = float(others.min(initial=number)), float(others.max(initial=number))
        apart = [end for step in PROBES["apart"] for end in (high + step, low - step)]
        return tuple(dict.fromkeys((number, number * PROBES["near"], *apart)))

    @cached_property
    def _step(self) -> Apply:
        return self.position.base.applications[0]

    def certified(self, number: float, read: Expectation) -> Certified:
        """Return the certified result of the program with ``number`` as the entry at the position."""
        return Expected(self.oracle(number), read, self.adapter).certified()

    def _plain(self, value: ExpectedValue, number: float) -> Numbers:
        values: Mapping[str, Numbers] = evaluate(self.position.holding(number), Float64())
        return values[value.lowered]

    def tails(self, gradient: Gradient, number: float) -> tuple[Numbers, Mask]:
        """Return the derivatives that a formula of the row gives in float64, and the mask of those of `partials`.

        A derivative that no formula gives, or that float64 does not hold, is NaN.
        """
        truth = self.certified(number, gradient)
        size, formulas = np.abs(truth.midpoint), (False, True) if self.row.tails else (False,)
        slopes = [self._plain_slope(gradient, number, tails=tails) for tails in formulas]
        with np.errstate(all="ignore"):
            certain = (truth.radius <= PROBES["close"] * size) & (size >= FLOAT64.smallest_normal) & np.isfinite(size)
            close = [np.abs(slope - truth.midpoint) <= PROBES["close"] * size for slope in slopes]
        return np.where(certain & np.any(close, axis=0), truth.midpoint, math.nan), close[0]

    def _plain_slope(self, gradient: Gradient, number: float, *, tails: bool = False) -> Numbers:
        """Return the row's formula of the derivative at a number times the seeds; NaN where not finite."""
        scenario = self.position.holding(number)
        values = evaluate(scenario, Float64())
        out, shape = values[self._step.name], values[gradient.leaf].shape
        starts = [step for step in scenario.steps if isinstance(step, Backward | Grad)]
        argument = self.row.argument_names[self._step.arguments.index(gradient.leaf)]
        plain = {shape, *(values[name].shape for name in self._step.arguments)} == {out.shape}
        chain = [self._step.name, *(step.name for step in starts if isinstance(step, Grad))]
        if not plain or chain != [step.output for step in starts]:
            return np.full(shape, math.nan)
        seeds = [step.seed.to_numpy() for step in starts if step.seed is not None]
        operands = [values[name] for name in self._step.arguments]
        slope = _slope(self.row, argument, len(starts), tails)
        with np.errstate(all="ignore"):
            product = math.prod(seeds, start=slope(*operands, out, **self.row.bind(keywords(self._step))))
        product = np.broadcast_to(product if len(seeds) == len(starts) else math.nan, shape)
        return np.where(np.isfinite(product) & ~np.isnan(out), product, math.nan)

    def multiplies_infinity(self, read: Expectation, number: float) -> bool:
        """Return True if dual numbers multiply the tangent 0 of another operand by a partial that is not finite.

        A dual number adds the products of partials and tangents of all operands, and 0 times infinity is NaN.
        """
        if not isinstance(self.adapter, FunctionalAdapter) or not isinstance(read, Gradient):
            return False
        others = [replace(read, leaf=name) for name in self._step.arguments if name != read.leaf]
        return self.adapter.forward_only and any(np.isnan(self._plain_slope(each, number)).any() for each in others)

    def _is_same_entry(self, read: Expectation) -> Mask:
        """Return the mask of the derivative with respect to the same index of any operand of the same shape."""
        leaf = self.position.base.definitions[self.position.leaf]
        assert isinstance(leaf, Leaf)
        mask = np.zeros(self.expected(read).certified().shape, dtype=bool)
        if isinstance(read, Gradient) and mask.shape == leaf.value.shape:
            mask.flat[self.position.entry] = True
        return mask


@lru_cache(maxsize=64)
def _oracle(position: Position, number: float, dtype: str) -> CertifiedOracle:
    return CertifiedOracle(position.holding(number), dtype)


@cache
def _slope(row: Operator, argument: str, order: int, tails: bool) -> Callable[..., Any]:  # noqa: FBT001 (a key)
    """Return the function of operands, output and attributes that gives a derivative of the first or second order.

    That of the second order is the formula in ``tails`` of the argument, given twice, or else the derivative of the
    first, of an operator with one operand.
    """
    parameters = (*row.argument_names, "out", *row.attribute_names)
    formulas = {**row.partials, **row.tails} if tails else row.partials
    formula = formulas.get(" ".join([argument] * order))
    if formula is not None:
        return formula.function(parameters, NUMPY_FUNCTIONS)
    both = differentiate(formulas[argument], (argument, "out"), row.attribute_names, DIFFERENTIABLE)

    def again(*operands: Any, **attributes: Any) -> Any:
        slope, by_operand, by_out = both(*operands, **attributes)
        return by_operand + by_out * slope

    return again


def _finite(certified: Certified) -> Mask:
    flat = [plain_ball(ball).is_finite() for ball in certified.balls.ravel().tolist()]
    return np.asarray(flat, dtype=bool).reshape(certified.shape)


@lru_cache(maxsize=64)
def _differ(dependence: Dependence, read: Expectation) -> tuple[Mask, Mask]:
    """Return where the results for some two of the probed numbers differ, and where those for every two do."""
    return _differing([dependence.certified(each, read) for each in dependence.numbers])


def _differing(certified: list[Certified]) -> tuple[Mask, Mask]:
    """Return where some two of the arrays differ, and where every two do."""
    some, every = (np.zeros(certified[0].shape, dtype=bool) for _ in range(2))
    for index in np.ndindex(some.shape):
        balls = [ball for ball in (plain_ball(each.balls[index]) for each in certified) if ball.is_finite()]
        pairs = [not ball.overlaps(other) for number, ball in enumerate(balls) for other in balls[:number]]
        some[index], every[index] = any(pairs), len(balls) >= PROBES["enough"] and all(pairs)
    return some, every


def _approached(towards: list[Certified], limit: Numbers) -> Mask:
    """Return the mask of entries that approach ``limit``, which may be infinite."""
    first, second, third = (each.midpoint for each in towards)
    certain = np.all([_finite(each) for each in towards], axis=0)
    with np.errstate(all="ignore"):
        near = np.abs(np.stack([second, third]) - limit) <= PROBES["close"] * np.maximum(1.0, np.abs(limit))
        grows = np.sign(third) == np.sign(limit)
        for before, after in ((first, second), (second, third)):
            grows = grows & ((np.abs(after) >= PROBES["grows"] * np.abs(before)) | np.isinf(before))
    mask: Mask = certain & np.where(np.isinf(limit), grows, near.all(axis=0))
    return mask


PASSES_NAN_OVER: Final = re.compile(r"\bnan(?!_to_num)\w*\(")
"""Pattern of spellings by functions that ignore NaN, as NumPy, PyTorch and JAX name them: ``nansum``."""

Judged = Callable[[Dependence, float, Expectation, Subject, Observation], Finding]


def examine_exceptional(position: Position, number: float, engine: Engine, *, flushes: bool = False) -> Finding:
    """Return the worst finding of a scenario with a number at a position. Limits at an infinity are not checked.

    An engine that ``flushes`` treats subnormals as zeros in all computations.
    """
    dependence = _dependence(position, engine.adapter)
    if number == 0:
        return _unlike(examine(position.holding(number), engine), examine(position.holding(abs(number)), engine))
    if _is_subnormal(number) and (flushes or "subnormal" in dependence.row.exceptional.conventions):
        return Finding("convention")
    if _is_subnormal(number) and dependence.row.elementwise:
        plain = examine(position.holding(number), engine)
        return plain if not plain.failed or (plain.outcome == "wrong" and not dependence.row.kinks) else _left(plain)
    return _examined(position, number, engine, _judged)


def examine_limits(position: Position, number: float, engine: Engine) -> Finding:
    """Return the worst finding of the values and derivatives that have a limit as the number becomes infinite."""
    return _examined(position, number, engine, _by_limit)


def examine_tails(position: Position, number: float, engine: Engine) -> Finding:
    """Return the worst finding of the derivatives at a number far out: whether all of their digits are lost."""
    return _examined(position, number, engine, _by_tail)


def examine_equal(position: Position, number: float, engine: Engine) -> Finding:
    """Return the worst finding of arrays made of equal numbers: whether their entries differ."""
    return _examined(position, number, engine, _equal)


def _is_subnormal(number: float) -> bool:
    return 0 < abs(number) < FLOAT64.smallest_normal


def _left(finding: Finding) -> Finding:
    return replace(finding, outcome="inconclusive")


def _unlike(finding: Finding, other: Finding) -> Finding:
    """Return the finding of a negative zero; inconclusive if zero fails, too, which checks of the edges report."""
    return _left(finding) if finding.failed and other.failed else finding


def _examined(position: Position, number: float, engine: Engine, judged: Judged) -> Finding:
    """Judge every array that a scenario shows. An engine may raise an error for the number: that is inconclusive."""
    scenario = position.holding(number)
    predictions, observations = lower(scenario, engine.adapter.policy).predictions, observe(scenario, engine)
    dependence = _dependence(position, engine.adapter)
    if any(each.ending is not None for each in observations):
        return confront(predictions, observations, dependence.oracle(position.number), engine.adapter)
    error = next((each.error for each in observations if each.error is not None), None)
    if error is not None:
        return Finding("inconclusive", Error(error=error, explanation="valueless"))
    spellings = (engine.spelling(step, scenario) for step in scenario.applications)
    if math.isnan(number) and any(map(PASSES_NAN_OVER.search, spellings)):
        return Finding("convention")
    finding = worst(
        replace(judged(dependence, number, read, _subject(read), seen), step=step)
        for step, (read, seen) in enumerate(zip(predictions, observations, strict=True), 1)
        if isinstance(read, ExpectedValue | Gradient)
    )
    coarser = finding.outcome == "inaccurate" and dependence.row.name in engine.adapter.coarser
    return replace(finding, outcome="convention") if coarser else finding


_dependence = lru_cache(maxsize=4)(Dependence)


def _subject(read: Expectation) -> Subject:
    return Subject("value", read.name) if isinstance(read, ExpectedValue) else Subject("gradient", read.leaf)


def _judged(dependence: Dependence, number: float, read: Expectation, subject: Subject, seen: Observation) -> Finding:
    """Judge the entries that do not depend on the number, depend on NaN, or are an extreme number themselves."""
    expected = dependence.expected(read)
    truth, conventions = expected.certified().midpoint, dependence.row.exceptional.conventions
    if seen.array is None or seen.array.shape != truth.shape:
        return compare_array(subject, seen, expected)
    findings = []
    if "containment" not in conventions:
        finding = _contained(dependence, read, subject, seen, dependence.may_be_free(read))
        findings.append(
            _contained(dependence, read, subject, seen, dependence.is_free(read)) if finding.failed else finding
        )
    if math.isfinite(number) and isinstance(read, ExpectedValue):
        least = 0.0 if _is_subnormal(number) else FLOAT64.underflow
        findings.append(_compared(subject, seen.array, dependence.passed_on(read, number), least, expected.scale))
    if math.isnan(number) and "nan" not in conventions:
        findings.append(_propagated(dependence, read, subject, seen.array, truth))
    return worst(findings)


def _contained(dependence: Dependence, read: Expectation, subject: Subject, seen: Observation, free: Mask) -> Finding:
    """Judge the entries in ``free`` by the truth with an ordinary number there; the others count as right."""
    assert seen.array is not None
    expected = dependence.expected(read)
    judged = np.where(free, seen.array, expected.certified().midpoint)
    array = judged.astype(seen.array.dtype) if seen.array.dtype.kind == "f" else judged  # integers may stand for floats
    return compare_array(subject, replace(seen, array=array), expected)


def _propagated(dependence: Dependence, read: Expectation, subject: Subject, array: Array, truth: Numbers) -> Finding:
    """Return the finding for the first entry that depends on NaN and is a number.

    Entries that NaN cannot reach and that have not changed are right.
    """
    changed = ~np.isclose(array, truth, rtol=inaccurate_below(FLOAT64), atol=0.0)
    suspect = ~np.isnan(array) & (changed | dependence.may_move(read))
    if not suspect.any():
        return Finding("passed")
    depends = dependence.moves(read) if isinstance(read, ExpectedValue) else dependence.always_moves(read)
    finding = _first(subject, array, suspect & depends, np.full(truth.shape, math.nan))
    if finding.failed and dependence.row.kinks and isinstance(finding.fact, Entry):
        return Finding("wrong", replace(finding.fact, qualifier="swallowed"))
    return finding


def _by_limit(dependence: Dependence, number: float, read: Expectation, subject: Subject, seen: Observation) -> Finding:
    limits = dependence.limits(read, number)
    if seen.array is None or seen.array.shape != limits.shape or "infinity" in dependence.row.exceptional.conventions:
        return Finding("passed")
    finding = _compared(subject, seen.array, limits, FLOAT64.underflow)
    fact = finding.fact
    if isinstance(fact, Entry) and fact.observed == "nan" and dependence.multiplies_infinity(read, number):
        return Finding("convention", replace(fact, qualifier="dual"))
    return finding


def _equal(_: Dependence, __: float, ___: Expectation, subject: Subject, seen: Observation) -> Finding:
    """Return the finding for the first entry that differs from the first one. Which of them is right is left open."""
    array = np.zeros(1) if seen.array is None or not seen.array.size else seen.array
    first = np.full(array.shape, array.flat[0])
    finding = _first(subject, array, ~((array == first) | (np.isnan(array) & np.isnan(first))), first)
    if not isinstance(finding.fact, Entry):
        return finding
    entry = finding.fact
    reason = f"{entry.lower} at the first entry and {entry.observed} at entry {entry.index}"
    return Finding(finding.outcome, replace(entry, qualifier="unequal", reason=reason))


def _by_tail(dependence: Dependence, number: float, read: Expectation, subject: Subject, seen: Observation) -> Finding:
    """Judge a derivative of which no digit is left: it is 0 or no number, has the wrong sign, or is far too large.

    It is a convention if the usual formula, that of `partials`, loses the digits, too.
    """
    if not isinstance(read, Gradient) or seen.array is None:
        return Finding("passed")
    truth, usual = dependence.tails(read, number)
    if seen.array.shape != truth.shape:
        return Finding("passed")
    with np.errstate(all="ignore"):
        kept = (np.sign(seen.array) == np.sign(truth)) & (np.abs(seen.array) < 2 * np.abs(truth))
    lost = ~np.isnan(truth) & ~kept
    finding = _first(subject, seen.array, lost & usual, truth)
    convention = finding if finding.failed else _first(subject, seen.array, lost, truth)
    if finding.failed or not isinstance(convention.fact, Entry):
        return finding
    return Finding("convention", replace(convention.fact, qualifier="lost"))


def _compared(subject: Subject, array: Array, expected: Numbers, least: float, scale: float = 0.0) -> Finding:
    """Return the finding for the first entry that differs from ``expected`` in its leading digits. NaN matches all.

    Where 0 or a subnormal number is expected, an error that is small relative to ``scale`` is inaccurate, not wrong.
    """
    with np.errstate(all="ignore"):
        error = np.abs(array - expected)
        near = error <= inaccurate_below(FLOAT64) * np.abs(expected) + least
        slight = (np.abs(expected) < FLOAT64.smallest_normal) & (error <= negligible_below(FLOAT64) * scale)
    wrong = ~(np.isnan(expected) | (near & np.isfinite(expected)) | (array == expected))
    finding = _first(subject, array, wrong & ~slight, expected)
    return finding if finding.failed else _first(subject, array, wrong, expected, scale)


def _first(subject: Subject, array: Array, wrong: Mask, expected: Numbers, scale: float = 0.0) -> Finding:
    """Return the finding for the first entry in the mask ``wrong``: wrong, or inaccurate if a ``scale`` is given."""
    if not wrong.any():
        return Finding("passed")
    index = tuple(map(int, np.argwhere(wrong)[0]))
    truth, observed = repr(float(expected[index])), repr(float(array[index]))
    entry = Entry(subject=subject, index=index, observed=observed, lower=truth, upper=truth)
    if not scale:
        return Finding("wrong", entry)
    scaled = repr(float(abs(array[index] - expected[index]) / scale))
    return Finding("inaccurate", replace(entry, scaled_error=scaled, qualifier="negligible"))
