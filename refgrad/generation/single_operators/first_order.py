"""Scenarios that apply one operator to fresh leaves, at any point or on one of its edges, and run backward once."""

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
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Scenario

ATTEMPTS: Final = 200
"""Largest number of attempts to draw a scenario."""

NOT_EMPTY: Final = 20
"""Largest number of scenarios that are drawn to find one without empty arrays."""

ANOTHER: Final = 2**70
"""Offset added to a seed to draw other scenarios, or to make choices that are independent of those of the scenario."""

CONSTANTS: Final = 0.2
"""Probability that an operand does not require grad. At least one operand does."""

SPECIAL: Final = 0.3
"""Probability that an operand holds zeros, repetitions, the ends of its range or tiny numbers."""

SHAPES: Final[tuple[Shape, ...]] = (
    (2, 3), (), (3,), (3, 3), (1,), (2, 3, 2), (1, 3), (3, 1), (2, 2), (2,), (1, 1), (2, 1, 3), (0,), (2, 0), (2, 2, 2),
    (4,),
)  # fmt: skip
"""Shapes that distinguish faults: square ones, ones with different lengths, length 1, 0-d, without entries."""


def operator_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that applies one operator once to fresh leaves.

    The profile need not allow the operator. Without seeds, the output is a scalar, or is reduced to one by an operator
    that the profile allows.

    Raises :class:`GenerationError` if the profile admits none.
    """
    return _first_success(seed, operator_table()[operator], profile, apply_afresh)


def edge_scenario(seed: int, operator: str, profile: Profile = STANDARD) -> Scenario:
    """Return the scenario of a seed that applies one operator with at least one entry on a declared edge.

    Raises :class:`GenerationError` if the operator has no edge, or the profile admits none.
    """
    row = operator_table()[operator]
    if not row.edges:
        raise GenerationError(f"operator {operator!r} declares no edge")
    return _first_success(seed, row, profile, _apply_on_edge)


def scenario_with_entries(seed: int, operator: str, profile: Profile) -> Scenario:
    """Return a scenario of one operator without empty arrays, which an engine need not record."""
    for attempt in range(NOT_EMPTY):
        scenario = operator_scenario(seed + attempt * ANOTHER, operator, profile)
        if all(array.size for array in evaluate(scenario, Float64()).values()):
            return scenario
    raise GenerationError(f"the profile admits only empty arrays for operator {operator!r}")


def _first_success(
    seed: int, operator: Operator, profile: Profile, apply: Callable[[Draft, Operator], bool]
) -> Scenario:
    choices = SeededChoices(seed)
    single = replace(profile, max_backwards=1, unused_leaves=0.0, constants=CONSTANTS, special=SPECIAL)
    with np.errstate(all="ignore"):
        for _ in range(ATTEMPTS):
            draft = Draft(single, choices.choice([shape for shape in SHAPES if len(shape) <= single.rank]), choices)
            applied = apply(draft, operator) and draft.results[0].requires_grad
            scenario = completed(draft) if applied else None
            if scenario is not None:
                return scenario
    raise GenerationError(f"the profile admits no scenario for operator {operator.name!r}")


def _apply_on_edge(draft: Draft, operator: Operator) -> bool:
    """Apply the operator near its edges, and return True if an entry is on one: equal numbers need not be a tie."""
    if not apply_on_edge(draft, operator):
        return False
    result = draft.results[0]
    assert isinstance(result.step, Apply)
    arrays = [argument.array for argument in result.arguments]
    attributes = operator.bind(keywords(result.step))
    return on_limit(operator, arrays, attributes) or distance_to_kink(operator, arrays, attributes, result.array) == 0
