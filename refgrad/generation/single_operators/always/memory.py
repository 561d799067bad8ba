"""The scenarios of one operator whose operands, outputs and cotangents are views, which every run tries.

A rule that takes the memory of an array for its entries in order is wrong where the array is transposed, reversed,
stepped over, a part of a larger one, or one entry seen many times. Nothing of these scenarios depends on a run's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, filterfalse
from typing import Final

import numpy as np

from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import Array, well_formed
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.single_operators.always.corner_kinds import HIGHEST_RANK
from refgrad.generation.single_operators.always.corners import LARGEST_CORNER, entries, plain_corners
from refgrad.generation.single_operators.layouts import GAP, LAYOUTS, Viewed, admitted, through_a_view
from refgrad.generation.single_operators.second_order import differentiated_twice
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Detach, Leaf, Read, Scenario, Slice, Step

BENDING_SEED: Final = 7
"""What the leaf that is differentiated by, and the second cotangent, follow from."""


def _offset(array: Array) -> Viewed:
    held = np.full((array.shape[0] + 2, *array.shape[1:]), GAP, dtype=array.dtype)
    held[2:] = array
    return held, (("index", (Slice(start=2),)),)


def _reversed(array: Array) -> Viewed:
    return array[::-1], (("index", (Slice(step=-1),)),)


def _of_wider_rows(array: Array) -> Viewed | None:
    if array.ndim < 2:  # noqa: PLR2004
        return None
    length = array.shape[-1]
    held = np.full((*array.shape[:-1], length + 2), GAP, dtype=array.dtype)
    held[..., 1:-1] = array
    return held, (("index", (*[Slice()] * (array.ndim - 1), Slice(1, length + 1))),)


def _with_channels_last(array: Array) -> Viewed | None:
    if array.ndim != len(LAST_TO_SECOND) or array.shape[1] == 1 or array.shape[2:] == (1, 1):
        return None
    return np.moveaxis(array, 1, -1), (("axes", LAST_TO_SECOND),)


def _behind_another(array: Array) -> Viewed | None:
    return None if array.ndim else (np.array([GAP, array[()]], dtype=array.dtype), (("index", (1,)),))


LAST_TO_SECOND: Final = (0, 3, 1, 2)
"""The axes that make a view of four axes of an array whose channels come last."""

SEVERAL: Final = 2
"""Of so many entries, at least, one operand is made of another."""

Layout = tuple[str, Callable[[Array], Viewed | None]]
VIEWS: Final[tuple[tuple[Layout, ...], ...]] = (
    (("transpose", LAYOUTS["transpose"]), ("transpose", LAYOUTS["transpose"])),
    (("index", _reversed), ("index", _of_wider_rows)),
    (("index", LAYOUTS["index"]), ("index", _offset)),
    (("index", _offset), ("index", LAYOUTS["index"])),
    (("index", _of_wider_rows), ("broadcast_to", LAYOUTS["broadcast_to"])),
    (("broadcast_to", LAYOUTS["broadcast_to"]), ("flip", LAYOUTS["flip"])),
)
"""By what the first operand of numbers is a view, and by what the others are."""

OF_SOME: Final[tuple[Layout, ...]] = (("transpose", _with_channels_last), ("index", _behind_another))
"""Views of arrays of four axes, and of single numbers."""

WHOLE: Final = (("index", (Slice(),)),)
"""The attributes of an index that takes all."""

Made = Callable[[str, str], Step]
OF_EACH_OTHER: Final[tuple[Made, ...]] = (
    lambda name, of: Apply(name, "flip", (of,)),
    lambda name, of: Apply(name, "index", (of,), WHOLE),
    lambda name, of: Apply(name, "transpose", (of,)),
    Detach,
)
"""What is made of the first operand to be the second: reversed, as a view of all of it, transposed, and cut off."""


@lru_cache(maxsize=512)
def memory_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return scenarios whose operands are views, the outputs of which are then seen transposed or summed.

    They are made of one of the operator's first ``most`` corners. Its rule receives a cotangent that is a view, too, or
    one number seen many times.
    """
    plain = plain_corners(operator, profile, most)
    base = max(plain, key=_telling, default=None)
    if base is None:
        return ()
    wide = replace(profile, max_rank=HIGHEST_RANK, largest_size=LARGEST_CORNER)
    with np.errstate(all="ignore"):
        made = [_viewed(base, views, wide) for views in VIEWS]
        made += [_first(plain, partial(_with_view, layout=each, profile=wide)) for each in OF_SOME]
        made += [_first(plain, partial(_of_another, make=make, profile=wide)) for make in OF_EACH_OTHER]
    seen = (through(scenario) for scenario, through in zip(made, _OUTPUTS, strict=True) if scenario is not None)
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
    views = list(filterfalse(_detaches, memory_scenarios(operator, profile, most)))[: len(VIEWS)]
    for number, scenario in enumerate(views[:: len(VIEWS) - 1]):
        choices = SeededChoices(BENDING_SEED + number)
        weigh = not bent if weighted is None else weighted
        try:
            found.append(differentiated_twice(scenario, choices, profile, weighted=weigh))
        except GenerationError:
            continue
    return tuple(found)


