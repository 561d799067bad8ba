"""The scenarios of one operator that are always tried, whatever the seed: its corners.

Rules go wrong from some rank on, at the tail behind the last full vector, for one operand's gradient alone, where one
tensor stands in two places, for one value of an attribute. Random scenarios meet such a case with luck; every run meets
each of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, combinations, islice, zip_longest
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.generation.attributes.rules import adapted
from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import MARGIN, Array, inside_of, well_formed
from refgrad.generation.draft.application import commit, may_repeat
from refgrad.generation.draft.backward_calls import completed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import fresh_leaf
from refgrad.generation.draft.operands import operand_rule
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, GenerationError, Profile
from refgrad.generation.wanted_gradients import without_gradients_of
from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import Attribute, Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Scenario

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

PLAIN: Final[Shape] = (2, 3)

SHAPES: Final[tuple[tuple[Shape, ...], ...]] = (
    ((2, 1, 3, 2), (), (1, 2, 1, 3, 2), (3,), (2, 1, 3), (2, 3), (2, 3, 2, 2)),
    ((257,), (33,), (17,), (9,), (8,), (7,), (16,), (15,), (31,), (32,), (63,), (64,), (65,), (127,), (128,), (129,)),
    ((1, 3), (3, 1), (1,), (1, 2, 3), (2, 3, 1), (1, 1, 1)),
    ((0,), (2, 0), (0, 2), (2, 0, 3), (0, 2, 4), (2, 4, 0), (0, 4, 2, 2), (2, 0, 2, 2)),
    ((2, 129), (129, 2), (17, 17)),
)
"""Ranks; lengths on both sides of powers of two, as vectors of a processor and blocks of sums have; axes of length 1,
and of length 0, in each place; long rows and columns."""

FITTING: Final[tuple[Shape, ...]] = ((2, 3), (2, 2), (3,), (2, 2, 2), (4, 4))
"""Shapes that are tried for an attribute's value that may ask for one of them."""

HIGHEST_RANK: Final = max(len(shape) for shapes in SHAPES for shape in shapes)

MANY_OPERANDS: Final = (5, 1, 9, 4)
"""How many operands a variadic argument stands for, besides the few of random scenarios."""

OPEN: Final = frozenset({"pattern", "matmul", "join"})
"""How operands meet where the first does not say how long the others are."""

LONG: Final = 33
"""How long they are in some corners."""

DRAWS: Final = 3
"""How often small shapes are met, each time with other attributes."""

SMALL: Final = 2
"""What counts as small: so many entries, or none."""

BASES: Final = 2
"""Of this many scenarios, of different ranks, every subset of the operands wants gradients."""

MOST_SUBSETS: Final = 15
"""Of this many subsets of the operands, those of one, of two and of all but one come first."""

MOST_INTEGERS: Final = 6
"""Every value is tried of an attribute that is an integer between bounds no further apart."""

Arranged = Callable[[Array], Array]


def _apart(array: Array) -> Array:
    """Return numbers in the same order at equal distances, none of which tie."""
    order = np.argsort(np.argsort(array, axis=None)).reshape(array.shape)
    low, high = float(array.min()), float(array.max())
    return np.round(low + (high - low) * order / max(1, array.size - 1), 3)


def _with_zeros(array: Array, *zeros: float) -> Array:
    """Return the array with these zeros in the place of its first entries."""
    entries = array.ravel().copy()
    entries[: len(zeros)] = zeros[: entries.size]
    return entries.reshape(array.shape)


ARRANGEMENTS: Final[tuple[Arranged, ...]] = (
    lambda array: _with_zeros(array, 0.0),
    lambda array: _with_zeros(array, -0.0, 0.0, 0.0),
    lambda array: np.sort(array, axis=None).reshape(array.shape),
    lambda array: np.full_like(array, array.flat[0]),
    lambda array: np.sort(array, axis=None)[::-1].reshape(array.shape),
)
"""One zero, several of either sign; entries in order, all the same, and in reverse order."""


@dataclass(frozen=True, slots=True)
class Corner:
    """What is not left to chance: the first operand's shape, and perhaps more.

    ``first`` is the seed of the numbers and attributes that are tried first. ``others`` are shapes that are tried in
    turn with it, ``second`` is the shape of the second operand, ``operands`` is how many a variadic argument stands
    for, and ``dimensions`` are the lengths that further operands may have where the first leaves them open.
    ``repeated`` has one leaf stand for all, ``arranged`` reorders the entries of the first operand of numbers, and
    ``given`` are attributes.
    """

    shape: Shape = PLAIN
    first: int = 0
    others: tuple[Shape, ...] = ()
    operands: int = 2
    dimensions: tuple[int, ...] = ()
    second: Shape | None = None
    repeated: bool = False
    arranged: Arranged | None = None
    given: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@lru_cache(maxsize=1024)
