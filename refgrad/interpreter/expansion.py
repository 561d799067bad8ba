"""Scenarios with each composite operator replaced by its steps.

Oracles reason about single steps (whether a step has branches, whether it is analytic, how long a path is), so they
receive the steps of a composite instead of the composite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from refgrad.interpreter.composites import Entry, noted
from refgrad.interpreter.evaluation import keywords
from refgrad.interpreter.float64 import float64_values
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Constant, Leaf, Scenario, Slice, Step
from refgrad.scenario.rewrite import replaced


def expanded(scenario: Scenario) -> Scenario:
    """Return the scenario with each composite operator replaced by its steps.

    Every name keeps its value; the added steps have new names. Raises ScenarioEvaluationError if shapes do not fit.
    """
    table = operator_table()
    if all(table[name].composite is None for name in scenario.operators):
        return scenario
    return _expanded(scenario)


@lru_cache(maxsize=64)
def _expanded(scenario: Scenario) -> Scenario:
    values = float64_values(scenario)
    mark = "__"
    while any(mark in name for name in values):
        mark += "_"
    return Scenario(replaced(scenario.steps, Apply, lambda step: _written_out(step, values, mark)))


def _written_out(step: Apply, values: Mapping[str, Any], mark: str) -> Iterator[Step]:
    operator = operator_table()[step.operator]
    if operator.composite is None:
        return iter((step,))
    with np.errstate(all="ignore"):
        found = noted(operator, [values[name] for name in step.arguments], operator.bind(keywords(step)))
    names = {id(entry): name for entry, name in zip(found.inputs, step.arguments, strict=True)}
    names |= {id(entry): f"{step.name}{mark}{number}" for number, entry in enumerate(found.entries, 1)}
    names[id(found.result)] = step.name
    return (_step(entry, names) for entry in found.entries)


def _step(entry: Entry, names: Mapping[int, str]) -> Step:
    name = names[id(entry)]
    if entry.operator is None:
        return Leaf(name, _constant(entry), requires_grad=False)
    given = tuple((key, _stored(value)) for key, value in entry.attributes.items())
    return Apply(name, entry.operator.name, tuple(names[id(x)] for x in entry.operands), given)


def _constant(entry: Entry) -> Constant:
    """Return a constant in the dtype of the computation if that represents it exactly; otherwise in float64.

    Oracles have to differentiate with the constant of the composite: with 1e-5, not with 1e-5 rounded to float16.
    """
    exact = entry.array if entry.unrounded is None else entry.unrounded
    kept = np.array_equal(entry.array, exact, equal_nan=exact.dtype.kind == "f")
    return Constant.of(entry.array if kept else exact)


def _stored(value: Any) -> Any:
    """Convert an attribute to the form in which scenarios store it."""
    if isinstance(value, slice):
        return Slice(value.start, value.stop, value.step)
    if isinstance(value, np.ndarray):
        return _stored(value.tolist())
    if isinstance(value, np.integer):
        return int(value)
    return tuple(map(_stored, value)) if isinstance(value, list | tuple) else value
