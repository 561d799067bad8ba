"""Scenarios that differentiate a gradient of a gradient: those of first order, and two recorded gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.random_graphs import random_scenario
from refgrad.generation.single_operators.second_order import applications_to, reached, scenario_with_entries, seed_shape
from refgrad.operators import operator_table
from refgrad.operators.curvature import bending
from refgrad.scenario import Apply, Backward, Grad, Leaf, Read, Scenario, Step

Bend = Literal["none", "weights", "square"]

PLAIN: Final = 0.4
"""How often an operator's output is differentiated as it is, if its derivative depends on its operands."""

WEIGHTED: Final = 0.5
"""How often an output that is not taken as it is, is multiplied by a leaf, and not with itself."""

WEIGHTED_GRADIENT: Final = 0.3
"""How often the first gradient is multiplied by a leaf before it is differentiated."""

ANOTHER: Final = 2**71
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""


def third_order_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that applies one operator to fresh leaves and differentiates thrice.

    The seeded gradient by one leaf is recorded, then that gradient's by a leaf that it surely depends on; a backward
    starts from there, and the leaves' gradients are read. So that there is such a leaf, the operator's output may first
    be multiplied by a leaf of its shape, or with itself. Where an operator's derivative is always zero, as that of
    ``sign``, no gradient surely depends on anything, and the second may be one that an engine does not record.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    bends = bool(_pairs(first, "none", reached(first, first.backwards[0][1].output)))
    return _thrice(first, choices, profile, "none" if bends and choices.boolean(PLAIN) else _bend(choices))


def triple_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that differentiates a gradient of a gradient of a random graph.

    Raises :class:`GenerationError` where the profile admits none.
    """
    if profile.operators is not None and "multiply" not in profile.operators:
        raise GenerationError("a graph is sure to have a gradient of a gradient only if the profile allows 'multiply'")
    choices = SeededChoices(seed + ANOTHER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    return _thrice(first, choices, profile, _bend(choices))


def _bend(choices: Choices) -> Bend:
    return "weights" if choices.boolean(WEIGHTED) else "square"


def _thrice(first: Scenario, choices: Choices, profile: Profile, bend: Bend) -> Scenario:
    ((at, backward),) = first.backwards
    leaves = reached(first, backward.output)
    steps = list(first.steps[:at])
    output = backward.output
    if bend == "weights":
        steps += _weighted(choices, profile, output, "w", seed_shape(backward))
        output, leaves = "w_output", [*leaves, *_leaf_of(steps)]
    elif bend == "square":
        steps.append(Apply("squared", "multiply", (output, output)))
        output = "squared"
    leaf, other = choices.choice(_pairs(first, bend, _felt(first, backward.output, leaves)))
    steps.append(Grad("h", output, leaf.name, backward.seed))
    start = "h"
    if choices.boolean(WEIGHTED_GRADIENT):
        steps += _weighted(choices, profile, "h", "v", leaf.value.shape)
        start, leaves = "v_h", [*leaves, *_leaf_of(steps)]
    steps.append(Grad("g", start, other.name, random_seed(choices, leaf.value.shape, profile)))
    reads: list[Step] = [*(Read("grad", leaf.name) for leaf in leaves), Read("value", "h"), Read("value", "g")]
    return Scenario((*steps, Backward("g", random_seed(choices, other.value.shape, profile)), *reads))


def _weighted(choices: Choices, profile: Profile, name: str, weights: str, shape: tuple[int, ...]) -> list[Step]:
    return [
        Leaf(weights, random_seed(choices, shape, profile), requires_grad=True),
        Apply(f"{weights}_{name}" if name == "h" else f"{weights}_output", "multiply", (name, weights)),
    ]


def _leaf_of(steps: list[Step]) -> list[Leaf]:
    """Return the leaf that the last steps multiplied by."""
    return [step for step in steps[-2:] if isinstance(step, Leaf)]


def _felt(first: Scenario, output: str, leaves: list[Leaf]) -> list[Leaf]:
    """Return the leaves without those that the output depends on by derivatives alone that are always zero.

    Where that would leave none but what was multiplied by, all are returned.
    """
    needed = {output}
    for step in applications_to(first, output):
        if step.name in needed:
            row = operator_table()[step.operator]
            stands_for = [a.name for a in row.arguments for _ in (step.arguments if a.variadic else "1")]
            needed.update(x for name, x in zip(stands_for, step.arguments, strict=True) if not row.vanishes(name))
    without = {leaf.name for leaf in first.leaves} - needed
    felt = [leaf for leaf in leaves if leaf.name not in without]
    return felt if any(leaf.name in needed for leaf in felt) else leaves


def _pairs(first: Scenario, bend: Bend, leaves: list[Leaf]) -> list[tuple[Leaf, Leaf]]:
    """Return the leaves by which a gradient may be recorded, each with one that this surely depends on."""
    return [(leaf, other) for leaf in leaves for other in leaves if _bends_in(first, bend, leaf.name, other.name)]


def _bends_in(first: Scenario, bend: Bend, leaf: str, other: str) -> bool:
    """Whether every engine records that the gradient by one leaf depends on another."""
    if bend == "square":
        return True
    if bend == "weights" and "w" in (leaf, other):
        return leaf != other
    applications = applications_to(first, first.backwards[0][1].output)
    return any(_application_bends_in(step, leaf, other) for step in applications)


def _application_bends_in(step: Apply, leaf: str, other: str) -> bool:
    row = operator_table()[step.operator]
    if row.formula is None:
        return False
    operands = dict(zip(row.argument_names, step.arguments, strict=True))
    names = {name for argument, operand in operands.items() if operand == leaf for name in bending(row, argument)}
    return any((name == "out" and other in step.arguments) or operands.get(name) == other for name in names)
