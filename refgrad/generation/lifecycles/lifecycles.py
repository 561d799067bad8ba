"""The generator of lifecycles.

It does not decide which steps fail or what each step must show: its results are only guaranteed to be scenarios.
Numbers stay of moderate size, by bounds that are kept for every piece of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from refgrad.generation.choices import Choices, SeededChoices
from refgrad.generation.draft.draft import Draft
from refgrad.generation.lifecycles.backward_calls import backward, backward_again, backward_from_loss, record_gradient
from refgrad.generation.lifecycles.building import (
    add_another_leaf,
    add_leaf,
    add_view,
    apply_binary,
    apply_matmul,
    apply_unary,
    detach,
)
from refgrad.generation.lifecycles.hooks import add_hook, change_hooks, remove_hook, retain_grad
from refgrad.generation.lifecycles.modes import enter_region, leave_region, toggle_requires_grad, update
from refgrad.generation.lifecycles.profile import LIFECYCLE
from refgrad.generation.lifecycles.reads import delete, read, read_everything, zero_grad
from refgrad.generation.lifecycles.writes import overwrite
from refgrad.generation.profile import Profile
from refgrad.operators.structure import Shape
from refgrad.scenario import Scenario

Action: TypeAlias = Callable[[Draft], None]

SHAPES: Final[tuple[Shape, ...]] = ((), (2,), (2,), (3,), (2, 2))
"""Shapes of leaves. A repeated shape is more likely."""

ACTIONS: Final[tuple[tuple[frozenset[str], int, Action], ...]] = (
    (frozenset(), 6, apply_unary),
    (frozenset(), 6, apply_binary),
    (frozenset({"arrays"}), 1, apply_matmul),
    (frozenset({"arrays"}), 1, add_view),
    (frozenset(), 1, add_another_leaf),
    (frozenset(), 5, backward_from_loss),
    (frozenset(), 2, backward),
    (frozenset(), 3, backward_again),
    (frozenset({"double_backward"}), 1, record_gradient),
    (frozenset({"detach"}), 2, detach),
    (frozenset({"no_grad"}), 3, enter_region),
    (frozenset({"no_grad"}), 4, leave_region),
    (frozenset({"set_requires_grad"}), 2, toggle_requires_grad),
    (frozenset(), 1, delete),
    (frozenset({"in_place"}), 6, overwrite),
    (frozenset({"in_place", "no_grad"}), 2, update),
    (frozenset({"hooks"}), 2, add_hook),
    (frozenset({"hooks", "unhook"}), 1, change_hooks),
    (frozenset({"hooks", "unhook"}), 1, remove_hook),
    (frozenset({"retain_grad"}), 2, retain_grad),
    (frozenset({"zero_grad"}), 2, zero_grad),
    (frozenset(), 2, read),
)
"""Actions, each with the features that it needs and its weight among all actions."""


def lifecycle_scenario(seed: int, profile: Profile = LIFECYCLE) -> Scenario:
    """Return the lifecycle generated from a seed, which is the same on every machine."""
    return generate_lifecycle(SeededChoices(seed), profile)


def generate_lifecycle(choices: Choices, profile: Profile) -> Scenario:
    """Return a lifecycle generated from these choices."""
    draft = Draft(profile, () if profile.scalars_only else choices.choice(SHAPES), choices)
    add_leaf(draft, requires_grad=True)
    for _ in choices.repeat(0, 2):
        add_leaf(draft, requires_grad=choices.boolean(0.6))
    actions = [action for needed, weight, action in ACTIONS if needed <= profile.offered for _ in range(weight)]
    for _ in choices.repeat(*profile.length):
        choices.choice(actions)(draft)
    _finish(draft)
    return draft.scenario


def _finish(draft: Draft) -> None:
    """Leave all regions, often run backward once more, and read everything that can be read."""
    while draft.regions:
        leave_region(draft)
    if draft.choices.boolean(0.7):
        draft.choices.choice([backward_from_loss, backward, backward_again])(draft)
    read_everything(draft)