def _detaches(scenario: Scenario) -> bool:
    return any(isinstance(step, Detach) for step in scenario.steps)


def _telling(scenario: Scenario) -> tuple[int, int]:
    """Count the operands of whose memory a view changes the order, up to three, and prefer few entries."""
    return min(sum(map(_crosses, scenario.leaves)), 3), -entries(scenario)


def _crosses(leaf: Leaf) -> bool:
    """Whether its memory lies in another order once it is transposed."""
    return sum(length > 1 for length in leaf.value.shape) > 1


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


def _first(corners: Iterable[Scenario], change: Callable[[Scenario], Scenario | None]) -> Scenario | None:
    """Return what the first corner is made that can be changed."""
    return next(filter(None, map(change, corners)), None)


def _with_view(scenario: Scenario, layout: Layout, profile: Profile) -> Scenario | None:
    """Return the scenario with its first operand of numbers made by a view, or None where that does not fit."""
    operator, view = layout
    leaf = next(leaf for leaf in scenario.leaves if leaf.value.dtype != "bool")
    found = view(leaf.value.to_numpy())
    if found is None:
        return None
    candidate = through_a_view(scenario, leaf, operator, found)
    return candidate if admitted(candidate, profile, SeededChoices(0)) else None


def _of_another(scenario: Scenario, make: Made, profile: Profile) -> Scenario | None:
    """Return the scenario with its second operand made of the first, or None where that does not fit."""
    first, *others = (leaf for leaf in scenario.leaves if leaf.value.dtype != "bool")
    view = make(others[0].name, first.name) if others else None
    if view is None or first.value.size < SEVERAL or (_is_transposed(view) and not _crosses(first)):
        return None
    candidate = _with_operand(scenario, others[0], view)
    try:
        ((_, backward),) = candidate.backwards
        values = evaluate(candidate, Float64())
    except ScenarioEvaluationError:
        return None
    if not _is_well_formed(candidate, values) or not admitted(candidate, profile, SeededChoices(0)):
        return None
    shape = values[backward.output].shape
    fits = backward.seed is not None and backward.seed.shape == shape
    seed = backward.seed if fits else random_seed(SeededChoices(0), shape, profile)
    return _from(candidate, None, replace(backward, seed=seed))


def _is_transposed(view: Step) -> bool:
    return isinstance(view, Apply) and view.operator == "transpose"


def _is_well_formed(scenario: Scenario, values: Mapping[str, Array]) -> bool:
    """Whether the operator takes these operands, and not merely NumPy's functions."""
    step = scenario.applications[-1]
    row = operator_table()[step.operator]
    return well_formed(row, [values[name] for name in step.arguments], row.bind(keywords(step)))


def _with_operand(scenario: Scenario, leaf: Leaf, view: Step) -> Scenario:
    """Return the scenario with a view in the place of a leaf, of which nothing is read."""
    kept = (step for step in scenario.steps if not (isinstance(step, Read) and step.name == leaf.name))
    return Scenario(tuple(view if step is leaf else step for step in kept))


def _seen_transposed(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the transposed output."""
    start = scenario.backwards[0][1]
    if start.seed is None or len(start.seed.shape) < 2:  # noqa: PLR2004
        return scenario
    seed = Constant.of(np.ascontiguousarray(start.seed.to_numpy().T), start.seed.dtype)
    return _from(scenario, Apply("seen", "transpose", (start.output,)), replace(start, output="seen", seed=seed))


def _seen_summed(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the output summed over its first axis."""
    start = scenario.backwards[0][1]
    if start.seed is None or not start.seed.shape or not start.seed.size:
        return scenario
    seed = Constant.of(np.asarray(start.seed.to_numpy()[0]), start.seed.dtype)
    view = Apply("seen", "sum", (start.output,), (("axis", 0),))
    return _from(scenario, view, replace(start, output="seen", seed=seed))


def _from(scenario: Scenario, view: Apply | None, start: Backward) -> Scenario:
    """Return the scenario with another backward, perhaps from a view of the output."""
    made = [start] if view is None else [view, start]
    steps = (made if isinstance(step, Backward) else [step] for step in scenario.steps)
    return Scenario(tuple(chain.from_iterable(steps)))


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


_OUTPUTS: Final = (
    _as_it_is,
    _seen_transposed,
    _seen_summed,
    _seen_transposed,
    _seen_summed,
    _seen_summed,
    _seen_summed,
    _as_it_is,
    _as_it_is,
    _seen_summed,
    _seen_transposed,
    _as_it_is,
)
"""How the output is seen of what the views make, in order, of what some have alone, and of views of each other.

That it is summed comes often: not every spelling of a sum sends one number back that is seen many times.
"""
