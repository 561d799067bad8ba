"""How bad a finding is for somebody who relies on the number, decided by its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

from refgrad.errors import UserError
from refgrad.grading.judging.evidence import Entry, Shape, Uncoupled, Unsent
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.interpreter import ScenarioEvaluationError, bounded_values
from refgrad.scenario import Grad, Jvp, Scenario, parse

Severity = Literal[
    "wrong first derivative", "wrong higher derivative", "wrong value", "missing", "crash or hang", "wrong error",
    "other rule broken", "inaccurate",
]  # fmt: skip
"""The first three are silent: nothing tells a user that the number is wrong."""

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The worst first."""

BY_OUTCOME: Final[Mapping[Outcome, Severity]] = MappingProxyType({
    "missing": "missing",
    "crashed": "crash or hang",
    "hung": "crash or hang",
    "unexpected-error": "wrong error",
    "inaccurate": "inaccurate",
})

MEANINGS: Final[Mapping[Severity, str]] = MappingProxyType({
    "wrong first derivative": "a gradient is wrong, and nothing says so",
    "wrong higher derivative": "a derivative of a derivative is wrong, and nothing says so",
    "wrong value": "the value of an operator is wrong, and nothing says so",
    "missing": "a gradient that is due is not there, or is not a number",
    "crash or hang": "the process dies, or does not answer",
    "wrong error": "an error where there should be none, or another one than is due",
    "other rule broken": "a dtype, a shape, a graph, memory or time is not as it must be",
    "inaccurate": "the leading digits are right, and fewer than could be",
})


def severity(verdict: Verdict) -> Severity | None:
    """Return how bad a verdict is, None for one that accuses nobody."""
    if not verdict.failed:
        return None
    if verdict.verdict in BY_OUTCOME:
        return BY_OUTCOME[verdict.verdict]
    fact = verdict.fact
    if isinstance(fact, Uncoupled | Unsent):
        return _order(verdict)
    if isinstance(fact, Entry):
        return _order(verdict) if fact.subject.of != "value" or _differentiates(verdict) else "wrong value"
    return "other rule broken"


def _order(verdict: Verdict) -> Severity:
    higher = any(isinstance(step, Grad) for step in steps_of(verdict))
    return "wrong higher derivative" if higher else "wrong first derivative"


def _differentiates(verdict: Verdict) -> bool:
    """Whether the value that is looked at last is itself a derivative."""
    fact = verdict.fact
    return isinstance(fact, Entry) and any(
        isinstance(step, Grad | Jvp) and step.name == fact.subject.name for step in steps_of(verdict)
    )


def steps_of(verdict: Verdict) -> tuple[object, ...]:
    """Return the steps of a verdict's scenario; none where it has none, or one that cannot be read."""
    scenario = scenario_of(verdict)
    return () if scenario is None else scenario.steps


def shapes_of(verdict: Verdict) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of what a verdict's scenario defines, those of leaves alone where it cannot be evaluated.

    A verdict on a wrong shape gives those of leaves, too: the engine's others are not known.
    """
    scenario = scenario_of(verdict)
    if scenario is None:
        return {}
    if isinstance(verdict.fact, Shape):
        wrong = verdict.fact.subject.name
        return {leaf.name: leaf.value.shape for leaf in scenario.leaves if leaf.name != wrong}
    try:
        return {name: value.shape for name, value in bounded_values(scenario).items()}
    except ScenarioEvaluationError:
        return {leaf.name: leaf.value.shape for leaf in scenario.leaves}


def scenario_of(verdict: Verdict) -> Scenario | None:
    """Return a verdict's scenario; None where it has none, or one that cannot be read."""
    try:
        return parse(verdict.scenario) if verdict.scenario else None
    except UserError:
        return None
