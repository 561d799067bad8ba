"""Comparison of an observed array with the expected one: presence, dtype, shape and entries.

Gradients that were read at one moment must also be consistent: they must belong to one legal choice at the kinks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from refgrad import oracles
from refgrad.facts import Absent, Dtype, Entry, Inconsistent, Masked, Numbers, Shape, Subject
from refgrad.grading.judging.verdict import Finding
from refgrad.interpreter import ScenarioEvaluationError
from refgrad.lifecycle import Contribution, ExpectedValue, Gradient, Prediction
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter
from refgrad.native.observation import Array, Observation, is_unwritten
from refgrad.native.program import relevant_leaves
from refgrad.oracles import CertifiedOracle, EntryError, Judgement, judge
from refgrad.oracles.certified.certified import HIGHEST_BITS, TRUTH_BITS, Certified, narrowest
from refgrad.oracles.judgement import ALLOWANCE, last_place
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Scenario, ZeroGrad
from refgrad.scenario.formats import FORMATS, Format

Predictions: TypeAlias = tuple[Prediction, ...]
Observations: TypeAlias = tuple[Observation, ...]
_Contributions = tuple[tuple[str, Constant | None], ...]
_Read = tuple[int, Gradient, npt.NDArray[np.float64]]
"""Number of a step that read a gradient, the expected gradient, and the observed one."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected value or gradient of a step, with the oracle that certifies it and the adapter of the engine."""

    oracle: CertifiedOracle
    prediction: ExpectedValue | Gradient
    adapter: AnyAdapter

    def certified(self, bits: int = TRUTH_BITS) -> Certified:
        """Return the truth at a precision of ``bits``.

        If the engine computes gradients in forward mode, the error bound is that of its order of operations.
        """
        if isinstance(self.prediction, ExpectedValue):
            return self.oracle.value(self.prediction.lowered, bits)
        forward = isinstance(self.adapter, FunctionalAdapter) and self.adapter.forward_only
        return self.oracle.gradient(self.prediction.leaf, self.prediction.contributions, bits, forward=forward)

    @property
    def narrowest(self) -> Certified:
        """The truth at the precision that settles it."""
        return narrowest(self.certified)

    @property
    def dtype(self) -> str | None:
        """Dtype of the leaf for a gradient; for a value, the single dtype of the leaves that it depends on, or None.

        Libraries promote several dtypes differently: they disagree on whether a 0-d array counts, for example.
        """
        prediction = self.prediction
        dtypes = self.oracle.dtypes[prediction.name if isinstance(prediction, ExpectedValue) else prediction.leaf]
        return next(iter(dtypes)) if len(dtypes) == 1 else None

    @property
    def scale(self) -> float:
        """Magnitude that the errors of an expected 0 or subnormal number are compared with.

        For a gradient it is the magnitude of the largest seed that reaches the leaf; for a value, that of the largest
        number in the leaves, at most 1. Seeds of recorded gradients and tangents below 1 make it smaller.
        """
        steps, prediction = self.oracle.original.steps, self.prediction
        if isinstance(prediction, Gradient):
            largest = max((_arriving(each) for each in prediction.contributions), default=0.0)
        else:
            largest = min(1.0, max((_largest(leaf.value) for leaf in self.oracle.original.leaves), default=0.0))
        seeds = [step.seed for step in steps if isinstance(step, Grad)]
        seeds += [tangent for step in steps if isinstance(step, Jvp) for _, tangent in step.tangents]
        return largest * math.prod(min(1.0, _largest(seed)) for seed in seeds)

    @property
    def is_pushed(self) -> bool:
        """Return True if the value is a directional derivative computed by forward mode."""
        name = self.prediction.name if isinstance(self.prediction, ExpectedValue) else ""
        return isinstance(self.oracle.original.definitions.get(name), Jvp)

    @property
    def is_certain(self) -> bool:
        """Return True if every engine must show an array, so that its absence is a failure."""
        return isinstance(self.prediction, ExpectedValue) or self.prediction.certain


def _arriving(contribution: Contribution) -> float:
    """Return the magnitude of the largest entry of a seed, times the factors of the hooks on its way."""
    scales = contribution[2] if len(contribution) == 4 else ()  # noqa: PLR2004 (where hooks matter)
    return _largest(contribution[1]) * math.prod(abs(factor) for _, factor in scales)


def _largest(constant: Constant | None) -> float:
    """Return the largest finite magnitude of an array, or 1 for an omitted seed."""
    if constant is None:
        return 1.0
    magnitudes = np.abs(constant.to_numpy().astype(np.float64))
    return float(np.max(magnitudes, where=np.isfinite(magnitudes), initial=0.0))


