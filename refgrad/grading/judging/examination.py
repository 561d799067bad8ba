"""Examination of a scenario: predictions, observations, and the precision in which they are judged.

A scenario is judged in the precision of its coarsest leaf, since a result of that leaf alone is rounded to it. The
gradient of a float64 leaf is judged in float64 if each result on its way is promoted to float64 under the promotion
rules of every engine: narrower leaves then enter as the exact numbers that they hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from refgrad import facts, lifecycle
from refgrad.grading.judging.comparison import Expected, Observations, Predictions, compare_array, inconsistency
from refgrad.grading.judging.verdict import Finding, worst
from refgrad.grading.settings import NUMBERS
from refgrad.native.adapter import AnyAdapter
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Observation, Raised
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Scenario
from refgrad.scenario.errors import ScenarioError
from refgrad.scenario.formats import FLOAT64, FORMATS, coarsest, rounded
from refgrad.scenario.rewrite import promoted, with_dtypes, with_values


def shows_float32(observations: Iterable[Observation]) -> bool:
    """Return True if all floating numbers that an engine shows are float32, and one needs more than ``LONG`` bits."""
    arrays = [each.array.ravel() for each in observations if each.array is not None and each.array.dtype.kind == "f"]
    numbers = np.concatenate([np.zeros(0), *arrays])
    numbers = numbers[np.isfinite(numbers)]
    scaled = np.ldexp(np.frexp(numbers)[0], NUMBERS["judging"]["long"])
    return bool(np.all(rounded(numbers, "float32") == numbers) and np.any(scaled != np.rint(scaled)))


def in_float64(oracle: CertifiedOracle, leaf: str, outputs: Iterable[str]) -> CertifiedOracle:
    """Return the oracle that judges the gradient of a leaf: one of float64 if the gradient is computed in that.

    Results of an engine whose own dtype is coarser than those of all leaves are judged in the engine's dtype.
    """
    if oracle.form == FLOAT64 or oracle.dtypes[leaf] != {"float64"}:
        return oracle
    if oracle.form != coarsest(leaf.value.dtype for leaf in oracle.original.leaves):
        return oracle
    if not all(_stays(oracle, output) for output in outputs):
        return oracle
    return CertifiedOracle(Scenario(with_values(oracle.original.steps, lambda leaf: _widened(leaf.value))))


def _stays(oracle: CertifiedOracle, name: str) -> bool:
    """Return True if a name is a leaf, or it and the results that it depends on are float64 in every engine."""
    step = oracle.original.definitions[name]
    if isinstance(step, Leaf):
        return True
    if not isinstance(step, Apply):
        return False
    floating = [operand for operand in step.arguments if oracle.dtypes[operand]]
    wide = [operand for operand in floating if promoted(oracle.dtypes[operand]) == "float64"]
    narrow = [operand for operand in floating if operand not in wide]
    if narrow and not (operator_table()[step.operator].elementwise and _outranks(oracle, wide, narrow)):
        return False
    return all(_stays(oracle, operand) for operand in wide)


def _outranks(oracle: CertifiedOracle, wide: list[str], narrow: list[str]) -> bool:
    """Return True if the narrow operands are leaves and the result has the dtype of the wide ones in every engine.

    Some engines promote 0-d arrays with lower priority.
    """
    plain = all(isinstance(oracle.original.definitions[operand], Leaf) for operand in narrow)
    ranks = [[oracle.value(operand).midpoint.ndim for operand in operands] for operands in (wide, narrow)]
    return plain and bool(wide) and (max(ranks[0]) > 0 or max(ranks[1]) == 0)


def _widened(constant: Constant) -> Constant:
    """Return the same numbers in float64."""
    return constant if constant.dtype == "bool" else Constant.of(constant.to_numpy().astype(np.float64))


ENDINGS: Final = frozenset({"crashed", "unexpected-error", "unsupported", "inconclusive"})
"""Outcomes of a step with an error after which later steps are not judged."""

UNSUPPORTED: Final = frozenset({"unexpected-error", "unsupported"})
"""Outcomes of a scenario that an engine answers with an error."""


def examine(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> Finding:
    """Run a scenario on an engine and return its worst finding, up to the first unexpected error.

    If the engine computes an operator in a coarser dtype by design, a result that is right in that dtype is a
    convention. If all numbers that the engine shows are float32, a result that is right in float32 is inaccurate.

    An error that says that something is not implemented is ``unsupported``. With ``seeds``, a backward call that writes
    to a seed is wrong.

    For an engine without float64 the numbers of the scenario are converted to the dtype of the engine.

    Raises ScenarioEvaluationError if the scenario itself cannot be evaluated.
    """
    try:
        held = _as_held(scenario, engine.adapter)
    except ScenarioError:
        return Finding("unsupported", facts.Lacks(names=("numbers of float64",)))
    lowered = lifecycle.lower(held, engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
    predictions, observations = lowered.predictions, observe(scenario, engine, seeds=seeds)
    if seeds and (step := next((n for n, each in enumerate(observations, 1) if each.changed), 0)):
        return Finding("wrong", facts.Written(change=observations[step - 1].changed[0]), step)
    finding = confront(predictions, observations, oracle, engine.adapter)
    coarser = sorted(scenario.operators & engine.adapter.coarser.keys())
    if not isinstance(finding.fact, facts.Entry) or not finding.failed:
        return finding
    if not coarser:
        if finding.outcome != "wrong" or oracle.form != FLOAT64 or not shows_float32(observations):
            return finding
        narrow = confront(predictions, observations, CertifiedOracle(lowered.scenario, "float32"), engine.adapter)
        is_right = narrow.outcome in {"passed", "convention"}
        return Finding("inaccurate", replace(finding.fact, qualifier="float32"), finding.step) if is_right else finding
    dtype = min((engine.adapter.coarser[name] for name in coarser), key=lambda name: FORMATS[name].bits)
    narrow = confront(predictions, observations, CertifiedOracle(lowered.scenario, dtype), engine.adapter)
    reason = f"the engine computes {' and '.join(coarser)} in {dtype} by design"
    fact = replace(finding.fact, qualifier="coarser", reason=reason)
    return finding if narrow.failed else Finding("convention", fact, finding.step)


def _as_held(scenario: Scenario, adapter: AnyAdapter) -> Scenario:
    """Return the scenario with its numbers in dtypes that the engine has. Raises ScenarioError if one is too large."""
    if "float64" in adapter.dtypes or all(leaf.value.dtype != "float64" for leaf in scenario.leaves):
        return scenario
    return with_dtypes(scenario, lambda leaf: adapter.dtype if leaf.value.dtype == "float64" else leaf.value.dtype)


def refuses(scenario: Scenario, engine: Engine) -> bool:
    """Return True if an engine answers a scenario with an unexpected error. Its numbers are not judged.

    If the engine lacks an operator of the scenario, the result is False.

    Raises ScenarioEvaluationError if the scenario itself cannot be evaluated.
    """
    if engine.absent(scenario) or all(observation.error is None for observation in observe(scenario, engine)):
        return False
    return examine(scenario, engine).outcome in UNSUPPORTED


def confront(
    predictions: Predictions, observations: Observations, oracle: CertifiedOracle, adapter: AnyAdapter
) -> Finding:
    """Return the worst finding of an engine's observations, compared with the predictions and the truth."""
    # a scenario in which tensors change is rewritten before it is judged
    unchanged = len(predictions) == len(oracle.original.steps)
    findings: list[Finding] = []
    ended = any(observation.ending is not None for observation in observations)
    for number, (prediction, observation) in enumerate(zip(predictions, observations, strict=True), 1):
        if ended and observation.ending is None:
            continue  # its answer was lost with the process
        finding = compare_step(prediction, observation, oracle, adapter, number if unchanged else 0)
        findings.append(Finding(finding.outcome, finding.fact, number))
        if observation.ending is not None or (observation.error is not None and finding.outcome in ENDINGS):
            break  # later failures would be consequences of this one
    finding = _explained(worst(findings), predictions, observations)
    if finding.outcome == "convention":
        return inconsistency(predictions, observations, oracle) or finding
    return finding


