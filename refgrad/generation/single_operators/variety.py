"""Selection of boundary cases that differ, and scenarios that show side effects of a backward rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from refgrad.generation.profile import STANDARD, Choices, Profile, SeededChoices
from refgrad.generation.single_operators.corners import corner_scenarios, entries, is_plain, plain_corners, subsets
from refgrad.generation.single_operators.derivatives import (
    Continuation,
    differentiated_thrice,
    differentiated_twice,
    scenario_with_entries,
    with_tangents,
)
from refgrad.generation.single_operators.views import admitted, with_random_view
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario
from refgrad.scenario.rewrite import renamed, replaced, with_seeds

SUMMED: Final = 0.5
"""Probability that the output is summed over its first axis, so that its cotangent is one array repeated."""

VIEWED: Final = 0.5
"""Probability that one of the operands is a view, if the profile allows an operator that makes one."""

ANOTHER, YET_ANOTHER = 2**71, 2**72
"""Offsets added to a seed, so that these choices are independent of those of the scenario of first order."""

OF_ONES: Final = 2
"""Largest number of scenarios with seeds of ones."""


def contract_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that runs backward through one operator twice, and another backward in between.

    The backward in between reaches only one of the leaves. It reveals gradients that share memory with each other, with
    a seed or with an operand. All of these are read. Operands may be views.

    Raises :class:`GenerationError` if the profile admits none.
    """
    plain = scenario_with_entries(seed, operator, profile)
    first = with_random_view(plain, SeededChoices(seed + YET_ANOTHER), profile, VIEWED)
    return _with_three_backwards(first, SeededChoices(seed + ANOTHER), profile, SUMMED)


def _with_three_backwards(first: Scenario, choices: Choices, profile: Profile, summed: float) -> Scenario:
    """Return the scenario with its backward run twice, and one in between that reaches only one leaf.

    ``summed`` is the probability that the output is summed.
    """
    made = Continuation(first, choices, profile)
    defined = [leaf.name for leaf in made.draft.leaves]
    leaves = [leaf for leaf in made.draft.leaves if leaf.requires_grad and leaf.uses]
    chosen = choices.choice(leaves)
    numbers = made.random_seed(chosen.shape)
    backward = made.backward
    if profile.allows("sum") and backward.seed is not None and made.output.shape and choices.boolean(summed):
        total = made.add_sum("total", made.output)
        backward = Backward(total.name, made.random_seed(total.shape))
    made.add_product("between", chosen, made.add_leaf("factor", numbers, requires_grad=False))
    between = Backward("between", made.random_seed(chosen.shape))
    gradients = [Read("grad", leaf.name) for leaf in leaves]
    values = [Read("value", name) for name in (*defined, made.output.name)]
    kept = Backward(backward.output, backward.seed, retain_graph=True)
    return made.ended(kept, *gradients, between, *gradients, backward, *gradients, *values)