def compare_array(subject: Subject, observation: Observation, expected: Expected) -> Finding:
    """Compare an observed array with the expected one and return the finding."""
    array = observation.array
    if array is None:
        return Finding("missing", Absent(subject=subject)) if expected.is_certain else _of_absent(subject, expected)
    if observation.masked:
        return Finding("missing", Masked(subject=subject, masked=observation.masked, size=array.size))
    unexpected = _unexpected_dtype(subject, array, observation.dtype, expected)
    if unexpected is not None:
        return Finding("wrong", unexpected)
    array = _without_further_axes(array, expected)
    judgement = _judge(array, expected)
    if judgement.outcome == "passed":
        return Finding("passed")
    if judgement.entry is None:
        return Finding(judgement.outcome, Shape(subject=subject, seen=array.shape, expected=expected.certified().shape))
    finding = _of_entry(subject, judgement, judgement.entry, expected)
    return _in_other_order(finding, array, expected) if finding.outcome == "wrong" else finding


def _without_further_axes(array: Array, expected: Expected) -> Array:
    """Remove the leading axes of length one that an engine adds because its tensors cannot have fewer axes."""
    least = expected.adapter.least_axes
    if not least or array.ndim != least:
        return array
    shape = expected.certified().shape
    return array.reshape(shape) if array.shape == (1,) * (least - len(shape)) + shape else array


def _of_absent(subject: Subject, expected: Expected) -> Finding:
    """Return the finding for an absent gradient that engines need not record: it counts as zeros."""
    if expected.certified().is_zero:
        return Finding("passed")
    certified = expected.narrowest
    if not np.all(np.isfinite(certified.radius)):
        return Finding("inconclusive", Absent(subject=subject, certain=False))
    return Finding("passed") if certified.is_zero else Finding("missing", Absent(subject=subject))


def _unexpected_dtype(subject: Subject, array: Array, named: str, expected: Expected) -> Dtype | None:
    """Return the fact that an array has an unexpected dtype, or None. Integers may stand for floating numbers."""
    if array.dtype.kind not in "fiub":
        return Dtype(subject=subject, seen=str(array.dtype))
    dtype = expected.dtype
    if named in FORMATS and dtype in expected.adapter.dtypes and named != dtype:
        return Dtype(subject=subject, seen=named, expected=str(dtype))
    return None


def _judge(array: Array, expected: Expected) -> Judgement:
    """Judge an array at the usual precision; if it does not pass, judge it again at the precision that settles it.

    A choice is reported only if the highest precision leaves more than one answer, too.
    """
    judgement = judge(array, expected.certified())
    if judgement.outcome == "passed":
        return judgement
    scale = expected.scale
    judgement = judge(array, expected.narrowest, scale)
    return judge(array, expected.certified(HIGHEST_BITS), scale) if judgement.outcome == "convention" else judgement


def _of_entry(subject: Subject, judgement: Judgement, error: EntryError, expected: Expected) -> Finding:
    """Return the finding for the worst entry of an array.

    NaN where the truth is a limit or a choice is a convention if the operator's row says so, and missing, not wrong,
    otherwise.
    """
    entry = _entry(subject, error, expected.oracle.form)
    if judgement.outcome == "convention":
        return Finding("convention", replace(entry, qualifier="choice"))
    negligible = judgement.outcome == "inaccurate" and abs(float(error.lower)) < expected.oracle.form.smallest_normal
    if (negligible or judgement.outcome == "wrong") and _may_cancel(error, expected.oracle, pushed=expected.is_pushed):
        return Finding("inconclusive", replace(entry, qualifier="cancels"))
    if judgement.outcome == "wrong" and math.isnan(error.observed):
        return _of_no_number(entry, expected)
    if (negligible or judgement.outcome == "wrong") and is_unwritten(error.observed):
        return Finding("wrong", replace(entry, qualifier="unwritten"))
    if negligible:
        return Finding("inaccurate", replace(entry, qualifier="negligible"))
    return Finding(judgement.outcome, entry)


def _of_no_number(entry: Entry, expected: Expected) -> Finding:
    undefined = undefined_for(expected)
    if undefined is not None:
        return Finding("inconclusive", replace(entry, qualifier="undefined", reason=undefined))
    at_kink = entry.lower != entry.upper
    convention = oracles.answered_by_nan(expected.oracle.original, at_kink=at_kink)
    if convention and not (at_kink and expected.adapter.subgradients):
        return Finding("convention", replace(entry, qualifier="nan", reason=convention))
    limits = oracles.limits_met(expected.oracle.original)
    if limits:
        return Finding("missing", replace(entry, qualifier="limit", reason=limits[0].reason))
    return Finding("missing" if at_kink else "wrong", entry)


def _in_other_order(finding: Finding, array: Array, expected: Expected) -> Finding:
    """Return the finding, qualified if the wrong value is right for the two operands in reverse order."""
    original, prediction = expected.oracle.original, expected.prediction
    step = original.definitions.get(prediction.name) if isinstance(prediction, ExpectedValue) else None
    if not isinstance(step, Apply) or len(set(step.arguments)) != 2:  # noqa: PLR2004 (the first and the second)
        return finding
    turned = replace(step, arguments=step.arguments[::-1])
    other = replace(original, steps=tuple(turned if each is step else each for each in original.steps))
    try:
        certified = CertifiedOracle(other, expected.adapter.dtype).narrowest_value(step.name)
    except ScenarioEvaluationError:
        return finding
    if judge(array, certified).outcome != "passed" or not isinstance(finding.fact, Entry):
        return finding
    call = " ".join((turned.operator, *turned.arguments))
    return Finding("wrong", replace(finding.fact, qualifier="order", reason=call))


