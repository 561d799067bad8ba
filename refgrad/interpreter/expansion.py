"""Scenarios with each composite operator replaced by its steps.

Oracles reason about single steps (whether a step has branches, whether it is analytic, how long a path is), so they
receive the steps of a composite instead of the composite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from refgrad.interpreter.composites import InnerArray, Noted
from refgrad.interpreter.evaluation import PLAIN
from refgrad.interpreter.float64 import float64_run
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Constant, Leaf, Scenario, Slice, Step
from refgrad.scenario.rewrite import inlined, replaced


def expanded(scenario: Scenario) -> Scenario:
    """Return the scenario with each call of a function and each composite operator replaced by its steps.

    Every name keeps its value; the added steps have new names. Raises ScenarioEvaluationError if shapes do not fit.
    """
    table, scenario = operator_table(), inlined(scenario)
    if all(table[name].composite is None for name in scenario.operators):
        return scenario
    return _expanded(scenario)


@lru_cache
def _expanded(scenario: Scenario) -> Scenario:
    values, traces = float64_run(scenario)
    remaining = iter(traces)
    mark = "__"
    while any(mark in name for name in values):
        mark += "_"
    return Scenario(replaced(scenario.steps, Apply, lambda step: _written_out(step, remaining, mark)))


def _written_out(step: Apply, traces: Iterator[Noted], mark: str) -> Iterator[Step]:
    """Return a step, or the steps of a composite, whose trace is the next one."""
    if operator_table()[step.operator].composite is None:
        return iter((step,))
    trace = next(traces)
    names = {id(entry): name for entry, name in zip(trace.inputs, step.arguments, strict=True)}
    names |= {id(entry): f"{step.name}{mark}{number}" for number, entry in enumerate(trace.entries, 1)}
    names[id(trace.result)] = step.name
    return (_step(entry, names) for entry in trace.entries)


def _step(entry: InnerArray, names: Mapping[int, str]) -> Step:
    name = names[id(entry)]
    if entry.operator is None:
        return Leaf(name, _constant(entry), requires_grad=False)
    attributes = tuple((key, _stored(value)) for key, value in entry.attributes.items())
    return Apply(name, entry.operator.name, tuple(names[id(x)] for x in entry.operands), attributes)


def _constant(entry: InnerArray) -> Constant:
    """Return a constant in the dtype of the computation if that represents it exactly; otherwise in float64.

    Oracles have to differentiate with the constant of the composite: with 1e-5, not with 1e-5 rounded to float16.
    """
    kept = np.array_equal(entry.array, entry.unrounded, equal_nan=entry.array.dtype.kind == "f")
    return Constant.of(entry.array if kept else entry.unrounded)


def _stored(value: Any) -> Any:
    """Convert an attribute to the form in which scenarios store it."""
    if isinstance(value, slice):
        return Slice(value.start, value.stop, value.step)
    if isinstance(value, np.ndarray):
        return _stored(value.tolist())
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list | tuple):
        return tuple(value) if PLAIN.issuperset(map(type, value)) else tuple(map(_stored, value))
    return value
