"""Does what an engine did with a scenario agree with what must happen?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import numpy as np

from refgrad.harness.coupling import uncoupled
from refgrad.harness.verdict import Finding, Outcome, worst
from refgrad.lifecycle import (
    ErrorKind,
    Fails,
    Flag,
    Gradient,
    NoGradient,
    Open,
    Prediction,
    Seen,
    Value,
    lower,
)
from refgrad.native.adapter import AnyAdapter
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Observation, Raised
from refgrad.oracles import CertifiedOracle, EntryError, Judgement, judge, limits_met, undefined_between
from refgrad.scenario import Apply, Backward, Grad, Jvp, Scenario
from refgrad.scenario.formats import FORMATS

ENDINGS: Final = frozenset({"crashed", "unexpected-error", "unsupported", "inconclusive"})
"""What a step with an error may be found to be, so that what comes behind it is not judged."""


def examine(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> Finding:
    """Run a scenario on an engine and return the worst that it showed, up to the first unexpected error.

    An error that says that something is not implemented is ``unsupported``. With ``seeds`` it counts as wrong, too, if
    a backward writes to a seed.

    Raises ScenarioEvaluationError where the scenario itself cannot be evaluated.
    """
    lowered = lower(scenario, engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
    predictions, observations = lowered.predictions, observe(scenario, engine, seeds=seeds)
    written = _written_seed(observations) if seeds else None
    return written or confront(predictions, observations, oracle, engine.adapter)


def _written_seed(observations: tuple[Observation, ...]) -> Finding | None:
    for number, observation in enumerate(observations, 1):
        if observation.changed:
            return Finding("wrong", f"wrote to a seed: {observation.changed[0]}", number, of_seed=True)
    return None


def confront(
    predictions: tuple[Prediction, ...],
    observations: tuple[Observation, ...],
    oracle: CertifiedOracle,
    adapter: AnyAdapter,
) -> Finding:
    """Return the worst that an engine's observations show, given what each step must show and the truth."""
    as_given = len(predictions) == len(oracle.given.steps)  # not lowered, as scenarios are where tensors change
    findings: list[Finding] = []
    for number, (prediction, observation) in enumerate(zip(predictions, observations, strict=True), 1):
        finding = _compare(prediction, observation, oracle, adapter)
        if finding.outcome == "unexpected-error" and as_given and (excuse := _excuse(oracle, number)):
            finding = Finding("inconclusive", f"{excuse}: {finding.message}")
        findings.append(Finding(finding.outcome, finding.message, number))
        if observation.ending is not None or (observation.error is not None and finding.outcome in ENDINGS):
            break  # whatever is missing or wrong behind it follows from it
    finding = _explained(worst(findings), predictions, observations)
    if finding.outcome == "convention":
        return uncoupled(predictions, observations, oracle) or finding
    return finding


def _excuse(oracle: CertifiedOracle, number: int) -> str:
    """Say why a step may raise an error, in truth; nothing where it may not."""
    if _is_zero(oracle, number):
        return "a gradient that is zero need not be recorded"
    return "there may be no value here" if _has_no_value(oracle, number) else ""


def _is_zero(oracle: CertifiedOracle, number: int) -> bool:
    """Whether a step records, or goes back from, a gradient of a recorded gradient, all entries of which are zero."""
    scenario = oracle.given
    step = scenario.steps[number - 1]
    gradients = [each.name for each in scenario.steps[:number] if isinstance(each, Grad)]
    name = step.name if isinstance(step, Grad) else step.output if isinstance(step, Backward) else ""
    if name not in gradients[1:]:
        return False
    return all(ball.is_zero() for ball in oracle.narrowest_value(name).balls.ravel())


def _has_no_value(oracle: CertifiedOracle, number: int) -> bool:
    """Whether an operator is applied where it may have no value: a singular matrix has no inverse, say."""
    step = oracle.given.steps[number - 1]
    if not isinstance(step, Apply):
        return False
    return not all(ball.is_finite() for ball in oracle.narrowest_value(step.name).balls.ravel())


def _explained(finding: Finding, predictions: tuple[Prediction, ...], observations: tuple[Observation, ...]) -> Finding:
    """Say of a gradient that is missing which step failed before, if one did that may fail."""
    if finding.outcome != "missing":
        return finding
    before = enumerate(zip(predictions, observations, strict=True), 1)
    failed = ((n, seen) for n, (due, seen) in before if n < finding.step and isinstance(due, Open) and seen.error)
    return next(
        (replace(finding, message=f"{finding.message}: step {n} raised {seen.error_text}") for n, seen in failed),
        finding,
    )


