"""The audit of a generated scenario: what is wrong with it by the letter of its profile."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from refgrad.generation import Profile
from refgrad.generation.admission import MARGIN, AppliedOperator
from refgrad.generation.profile import COUNTS, MAGNITUDES
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Leaf, Read, Scenario
from refgrad.scenario.formats import rounded
from refgrad.scenario.rewrite import with_dtypes


def complaints(scenario: Scenario, profile: Profile, *, alone: bool = False) -> list[str]:
    """Everything about the scenario that its profile does not allow; ``alone`` says that it is about one operator."""
    with np.errstate(all="ignore"):
        values = evaluate(scenario, Float64())
    return [
        *_about_values(scenario, values, profile),
        *_about_applications(scenario, values, profile, alone=alone),
        *_about_backwards(scenario, values, profile),
        *_about_reads(scenario),
    ]


def has_stress_values(scenario: Scenario) -> bool:
    """Whether an operand has stress values of its operator, which lie outside of the sample range."""
    rows = (operator_table()[name] for name in scenario.operators)
    numbers = [number for row in rows for values in row.stress_values.values() for number in values]
    return any(np.isin(leaf.value.to_numpy(), numbers).any() for leaf in scenario.leaves)


def steps_may_overflow(scenario: Scenario) -> bool:
    """Whether floats may not get through the steps that a composite means: engines take others there."""
    composite = any(operator_table()[name].composite is not None for name in scenario.operators)
    return composite and has_stress_values(scenario)


def uses(scenario: Scenario) -> dict[str, int]:
    """How many operands each name is."""
    counts = dict.fromkeys(scenario.definitions, 0)
    for step in scenario.applications:
        for name in step.arguments:
            counts[name] += 1
    return counts


def recorded(scenario: Scenario) -> frozenset[str]:
    """The names that require grad."""
    names: set[str] = set()
    for step in scenario.steps:
        if isinstance(step, Leaf) and step.requires_grad:
            names.add(step.name)
        if isinstance(step, Apply) and names.intersection(step.arguments):
            names.add(step.name)
    return frozenset(names)


def reached(scenario: Scenario, output: str) -> frozenset[str]:
    """The names that a backward from the output walks over, leaves included."""
    wanted, grads = {output}, recorded(scenario)
    for step in reversed(scenario.applications):
        if step.name in wanted:
            wanted.update(step.arguments)
    return frozenset(wanted) & grads


def entries_on_kinks(scenario: Scenario) -> bool:
    """Whether some operator is applied exactly on one of its kinks."""
    values = evaluate(scenario, Float64())
    return any(_distance(step, values) == 0 for step in scenario.applications)


def entries_on_edges(scenario: Scenario) -> bool:
    """Whether some operator is applied exactly on one of its edges, a kink or a limit."""
    values = evaluate(scenario, Float64())
    return entries_on_kinks(scenario) or any(_at_limit(step, values) for step in scenario.applications)


def _about_values(scenario: Scenario, values: dict[str, Any], profile: Profile) -> Iterator[str]:
    ranks = (operator_table()[name].pattern_rank for name in scenario.operators)
    max_rank = max(profile.max_rank, *ranks, 0)
    at_limits = {name for step in scenario.applications if _at_limit(step, values) for name in step.arguments}
    for name, value in values.items():
        numbers = value[~np.isinf(value)] if name in at_limits else value
        if not np.all(np.isfinite(numbers.astype(float))):
            yield f"{name} is not finite"
        elif not np.all(np.abs(numbers.astype(float)) <= MAGNITUDES["largest_value"]):
            yield f"{name} is too large"
        if value.ndim > max_rank or value.size > COUNTS["largest_size"] or (profile.scalars_only and value.ndim):
            yield f"{name} has the shape {value.shape}"
        if value.dtype not in {np.dtype(bool), np.dtype(profile.dtype)}:
            yield f"{name} has the dtype {value.dtype}"
    if profile.constants == 0 and any(
        not leaf.requires_grad and leaf.value.dtype != "bool" for leaf in scenario.leaves
    ):
        yield "a leaf is constant"


def _about_applications(scenario: Scenario, values: dict[str, Any], profile: Profile, *, alone: bool) -> Iterator[str]:
    if len(scenario.applications) < profile.length[0]:
        yield "there are too few operators"
    if profile.operators is not None and not scenario.operators <= profile.operators:
        yield f"{sorted(scenario.operators - profile.operators)} are not allowed"
    exact = {} if profile.edges else evaluate(with_dtypes(scenario, lambda _: "float64"), Float64())
    for step in scenario.applications:
        operator, applied = operator_table()[step.operator], AppliedOperator.of(step, values)
        for argument, array in zip(operator.arguments, applied.arrays, strict=False):
            low, high = operator.samples.get(argument.name, (-MAGNITUDES["largest_value"], MAGNITUDES["largest_value"]))
            stress = rounded(np.array(operator.stress_values.get(argument.name, ()) if alone else ()), profile.dtype)
            inside = (array >= low) & (array <= high) | np.isin(array, stress)
            outside = argument.dtype == "float" and not np.all(inside)
            if outside and not applied.on_limit:
                yield f"{step.to_text()}: {argument.name} leaves its sample range"
        if not applied.in_domain or not applied.well_formed:
            yield f"{step.to_text()} is outside of the domain, or malformed"
        if profile.edges == 0 and _distance(step, exact) <= MARGIN:
            yield f"{step.to_text()} is at a kink"


def _at_limit(step: Apply, values: dict[str, Any]) -> bool:
    return AppliedOperator.of(step, values).on_limit


def _distance(step: Apply, values: dict[str, Any]) -> float:
    return AppliedOperator.of(step, values).distance_to_kink(values[step.name])


def _about_backwards(scenario: Scenario, values: dict[str, Any], profile: Profile) -> Iterator[str]:
    backwards = [step for _, step in scenario.backwards]
    results = {step.name for step in scenario.applications}
    if not 1 <= len(backwards) <= profile.max_backwards:
        yield f"there are {len(backwards)} backward calls"
    for number, step in enumerate(backwards):
        if step.output not in recorded(scenario) & results:
            yield f"{step.output} has no graph"
        if values[step.output].shape != (() if step.seed is None else step.seed.shape):
            yield f"the seed of {step.output} does not fit"
        if step.seed is not None and not profile.seeds:
            yield "a seed is given"
        graph = reached(scenario, step.output) & results
        if any(graph & reached(scenario, later.output) for later in backwards[number + 1 :]) and not step.retain_graph:
            yield f"the graph of {step.output} is walked again, but not retained"
    if backwards[-1].retain_graph:
        yield "the last graph is retained"
    leaves = [reached(scenario, step.output) - results for step in backwards]
    if not profile.accumulate and sum(map(len, leaves)) > len(frozenset().union(*leaves)):
        yield "two backward calls reach one leaf"


def _about_reads(scenario: Scenario) -> Iterator[str]:
    last = max(at for at, _ in scenario.backwards)
    tail = scenario.steps[last + 1 :]
    wanted = [Read("grad", leaf.name) for leaf in scenario.leaves if leaf.requires_grad]
    outputs = dict.fromkeys(step.output for step in scenario.steps if isinstance(step, Backward))
    if list(tail) != [*wanted, *(Read("value", name) for name in outputs)]:
        yield "the reads at the end are not those of every gradient and of every output"
