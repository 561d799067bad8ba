"""Does what an engine did with a scenario agree with what must happen?"""

from __future__ import annotations

import re

import numpy as np

from refgrad.harness.adapter import AnyAdapter
from refgrad.harness.coupling import uncoupled
from refgrad.harness.execution import Engine, Observation, observe
from refgrad.harness.verdict import Finding, Outcome, worst
from refgrad.lifecycle import Fails, Gradient, NoGradient, Prediction, Succeeds, Value, predict
from refgrad.oracles import CertifiedOracle, EntryError, Judgement, judge, limits_met
from refgrad.scenario import Scenario

UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}


def examine(scenario: Scenario, engine: Engine) -> Finding:
    """Run a scenario on an engine and return the worst that it showed, up to the first unexpected error.

    An error that says that something is not implemented is ``unsupported``.

    Raises ScenarioEvaluationError where the scenario itself cannot be evaluated.
    """
    if engine.lethal and scenario.id in engine.lethal:
        return Finding("crashed", "the engine's process died while it ran this scenario")
    oracle = CertifiedOracle(scenario, engine.adapter.dtype)
    return confront(predict(scenario, engine.adapter.policy), observe(scenario, engine), oracle, engine.adapter)


def confront(
    predictions: tuple[Prediction, ...],
    observations: tuple[Observation, ...],
    oracle: CertifiedOracle,
    adapter: AnyAdapter,
) -> Finding:
    """Return the worst that an engine's observations show, given what each step must show and the truth."""
    findings: list[Finding] = []
    for number, (prediction, observation) in enumerate(zip(predictions, observations, strict=True), 1):
        finding = _compare(prediction, observation, oracle, adapter)
        findings.append(Finding(finding.outcome, finding.message, number))
        if finding.outcome in ("unexpected-error", "unsupported"):
            break  # whatever is missing or wrong behind it follows from it
    finding = worst(findings)
    if finding.outcome == "convention":
        return uncoupled(predictions, observations, oracle) or finding
    return finding


def _compare(  # noqa: PLR0911 (one return for each kind of prediction)
    prediction: Prediction, observation: Observation, oracle: CertifiedOracle, adapter: AnyAdapter
) -> Finding:
    match prediction:
        case Fails(kind=kind):
            return _compare_error(kind, observation, adapter)
        case Succeeds() | Value() | NoGradient() | Gradient() if observation.error is not None:
            unsupported = isinstance(observation.error, NotImplementedError)
            return Finding("unsupported" if unsupported else "unexpected-error", f"raised {observation.error_text}")
        case Value(name=name):
            return _compare_array(f"the value of {name}", observation, oracle, prediction, adapter)
        case Gradient(leaf=leaf):
            return _compare_array(f"the gradient of {leaf}", observation, oracle, prediction, adapter)
        case NoGradient(leaf=leaf):
            if observation.array is None or not np.any(observation.array):
                return Finding("passed")
            return Finding("wrong", f"{leaf} got the gradient {observation.array.tolist()}, but nothing was sent to it")
    return Finding("passed")


def _compare_error(kind: str, observation: Observation, adapter: AnyAdapter) -> Finding:
    if observation.error is None:
        return Finding("wrong", f"carried on silently where an error is due ({kind})")
    pattern = adapter.errors.get(kind)  # type: ignore[call-overload]
    if pattern and not re.search(pattern, observation.error_text):
        message = f"raised {observation.error_text!r}, which does not match {pattern!r}, as it should ({kind})"
        return Finding("unexpected-error", message)
    return Finding("passed")


def _compare_array(
    what: str, observation: Observation, oracle: CertifiedOracle, prediction: Value | Gradient, adapter: AnyAdapter
) -> Finding:
    if observation.array is None:
        if isinstance(prediction, Gradient) and not prediction.certain:
            return _compare_nothing(what, oracle, prediction)
        return Finding("missing", f"{what} is missing")
    if observation.array.dtype.kind not in "fiub":
        return Finding("wrong", f"{what} has the dtype {observation.array.dtype}")
    judgement = _judge(observation, oracle, prediction, adapter)
    if judgement.outcome == "passed":
        return Finding("passed")
    if judgement.entry is None:
        return Finding(judgement.outcome, f"{what} {judgement.reason}")
    return _finding(what, judgement.outcome, judgement.entry, oracle)


def _finding(what: str, outcome: Outcome, entry: EntryError, oracle: CertifiedOracle) -> Finding:
    """Say what an entry shows; one that is not a number, where the truth is a limit, is missing, not another number."""
    said = entry.describe_choice() if outcome == "convention" else entry.describe()
    limits = limits_met(oracle.scenario) if outcome == "wrong" and np.isnan(entry.observed) else ()
    if limits:
        return Finding("missing", f"{what} is {said}: {limits[0].reason}")
    return Finding(outcome, f"{what} is {said}")


def _compare_nothing(what: str, oracle: CertifiedOracle, prediction: Gradient) -> Finding:
    """No gradient at all, where it depends on the engine whether anything was recorded: as good as zeros."""
    certified = oracle.narrowest_gradient(prediction.leaf, prediction.contributions)
    if not np.all(np.isfinite(certified.radius)):
        return Finding("inconclusive", f"{what} is missing, and it is not certain that one is due")
    zero = all(ball.is_zero() for ball in certified.balls.ravel())
    return Finding("passed") if zero else Finding("missing", f"{what} is missing")


def _judge(
    observation: Observation, oracle: CertifiedOracle, prediction: Value | Gradient, adapter: AnyAdapter
) -> Judgement:
    """Judge at the usual precision; what does not pass is judged again at the precision that settles it."""
    assert observation.array is not None
    unit = UNIT_ROUNDOFF[adapter.dtype]
    if isinstance(prediction, Value):
        return judge(observation.array, oracle.value(prediction.name), unit)
    judgement = judge(observation.array, oracle.gradient(prediction.leaf, prediction.contributions), unit)
    if judgement.outcome == "passed":
        return judgement
    return judge(observation.array, oracle.narrowest_gradient(prediction.leaf, prediction.contributions), unit)