def _compare(  # noqa: PLR0911 (one return for each kind of prediction)
    prediction: Prediction, observation: Observation, oracle: CertifiedOracle, adapter: AnyAdapter
) -> Finding:
    if observation.ending is not None:
        return Finding(observation.ending.outcome, observation.ending.detail)
    if isinstance(prediction, Fails):
        return _compare_error((prediction.kind, *prediction.others), observation, adapter)
    if observation.error is not None:
        return _of_error(observation.error, may_fail=isinstance(prediction, Open))
    match prediction:
        case Value(name=name):
            return _compare_array(f"the value of {name}", observation, oracle, prediction, adapter)
        case Gradient(leaf=leaf):
            return _compare_array(f"the gradient of {leaf}", observation, oracle, prediction, adapter)
        case Flag(holds=holds):
            return _compare_flag(observation, holds=holds)
        case Seen():
            return _compare_calls(prediction, observation, oracle, adapter)
        case NoGradient(leaf=leaf):
            if observation.array is None or not np.any(observation.array):
                return Finding("passed")
            return Finding("wrong", f"{leaf} got the gradient {observation.array.tolist()}, but nothing was sent to it")
    return Finding("passed")


def _of_error(error: Raised, *, may_fail: bool) -> Finding:
    """Say what an error is where none is due."""
    if error.is_refusal:
        return Finding("unsupported", f"raised {error.text}")
    if may_fail:
        return Finding("passed")
    return Finding("crashed" if error.is_exhaustion else "unexpected-error", f"raised {error.text}")


def _compare_error(kinds: tuple[ErrorKind, ...], observation: Observation, adapter: AnyAdapter) -> Finding:
    due = " or ".join(kinds)
    if observation.error is None:
        return Finding("wrong", f"carried on silently where an error is due ({due})")
    if observation.error.is_exhaustion:
        return _of_error(observation.error, may_fail=False)
    patterns = [adapter.errors.get(kind) for kind in kinds]
    text = observation.error_text
    if all(pattern and not re.search(pattern, text) for pattern in patterns):
        wanted = " or ".join(repr(pattern) for pattern in patterns)
        return Finding("unexpected-error", f"raised {text!r}, which does not match {wanted}, as it should ({due})")
    return Finding("passed")


def _compare_flag(observation: Observation, *, holds: bool) -> Finding:
    if observation.array is not None and bool(observation.array) is holds:
        return Finding("passed")
    return Finding("wrong", f"is {observation.array}, but it should be {holds}")


def _compare_calls(prediction: Seen, observation: Observation, oracle: CertifiedOracle, adapter: AnyAdapter) -> Finding:
    """Compare what a hook saw call by call."""
    shown = [] if observation.array is None else list(observation.array)
    if len(shown) != len(prediction.calls):
        return Finding("wrong", f"{prediction.hook} saw {len(shown)} gradients, but there were {len(prediction.calls)}")
    return worst([
        _compare_array(
            f"what {prediction.hook} saw in call {number}",
            Observation(np.asarray(array), dtype=observation.dtype),
            oracle,
            Gradient(prediction.tensor, (call,)),
            adapter,
        )
        for number, (array, call) in enumerate(zip(shown, prediction.calls, strict=True), 1)
    ])


def _compare_array(
    what: str, observation: Observation, oracle: CertifiedOracle, prediction: Value | Gradient, adapter: AnyAdapter
) -> Finding:
    if observation.array is None:
        if isinstance(prediction, Gradient) and not prediction.certain:
            return _compare_nothing(what, oracle, prediction)
        return Finding("missing", f"{what} is missing")
    if odd := _odd_dtype(observation, oracle, prediction, adapter):
        return Finding("wrong", f"{what} has the dtype {odd}")
    judgement = _judge(observation, oracle, prediction)
    if judgement.outcome == "passed":
        return Finding("passed")
    if judgement.entry is None:
        return Finding(judgement.outcome, f"{what} {judgement.reason}")
    return _finding(what, judgement.outcome, judgement.entry, oracle, prediction)


NOISE: Final = 2.0**-44
"""What rounding may leave, in float64, of a derivative of third order whose terms of ordinary size add up to zero."""


