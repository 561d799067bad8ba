"""The generator of random graphs, and their coverage: operators, pairs of operators, shapes, fan-out and depth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.application import apply_operator, fresh_leaf
from refgrad.generation.draft.backward_calls import completed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.profile import STANDARD, GenerationError, Profile, weighted_operators
from refgrad.interpreter import float64_values
from refgrad.operators import Argument, Operator
from refgrad.operators.structure import Shape
from refgrad.scenario import Scenario

ATTEMPTS: Final = 20
"""Largest number of attempts to generate a scenario; almost always one is enough unless the profile admits nothing."""

RANKS: Final = (0, 1, 2, 1, 2, 3, 2, 3)
"""Ranks of the shape that leaves are derived from. A repeated rank is more likely."""

UNUSED: Final = Argument("unused")
"""Argument that stands for a leaf that no operator takes."""


def random_scenario(seed: int, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario generated from a seed, which is the same on every machine.

    Raises :class:`GenerationError` if the profile admits no scenario.
    """
    choices = SeededChoices(seed)
    for _ in range(ATTEMPTS - 1):
        try:
            return generate(choices, profile)
        except GenerationError:
            continue
    return generate(choices, profile)


def generate(choices: Choices, profile: Profile) -> Scenario:
    """Return a scenario generated from these choices. Raises :class:`GenerationError` if they lead to none."""
    with np.errstate(all="ignore"):
        draft = Draft(profile, base_shape(choices, profile), choices)
        operators = weighted_operators(profile)
        joining = tuple(operator for operator in operators if len(operator.arguments) > 1) if profile.joining else ()
        for _ in choices.repeat(*profile.length):
            joins = joining and choices.boolean(profile.joining)
            apply_operator(draft, choices.choice(joining if joins else operators))
        _reach_least(draft, operators)
        if choices.boolean(profile.unused_leaves):
            draft.add_leaf(fresh_leaf(choices, profile, operators[0], UNUSED, draft.base))
        scenario = completed(draft)
    if scenario is None:
        raise GenerationError("no result is a scalar that requires grad, nor can one be reduced to such")
    return scenario


def _reach_least(draft: Draft, operators: tuple[Operator, ...]) -> None:
    """Apply operators until there are as many results as the profile requires, and one of them requires grad."""
    for _ in range(ATTEMPTS):
        if len(draft.results) >= draft.profile.length[0] and any(value.requires_grad for value in draft.results):
            return
        apply_operator(draft, draft.choices.choice(operators))
    raise GenerationError("the profile's operators could not be applied")


def base_shape(choices: Choices, profile: Profile) -> Shape:
    """Return the shape that a scenario's leaves are derived from: lengths of the profile, and rarely one of zero."""
    rank = choices.choice([rank for rank in RANKS if rank <= profile.rank] or [0])
    shape = [choices.choice(profile.dimensions) for _ in range(rank)]
    if shape and choices.boolean(profile.empty):
        shape[choices.integer(0, rank - 1)] = 0
    return tuple(shape)


@dataclass(slots=True)
class Reach:
    """Coverage of all graphs that were added.

    ``pairs`` holds (producer, consumer) for each result that is an operand, and ``shapes`` the shapes of all tensors.
    ``uses`` is the largest number of uses of one tensor as an operand, ``levels`` the length of the longest path.
    """

    operators: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    shapes: set[Shape] = field(default_factory=set)
    uses: int = 0
    levels: int = 0

    def add(self, scenario: Scenario) -> None:
        """Add a graph."""
        producers, levels, uses = dict[str, str](), Counter[str](), Counter[str]()
        for step in scenario.applications:
            self.pairs |= {(producers[name], step.operator) for name in step.arguments if name in producers}
            producers[step.name] = step.operator
            levels[step.name] = 1 + max(levels[name] for name in step.arguments)
            uses.update(step.arguments)
        self.operators.update(producers.values())
        self.shapes.update(value.shape for value in float64_values(scenario).values())
        self.uses = max(self.uses, *uses.values())
        self.levels = max(self.levels, *levels.values())

    def __str__(self) -> str:
        """Return the counts in one line."""
        operators, pairs = len(self.operators), len(self.pairs)
        return (
            f"{operators} operators in {pairs:,} of {operators**2:,} ordered pairs, on {len(self.shapes)} shapes, "
            f"up to {self.uses} uses of one tensor and {self.levels} levels"
        )
