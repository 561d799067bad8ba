"""Severity of a finding for users of the engine, and the unusual inputs at which it was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

import numpy as np

from refgrad.errors import UserError
from refgrad.facts import Shape
from refgrad.facts.fact import Severity
from refgrad.grading.judging.verdict import Verdict
from refgrad.interpreter import ScenarioEvaluationError, bounded_values
from refgrad.report import TABLE
from refgrad.scenario import Backward, Constant, Grad, Jvp, Leaf, Scenario, parse
from refgrad.scenario.formats import FORMATS

At = Literal["at infinity", "at NaN", "at subnormals", "at empty arrays", "beyond 800"]
"""Unusual properties of the leaves, seeds and directions of a scenario."""

DERIVED: Final = frozenset({"severity", "at"})
"""Members of a verdict in a report that are derived from the others."""

LARGE: Final = 800
"""Magnitude from which on a naive formula with an exponential overflows (decision 008)."""

BY_OUTCOME: Final[Mapping[str, Severity]] = {
    name: row["severity"] for name, row in TABLE["outcomes"].items() if "severity" in row
}
MEANINGS: Final[Mapping[str, str]] = TABLE["severities"]


def severity(verdict: Verdict) -> Severity | None:
    """Return the severity of a verdict, or None if it is not a failure."""
    if not verdict.failed:
        return None
    if verdict.verdict in BY_OUTCOME:
        return BY_OUTCOME[verdict.verdict]
    return "other rule broken" if verdict.fact is None else verdict.fact.severity(steps_of(verdict))


def at(verdict: Verdict) -> tuple[At, ...]:
    """Return the unusual properties of the numbers and sizes in the scenario of a failure, if there are any."""
    scenario = scenario_of(verdict) if verdict.failed else None
    properties = set[At]().union(*map(_unusual, () if scenario is None else _constants(scenario)))
    return tuple(each for each in get_args(At) if each in properties)


def _constants(scenario: Scenario) -> Iterator[Constant]:
    """Yield the values of leaves, seeds and directions."""
    for step in scenario.steps:
        if isinstance(step, Leaf):
            yield step.value
        if isinstance(step, Grad | Backward) and step.seed is not None:
            yield step.seed
        if isinstance(step, Jvp):
            yield from (tangent for _, tangent in step.tangents)


def _unusual(constant: Constant) -> set[At]:
    numbers = np.abs(constant.to_numpy().astype(np.float64))
    tiny = FORMATS[constant.dtype].smallest_normal if constant.dtype in FORMATS else 0.0
    kinds: dict[At, bool] = {
        "at infinity": bool(np.isinf(numbers).any()),
        "at NaN": bool(np.isnan(numbers).any()),
        "at subnormals": bool(((numbers > 0) & (numbers < tiny)).any()),
        "at empty arrays": not numbers.size,
        "beyond 800": bool((np.isfinite(numbers) & (numbers >= LARGE)).any()),
    }
    return {kind for kind, holds in kinds.items() if holds}


def steps_of(verdict: Verdict) -> tuple[object, ...]:
    """Return the steps of a verdict's scenario, or no steps where it has none, or one that cannot be read."""
    scenario = scenario_of(verdict)
    return () if scenario is None else scenario.steps


def shapes_of(verdict: Verdict) -> Mapping[str, tuple[int, ...]]:
    """Return the shapes of the tensors in a verdict's scenario, or those of leaves where it cannot be evaluated.

    For a verdict on a wrong shape, too, only those of leaves are returned: the engine's other shapes are not known.
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
    """Return a verdict's scenario, or None where it has none, or one that cannot be read."""
    try:
        return parse(verdict.scenario) if verdict.scenario else None
    except UserError:
        return None
