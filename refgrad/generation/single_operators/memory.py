"""The scenarios of one operator whose operands, outputs and cotangents are views, which every run tries.

A rule that takes the memory of an array for its entries in order is wrong where the array is transposed, reversed,
stepped over, a part of a larger one, or one entry seen many times. Nothing of these scenarios depends on a run's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import Array
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.single_operators.corners import HIGHEST_RANK, LARGEST_CORNER, corner_scenarios
from refgrad.generation.single_operators.layouts import GAP, LAYOUTS, Viewed, admitted, through_a_view
from refgrad.generation.single_operators.second_order import differentiated_twice
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, Slice, Step

BENDING_SEED: Final = 7
"""What the leaf that is differentiated by, and the second cotangent, follow from."""


def _offset(array: Array) -> Viewed:
    held = np.full((array.shape[0] + 2, *array.shape[1:]), GAP, dtype=array.dtype)
    held[2:] = array
    return held, (("index", (Slice(start=2),)),)


def _reversed(array: Array) -> Viewed:
    return array[::-1], (("index", (Slice(step=-1),)),)


Layout = tuple[str, Callable[[Array], Viewed | None]]
VIEWS: Final[tuple[tuple[Layout, ...], ...]] = (
    (("transpose", LAYOUTS["transpose"]), ("flip", LAYOUTS["flip"])),
    (("index", _reversed), ("transpose", LAYOUTS["transpose"])),
    (("index", LAYOUTS["index"]), ("index", _offset)),
    (("index", _offset), ("index", LAYOUTS["index"])),
    (("broadcast_to", LAYOUTS["broadcast_to"]), ("transpose", LAYOUTS["transpose"])),
)
"""By what the first operand of numbers is a view, and by what the others are."""


@lru_cache(maxsize=512)
def memory_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios whose operands are views, the outputs of which are then seen transposed or summed.

    They are made of one of the operator's first ``most`` corners. Its rule receives a cotangent that is a view, too, or
    one number seen many times.
    """
    base = _base(corner_scenarios(operator, profile, most))
    if base is None:
        return ()
    wide = replace(profile, max_rank=HIGHEST_RANK, largest_size=LARGEST_CORNER)
    with np.errstate(all="ignore"):
        made = [_viewed(base, views, wide) for views in VIEWS] + list(_of_each_other(base, wide))
    seen = (through(scenario) for scenario, through in zip(made, _OUTPUTS, strict=False) if scenario is not None)
    return tuple(dict.fromkeys(seen))


@lru_cache(maxsize=512)
def memory_scenarios_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return the first and the last of those whose operands are views of leaves of their own, differentiated twice.

    What they are multiplied by follows from ``weighted`` as in :func:`second_order_scenario`.
    """
    row = operator_table()[operator]
    bent = any(row.saves(argument.name) for argument in row.arguments)
    found = []
    for number, scenario in enumerate(memory_scenarios(operator, profile, most)[:: len(VIEWS) - 1]):
        choices = SeededChoices(BENDING_SEED + number)
        weigh = not bent if weighted is None else weighted
        try:
            found.append(differentiated_twice(scenario, choices, profile, weighted=weigh))
        except GenerationError:
            continue
    return tuple(found)


def _base(corners: Iterable[Scenario]) -> Scenario | None:
    """Return the corner that has most operands of two axes or more, all of which are leaves that want gradients."""
    return max(filter(_is_plain, corners), key=_telling, default=None)


def _telling(scenario: Scenario) -> tuple[int, int]:
    """Count the operands of whose memory a view changes the order, up to three, and prefer few entries."""
    shapes = [leaf.value.shape for leaf in scenario.leaves]
    crossing = sum(sum(length > 1 for length in shape) > 1 for shape in shapes)
    return min(crossing, 3), -sum(leaf.value.size for leaf in scenario.leaves)


def _is_plain(scenario: Scenario) -> bool:
    numbers = [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    names = scenario.applications[0].arguments
    small = all(0 < leaf.value.size <= LARGEST_BASE for leaf in scenario.leaves)
    return small and all(leaf.requires_grad for leaf in numbers) and len(set(names)) == len(names)


WHOLE: Final = (("index", (Slice(),)),)
"""The attributes of an index that takes all."""

LARGEST_BASE: Final = 36
"""How many entries an operand has at most: what counts here is how they lie."""


def _viewed(scenario: Scenario, views: Sequence[Layout], profile: Profile) -> Scenario | None:
    """Return the scenario with every operand of numbers made by one of the views, or None where nothing is."""
    changed = scenario
    numbers = [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool" and leaf.value.shape]
    for place, leaf in enumerate(numbers):
        operator, view = views[min(place, 1)]
        found = view(leaf.value.to_numpy())
        if found is not None:
            candidate = through_a_view(changed, leaf, operator, found)
            changed = candidate if admitted(candidate, profile, SeededChoices(0)) else changed
    return None if changed == scenario else changed


def _of_each_other(scenario: Scenario, profile: Profile) -> Iterator[Scenario]:
    """Yield the scenario with its second operand made of the first: reversed, and as a view of all of it."""
    first, *others = (leaf for leaf in scenario.leaves if leaf.value.dtype != "bool")
    other = next((leaf for leaf in others if leaf.value.shape == first.value.shape != ()), None)
    if other is None:
        return
    for view in (Apply(other.name, "flip", (first.name,)), Apply(other.name, "index", (first.name,), WHOLE)):
        candidate = _with_operand(scenario, other, view)
        if admitted(candidate, profile, SeededChoices(0)):
            yield candidate


def _with_operand(scenario: Scenario, leaf: Leaf, view: Apply) -> Scenario:
    """Return the scenario with a view in the place of a leaf, of which nothing is read."""
    kept = (step for step in scenario.steps if not (isinstance(step, Read) and step.name == leaf.name))
    return Scenario(tuple(view if step is leaf else step for step in kept))


def _seen_transposed(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the transposed output."""
    start = scenario.backwards[0][1]
    if start.seed is None or len(start.seed.shape) < 2:  # noqa: PLR2004
        return scenario
    seed = Constant.of(np.ascontiguousarray(start.seed.to_numpy().T), start.seed.dtype)
    return _from(scenario, Apply("seen", "transpose", (start.output,)), seed)


def _seen_summed(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the output summed over its first axis."""
    start = scenario.backwards[0][1]
    if start.seed is None or not start.seed.shape or not start.seed.size:
        return scenario
    seed = Constant.of(np.asarray(start.seed.to_numpy()[0]), start.seed.dtype)
    return _from(scenario, Apply("seen", "sum", (start.output,), (("axis", 0),)), seed)


def _from(scenario: Scenario, view: Apply, seed: Constant) -> Scenario:
    steps: list[Step] = []
    for step in scenario.steps:
        if isinstance(step, Backward):
            steps += [view, replace(step, output=view.name, seed=seed)]
        else:
            steps.append(step)
    return Scenario(tuple(steps))


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


_OUTPUTS: Final = (
    _as_it_is,
    _seen_transposed,
    _seen_summed,
    _seen_transposed,
    _seen_summed,
    _as_it_is,
    _as_it_is,
)
"""How the output is seen of what the views make, in order; of operands that are views of each other it is as it is."""