def _entry(subject: Subject, error: EntryError, form: Format) -> Entry:
    names = ("observed", "relative_error", "budgets", "scaled_error")
    numbers: dict[str, Any] = {name: repr(float(getattr(error, name))) for name in names}
    ulps = repr(_ulps(error, form))
    return Entry(subject=subject, index=error.index, lower=error.lower, upper=error.upper, ulps=ulps, **numbers)


def _ulps(error: EntryError, form: Format) -> float:
    """Return the distance of an entry from the truth in units in the last place.

    The truth is read from decimal text of at most 17 digits.
    """
    lower, upper = float(error.lower), float(error.upper)
    nearest = min(max(error.observed, lower), upper)
    distance = abs(error.observed - nearest)
    if not (math.isfinite(distance) and math.isfinite(nearest)):
        return math.nan
    return distance / last_place(nearest, form)


def _may_cancel(error: EntryError, oracle: CertifiedOracle, *, pushed: bool = False) -> bool:
    """Return True if rounding explains a result whose true value is zero.

    This applies to derivatives of third order, and to results that are ``pushed`` by forward mode. Another formula may
    compute them from other terms: the tangent of a triangular factor is the sum of several matrices, for example.

    The size of these terms is not known. As long as they are no larger than the numbers that the scenario itself
    computes, rounding explains as much of each of them as of any other result of their size.
    """
    orders = sum(isinstance(step, Grad) for step in oracle.original.steps)
    if not (pushed or orders >= 2) or not float(error.lower) == float(error.upper) == 0:  # noqa: PLR2004
        return False
    sizes = (np.abs(oracle.value(name).midpoint) for name in oracle.scenario.definitions)
    largest = max((float(size.max()) for size in sizes if size.size), default=0.0)
    return abs(error.observed) <= ALLOWANCE * oracle.form.unit * largest


def undefined_for(expected: Expected) -> str | None:
    """Return the first name without a value on the way of a gradient or directional derivative, or None."""
    oracle, prediction = expected.oracle, expected.prediction
    if isinstance(prediction, Gradient):
        return oracles.undefined_between(oracle, prediction.leaf, {c[0] for c in prediction.contributions})
    step = oracle.scenario.definitions[prediction.lowered]
    if not isinstance(step, Jvp):
        return None
    return next(filter(None, (oracles.undefined_between(oracle, leaf, {step.output}) for leaf in step.leaves)), None)


def inconsistency(predictions: Predictions, observations: Observations, oracle: CertifiedOracle) -> Finding | None:
    """Return the finding for inconsistent subgradients, which are legal one by one but not together, or None.

    Scenarios with recorded gradients, hooks or retained gradients are not checked.
    """
    scenario = oracle.original
    if any(isinstance(step, Grad) for step in scenario.steps):
        return None
    for moment in _moments(predictions, observations, scenario):
        if any(len(c) > 2 for _, prediction, _ in moment for c in prediction.contributions):  # noqa: PLR2004
            return None  # a contribution with hooks or retained gradients
        contributions, together = _together(moment, scenario)
        arrays = {prediction.leaf: array for _, prediction, array in together}
        truths = {leaf: oracle.narrowest_gradient(leaf, contributions) for leaf in arrays}
        violated = oracles.violation(scenario, contributions, arrays, truths)
        if violated is not None:
            fact = Inconsistent(
                gradients=tuple(Numbers.of(array, name) for name, array in arrays.items()),
                direction=tuple(Numbers.of(np.asarray(array), name) for name, array in violated.direction.items()),
                rate=repr(float(violated.rate)),
                lower=repr(float(violated.lower)),
                upper=repr(float(violated.upper)),
            )
            return Finding("wrong", fact, together[0][0])
    return None


def _moments(predictions: Predictions, observations: Observations, scenario: Scenario) -> Iterator[list[_Read]]:
    """Yield the gradients that were read between two steps that change any gradient."""
    moment: list[_Read] = []
    for number, (step, prediction, seen) in enumerate(zip(scenario.steps, predictions, observations, strict=True), 1):
        if isinstance(step, Backward | ZeroGrad) and moment:
            yield moment
            moment = []
        if isinstance(prediction, Gradient) and seen.array is not None:
            moment.append((number, prediction, seen.array.astype(np.float64)))
    if moment:
        yield moment


def _together(moment: list[_Read], scenario: Scenario) -> tuple[_Contributions, list[_Read]]:
    """Return the longest tuple of contributions, and the gradients that are the sums of those that reach their leaf."""
    every = (tuple((c[0], c[1]) for c in prediction.contributions) for _, prediction, _ in moment)
    longest = max(every, key=len)
    reached = {output: set(relevant_leaves(scenario, output)) for output, _ in longest}
    return longest, [
        seen for seen in moment if seen[1].contributions == tuple(c for c in longest if seen[1].leaf in reached[c[0]])
    ]
