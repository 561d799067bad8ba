"""Scenarios of one operator in which operands, outputs and cotangents are views.

Libraries whose tensors have strides return views from transposing, slicing with a step, reversing and broadcasting. A
rule that reads the memory of such an array in order is wrong. Operands may be random views, and every run tries a fixed
set of views of operands, of outputs and of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import filterfalse
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from refgrad.generation.draft.admission import MARGIN, Array, well_formed
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.draft.draft import Draft, Operand
from refgrad.generation.profile import STANDARD, Choices, GenerationError, Profile, SeededChoices
from refgrad.generation.single_operators.corners import HIGHEST_RANK, LARGEST_CORNER, entries, plain_corners
from refgrad.generation.single_operators.derivatives import differentiated_twice, saves_operands
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, AttributeValue, Backward, Constant, Detach, Leaf, Read, Scenario, Slice, Step
from refgrad.scenario.rewrite import mapped, replaced, spliced

Viewed: TypeAlias = tuple[Array, tuple[tuple[str, AttributeValue], ...]]
"""The numbers that a leaf must hold, and the attributes with which an operator makes the operand of it."""
Layout: TypeAlias = tuple[str, Callable[[Array], Viewed | None]]
"""An operator that makes views, and a function that returns what it needs for a given operand, or None."""

CROSSED: Final = 0.5
"""Probability that the view is a transposition if one changes the order of memory, which few shapes admit."""

GAP: Final = 0.5
"""Number between the entries that a slice with a step selects, and around those of a part of an array."""

NONLINEAR_SEED: Final = 7
"""Seed of the leaf by which outputs are multiplied at second order, and of the second cotangent."""

SEVERAL: Final = 2
"""Smallest number of entries of an operand that is made of another one."""


def _transposed(array: Array) -> Viewed | None:
    return (array.T, ()) if sum(length > 1 for length in array.shape) > 1 else None


def _flipped(array: Array) -> Viewed | None:
    return (np.flip(array), ()) if array.size > 1 else None


def _stepped(array: Array) -> Viewed:
    held = np.full((*array.shape[:-1], 2 * array.shape[-1]), GAP, dtype=array.dtype)
    held[..., ::2] = array
    return held, (("index", (*[Slice()] * (array.ndim - 1), Slice(step=2))),)


def _stretched(array: Array) -> Viewed | None:
    return (array[:1], (("shape", array.shape),)) if len(array) > 1 else None


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


def _after_another(array: Array) -> Viewed | None:
    return None if array.ndim else (np.array([GAP, array[()]], dtype=array.dtype), (("index", (1,)),))


LAYOUTS: Final[Mapping[str, Callable[[Array], Viewed | None]]] = MappingProxyType({
    "transpose": _transposed,
    "flip": _flipped,
    "index": _stepped,
    "broadcast_to": _stretched,
})
"""Operators that make the views of random scenarios, each with the function that returns what it needs."""

LAST_TO_SECOND: Final = (0, 3, 1, 2)
"""Axes that make a view with channels second of an array with channels last."""

VIEWS: Final[tuple[tuple[Layout, Layout], ...]] = (
    (("transpose", _transposed), ("transpose", _transposed)),
    (("index", _reversed), ("index", _of_wider_rows)),
    (("index", _stepped), ("index", _offset)),
    (("index", _offset), ("index", _stepped)),
    (("index", _of_wider_rows), ("broadcast_to", _stretched)),
    (("broadcast_to", _stretched), ("flip", _flipped)),
)
"""Layout of the first operand of numbers, and that of the others."""

OF_SOME: Final[tuple[Layout, ...]] = (("transpose", _with_channels_last), ("index", _after_another))
"""Layouts for arrays of four axes, and for 0-d arrays."""

OF_EACH_OTHER: Final[tuple[Callable[[str, str], Step], ...]] = (
    lambda name, of: Apply(name, "flip", (of,)),
    lambda name, of: Apply(name, "index", (of,), (("index", (Slice(),)),)),
    lambda name, of: Apply(name, "transpose", (of,)),
    Detach,
)
"""Steps that make the second operand of the first: reversed, as a view of all of it, transposed, and detached."""


def with_random_view(scenario: Scenario, choices: Choices, profile: Profile, share: float) -> Scenario:
    """Return the scenario with one operand made a view of its leaf, by an operator that the profile allows.

    ``share`` is the probability of a view. Conditions, and operands of which the operator makes no view, do not change.
    """
    used = {name for step in scenario.applications for name in step.arguments}
    numbers = [leaf for leaf in scenario.leaves if leaf.name in used and leaf.value.dtype != "bool"]
    leaves = [leaf for leaf in numbers if leaf.value.shape and leaf.value.size]
    allowed = [name for name in LAYOUTS if profile.allows(name)]
    views = [(leaf, name, LAYOUTS[name](leaf.value.to_numpy())) for leaf in leaves for name in allowed]
    possible = [(leaf, name, viewed) for leaf, name, viewed in views if viewed is not None]
    if not choices.boolean(share) or not possible:
        return scenario
    crossed = [(leaf, name, viewed) for leaf, name, viewed in possible if name == "transpose"]
    leaf, operator, viewed = choices.choice(crossed if crossed and choices.boolean(CROSSED) else possible)
    changed = _through_view(scenario, leaf, operator, viewed)
    return changed if operator != "broadcast_to" or admitted(changed, profile) else scenario


def _through_view(scenario: Scenario, leaf: Leaf, operator: str, viewed: Viewed) -> Scenario:
    """Return the scenario in which every operator takes a view in place of the leaf."""
    array, attributes = viewed
    held = replace(leaf, value=Constant.of(np.ascontiguousarray(array), leaf.value.dtype))
    view = Apply(f"{leaf.name}_view", operator, (leaf.name,), attributes)
    steps = mapped(scenario.steps, Apply, lambda step: step.renamed({leaf.name: view.name}))
    return Scenario(replaced(steps, Leaf, lambda step: (held, view) if step == leaf else (step,)))


def admitted(scenario: Scenario, profile: Profile) -> bool:
    """Return True if every operator stays inside of its domain and clear of its kinks."""
    draft = Draft(profile, (), SeededChoices(0))

    def fits(step: Apply) -> bool:
        operands = [Operand.of(np.asarray(values[name]), requires_grad=True) for name in step.arguments]
        return draft.compute(operator_table()[step.operator], operands, keywords(step), margin=MARGIN) is not None

    with np.errstate(all="ignore"):
        values = evaluate(scenario, Float64())
        return all(map(fits, scenario.applications))


@lru_cache(maxsize=512)
def memory_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return fixed scenarios whose operands are views, most of them with the output transposed or summed.

    They are made of the first ``most`` fixed cases of the operator. If the output is transposed or summed, the
    cotangent that the rule receives is a view too, or one number repeated.
    """
    plain = plain_corners(operator, profile, most)
    base = max(plain, key=_crossed_operands, default=None)
    if base is None:
        return ()
    wide = replace(profile, max_rank=HIGHEST_RANK, largest_size=LARGEST_CORNER)
    with np.errstate(all="ignore"):
        made = [_viewed(base, views, wide) for views in VIEWS]
        made += [_first(_with_layout(corner, layout, wide) for corner in plain) for layout in OF_SOME]
        made += [_first(_of_another(corner, make, wide) for corner in plain) for make in OF_EACH_OTHER]
    ended = (end(scenario) for scenario, end in zip(made, _OUTPUTS, strict=True) if scenario is not None)
    return tuple(dict.fromkeys(ended))


