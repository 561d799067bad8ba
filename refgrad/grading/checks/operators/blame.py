"""Attribution of failures: to what the verdict on an operator has shown, and to operators that make views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from refgrad.generation import LAYOUTS
from refgrad.grading.checks.isolation import EMPTY, isolated_applications, rare_ingredients
from refgrad.grading.judging.verdict import Finding, Verdict
from refgrad.grading.reliance import Reliance
from refgrad.interpreter import Float64, evaluate
from refgrad.native.observation import Array
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario, parse

SEEING: Final[frozenset[str]] = frozenset({"sum", *LAYOUTS})
"""Operators that make a view of their operand, and ``sum``, whose cotangent is one number repeated."""

PRODUCT: Final = "multiply"
"""Operator that multiplies a view by itself, so that the result has a second derivative."""


def faults(verdict: Verdict) -> list[Scenario]:
    """Return the scenarios that show failures of an operator other than inaccuracy."""
    pairs = [(verdict.verdict, verdict.scenario), *((each.verdict, each.scenario) for each in verdict.further)]
    return [parse(text) for outcome, text in pairs if outcome not in {"inaccurate", "passed"}] if verdict.failed else []


def is_broken(verdict: Verdict) -> bool:
    """Return True if the failures of an operator cannot be avoided where it is used."""
    return not all(has_empty(scenario) for scenario in faults(verdict))


def has_empty(scenario: Scenario) -> bool:
    """Return True if a leaf of a scenario has no entries."""
    return EMPTY in rare_ingredients(scenario)


def avoids_empty(verdict: Verdict) -> str:
    """Return the id of a check that fails for an empty array, so that drawn scenarios have none, or an empty string."""
    return verdict.id if any(map(has_empty, faults(verdict))) else ""


def is_known_inaccuracy(scenario: Scenario, finding: Finding, verdicts: Iterable[Verdict]) -> bool:
    """Return True if an inaccurate result uses an operator whose own check has found it inaccurate."""
    if finding.outcome != "inaccurate":
        return False
    inaccurate = (v.operator for v in verdicts if "inaccurate" in {v.verdict, *(case.verdict for case in v.further)})
    return not scenario.operators.isdisjoint(inaccurate)


def views_are_right(scenario: Scenario, operator: str, check: str, reliance: Reliance) -> bool:
    """Return True if the views in an operator's scenario are right without it, to the order of the scenario."""
    names = sorted(SEEING & scenario.operators - {operator})
    views = [each for name in names for each in _isolated(scenario, name)]
    return not any(reliance.examined(reliance.seeded(each), check).failed for each in views if reliance.runnable(each))


def _isolated(scenario: Scenario, name: str) -> Iterator[Scenario]:
    yield from isolated_applications(scenario, name)
    if scenario.gradients:
        values = evaluate(scenario, Float64())
        for step in scenario.applications:
            if step.operator == name and np.isfinite(values[step.arguments[0]]).all():
                yield _squared(step, np.asarray(values[step.arguments[0]]), np.asarray(values[step.name]))


def _squared(step: Apply, operand: Array, result: Array) -> Scenario:
    """Return a scenario that differentiates the product of a view with itself twice."""
    ones = [Constant.of(np.ones(array.shape)) for array in (result, operand)]
    return Scenario((
        Leaf("x", Constant.of(np.ascontiguousarray(operand).reshape(operand.shape)), requires_grad=True),
        Apply("view", step.operator, ("x",), step.attributes),
        Apply("bent", PRODUCT, ("view", "view")),
        Grad("h", "bent", "x", ones[0]),
        Backward("h", ones[1]),
        Read("grad", "x"),
    ))
