"""Scenarios that try an operator by itself, so that it is not blamed for faults of other parts of the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from refgrad.generation import without_gradients_of
from refgrad.interpreter import Float64, evaluate
from refgrad.lifecycle import Fails, predict
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step, ZeroGrad

SEEDS = (1.25, -0.5, 2.0, -1.75)
"""Entries of cotangents, with both signs and different sizes."""

LASTING = Leaf | Apply | Grad | Jvp | Backward | Read | ZeroGrad
"""Types of steps that change no tensor."""


@cache
def shows_arrays(scenario: Scenario) -> bool:
    """Return True if a scenario reads something, changes no tensor, and expects no error."""
    reads = [step for step in scenario.steps if isinstance(step, Read)]
    lasting = all(isinstance(step, LASTING) for step in scenario.steps)
    return bool(reads) and lasting and not any(isinstance(p, Fails) for p in predict(scenario))


def alone(operator: str) -> Scenario:
    """Return a scenario that applies one operator to scalars and reads the gradients of all its operands."""
    names = operator_table()[operator].argument_names
    leaves = [Leaf(name, Constant.of(np.array(float(n))), requires_grad=True) for n, name in enumerate(names, 2)]
    reads = [Read("grad", name) for name in names]
    return Scenario((*leaves, Apply("out", operator, names), Backward("out"), *reads))


def applications_alone(scenario: Scenario, operator: str) -> Iterator[Scenario]:
    """Yield each application of an operator in a scenario as a scenario of its own, with the same operands."""
    values = evaluate(scenario, Float64())
    constants = {leaf.name for leaf in scenario.leaves if not leaf.requires_grad}
    for step in scenario.applications:
        wanted = dict.fromkeys(name for name in step.arguments if name not in constants)
        if step.operator == operator and wanted and values.keys() >= {step.name, *step.arguments}:
            yield _alone(step, values, wanted)


def _alone(step: Apply, values: Mapping[str, Any], wanted: Collection[str]) -> Scenario:
    seed = np.resize(SEEDS, values[step.name].shape)
    leaves = (Leaf(name, Constant.of(values[name]), name in wanted) for name in dict.fromkeys(step.arguments))
    reads = (Read("grad", name) for name in wanted)
    backward = Backward(step.name, Constant.of(seed), retain_graph=False)
    return Scenario((*leaves, step, backward, *reads, Read("value", step.name)))


def with_own_operands(scenario: Scenario) -> Scenario:
    """Return the scenario with a separate leaf for each repetition of a leaf among the operands of an operator.

    It is for engines that lose contributions if a tensor is used twice, which is no fault of the operator.
    """
    leaves = {leaf.name: leaf for leaf in scenario.leaves}
    copies: list[Leaf] = []
    steps: list[Step] = []
    for step in scenario.steps:
        if isinstance(step, Apply):
            before, names = len(copies), step.arguments
            arguments = tuple(_own(name, names[:place], leaves, copies) for place, name in enumerate(names))
            steps += [*copies[before:], replace(step, arguments=arguments)]
        else:
            steps.append(step)
    return Scenario((*steps, *(Read("grad", leaf.name) for leaf in copies if leaf.requires_grad)))


def _own(name: str, earlier: tuple[str, ...], leaves: dict[str, Leaf], copies: list[Leaf]) -> str:
    if name not in earlier or name not in leaves:
        return name
    copies.append(replace(leaves[name], name=f"{name}_again_{len(copies) + 1}"))
    return copies[-1].name


def without_constants(scenario: Scenario) -> Scenario:
    """Return the scenario with gradients required of every operand.

    It is for engines that handle constant operands incorrectly.
    """
    return Scenario(
        tuple(
            replace(step, requires_grad=step.value.dtype != "bool") if isinstance(step, Leaf) else step
            for step in scenario.steps
        )
    )


def with_one_leaf(scenario: Scenario) -> Scenario:
    """Return the scenario with a gradient required of one operand only.

    It is for engines that compute gradients for only some of the leaves.
    """
    wanted = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
    return without_gradients_of(scenario, wanted[1:])


def with_operands_read(scenario: Scenario, *, early: bool) -> Scenario:
    """Return the scenario with a read of every operand, which neither an operator nor its rule may change.

    With ``early``, all values are read before the first backward. It is for engines whose backward changes values
    whatever the rule.
    """
    looks = [Read("value", leaf.name) for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    if not early:
        return Scenario((*scenario.steps, *looks))
    return Scenario(tuple(_with_early_reads(scenario, looks)))


def _with_early_reads(scenario: Scenario, looks: list[Read]) -> Iterator[Step]:
    values = [step for step in scenario.steps if isinstance(step, Read) and step.what == "value"]
    first = next((step for step in scenario.steps if isinstance(step, Backward)), None)
    for step in scenario.steps:
        if step is first:
            yield from (*values, *looks)
        if step not in values:
            yield step