def corner_scenarios(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return the operator's corners that it and the profile admit, of every kind one before the next of any.

    ``most`` is how many are wanted; others are not drawn. Nothing follows from a run's seed: two runs have the same.
    """
    row = operator_table()[operator]
    certain = replace(profile, max_backwards=1, unused_leaves=0.0, constants=0.0, special=0.0)
    wide = replace(certain, max_rank=HIGHEST_RANK, largest_size=LARGEST_CORNER)
    if _is_about_pairs(row, wide):
        wide = replace(wide, largest_size=LARGEST_OF_PAIRS)
    kinds: list[Iterable[Corner]] = [_shaped(row, shapes, wide) for shapes in SHAPES]
    kinds += [_operand_corners(row), [Corner(arranged=each) for each in ARRANGEMENTS], _attributes(row)]
    shaped, *others = (_all_drawn(row, corners, wide) for corners in kinds)
    bases, stretched = list(islice(shaped, BASES)), list(_all_drawn(row, _stretching(row), wide))
    wanted = (subset for scenario in (*bases, *stretched) for subset in subsets(scenario))
    met = chain.from_iterable(zip_longest(wanted, chain(bases, shaped), stretched, *others))
    return tuple(islice(_different(scenario for scenario in met if scenario is not None), most))


def plain_corners(operator: str, profile: Profile, most: int | None = None) -> list[Scenario]:
    """Return those of the operator's first ``most`` corners of whose leaves something can be made, the smallest first.

    All operands of numbers are leaves that want gradients, no two are one, and they have entries, but few.
    """
    return sorted(filter(_is_plain, corner_scenarios(operator, profile, most)), key=entries)


def entries(scenario: Scenario) -> int:
    """Count the numbers that the leaves of a scenario hold."""
    return sum(leaf.value.size for leaf in scenario.leaves)


def _is_plain(scenario: Scenario) -> bool:
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


def _shaped(row: Operator, shapes: Sequence[Shape], profile: Profile) -> Iterator[Corner]:
    """Yield corners of these shapes, small ones with several attributes, as random scenarios seldom have them."""
    admitted = [shape for shape in shapes if _has_room(profile, shape)]
    for first in range(DRAWS if row.attributes else 1):
        drawn = (shape for shape in admitted if not first or math.prod(shape) <= SMALL)
        yield from (Corner(shape, first, others=_smaller(shape)) for shape in drawn)


def _smaller(shape: Shape) -> tuple[Shape, ...]:
    """Return shapes of as many axes, where those are many: what is padded or stretched along each grows large."""
    return ((2,) * len(shape), (1,) * len(shape)) if len(shape) == HIGHEST_RANK else ()


def _has_room(profile: Profile, shape: Shape) -> bool:
    return len(shape) <= profile.rank and math.prod(shape) <= profile.largest_size


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


def _stretching(row: Operator) -> Iterator[Corner]:
    """Yield corners whose first operand is stretched along an axis, or has an axis less than the second."""
    if row.operands == "broadcast":
        yield from (Corner(shape, second=PLAIN) for shape in ((3,), (2, 1)))


def _operand_corners(row: Operator) -> Iterator[Corner]:
    if row.operands in OPEN:
        yield from (Corner(shape, others=((2,),), dimensions=(LONG,)) for shape in (PLAIN, (3,)))
    if row.arguments[-1].variadic:
        yield from (Corner(operands=count, others=((2,), (1,)), dimensions=(1, 2)) for count in MANY_OPERANDS)
    if len(row.differentiable_arguments) > 1 or row.arguments[-1].variadic:
        yield from (Corner((2, 2), repeated=True), Corner((), repeated=True), Corner((2, 2), operands=3, repeated=True))


def _attributes(row: Operator) -> Iterator[Corner]:
    """Yield a corner for every value of each attribute that has few."""
    values = {attribute.name: _values(attribute) for attribute in row.attributes}
    together = zip_longest(*values.values())
    for each in together:
        given = [(name, value) for name, value in zip(values, each, strict=True) if value is not None]
        yield from (Corner((2, 3, 2), others=FITTING, given={name: value}) for name, value in given)


def _values(attribute: Attribute) -> Sequence[Any]:
    if attribute.type == "bool":
        return (True, False)
    if attribute.type == "option":
        return attribute.options
    if attribute.type == "axis":
        return (0, 1, 2, -1, -2, -3)
    low, high = map(int, attribute.bounds) if attribute.type == "int" else (0, MOST_INTEGERS)
    return range(low, high + 1) if high - low < MOST_INTEGERS else ()


def _all_drawn(row: Operator, corners: Iterable[Corner], profile: Profile) -> Iterator[Scenario]:
    drawn = (_drawn(row, corner, profile) for corner in corners)
    return (scenario for scenario in drawn if scenario is not None)


def _drawn(row: Operator, corner: Corner, profile: Profile) -> Scenario | None:
    """Return the corner's scenario with the first numbers that the operator admits, or None."""
    with np.errstate(all="ignore"):
        for seed in range(corner.first, corner.first + ATTEMPTS):
            shapes = [shape for shape in (corner.shape, *corner.others) if _has_room(profile, shape)] or [()]
            draft = Draft(_with_lengths(profile, corner), shapes[seed % len(shapes)], SeededChoices(seed))
            operands = _operands(
                draft, row, corner if seed % 2 == 0 or corner.arranged else replace(corner, arranged=_apart)
            )
            if operands is None or not commit(draft, row, operands, margin=MARGIN, given=corner.given):
                continue
            if not _is_well_formed(row, draft.results[0]):
                continue
            try:
                return completed(draft)
            except GenerationError:
                continue
    return None


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
        if not _has_room(draft.profile, shape):
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