@lru_cache(maxsize=512)
def contract_scenarios_of_ones(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios of that kind whose seeds are ones, for which a rule may return an array that it has saved.

    They are made of the first ``most`` fixed cases of the operator, one of them with operands of one shape, if there is
    one: of operands that are stretched, a rule makes copies.
    """
    corners = sorted(various(corner_scenarios(operator, profile, most)), key=_has_scalar_output)
    alike = [corner for corner in corners if len({leaf.value.shape for leaf in corner.leaves}) == 1]
    chosen = list(dict.fromkeys((*alike[:1], *corners)))[:OF_ONES]
    return tuple(_seeded_with_ones(_with_three_backwards(each, SeededChoices(0), profile, 0.0)) for each in chosen)


def _has_scalar_output(scenario: Scenario) -> bool:
    """Return True if the output is 0-d, so that a seed may be a number, which cannot be written to."""
    ((_, backward),) = scenario.backwards
    return not evaluate(scenario, Float64())[backward.output].ndim


def _seeded_with_ones(scenario: Scenario) -> Scenario:
    values = evaluate(scenario, Float64())
    return Scenario(with_seeds(scenario.steps, lambda start: Constant.of(np.ones(values[start.output].shape))))


MOST: Final = 12
"""Largest number of cases that scenarios of higher order and of forward mode are made of."""

MOST_SUBSETS: Final = 9
"""Largest number of scenarios of second order for subsets: each subset of three operands, by each of its members."""

FEW: Final = 4
"""Largest number of entries that may be equal, whatever they are, once they are compared or normalized."""

Trait: TypeAlias = tuple[str, str]


@lru_cache(maxsize=512)
def second_order_corners(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice, made of the first ``most`` fixed cases of the operator.

    Each is differentiated with respect to every operand first. The output is multiplied by a leaf unless ``weighted``
    is False.
    """
    return tuple(
        differentiated_twice(corner, SeededChoices(number), profile, weighted=weighted is not False, by=leaf)
        for number, (corner, leaf) in enumerate(_by_each_leaf(operator, profile, most))
    )


@lru_cache(maxsize=512)
def third_order_corners(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate three times, made of the first ``most`` fixed cases of the operator.

    Each is differentiated with respect to every operand first. The output and the first gradient are multiplied by
    leaves, so that the third derivative is zero only if the derivative of the operator is.
    """
    return tuple(
        differentiated_thrice(corner, SeededChoices(number), profile, by=leaf)
        for number, (corner, leaf) in enumerate(_by_each_leaf(operator, profile, most))
    )


@lru_cache(maxsize=512)
def forward_corners(operator: str, profile: Profile, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios with tangents for all leaves, made of the first ``most`` fixed cases of the operator."""
    return tuple(with_tangents(corner, SeededChoices(0), profile) for corner in _various(operator, profile, most))


@lru_cache(maxsize=512)
def subsets_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return scenarios that differentiate twice by some of the operands: for each choice of them, by each one first.

    They are made of one of the first ``most`` fixed cases of the operator. There are at most ``MOST_SUBSETS``. The
    output is multiplied by a leaf unless ``weighted`` is False.
    """
    plain = (corner for corner in plain_corners(operator, profile, most) if len(corner.leaves) > 1)
    base = next(filter(_has_entries, plain), None)
    chosen = ((subset, leaf) for subset in (subsets(base) if base is not None else ()) for leaf in subset.leaves)
    twice = (
        differentiated_twice(subset, SeededChoices(0), profile, weighted=weighted is not False, by=leaf.name)
        for subset, leaf in chosen
        if leaf.requires_grad
    )
    return tuple(islice(twice, MOST_SUBSETS))


def _has_entries(scenario: Scenario) -> bool:
    """Return True if every operand has several entries, and the result has some."""
    (first, *_) = scenario.applications
    return all(leaf.value.size > 1 for leaf in scenario.leaves) and bool(evaluate(scenario, Float64())[first.name].size)


@lru_cache(maxsize=512)
def applied_twice(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return a scenario that applies the operator twice before a backward from the first application.

    A rule that keeps what it needs in one variable for all applications finds there what the last one has left. The
    second application has its own operands, of the same shapes, with the same numbers in reverse order. The scenario is
    made of one of the first ``most`` fixed cases. The result is empty if none of them admits it.
    """
    corners = (corner for corner in plain_corners(operator, profile, most) if entries(corner) > len(corner.leaves))
    made = (scenario for scenario in map(_with_another, corners) if admitted(scenario, profile))
    return tuple(islice(made, 1))


def _with_another(scenario: Scenario) -> Scenario:
    """Return the scenario with a second application after the first."""
    (first,) = scenario.applications
    names = {leaf.name: f"{leaf.name}_of_another" for leaf in scenario.leaves} | {first.name: "another"}
    reverse = (replace(leaf, value=_reversed(leaf)) for leaf in scenario.leaves)
    return Scenario(replaced(scenario.steps, Apply, lambda step: (step, *renamed((*reverse, step), names))))


def _reversed(leaf: Leaf) -> Constant:
    array = leaf.value.to_numpy()
    return Constant.of(array.ravel()[::-1].copy().reshape(array.shape), leaf.value.dtype)


def _by_each_leaf(operator: str, profile: Profile, most: int | None) -> Iterator[tuple[Scenario, str]]:
    """Yield various fixed cases, each with every leaf that requires grad."""
    cases = ((c, leaf.name) for c in _various(operator, profile, most) for leaf in c.leaves if leaf.requires_grad)
    return islice(cases, MOST)


def _various(operator: str, profile: Profile, most: int | None) -> Iterator[Scenario]:
    return islice(various(corner_scenarios(operator, profile, most)), MOST)


def various(corners: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield the plain cases in their order, without those that have no trait which the ones before lack."""
    seen = set[Trait]()
    for corner in filter(is_plain, corners):
        traits = set(_traits(corner))
        if not traits <= seen and all(array.size for array in evaluate(corner, Float64()).values()):
            seen |= traits
            yield corner


def _traits(corner: Scenario) -> Iterator[Trait]:
    """Yield the attributes with their values, the operands that are stretched, and whether there are many entries."""
    (step,) = corner.applications
    shapes = {leaf.name: leaf.value.shape for leaf in corner.leaves}
    yield "entries", str(max(map(math.prod, shapes.values())) > FEW)
    yield from ((name, repr(value)) for name, value in step.attributes if not isinstance(value, float))
    largest = max(shapes.values(), key=len, default=())
    for place, name in enumerate(step.arguments):
        yield f"operand {place}", "without axes" if not shapes[name] else str(shapes[name] == largest)