@lru_cache(maxsize=512)
def memory_scenarios_of_second_order(
    operator: str, profile: Profile, most: int | None = None, *, weighted: bool | None
) -> tuple[Scenario, ...]:
    """Return the first and the last of the scenarios whose operands are views of leaves, differentiated twice.

    ``weighted`` is as in :func:`second_order_scenario`, but None means False if the derivative depends on operands.
    """
    found = []
    views = list(filterfalse(_detaches, memory_scenarios(operator, profile, most)))[: len(VIEWS)]
    for number, scenario in enumerate(views[:: len(VIEWS) - 1]):
        choices = SeededChoices(NONLINEAR_SEED + number)
        multiplied = not saves_operands(operator) if weighted is None else weighted
        try:
            found.append(differentiated_twice(scenario, choices, profile, weighted=multiplied))
        except GenerationError:
            continue
    return tuple(found)


def _detaches(scenario: Scenario) -> bool:
    return any(isinstance(step, Detach) for step in scenario.steps)


def _crossed_operands(scenario: Scenario) -> tuple[int, int]:
    """Return the number of operands whose order in memory transposing changes, at most 3, then prefer few entries."""
    return min(sum(map(_crosses, scenario.leaves)), 3), -entries(scenario)


def _crosses(leaf: Leaf) -> bool:
    return sum(length > 1 for length in leaf.value.shape) > 1


