"""The scenarios of one operator that are always tried, whatever the seed: its corners.

Rules go wrong from some rank on, at the tail behind the last full vector, for one operand's gradient alone, where one
tensor stands in two places, for one value of an attribute. Random scenarios meet such a case with luck; every run meets
each of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain, combinations, islice, zip_longest
from typing import Final

import numpy as np

from refgrad.generation.attributes.rules import adapted
from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import MARGIN, inside_of, well_formed
from refgrad.generation.draft.application import commit, may_repeat
from refgrad.generation.draft.backward_calls import completed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import fresh_leaf
from refgrad.generation.draft.operands import operand_rule
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.single_operators.always.corner_kinds import (
    ARRANGEMENTS,
    HIGHEST_RANK,
    SHAPES,
    Corner,
    apart,
    has_room,
    of_attributes,
    of_operands,
    shaped,
    stretching,
)
from refgrad.generation.wanted_gradients import without_gradients_of
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Constant, Scenario

ATTEMPTS: Final = 12
"""How often a corner is drawn until the operator admits its numbers; a long row is seldom clear of all kinks."""

LARGEST_CORNER: Final = 300
"""No array of a corner has more entries."""

LARGEST_OF_PAIRS: Final = 40
"""Nor has it where an operator compares or adds all pairs of entries, as a sort does."""

LARGEST_PLAIN: Final = 36
"""Nor has one where what counts is not how many there are."""

FEW, MORE = (8,), (16,)
"""Shapes that tell whether the work grows with the pairs of entries: by twice as many, or by four times."""

BASES: Final = 2
"""Of this many scenarios, of different ranks, every subset of the operands wants gradients."""

MOST_SUBSETS: Final = 15
"""Of this many subsets of the operands, those of one, of two and of all but one come first."""


def corner_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return the operator's corners that it and the profile admit, of every kind one before the next of any.

    ``most`` is how many are wanted; others are not drawn. Nothing follows from a run's seed: two runs have the same.
    """
    certain = replace(profile, max_backwards=1, unused_leaves=0.0, constants=0.0, special=0.0, empty=0.0)
    own = frozenset({operator}) if profile.seeds else profile.operators  # others make a scalar where no seed may be
    return _corners(operator, replace(certain, operators=own, max_rank=HIGHEST_RANK, largest_size=LARGEST_CORNER), most)


@lru_cache(maxsize=1024)
def _corners(operator: str, wide: Profile, most: int | None) -> tuple[Scenario, ...]:
    row = operator_table()[operator]
    if _is_about_pairs(row, wide):
        wide = replace(wide, largest_size=LARGEST_OF_PAIRS)
    kinds: list[Iterable[Corner]] = [shaped(row, shapes, wide) for shapes in SHAPES]
    kinds += [of_operands(row), [Corner(arranged=each) for each in ARRANGEMENTS], of_attributes(row)]
    by_shape, *others = (_all_drawn(row, corners, wide) for corners in kinds)
    bases, stretched = list(islice(by_shape, BASES)), list(_all_drawn(row, stretching(row), wide))
    wanted = (subset for scenario in (*bases, *stretched) for subset in subsets(scenario))
    met = chain.from_iterable(zip_longest(wanted, chain(bases, by_shape), stretched, *others))
    return tuple(islice(_different(scenario for scenario in met if scenario is not None), most))


def plain_corners(operator: str, profile: Profile, most: int | None = None) -> list[Scenario]:
    """Return those of the operator's first ``most`` corners of which something else can be made, the smallest first."""
    return sorted(filter(is_plain, corner_scenarios(operator, profile, most)), key=entries)


def entries(scenario: Scenario) -> int:
    """Count the numbers that the leaves of a scenario hold."""
    return sum(leaf.value.size for leaf in scenario.leaves)


