"""Scenarios that differentiate a gradient of a gradient: those of first order, and two recorded gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.random_graphs import random_scenario
from refgrad.generation.single_operators.continuation import (
    add_gradient,
    add_product,
    add_random_leaf,
    applications_of,
    continued,
    leaves_of,
    value_of,
)
from refgrad.generation.single_operators.second_order import scenario_with_entries
from refgrad.operators import operator_table
from refgrad.operators.curvature import bending
from refgrad.scenario import Apply, Backward, Read, Scenario

Bend = Literal["none", "weights", "square"]

PLAIN: Final = 0.4
"""How often an operator's output is differentiated as it is, if its derivative depends on its operands."""

WEIGHTED: Final = 0.5
"""How often an output that is not taken as it is, is multiplied by a leaf, and not with itself."""

WEIGHTED_GRADIENT: Final = 0.3
"""How often the first gradient is multiplied by a leaf before it is differentiated."""

WEIGHTS: Final = "w"
"""The name of the leaf that the output is multiplied by."""

ANOTHER: Final = 2**71
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""


def third_order_scenario(
    seed: int, operator: str, profile: Profile = STANDARD, *, weighted_gradient: float = WEIGHTED_GRADIENT
) -> Scenario:
    """Return the scenario, following from a seed, that applies one operator to fresh leaves and differentiates thrice.

    The seeded gradient by one leaf is recorded, then that gradient's by a leaf that it surely depends on; a backward
    starts from there, and the leaves' gradients are read. So that there is such a leaf, the operator's output may first
    be multiplied by a leaf of its shape, or with itself. Where an operator's derivative is always zero, as that of
    ``sign``, no gradient surely depends on anything, and the second may be one that an engine does not record.
    ``weighted_gradient`` is the probability that the first gradient is multiplied by a leaf, so that the cotangent of
    the second is recorded too: where nothing bends, that is all that third derivatives are about.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    first = scenario_with_entries(seed, operator, replace(profile, empty=0.0))
    draft, backward = continued(first, choices, profile)
    output = value_of(draft, backward.output)
    bends = bool(_pairs(draft, output, "none", leaves_of(draft, output)))
    bend = "none" if bends and choices.boolean(PLAIN) else _bend(choices)
    return _thrice(first, choices, profile, bend, weighted_gradient)


def differentiated_thrice(first: Scenario, choices: Choices, profile: Profile, by: str) -> Scenario:
    """Return a scenario of one backward with that replaced by three, none of which a straight operator makes vanish.

    The first gradient is that by the leaf ``by``, unless nothing depends on that leaf.
    """
    return _thrice(first, choices, profile, "weights", weighted_gradient=1.0, by=by)


def triple_backward_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that differentiates a gradient of a gradient of a random graph.

    Raises :class:`GenerationError` where the profile admits none.
    """
    if not profile.allows("multiply"):
        raise GenerationError("a graph is sure to have a gradient of a gradient only if the profile allows 'multiply'")
    choices = SeededChoices(seed + ANOTHER)
    first = random_scenario(seed, replace(profile, max_backwards=1, empty=0.0))
    return _thrice(first, choices, profile, _bend(choices))


def _bend(choices: Choices) -> Bend:
    return "weights" if choices.boolean(WEIGHTED) else "square"


def _thrice(  # noqa: PLR0913 (each of them is the caller's to say, by name)
    first: Scenario,
    choices: Choices,
    profile: Profile,
    bend: Bend,
    weighted_gradient: float = WEIGHTED_GRADIENT,
    *,
    by: str = "",
) -> Scenario:
    draft, backward = continued(first, choices, profile)
    plain = output = value_of(draft, backward.output)
    leaves = leaves_of(draft, output)
    if bend == "weights":
        output = _weighted(draft, output, WEIGHTS, "w_output")
        leaves = [*leaves, draft.leaves[-1]]
    elif bend == "square":
        output = add_product(draft, "squared", output, output)
    pairs = _pairs(draft, plain, bend, _felt(draft, plain, leaves))
    leaf, other = choices.choice([pair for pair in pairs if pair[0].name == by] or pairs)
    gradient = start = add_gradient(draft, "h", output, leaf, backward.seed)
    if choices.boolean(weighted_gradient):
        start = _weighted(draft, gradient, "v", "v_h")
        leaves = [*leaves, draft.leaves[-1]]
    add_gradient(draft, "g", start, other, random_seed(choices, leaf.shape, profile))
    reads = [*(Read("grad", leaf.name) for leaf in leaves), Read("value", "h"), Read("value", "g")]
    draft.steps += [Backward("g", random_seed(choices, other.shape, profile)), *reads]
    return draft.scenario


def _weighted(draft: Draft, value: Value, weights: str, product: str) -> Value:
    """Multiply a value by a new leaf."""
    return add_product(draft, product, value, add_random_leaf(draft, weights, value.shape))


def _felt(draft: Draft, output: Value, leaves: list[Value]) -> list[Value]:
    """Return the leaves without those that the output depends on by derivatives alone that are always zero.

    Where that would leave none but what was multiplied by, all are returned.
    """
    needed = {output.name}
    for step in applications_of(draft, output):
        if step.name in needed:
            row = operator_table()[step.operator]
            stands_for = [a.name for a in row.arguments for _ in (step.arguments if a.variadic else "1")]
            needed.update(x for name, x in zip(stands_for, step.arguments, strict=True) if not row.vanishes(name))
    felt = [leaf for leaf in leaves if leaf.name in needed]
    weights = [leaf for leaf in leaves if leaf.name == WEIGHTS]
    return [*felt, *weights] if felt else leaves


def _pairs(draft: Draft, output: Value, bend: Bend, leaves: list[Value]) -> list[tuple[Value, Value]]:
    """Return the leaves by which a gradient may be recorded, each with one that this surely depends on."""
    applications = applications_of(draft, output)
    both = ((leaf, other) for leaf in leaves for other in leaves)
    return [(leaf, other) for leaf, other in both if _bends_in(applications, bend, leaf.name, other.name)]


def _bends_in(applications: list[Apply], bend: Bend, leaf: str, other: str) -> bool:
    """Whether every engine records that the gradient by one leaf depends on another."""
    if bend == "square":
        return True
    if bend == "weights" and WEIGHTS in (leaf, other):
        return leaf != other
    return any(_application_bends_in(step, leaf, other) for step in applications)


def _application_bends_in(step: Apply, leaf: str, other: str) -> bool:
    row = operator_table()[step.operator]
    if row.formula is None:
        return False
    operands = dict(zip(row.argument_names, step.arguments, strict=True))
    names = {name for argument, operand in operands.items() if operand == leaf for name in bending(row, argument)}
    return any((name == "out" and other in step.arguments) or operands.get(name) == other for name in names)