def compare_step(
    prediction: lifecycle.Prediction,
    observation: Observation,
    oracle: CertifiedOracle,
    adapter: AnyAdapter,
    number: int,
) -> Finding:
    """Return the finding of one step; an unexpected error is inconclusive where the step may raise one.

    ``number`` is the number of the step in the scenario of ``oracle``, counted from 1, or 0 if that scenario was
    lowered and has other steps.
    """
    finding = _compare(prediction, observation, oracle, adapter)
    if number and finding.outcome == "unexpected-error" and isinstance(finding.fact, facts.Error):
        reason = reason_to_fail(oracle, number)
        return finding if reason is None else Finding("inconclusive", replace(finding.fact, explanation=reason))
    return finding


def reason_to_fail(oracle: CertifiedOracle, number: int) -> facts.Explanation | None:
    """Return the reason why a step may raise an error, or None.

    ``number`` counts from 1 the steps of a scenario in which no tensor changes.
    """
    reasons: Mapping[facts.Explanation, Callable[[CertifiedOracle, int], bool]]
    reasons = {"zero": _is_zero, "valueless": _has_no_value, "outside": _is_outside}
    return next((reason for reason, applies in reasons.items() if applies(oracle, number)), None)


def _is_zero(oracle: CertifiedOracle, number: int) -> bool:
    """Return True if a step records, or runs backward from, a gradient that engines need not record since it is zero.

    That is the first recorded gradient if its output does not depend on its leaf, and any other recorded gradient
    whose entries are all zero.
    """
    scenario = oracle.original
    step = scenario.steps[number - 1]
    gradients = {each.name: each for each in scenario.steps[:number] if isinstance(each, Grad)}
    name = step.name if isinstance(step, Grad) else step.output if isinstance(step, Backward) else ""
    if name not in gradients:
        return False
    if name == next(iter(gradients)):
        return not oracle.reaches(gradients[name].output, gradients[name].leaf)
    return oracle.narrowest_value(name).is_zero


