"""Roles of operators in scenarios that are about no operator, and other operators that can fill them.

A diamond of tanh tests the same as one of sin. A replacement must lead to the same kinds of predictions at every step,
and to finite numbers: a result that no rule saves is not replaced by one that is saved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Final

import numpy as np

from refgrad.generation import Role
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.lifecycle import Gradient, Prediction, predict
from refgrad.scenario import Apply, Constant, Scenario, ScenarioError, Step
from refgrad.scenario.rewrite import mapped, replaced, with_constants

SMOOTH: Final = ("sin", "tanh", "sigmoid", "cos", "exp", "square", "softplus", "sqrt", "reciprocal", "log")
"""Smooth functions of one operand. Those whose results stay small when they are nested come first."""

ROLES: Final[Mapping[Role, tuple[str, ...]]] = MappingProxyType({
    "sum": ("add", "subtract"),
    "product": ("multiply", "divide"),
    "smooth": SMOOTH,
})
"""Operators that can fill each role, the simplest first."""

REDUCTIONS: Final = ("sum", "mean")

DOUBLED: Final = ("multiply", "add")
"""Operators of two operands that are functions of one operand if both operands are the same."""

MOST_PATHS: Final = 2**13
"""Largest number of paths through a filled graph: an engine that follows every path takes too long beyond it."""


def filled(scenario: Scenario, offered: Collection[str], *, arrays: bool) -> Scenario:
    """Return the scenario with offered operators in place of others, on scalars if there are no ``arrays``.

    If no operators fit, the scenario is returned as it is.
    """
    return _filled(scenario, frozenset(offered), arrays=arrays)


@lru_cache(maxsize=2**12)
def _filled(scenario: Scenario, offered: frozenset[str], *, arrays: bool) -> Scenario:
    if arrays and scenario.operators <= offered:
        return scenario
    due = _kinds(scenario)
    for given in _shaped(scenario, offered, arrays=arrays):
        missing = sorted(given.operators - offered)
        for fillers in product(*(_fillers(name, offered) for name in missing)):
            made = _with(given, dict(zip(missing, fillers, strict=True)))
            if made is not None and _kinds(made) == due:
                return made
    return scenario


def _shaped(scenario: Scenario, offered: frozenset[str], *, arrays: bool) -> Iterator[Scenario]:
    """Yield the scenario if there are ``arrays``, and the same on scalars if not, or if a reduction is not offered."""
    if arrays:
        yield scenario
    if not arrays or scenario.operators & {*REDUCTIONS} - offered:
        on_scalars = _on_scalars(scenario)
        if on_scalars is not None:
            yield on_scalars


def _on_scalars(scenario: Scenario) -> Scenario | None:
    """Return the scenario with the first number of each array and without reductions, or None if it is invalid."""
    names: dict[str, str] = {}

    def without_reduction(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Apply) and step.operator in REDUCTIONS:
            names[step.name] = names.get(step.arguments[0], step.arguments[0])
            return ()
        return (step.renamed(names),)

    try:
        scalars = with_constants(scenario, lambda each: Constant.of(each.to_numpy().ravel()[0], each.dtype))
        return Scenario(replaced(scalars.steps, Step, without_reduction))
    except (ScenarioError, IndexError):
        return None


def _fillers(name: str, offered: frozenset[str]) -> list[tuple[str, bool]]:
    """Return the operators that can replace another one, and whether each takes its operand twice."""
    of_one = name in {*SMOOTH, "negative"}
    likes = SMOOTH if of_one else next((names for names in (*ROLES.values(), REDUCTIONS) if name in names), ())
    found = [(other, False) for other in likes if other in offered]
    return found + [(other, True) for other in DOUBLED if of_one and other in offered]


def _with(scenario: Scenario, fillers: Mapping[str, tuple[str, bool]]) -> Scenario | None:
    """Return the scenario with replaced operators; None if a value is no longer finite, or paths are too many."""
    paths = Counter[str]()

    def filled_in(step: Apply) -> Apply:
        operator, doubled = fillers.get(step.operator, (step.operator, False))
        made = replace(step, operator=operator, arguments=step.arguments * (1 + doubled))
        paths[step.name] = sum(paths[name] or 1 for name in made.arguments)
        return made

    steps = mapped(scenario.steps, Apply, filled_in)
    if max(paths.values(), default=0) > MOST_PATHS:
        return None
    try:
        made = Scenario(steps)
        return made if _finite(made) >= _finite(scenario) else None
    except (ScenarioError, ScenarioEvaluationError):
        return None


def _finite(scenario: Scenario) -> set[str]:
    """Return the names of the tensors with only finite numbers. Gradients that are recorded are not evaluated."""
    with np.errstate(all="ignore"):
        return {name for name, value in evaluate(scenario, Float64()).items() if np.all(np.isfinite(value))}


def _kinds(scenario: Scenario) -> list[tuple[object, ...]]:
    """Return for each step, except reductions, the part of the prediction that other operators leave unchanged."""
    steps = zip(scenario.steps, predict(scenario), strict=True)
    return [_kind(p) for step, p in steps if not (isinstance(step, Apply) and step.operator in REDUCTIONS)]


def _kind(prediction: Prediction) -> tuple[object, ...]:
    """Return the part of a prediction that stays the same if the scenario has other operators."""
    if isinstance(prediction, Gradient):
        return Gradient, len(prediction.contributions), prediction.certain
    return type(prediction), getattr(prediction, "kind", None), getattr(prediction, "holds", None)