def is_plain(scenario: Scenario) -> bool:
    """Whether all operands of numbers are leaves that want gradients, no two are one, and have entries, but few."""
    numbers = [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    names = scenario.applications[0].arguments
    small = all(0 < leaf.value.size <= LARGEST_PLAIN for leaf in scenario.leaves)
    return small and all(leaf.requires_grad for leaf in numbers) and len(set(names)) == len(names)


def _different(scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield each scenario where it is met first."""
    seen = set[Scenario]()
    for scenario in scenarios:
        if scenario not in seen:
            seen.add(scenario)
            yield scenario


def _is_about_pairs(row: Operator, profile: Profile) -> bool:
    """Whether twice as many entries are much more than twice the work."""
    few, more = (_drawn(row, Corner(shape), profile) for shape in (FEW, MORE))
    return row.composite is not None and few is not None and more is not None and _work(more) > 3 * _work(few)


def _work(scenario: Scenario) -> int:
    """Count the entries that an operator's only application computes, those in between included."""
    (step,) = scenario.applications
    values = evaluate(scenario, Float64())
    row = operator_table()[step.operator]
    inner = inside_of(row, [values[name] for name in step.arguments], row.bind(keywords(step)))
    return sum(result.size for *_, result in inner)


def _all_drawn(row: Operator, corners: Iterable[Corner], profile: Profile) -> Iterator[Scenario]:
    drawn = (_drawn(row, corner, profile) for corner in corners)
    return (scenario for scenario in drawn if scenario is not None)


def _drawn(row: Operator, corner: Corner, profile: Profile) -> Scenario | None:
    """Return the corner's scenario with the first numbers that the operator admits, or None.

    Where the second operand's shape is given, the result depends on that operand if that can be had.
    """
    first = None
    with np.errstate(all="ignore"):
        for seed in range(corner.first, corner.first + ATTEMPTS):
            scenario = _drawn_from(row, corner, profile, seed)
            if scenario is not None and (corner.second is None or _counts(scenario, 1)):
                return scenario
            first = first or scenario
    return first


def _drawn_from(row: Operator, corner: Corner, profile: Profile, seed: int) -> Scenario | None:
    shapes = [shape for shape in (corner.shape, *corner.others) if has_room(profile, shape)] or [()]
    draft = Draft(_with_lengths(profile, corner), shapes[seed % len(shapes)], SeededChoices(seed))
    operands = _operands(draft, row, corner if seed % 2 == 0 or corner.arranged else replace(corner, arranged=apart))
    if operands is None or not commit(draft, row, operands, margin=MARGIN, given=corner.given):
        return None
    if not _is_well_formed(row, draft.results[0]):
        return None
    try:
        return completed(draft)
    except GenerationError:
        return None


def _counts(scenario: Scenario, place: int) -> bool:
    """Whether the result is another one where an operand is."""
    (step,) = scenario.applications
    operand = next(leaf for leaf in scenario.leaves if leaf.name == step.arguments[place])
    array = operand.value.to_numpy()
    other = ~array if array.dtype == bool else 2 * array + 1
    steps = [replace(s, value=Constant.of(other, operand.value.dtype)) if s is operand else s for s in scenario.steps]
    before, after = (evaluate(each, Float64())[step.name] for each in (scenario, Scenario(tuple(steps))))
    return not np.array_equal(before, after, equal_nan=True)


def _with_lengths(profile: Profile, corner: Corner) -> Profile:
    return replace(profile, dimensions=corner.dimensions) if corner.dimensions else profile


def _is_well_formed(row: Operator, result: Value) -> bool:
    """Whether the attributes, some of which were given, fit the operands, and not merely NumPy's functions."""
    assert isinstance(result.step, Apply)
    return well_formed(row, [argument.array for argument in result.arguments], row.bind(keywords(result.step)))


def _operands(draft: Draft, row: Operator, corner: Corner) -> list[Value] | None:
    """Return fresh leaves, the first of them of the corner's shape, or None where they do not fit."""
    *first, last = row.arguments
    slots = (*first, *[last] * corner.operands) if last.variadic else row.arguments
    rule, operands = operand_rule(row), list[Value]()
    for argument in slots:
        shapes = tuple(operand.shape for operand in operands)
        if corner.repeated and operands and may_repeat(row, argument, operands[-1], shapes):
            operands.append(operands[-1])
            continue
        shape = rule.choose(draft.choices, shapes, draft.profile) if operands else adapted(row, rule.first(draft.base))
        shape = corner.second if corner.second is not None and len(operands) == 1 else shape
        if not has_room(draft.profile, shape):
            return None
        leaf = fresh_leaf(draft.choices, draft.profile, row, argument, shape)
        is_first = not any(not operand.condition for operand in operands)
        operands.append(_arranged(leaf, corner) if is_first else leaf)
    return None if corner.repeated and len({id(operand) for operand in operands}) == len(operands) else operands


def _arranged(leaf: Value, corner: Corner) -> Value:
    if corner.arranged is None or leaf.condition or not leaf.array.size:
        return leaf
    return Value.of(corner.arranged(leaf.array), requires_grad=leaf.requires_grad)


def subsets(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with gradients wanted of some leaves only, for every choice of them unless those are many."""
    names = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
    sizes = sorted(range(1, len(names)), key=lambda count: min(count, len(names) - count))
    subsets = chain.from_iterable(combinations(names, count) for count in sizes)
    return (without_gradients_of(scenario, set(names) - set(subset)) for subset in islice(subsets, MOST_SUBSETS))
