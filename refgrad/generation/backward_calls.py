"""The end of a random graph: its backward calls with their seeds, its reads, and the dtypes of its leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from refgrad.generation.admission import MARGIN
from refgrad.generation.application import accepted_range, random_array
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.profile import NUMBERS, Choices, Profile, reducing_operators
from refgrad.operators import operator_table
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.rewrite import floating_dtypes, needed, retyped

Planned: TypeAlias = tuple[Backward, int, tuple[Apply, ...]]
"""A backward, the results that it traverses, one bit each, and the steps before it."""


def completed(builder: Builder) -> Scenario | None:
    """Return the scenario with its backward calls and, at its end, its reads.

    The result is None if there is no output from which the profile allows a backward to start.
    """
    outputs = _outputs(builder)
    if not outputs:
        return None
    planned = _planned(builder, outputs)
    steps = list(builder.steps)
    for number, (backward, graph, before) in enumerate(planned):
        shared = any(graph & later for _, later, _ in planned[number + 1 :])
        retain = shared or (number < len(planned) - 1 and builder.choices.happens("needless_retain_graph"))
        steps += [*before, replace(backward, retain_graph=retain)]
    steps += [Read("grad", leaf.name) for leaf in builder.leaves if leaf.requires_grad]
    steps += [Read("value", name) for name in dict.fromkeys(backward.output for backward, _, _ in planned)]
    if builder.profile.wider is None:
        return Scenario(tuple(steps))
    return _with_wider_leaves(Scenario(tuple(steps)), builder.choices, builder.profile.wider)


def _outputs(builder: Builder) -> list[Operand]:
    """Return the outputs of the backward calls, reduced to scalars if the profile requires that."""
    recorded = [value for value in builder.results if value.requires_grad]
    sinks = sorted((v for v in recorded if not v.uses), key=lambda value: -value.graph.bit_count())
    outputs: list[Operand] = []
    reached = 0
    for number in range(builder.choices.integer(1, builder.profile.max_backwards)):
        pool = recorded if outputs and builder.choices.happens("interior_output") else sinks[number:] or recorded
        if not builder.profile.accumulate:
            pool = [value for value in pool if not value.leaves & reached]
        if not pool:
            break
        output = _scalar(builder, builder.choices.choice(pool[: 1 + len(pool) // 3]), recorded)
        if output is None or (reached & output.leaves and not builder.profile.accumulate):
            break
        outputs.append(output)
        reached |= output.leaves
    return outputs


def _scalar(builder: Builder, output: Operand, others: list[Operand]) -> Operand | None:
    """Return the output, or, if the profile allows no seeds, a scalar made of it or of another value, or None."""
    if builder.profile.seeds:
        return output
    for value in (output, *reversed(others)):
        if value.shape == ():
            return value
        fitting = [
            row for row in reducing_operators(builder.profile) if value.within(*accepted_range(row, row.arguments[0]))
        ]
        if not fitting:
            continue
        operator = builder.choices.choice(fitting)
        result = builder.compute(operator, [value], {}, margin=MARGIN)
        if result is not None:
            builder.add_result(result, operator.name, {})
            return result
    return None


def _planned(builder: Builder, outputs: list[Operand]) -> list[Planned]:
    planned: list[Planned] = []
    built = len(builder.results)
    for number, output in enumerate(outputs):
        if number and builder.profile.accumulate and builder.choices.happens("rebuilt_graph"):
            copies = _rebuilt(builder, outputs[number - 1], built)
            backward = Backward(copies[-1].name, _seed(builder, outputs[number - 1]))
            planned.append((backward, ((1 << len(copies)) - 1) << built, copies))
            built += len(copies)
        else:
            planned.append((Backward(output.name, _seed(builder, output)), output.graph, ()))
    return planned


def _rebuilt(builder: Builder, output: Operand, built: int) -> tuple[Apply, ...]:
    """Return copies of the applications that lead to the output, under new names."""
    names: dict[str, str] = {}
    copies: list[Apply] = []
    for position, value in enumerate(builder.results):
        if output.graph >> position & 1 and isinstance(value.step, Apply):
            names[value.name] = f"a{built + len(copies) + 1}"
            copies.append(value.step.renamed(names))
    return tuple(copies)


def _seed(builder: Builder, output: Operand) -> Constant | None:
    if not builder.profile.seeds or (output.shape == () and not builder.choices.happens("seeded_scalar")):
        return None
    return random_seed(builder.choices, output.shape, builder.profile)


def random_seed(choices: Choices, shape: Shape, profile: Profile) -> Constant:
    """Return a random seed or factor of either sign in the profile's dtype."""
    low, high = NUMBERS["default_range"]
    return Constant.of(random_array(choices, low, high, shape, profile.dtype), profile.dtype)


def _with_wider_leaves(scenario: Scenario, choices: Choices, wider: str) -> Scenario:
    """Return the scenario with some floating leaves in the dtype ``wider``; no number changes.

    If there are several floating leaves, at least one becomes wider. Operators that are neither elementwise nor join
    arrays get operands of one dtype, since libraries reject others by design.
    """
    floating = [leaf.name for leaf in scenario.leaves if leaf.value.dtype in FORMATS]
    chosen = {name for name in floating if choices.happens("wider_leaf")}
    if len(floating) > 1 and len(chosen) in {0, len(floating)}:
        chosen = {choices.choice(floating)}
    while True:
        changed = retyped(scenario, chosen, wider)
        torn = _torn(changed) - chosen
        if not torn:
            return changed
        chosen |= torn


def _torn(scenario: Scenario) -> set[str]:
    """Return the leaves of operators that need operands of one dtype but depend on leaves of several."""
    dtypes, table = floating_dtypes(scenario), operator_table()
    torn: set[str] = set()
    for step in scenario.applications:
        operator = table[step.operator]
        mixes = operator.elementwise or operator.operands == "join"
        if not mixes and len(step.arguments) > 1 and len(dtypes[step.name]) > 1:
            leaves = (s for s in needed(scenario.steps, {step.name}) if isinstance(s, Leaf))
            torn.update(leaf.name for leaf in leaves if leaf.value.dtype in FORMATS)
    return torn
