"""``refgrad run`` and ``refgrad replay``: run one scenario, or one check again, and print what is found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refgrad.cli.failure import Failure, Status
from refgrad.errors import suggestion
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.examination import compare_step, confront
from refgrad.grading.judging.verdict import Finding, Verdict
from refgrad.interpreter import bounded_values
from refgrad.lifecycle import ExpectedValue, Fails, Gradient, NoGradient, Open, Prediction, lower, required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.native.observation import Observation
from refgrad.native.text import plain_line, plain_text
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Scenario, Step, parse

if TYPE_CHECKING:
    from refgrad.pytest_plugin import GradeOptions


def run_scenario(text: str, engine: str, python: str | None = None, *, program: bool) -> Status:
    """Print an engine's behaviour at each step next to the expected one, and return FAILED if they do not agree."""
    scenario = parse(text)
    adapter = find_adapter(engine)
    bounded_values(scenario)
    started = start(adapter, python)
    _refuse_what_is_lacking(scenario, started)
    trials, whole = _tried(scenario, started)
    for number, (step, expected, observation, finding) in enumerate(trials, 1):
        click.echo(f"{number:3}  {step.to_text()}")
        if expected or finding.outcome != "passed":
            verdict = f"{finding.outcome}{f': {finding.message}' if finding.message else ''}"
            rows = {"must:": expected or "succeed", "does:": _described(observation), "verdict:": verdict}
            for name, row in rows.items():
                click.echo("     " + plain_text(f"{name:8} {row}").replace("\n", " "))
    failed = any(finding.failed for *_, finding in trials)
    if whole.failed and not failed:
        click.echo(f"\nEach number is legal, but not all together: {whole.outcome}: {plain_line(whole.message)}")
    if program:
        click.echo(f"\nThe same with {started.adapter.name} alone:\n\n{reproduce(scenario, started)}", nl=False)
    return Status.FAILED if failed or whole.failed else Status.PASSED


Trial = tuple[Step, str, Observation, Finding]
"""A step with its expected behaviour, the observation, and the resulting finding."""


def _refuse_what_is_lacking(scenario: Scenario, engine: Engine) -> None:
    lacking = [f"operator {name}" for name in sorted(scenario.operators - engine.operators.keys())]
    features = required_features(scenario) - engine.adapter.features
    lacking += sorted(feature for feature in features if not feature.startswith("error:"))
    lacking += [f"dtype {dtype}" for dtype in engine.adapter.dtypes_lacking(scenario)]
    if lacking:
        message = f"engine {engine.adapter.name!r} lacks what the scenario needs: {', '.join(lacking)}"
        raise Failure(message, Status.WRONG_USAGE)


def _tried(scenario: Scenario, engine: Engine) -> tuple[list[Trial], Finding]:
    """Return one trial per step, and the finding on all steps together.

    The trials end with the first step that raises an unexpected error or is unsupported.
    """
    lowered = lower(scenario, engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
    predictions = tuple(_promised(p, engine) for p in lowered.predictions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observations = observe(scenario, engine)
    trials: list[Trial] = []
    unchanged = len(predictions) == len(oracle.original.steps)
    steps = zip(scenario.steps, predictions, observations, strict=True)
    for number, (step, prediction, observation) in enumerate(steps, 1):
        finding = compare_step(prediction, observation, oracle, engine.adapter, number if unchanged else 0)
        trials.append((step, _expected(prediction, oracle), observation, finding))
        if finding.outcome in {"unexpected-error", "unsupported"}:  # later steps depend on it
            break
    return trials, confront(predictions, observations, oracle, engine.adapter)


def _promised(prediction: Prediction, engine: Engine) -> Prediction:
    """Return the prediction, or Open for an expected error that the adapter does not list as a feature."""
    lacking = isinstance(prediction, Fails) and f"error:{prediction.kind}" not in engine.adapter.features
    return Open() if lacking else prediction


def _expected(prediction: Prediction, oracle: CertifiedOracle) -> str:
    match prediction:
        case Fails(kind=kind):
            return f"fail ({kind})"
        case ExpectedValue(lowered=lowered):
            return f"show {oracle.value(lowered).midpoint.tolist()}"
        case Gradient(leaf=leaf, contributions=contributions):
            return f"show {oracle.gradient(leaf, contributions).midpoint.tolist()}"
        case NoGradient():
            return "show no gradient"
        case Open():
            return "show anything: nothing is promised here"
    return ""


def _described(observation: Observation) -> str:
    if observation.error is not None:
        return f"raises {observation.error_text}"
    array: Any = observation.array
    return "runs, or shows nothing" if array is None else f"shows {array.tolist()}"


def replay_check(name: str, options: GradeOptions) -> Status:
    """Run one check on an engine, print its verdict, and return the status."""
    from refgrad.pytest_plugin import ITEM
    from refgrad.pytest_plugin.conformance import EngineSession
    from refgrad.pytest_plugin.plan import Plan
    from refgrad.report import CHARACTERS
    from refgrad.report.ci import failure_text

    check = check_named(name.removeprefix(ITEM))
    plan = Plan.of(replace(options, select=(escape(check.id),)))
    session = EngineSession(plan, {})
    try:
        verdict = session.verdict(check)
    finally:
        session.end()
    click.echo(f"{plan.title}\n{plain_text(failure_text(plan.script(verdict)), CHARACTERS['output'])}")
    return Status.FAILED if verdict.failed else Status.PASSED


def replay_report(name: str, engine: str, report: Path, python: str | None, *, program: bool) -> Status:
    """Run the scenario of the check or scenario id ``name`` in a report, or the check if the report has no scenario."""
    from refgrad.pytest_plugin import ITEM, GradeOptions
    from refgrad.report.document import read_report

    document = read_report(report)
    verdict = _verdict(name.removeprefix(ITEM), document.verdicts, report)
    if not verdict.scenario:
        options = GradeOptions(engine=engine, profile=document.profile, seed=document.seed, python=python)
        return replay_check(verdict.id, options)
    click.echo(f"{verdict.id}, scenario {verdict.scenario_id}:")
    return run_scenario(verdict.scenario, engine, python, program=program)


def _verdict(name: str, verdicts: Sequence[Verdict], report: Path) -> Verdict:
    for verdict in verdicts:
        if name in {verdict.id, verdict.scenario_id}:
            return verdict
    meant = suggestion(name, [verdict.id for verdict in verdicts])
    raise Failure(f"{report} has no check and no scenario {name!r}{meant}", Status.WRONG_USAGE)
