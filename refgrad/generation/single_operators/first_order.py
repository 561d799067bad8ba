"""Scenarios that try one operator on its own, or put it onto its edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import distance_to_kink, on_limit
from refgrad.generation.draft.application import apply_afresh, apply_on_edge
from refgrad.generation.draft.backward_calls import completed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.interpreter import keywords
from refgrad.operators import Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Scenario

ATTEMPTS: Final = 200

CONSTANTS: Final = 0.2
"""How often an operand does not require grad; at least one of them always does."""

SPECIAL: Final = 0.3
"""How often an operand holds zeros, repetitions, the ends of its range or tiny numbers."""

SHAPES: Final[tuple[Shape, ...]] = (
    (2, 3),
    (),
    (3,),
    (3, 3),
    (1,),
    (2, 3, 2),
    (1, 3),
    (3, 1),
    (2, 2),
    (2,),
    (1, 1),
    (2, 1, 3),
    (0,),
    (2, 0),
    (2, 2, 2),
    (4,),
)
"""Shapes that tell mistakes apart: square ones, ones with different lengths, length 1, 0-d, without entries."""


def operator_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that applies one operator once to fresh leaves.

    The operator need not be among those that the profile allows. Without seeds, its output is reduced by an operator
    that is, or is a scalar.

    Raises :class:`GenerationError` where the profile admits none.
    """
    return _first_success(seed, operator_table()[operator], profile, apply_afresh)


def edge_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario, following from a seed, that applies one operator with at least one entry on a declared edge.

    Raises :class:`GenerationError` where the operator has no edge, or the profile admits none.
    """
    row = operator_table()[operator]
    if not row.edges:
        raise GenerationError(f"operator {operator!r} declares no edge")
    return _first_success(seed, row, profile, _apply_on_edge)


def _first_success(
    seed: int, operator: Operator, profile: Profile, apply: Callable[[Draft, Operator], bool]
) -> Scenario:
    choices = SeededChoices(seed)
    single = replace(profile, max_backwards=1, unused_leaves=0.0, constants=CONSTANTS, special=SPECIAL)
    with np.errstate(all="ignore"):
        for _ in range(ATTEMPTS):
            draft = Draft(single, choices.choice([shape for shape in SHAPES if len(shape) <= single.rank]), choices)
            if not apply(draft, operator) or not draft.results[0].requires_grad:
                continue
            try:
                return completed(draft)
            except GenerationError:
                continue
    raise GenerationError(f"the profile admits no scenario for operator {operator.name!r}")


def _apply_on_edge(draft: Draft, operator: Operator) -> bool:
    """Apply it near its edges until an entry is on one: a pair of equal numbers need not be a tie for the extremum."""
    if not apply_on_edge(draft, operator):
        return False
    result = draft.results[0]
    assert isinstance(result.step, Apply)
    arrays = [argument.array for argument in result.arguments]
    attributes = operator.bind(keywords(result.step))
    return on_limit(operator, arrays, attributes) or distance_to_kink(operator, arrays, attributes, result.array) == 0