def _viewed(scenario: Scenario, views: tuple[Layout, Layout], profile: Profile) -> Scenario | None:
    """Return the scenario with every operand of numbers made by one of the layouts, or None if none can be."""
    changed = scenario
    numbers = [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool" and leaf.value.shape]
    for place, leaf in enumerate(numbers):
        changed = _with_view(changed, leaf, views[min(place, 1)], profile) or changed
    return None if changed == scenario else changed


def _with_layout(scenario: Scenario, layout: Layout, profile: Profile) -> Scenario | None:
    """Return the scenario with its first operand of numbers made by a layout, or None if that does not fit."""
    leaf = next(leaf for leaf in scenario.leaves if leaf.value.dtype != "bool")
    return _with_view(scenario, leaf, layout, profile)


def _with_view(scenario: Scenario, leaf: Leaf, layout: Layout, profile: Profile) -> Scenario | None:
    operator, view = layout
    viewed = view(leaf.value.to_numpy())
    if viewed is None:
        return None
    candidate = _through_view(scenario, leaf, operator, viewed)
    return candidate if admitted(candidate, profile) else None


def _first(scenarios: Iterable[Scenario | None]) -> Scenario | None:
    return next(filter(None, scenarios), None)


def _of_another(scenario: Scenario, make: Callable[[str, str], Step], profile: Profile) -> Scenario | None:
    """Return the scenario with its second operand made of the first, or None if that does not fit."""
    first, *others = (leaf for leaf in scenario.leaves if leaf.value.dtype != "bool")
    view = make(others[0].name, first.name) if others else None
    transposed = isinstance(view, Apply) and view.operator == "transpose"
    if view is None or first.value.size < SEVERAL or (transposed and not _crosses(first)):
        return None
    kept = [step for step in scenario.steps if not (isinstance(step, Read) and step.name == others[0].name)]
    candidate = Scenario(spliced(kept, kept.index(others[0]), view))
    ((at, backward),) = candidate.backwards
    try:
        values = evaluate(candidate, Float64())
    except ScenarioEvaluationError:
        return None
    if not _is_well_formed(candidate, values) or not admitted(candidate, profile):
        return None
    shape = values[backward.output].shape
    if backward.seed is not None and backward.seed.shape == shape:
        return candidate
    fitting = replace(backward, seed=random_seed(SeededChoices(0), shape, profile))
    return Scenario(spliced(candidate.steps, at, fitting))


def _is_well_formed(scenario: Scenario, values: Mapping[str, Array]) -> bool:
    """Return True if the operator takes these operands, and not only the function of NumPy."""
    step = scenario.applications[-1]
    row = operator_table()[step.operator]
    return well_formed(row, [values[name] for name in step.arguments], row.bind(keywords(step)))


def _with_transposed_output(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the transposed output, if that has two axes or more."""
    ((_, start),) = scenario.backwards
    if start.seed is None or len(start.seed.shape) < 2:  # noqa: PLR2004
        return scenario
    view = Apply("seen", "transpose", (start.output,))
    return _from(scenario, view, start, np.ascontiguousarray(start.seed.to_numpy().T))


def _with_summed_output(scenario: Scenario) -> Scenario:
    """Return the scenario with the backward from the output summed over its first axis, if it has one."""
    ((_, start),) = scenario.backwards
    if start.seed is None or not start.seed.shape or not start.seed.size:
        return scenario
    view = Apply("seen", "sum", (start.output,), (("axis", 0),))
    return _from(scenario, view, start, np.asarray(start.seed.to_numpy()[0]))


def _from(scenario: Scenario, view: Apply, start: Backward, seed: Array) -> Scenario:
    assert start.seed is not None
    backward = replace(start, output=view.name, seed=Constant.of(seed, start.seed.dtype))
    return Scenario(replaced(scenario.steps, Backward, lambda _: (view, backward)))


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


_OUTPUTS: Final = (
    _as_it_is, _with_transposed_output, _with_summed_output, _with_transposed_output, _with_summed_output,
    _with_summed_output, _with_summed_output, _as_it_is, _as_it_is, _with_summed_output, _with_transposed_output,
    _as_it_is,
)  # fmt: skip
"""Ends of the scenarios of :data:`VIEWS`, :data:`OF_SOME` and :data:`OF_EACH_OTHER`, in order.

Sums are frequent, since not every spelling of a sum returns one number repeated as the cotangent.
"""
