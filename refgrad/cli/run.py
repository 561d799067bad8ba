"""``refgrad run``: what does an engine do with one scenario, beside what must happen?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import click

from refgrad.cli.failure import Failure, Status, told_in_one_line
from refgrad.harness import Engine, Finding, find_adapter, observe, reproduce, start
from refgrad.harness.examination import confront
from refgrad.interpreter import ScenarioEvaluationError
from refgrad.lifecycle import Fails, Gradient, NoGradient, Open, Prediction, Value, predict, required_features
from refgrad.native.observation import Observation
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Scenario, Step, parse


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--engine", required=True, metavar="NAME", help="An engine, or an adapter of your own as module:object.")
@click.option("--program", is_flag=True, help="Also print the scenario as a program of the engine's own library.")
def run(file: TextIO, engine: str, *, program: bool) -> None:
    """Run the scenario in FILE (- for standard input) on an engine, step by step.

    Exit status: 0 everything is as it must be, 1 something is not, 2 wrong usage, 3 the engine could not be started.
    """
    with told_in_one_line():
        scenario = parse(file.read())
        started = start(find_adapter(engine))
        _refuse_what_is_lacking(scenario, started)
        try:
            trials = list(_trials(scenario, started))
        except ScenarioEvaluationError as error:
            raise Failure(str(error), Status.WRONG_USAGE) from error
    for number, trial in enumerate(trials, 1):
        click.echo(f"{number:3}  {trial.step.to_text()}")
        for line in trial.remarks():
            click.echo(f"     {line}")
    if program:
        click.echo(f"\nThe same with {started.adapter.name} alone:\n\n{reproduce(scenario, started)}", nl=False)
    raise SystemExit(int(Status.FAILED if any(trial.finding.failed for trial in trials) else Status.PASSED))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A step, what must happen, what happened, and what is made of it."""

    step: Step
    due: str
    observation: Observation
    finding: Finding

    def remarks(self) -> Iterator[str]:
        """Yield what is worth a line: nothing for a step that merely ran as it should."""
        if self.due or self.finding.outcome != "passed":
            yield f"must:    {self.due or 'succeed'}"
            yield f"does:    {_shown(self.observation)}"
            yield f"verdict: {self.finding.outcome}{f': {self.finding.message}' if self.finding.message else ''}"


def _refuse_what_is_lacking(scenario: Scenario, engine: Engine) -> None:
    lacking = [f"operator {name}" for name in sorted(scenario.operators - engine.operators.keys())]
    features = required_features(scenario) - engine.adapter.features
    lacking += sorted(feature for feature in features if not feature.startswith("error:"))
    lacking += [f"dtype {dtype}" for dtype in engine.adapter.dtypes_lacking(scenario)]
    if lacking:
        message = f"engine {engine.adapter.name!r} lacks what the scenario needs: {', '.join(lacking)}"
        raise Failure(message, Status.WRONG_USAGE)


def _trials(scenario: Scenario, engine: Engine) -> Iterator[_Trial]:
    """Yield a trial a step, up to the first unexpected error: what comes behind it follows from it."""
    oracle = CertifiedOracle(scenario, engine.adapter.dtype)
    predictions = [_promised(p, engine) for p in predict(scenario, engine.adapter.policy)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observations = observe(scenario, engine)
    for step, prediction, observation in zip(scenario.steps, predictions, observations, strict=True):
        finding = confront((prediction,), (observation,), oracle, engine.adapter)
        yield _Trial(step, _due(prediction, oracle), observation, finding)
        if finding.outcome in {"unexpected-error", "unsupported"}:
            return


def _promised(prediction: Prediction, engine: Engine) -> Prediction:
    """Leave open what an engine does where it should fail, if its adapter says that it does not."""
    lacking = isinstance(prediction, Fails) and f"error:{prediction.kind}" not in engine.adapter.features
    return Open() if lacking else prediction


def _due(prediction: Prediction, oracle: CertifiedOracle) -> str:
    match prediction:
        case Fails(kind=kind):
            return f"fail ({kind})"
        case Value(name=name):
            return f"show {oracle.value(name).midpoint.tolist()}"
        case Gradient(leaf=leaf, contributions=contributions):
            return f"show {oracle.gradient(leaf, contributions).midpoint.tolist()}"
        case NoGradient():
            return "show no gradient"
        case Open():
            return "show anything: nothing is promised here"
    return ""


def _shown(observation: Observation) -> str:
    if observation.error is not None:
        return f"raises {observation.error_text}"
    array: Any = observation.array
    return "runs, or shows nothing" if array is None else f"shows {array.tolist()}"