def _has_no_value(oracle: CertifiedOracle, number: int) -> bool:
    """Return True if the result that a step computes or differentiates may have no value.

    A singular matrix has no inverse, for example.
    """
    step = oracle.original.steps[number - 1]
    name = step.name if isinstance(step, Apply) else step.output if isinstance(step, Backward | Grad) else ""
    return bool(name) and not oracle.narrowest_value(name).is_finite


def _is_outside(oracle: CertifiedOracle, number: int) -> bool:
    """Return True if an operand has entries outside of the range that the operator's row gives it.

    Shrinking can lead there.
    """
    step = oracle.original.steps[number - 1]
    if not isinstance(step, Apply):
        return False
    row = operator_table()[step.operator]
    spans = [row.span(argument.name) for argument in row.arguments]
    spans += spans[-1:] * (len(step.arguments) - len(spans))  # the last argument may be variadic
    values = (oracle.value(name).midpoint for name in step.arguments)
    return any(bool(np.any((value < low) | (value > high))) for value, (low, high) in zip(values, spans, strict=True))


def _explained(finding: Finding, predictions: Predictions, observations: Observations) -> Finding:
    """Add to the finding of a missing gradient the first earlier step that may fail and raised an error, if any."""
    if not isinstance(finding.fact, facts.Absent):
        return finding
    for number, (prediction, seen) in enumerate(zip(predictions, observations, strict=True), 1):
        if number < finding.step and isinstance(prediction, lifecycle.Open) and seen.error is not None:
            return replace(finding, fact=replace(finding.fact, after_step=number, error=seen.error))
    return finding


def _compare(  # noqa: PLR0911 (one return for each kind of prediction)
    prediction: lifecycle.Prediction, observation: Observation, oracle: CertifiedOracle, adapter: AnyAdapter
) -> Finding:
    ending = observation.ending
    if ending is not None:
        return Finding(ending.outcome, facts.Died(detail=ending.detail, stderr=ending.stderr))
    if isinstance(prediction, lifecycle.Fails):
        return _compare_error((prediction.kind, *prediction.others), observation, adapter)
    if observation.error is not None:
        return _of_error(observation.error, may_fail=isinstance(prediction, lifecycle.Open))
    match prediction:
        case lifecycle.ExpectedValue(name=name):
            return compare_array(facts.Subject("value", name), observation, Expected(oracle, prediction, adapter))
        case lifecycle.Gradient(leaf=leaf, contributions=contributions):
            own = in_float64(oracle, leaf, {contribution[0] for contribution in contributions})
            return compare_array(facts.Subject("gradient", leaf), observation, Expected(own, prediction, adapter))
        case lifecycle.ExpectedFlag(holds=holds):
            right = observation.array is not None and bool(observation.array) is holds
            flag = facts.Flag(seen=str(observation.array), expected=holds)
            return Finding("passed") if right else Finding("wrong", flag)
        case lifecycle.Seen():
            return _compare_calls(prediction, observation, oracle, adapter)
        case lifecycle.NoGradient(leaf=leaf):
            if observation.array is not None and np.any(observation.array):
                gradients = (facts.Numbers.of(observation.array),)
                return Finding("wrong", facts.UnexpectedGradient(leaf=leaf, gradients=gradients))
    return Finding("passed")


def _of_error(error: Raised, *, may_fail: bool) -> Finding:
    """Return the finding for an error where none is expected."""
    if error.is_unsupported:
        return Finding("unsupported", facts.Error(error=error))
    if may_fail:
        return Finding("passed")
    return Finding("crashed" if error.is_exhaustion else "unexpected-error", facts.Error(error=error))


def _compare_error(kinds: tuple[lifecycle.ErrorKind, ...], observation: Observation, adapter: AnyAdapter) -> Finding:
    error = observation.error
    if error is None:
        return Finding("wrong", facts.Silence(expected_kinds=kinds))
    if error.is_exhaustion:
        return _of_error(error, may_fail=False)
    required = tuple(filter(None, map(adapter.errors.get, kinds)))
    if len(required) < len(kinds) or any(re.search(pattern, error.text) for pattern in required):
        return Finding("passed")
    return Finding("unexpected-error", facts.Error(error=error, expected_kinds=kinds, expected=required))


def _compare_calls(
    prediction: lifecycle.Seen, observation: Observation, oracle: CertifiedOracle, adapter: AnyAdapter
) -> Finding:
    """Compare the gradients that a hook received, call by call."""
    arrays = [] if observation.array is None else list(observation.array)
    hook = prediction.hook
    if len(arrays) != len(prediction.calls):
        return Finding("wrong", facts.Calls(hook=hook, seen=len(arrays), expected=len(prediction.calls)))
    return worst(
        compare_array(
            facts.Subject("hook", hook, number),
            Observation(np.asarray(array), dtype=observation.dtype, masked=observation.masked),
            Expected(oracle, lifecycle.Gradient(prediction.tensor, (call,)), adapter),
        )
        for number, (array, call) in enumerate(zip(arrays, prediction.calls, strict=True), 1)
    )
