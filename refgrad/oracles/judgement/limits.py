"""Points of a scenario where a derivative is a limit because the formula has no value there, or does not exist at all.

Where an operator has no value (a logarithm of -1), its derivative is NaN in floating point too, and zero cotangents
that arrive there are multiplied by it. So even gradients that do not depend on the value are NaN in every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from refgrad.interpreter import NUMPY_FUNCTIONS, Float64, evaluate, expanded, keywords
from refgrad.operators import Edge, Expression, Operator, operator_table
from refgrad.oracles.certified.certified import CertifiedOracle
from refgrad.scenario import Scenario
from refgrad.scenario.rewrite import needed


def limits_met(scenario: Scenario) -> tuple[Edge, ...]:
    """Return the edges of kind ``limit`` that the operators of a scenario meet, in order, e.g. x = 0 for sinc.

    Raises ScenarioEvaluationError where shapes do not match.
    """
    plain, table = expanded(scenario), operator_table()
    steps = [step for step in scenario.applications if table[step.operator].composite is not None]
    steps += plain.applications
    if not any(_conditions(table[step.operator]) for step in steps):
        return ()
    values = evaluate(plain, Float64())
    return tuple(
        edge
        for step in steps
        for edge, holds in _conditions(table[step.operator])
        if _met(holds, table[step.operator], [values[a] for a in step.arguments], keywords(step))
    )


def answered_by_nan(scenario: Scenario, *, at_kink: bool) -> str:
    """Return the reason why NaN is a deliberate answer at a kink or limit that a scenario meets; empty if it is none.

    At a kink it is not known which kink is met: the result is the first such reason of the scenario's operators.
    """
    table = operator_table()
    kinks = (edge for name in sorted(scenario.operators) for edge in table[name].edges if edge.kind == "kink")
    return next((edge.nan for edge in (kinks if at_kink else limits_met(scenario)) if edge.nan), "")


def undefined_between(oracle: CertifiedOracle, leaf: str, outputs: set[str]) -> str | None:
    """Return the first name between a leaf and the outputs that has an entry without a value, or None."""
    reached = {leaf}
    for name, step in Scenario(needed(oracle.scenario.steps, outputs)).definitions.items():
        if reached.isdisjoint(step.uses):
            continue
        reached.add(name)
        if not oracle.value(name).is_finite:
            return name
    return None


def _met(holds: Callable[..., Any], operator: Operator, arrays: list[Any], attributes: dict[str, Any]) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.any(holds(*arrays, **operator.bind(attributes))))


@cache
def _conditions(operator: Operator) -> tuple[tuple[Edge, Callable[..., Any]], ...]:
    parameters = (*operator.argument_names, *operator.attribute_names)
    return tuple(
        (edge, Expression(edge.where).function(parameters, NUMPY_FUNCTIONS))
        for edge in operator.edges
        if edge.kind == "limit"
    )
