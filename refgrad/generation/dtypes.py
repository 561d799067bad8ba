"""Changes of the dtypes of a scenario's leaves and seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Final

from refgrad.generation.choices import Choices
from refgrad.generation.tangents import with_fitting_tangents
from refgrad.operators import operator_table
from refgrad.scenario import Backward, Constant, Grad, Leaf, Scenario, Step
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.promotion import floating_dtypes, promoted

WIDER: Final = 0.5
"""Probability that a leaf has the wider dtype in a scenario of two dtypes."""


def with_wider_leaves(scenario: Scenario, choices: Choices, wider: str) -> Scenario:
    """Return the scenario with some floating leaves in the dtype ``wider``; no number changes.

    If there are several floating leaves, at least one becomes wider. Operators that are neither elementwise nor join
    arrays get operands of one dtype, since libraries reject others by design.
    """
    floating = [leaf.name for leaf in scenario.leaves if leaf.value.dtype in FORMATS]
    chosen = {name for name in floating if choices.boolean(WIDER)}
    if len(floating) > 1 and len(chosen) in {0, len(floating)}:
        chosen = {choices.choice(floating)}
    while True:
        retyped = with_dtypes(scenario, _in(wider, chosen))
        torn = _torn(retyped) - chosen
        if not torn:
            return retyped
        chosen |= torn


def with_dtypes(scenario: Scenario, dtype: Callable[[Leaf], str]) -> Scenario:
    """Return the scenario with its floating leaves in these dtypes, and seeds in the dtype of their output.

    Raises ScenarioError if a number is too large for its dtype.
    """
    steps = tuple(
        replace(step, value=_cast(step.value, dtype(step)))
        if isinstance(step, Leaf) and step.value.dtype in FORMATS
        else step
        for step in scenario.steps
    )
    return Scenario(tuple(_with_fitting_seeds(Scenario(with_fitting_tangents(steps)))))


def with_fitting_seeds(scenario: Scenario) -> Scenario:
    """Return the scenario with each seed in the dtype of its output."""
    if all(leaf.value.dtype == "float64" for leaf in scenario.leaves):
        return scenario
    return Scenario(tuple(_with_fitting_seeds(scenario)))


def wider_dtypes(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with all narrower floating leaves in float64, then with one of them at a time."""
    narrow = [leaf.name for leaf in scenario.leaves if leaf.value.dtype in FORMATS and leaf.value.dtype != "float64"]
    for names in [narrow, *([name] for name in narrow if len(narrow) > 1)] if narrow else []:
        yield with_dtypes(scenario, _in("float64", names))


def _in(dtype: str, names: Collection[str]) -> Callable[[Leaf], str]:
    """Return a function that maps leaves with these names to ``dtype``, and other leaves to their own dtype."""
    return lambda leaf: dtype if leaf.name in names else leaf.value.dtype


def _with_fitting_seeds(scenario: Scenario) -> Iterator[Step]:
    dtypes = floating_dtypes(scenario)
    for step in scenario.steps:
        if isinstance(step, Backward | Grad) and step.seed is not None:
            yield replace(step, seed=_cast(step.seed, promoted(dtypes[step.output])))
        else:
            yield step


def _cast(constant: Constant, dtype: str) -> Constant:
    return constant if constant.dtype == dtype else Constant.of(constant.to_numpy(), dtype)


def _torn(scenario: Scenario) -> set[str]:
    """Return the leaves of operators that need operands of one dtype but depend on leaves of several."""
    dtypes, table = floating_dtypes(scenario), operator_table()
    torn: set[str] = set()
    for step in scenario.applications:
        operator = table[step.operator]
        mixes = operator.elementwise or operator.operands == "join"
        if not mixes and len(step.arguments) > 1 and len(dtypes[step.name]) > 1:
            torn |= _leaves_of(step.name, scenario)
    return torn


def _leaves_of(name: str, scenario: Scenario) -> set[str]:
    needed = {name}
    for step in reversed(scenario.applications):
        if step.name in needed:
            needed.update(step.arguments)
    return {leaf.name for leaf in scenario.leaves if leaf.name in needed and leaf.value.dtype in FORMATS}
