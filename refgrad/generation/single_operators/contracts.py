"""Scenarios that hold a backward rule to its contract: it changes nothing but the gradients that it adds to."""

from __future__ import annotations

from typing import Final

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.profile import STANDARD, Profile
from refgrad.generation.single_operators.layouts import laid_out
from refgrad.generation.single_operators.second_order import scenario_with_entries
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Apply, Backward, Leaf, Read, Scenario, Step

REDUCED: Final = 0.5
"""How often the output is summed over its first axis, so that its cotangent is one array seen several times."""

VIEWED: Final = 0.5
"""How often one of the operands is a view, if the profile allows an operator that makes one."""

ANOTHER: Final = 2**71
"""What is added to a seed, so that what is drawn here has nothing to do with what the scenario was made of."""

YET_ANOTHER: Final = 2**72


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that walks one operator's rule twice, and another one in between.

    The walk in between reaches one of the leaves alone. Gradients that share memory with each other, with a seed or
    with an operand then change what they should not; all of these are read. Operands may be views, whose memory does
    not lie in the order of their entries.

    Raises :class:`GenerationError` where the profile admits none.
    """
    choices = SeededChoices(seed + ANOTHER)
    plain = scenario_with_entries(seed, operator, profile)
    first = laid_out(plain, SeededChoices(seed + YET_ANOTHER), profile, VIEWED)
    ((at, backward),) = first.backwards
    used = {name for step in first.applications for name in step.arguments}
    leaves = [leaf for leaf in first.leaves if leaf.requires_grad and leaf.name in used]
    chosen = choices.choice(leaves)
    factor = Leaf("factor", random_seed(choices, chosen.value.shape, profile), requires_grad=False)
    between = Apply("between", "multiply", (chosen.name, factor.name))
    reduction, walk = _reduced(choices, first, backward, profile)
    other = Backward(between.name, random_seed(choices, chosen.value.shape, profile))
    gradients = [Read("grad", leaf.name) for leaf in leaves]
    values = [Read("value", name) for name in (*(leaf.name for leaf in first.leaves), backward.output)]
    kept = Backward(walk.output, walk.seed, retain_graph=True)
    walks: list[Step] = [kept, *gradients, other, *gradients, walk, *gradients]
    return Scenario((*first.steps[:at], *reduction, factor, between, *walks, *values))


def _reduced(
    choices: Choices, scenario: Scenario, backward: Backward, profile: Profile
) -> tuple[tuple[Step, ...], Backward]:
    """Return the steps between the operator and its backward, and the backward, perhaps of a sum."""
    shape = evaluate(scenario, Float64())[backward.output].shape
    sums = profile.operators is None or "sum" in profile.operators
    if not sums or backward.seed is None or not shape or not choices.boolean(REDUCED):
        return (), backward
    total = Apply("total", "sum", (backward.output,), (("axis", 0),))
    return (total,), Backward(total.name, random_seed(choices, shape[1:], profile))