def _may_cancel(entry: EntryError, oracle: CertifiedOracle) -> bool:
    """Whether a derivative of third order is zero but for rounding: another formula may make it of other terms."""
    orders = sum(isinstance(step, Grad) for step in oracle.given.steps)
    return orders > 1 and float(entry.lower) == float(entry.upper) == 0 and abs(entry.observed) <= NOISE


def _odd_dtype(
    observation: Observation, oracle: CertifiedOracle, prediction: Value | Gradient, adapter: AnyAdapter
) -> str:
    """Say what is wrong with an array's dtype, if anything; whole numbers may stand for floating ones."""
    assert observation.array is not None
    if observation.array.dtype.kind not in "fiub":
        return str(observation.array.dtype)
    due = _due_dtype(oracle, prediction)
    if observation.dtype in FORMATS and due in adapter.dtypes and observation.dtype != due:
        return f"{observation.dtype}, but it should be {due}"
    return ""


def _due_dtype(oracle: CertifiedOracle, prediction: Value | Gradient) -> str | None:
    """Return the dtype of a leaf for its gradient, and of a value that of the leaves it is made of, if it is only one.

    Of several dtypes libraries make different ones: whether a 0-d array counts, for example.
    """
    dtypes = oracle.dtypes[prediction.name if isinstance(prediction, Value) else prediction.leaf]
    return next(iter(dtypes)) if len(dtypes) == 1 else None


def _finding(
    what: str, outcome: Outcome, entry: EntryError, oracle: CertifiedOracle, prediction: Value | Gradient
) -> Finding:
    """Say what an entry shows; what is not a number, where the truth is a limit or a choice, is missing, not wrong."""
    if outcome == "wrong" and _may_cancel(entry, oracle):
        return Finding("inconclusive", f"{what} is {entry.describe()}: its terms cancel, which only some do exactly")
    if outcome == "wrong" and np.isnan(entry.observed):
        undefined = _undefined(oracle, prediction)
        if undefined is not None:
            return Finding("inconclusive", f"{what} is not a number, and {undefined} has no value at this point")
    said = entry.describe_choice() if outcome == "convention" else entry.describe()
    limits = limits_met(oracle.given) if outcome == "wrong" and np.isnan(entry.observed) else ()
    if limits:
        return Finding("missing", f"{what} is {said}: {limits[0].reason}")
    if outcome == "wrong" and np.isnan(entry.observed) and entry.lower != entry.upper:
        return Finding("missing", f"{what} is {said}")
    return Finding(outcome, f"{what} is {said}")


def _undefined(oracle: CertifiedOracle, prediction: Value | Gradient) -> str | None:
    """Return a name without a value that a gradient, or a directional derivative, passes by, if any."""
    if isinstance(prediction, Gradient):
        return undefined_between(oracle, prediction.leaf, {c[0] for c in prediction.contributions})
    step = oracle.scenario.definitions[prediction.lowered]
    if not isinstance(step, Jvp):
        return None
    return next(filter(None, (undefined_between(oracle, leaf, {step.output}) for leaf in step.leaves)), None)


def _compare_nothing(what: str, oracle: CertifiedOracle, prediction: Gradient) -> Finding:
    """No gradient at all, where it depends on the engine whether anything was recorded: as good as zeros."""
    certified = oracle.narrowest_gradient(prediction.leaf, prediction.contributions)
    if not np.all(np.isfinite(certified.radius)):
        return Finding("inconclusive", f"{what} is missing, and it is not certain that one is due")
    zero = all(ball.is_zero() for ball in certified.balls.ravel())
    return Finding("passed") if zero else Finding("missing", f"{what} is missing")


def _judge(observation: Observation, oracle: CertifiedOracle, prediction: Value | Gradient) -> Judgement:
    """Judge at the usual precision; what does not pass is judged again at the precision that settles it."""
    assert observation.array is not None
    if isinstance(prediction, Value):
        judgement = judge(observation.array, oracle.value(prediction.lowered))
        if judgement.outcome == "passed":
            return judgement
        return judge(observation.array, oracle.narrowest_value(prediction.lowered))
    judgement = judge(observation.array, oracle.gradient(prediction.leaf, prediction.contributions))
    if judgement.outcome == "passed":
        return judgement
    return judge(observation.array, oracle.narrowest_gradient(prediction.leaf, prediction.contributions))
