"""Choices that all steps of a lifecycle share: a tensor, a new name, numbers, and whether to misuse the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import random_array
from refgrad.generation.draft.value import Value
from refgrad.operators.structure import Shape
from refgrad.scenario import Constant

NUMBERS: Final = (-2.0, 2.0)
"""Range of the numbers of leaves and seeds."""


def some_value(draft: Draft, values: Sequence[Value] | None = None) -> Value:
    """Return one of these values, or of all in scope. Late ones and touched ones are more likely."""
    offered = draft.values if values is None else values
    touched = [value for value in offered if value.touched]
    return draft.choices.choice([*offered[-3:], *offered[-3:], *offered, *touched, *touched])


def recorded_values(draft: Draft) -> list[Value]:
    """Return the values in scope that require grad."""
    return [value for value in draft.values if value.requires_grad]


def misuses(draft: Draft) -> bool:
    """Return True, with the probability in the profile, to choose something that is likely to fail."""
    return draft.choices.boolean(draft.profile.misuse)


def new_name(draft: Draft, stem: str) -> str:
    """Return an unused name. Tensors and hooks are numbered together."""
    return f"{stem}{len(draft.leaves) + len(draft.results) + len(draft.hooks) + 1}"


def random_constant(draft: Draft, shape: Shape) -> Constant:
    """Return random numbers for a leaf or a seed."""
    return Constant.of(random_array(draft.choices, *NUMBERS, shape, draft.profile.dtype), draft.profile.dtype)
