"""The scenarios of one operator on arrays of thousands and of tens of thousands of entries.

Rules go wrong from some length on: in a later block of a long array, at the tail behind the last full vector, where a
counter of sixteen bits wraps, for both axes of a square one. Nothing of these scenarios depends on a run's seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any, Final
from zlib import crc32

import numpy as np

from refgrad.generation.attributes.rules import DEFAULT_RANGE, adapted, choose_attributes
from refgrad.generation.choices import SeededChoices
from refgrad.generation.draft.admission import Array, well_formed
from refgrad.generation.draft.backward_calls import SEED_RANGE
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.leaves import fresh_leaf, sample_range
from refgrad.generation.draft.operands import operand_rule
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import STANDARD, Profile
from refgrad.interpreter import keywords, noted, numpy_forward
from refgrad.interpreter.composites import InnerArray
from refgrad.operators import Argument, Operator, operator_table
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Read, Scenario, Step
from refgrad.scenario.formats import rounded

LARGE_SHAPES: Final[tuple[tuple[Shape, ...], ...]] = (
    ((67, 71), (71, 67), (1033,), (2, 67, 9), (115, 3, 3), (67, 3, 5)),
    ((33_001,), (2, 16_503), (16_503, 2), (2, 16_503), (3667, 3, 3), (2, 3, 5503), (181, 183), (2, 129, 129)),
)
"""For each size the shapes that operators meet, in turn: square ones, then long rows and long columns.

Behind the last multiple of 4, 8, 16 and 64 there is a tail, and the long ones end shortly behind 2**14 or 2**15."""

IN_TURN: Final = (2, 3)
"""How many of the first shapes of a size take turns in being tried first; the others are for what these do not fit."""

LARGEST: Final = 70_000
"""No array of a large scenario has more entries."""

PERIOD: Final = 61
"""After so many entries those of an elementwise operator's operands repeat: no power of two is a multiple of it."""

MARGIN: Final = 1e-5
"""How far values stay clear of kinks: among so many some are near, and rounding is far smaller."""

MOST_WORK: Final = 600_000
"""An operator computes at most so many entries in such a scenario, those in between included."""

MOST_STEPS: Final = 400
"""An operator that is made of others applies at most so many of them."""

NEAR_ONE: Final = (0.9995, 1.0005)
"""Numbers of which long products neither overflow nor vanish."""

PRODUCT: Final = "prod"
"""The operator of which each factor receives the product of the others: a rule may well compute that of each alone."""

AXES: Final = frozenset({"axis", "axes", "flat_axis", "scalar_axis"})
"""The types of attributes that name an axis of the first operand."""

CLASSES: Final = 100
"""No operator is to tell more classes than these apart: it may well make a row of a matrix for each."""

HALF: Final = 0.5
"""What share of truth values is true; and what share of a size the largest operand has at least."""

LONG: Final = 16
"""Axes longer than this are shortened to it, and to half of it, to tell how the work grows with them."""

TRIED_NEAR_ONE: Final = 0.3
"""How often an operand holds such numbers, where they are in its range."""

ATTEMPTS: Final = 4
"""How often a shape is tried with other numbers and attributes until the operator admits them."""


@lru_cache(maxsize=512)
def large_scenarios(operator: str, profile: Profile = STANDARD) -> tuple[Scenario, ...]:
    """Return the operator's scenarios on large arrays, one a size, as far as it and the profile admit them."""
    row = operator_table()[operator]
    wide = replace(profile, max_backwards=1, unused_leaves=0.0, constants=0.0, special=0.0, largest_size=LARGEST)
    made = (
        _first_admitted(row, _in_turn(row, shapes, count), wide)
        for shapes, count in zip(LARGE_SHAPES, IN_TURN, strict=True)
    )
    return tuple(scenario for scenario in made if scenario is not None)


def period_of(scenario: Scenario) -> Scenario | None:
    """Return the scenario of one period of an elementwise operator's operands and seed, or None where they have none.

    What the operator makes of large arrays then consists of what it makes of these, over and over.
    """
    steps = scenario.applications
    if len(steps) != 1 or not operator_table()[steps[0].operator].elementwise or scenario.gradients:
        return None
    shapes = {leaf.value.shape for leaf in scenario.leaves}
    seeds = [step.seed for _, step in scenario.backwards]
    if len(shapes) != 1 or len(seeds) != 1 or seeds[0] is None or steps[0].arguments.count(steps[0].arguments[0]) > 1:
        return None
    constants = [*(leaf.value for leaf in scenario.leaves), seeds[0]]
    if not all(map(_repeats, constants)):
        return None
    return with_constants(scenario, _one_period)


def _repeats(constant: Constant) -> bool:
    entries = constant.to_numpy().ravel()
    return entries.size > PERIOD and bool(np.array_equal(entries[PERIOD:], entries[:-PERIOD]))


def _one_period(constant: Constant) -> Constant:
    return Constant.of(constant.to_numpy().ravel()[:PERIOD], constant.dtype)


def with_constants(scenario: Scenario, changed: Callable[[Constant], Constant]) -> Scenario:
    """Return the scenario with what its leaves and seeds hold changed."""

    def step_of(step: Step) -> Step:
        if isinstance(step, Leaf):
            return replace(step, value=changed(step.value))
        if isinstance(step, Backward | Grad) and step.seed is not None:
            return replace(step, seed=changed(step.seed))
        return step

    return Scenario(tuple(map(step_of, scenario.steps)))


def _in_turn(row: Operator, shapes: Sequence[Shape], count: int) -> Sequence[Shape]:
    """Return the shapes, beginning with another one of the first few for each operator."""
    start = crc32(row.name.encode()) % count
    return (*shapes[start:count], *shapes[:start], *shapes[count:])


def _first_admitted(row: Operator, shapes: Sequence[Shape], profile: Profile) -> Scenario | None:
    with np.errstate(all="ignore"):
        drawn = (
            _drawn(row, shape, seed, profile)
            for shape in shapes
            if len(shape) <= profile.rank and _has_few_classes(row, shape)
            for seed in range(ATTEMPTS)
            if _is_within_reach(row, shape, seed, profile)
        )
        return next((scenario for scenario in drawn if scenario is not None), None)


def _is_within_reach(row: Operator, shape: Shape, seed: int, profile: Profile) -> bool:
    """Whether the operator's work on this shape stays within bounds, as that on two shorter ones tells.

    The same seed makes the same choices for each of the three.
    """
    if row.elementwise:
        return True
    small, middle = (_shortened(shape, length) for length in (LONG // 2, LONG))
    few, more = (_cost(row, each, seed, profile) for each in (small, middle))
    if few is None or more is None:
        return False
    doublings = math.log2(math.prod(middle) / math.prod(small))
    grown = math.log2(math.prod(shape) / math.prod(middle))
    factors = (max(1.0, more[at] / few[at]) ** (grown / doublings) for at in (0, 1))
    work, steps = (cost * factor for cost, factor in zip(more, factors, strict=True))
    return bool(work <= MOST_WORK and steps <= MOST_STEPS)


def _has_few_classes(row: Operator, shape: Shape) -> bool:
    return all(attribute.type != "classes" for attribute in row.attributes) or shape[min(1, len(shape) - 1)] <= CLASSES


def _shortened(shape: Shape, length: int) -> Shape:
    return tuple(min(old, length) if old > LONG else old for old in shape)


def _cost(row: Operator, shape: Shape, seed: int, profile: Profile) -> tuple[int, int] | None:
    """Return how many entries an operator computes on this shape, and how many others it applies."""
    draft = Draft(profile, shape, SeededChoices(seed))
    operands = _operands(draft, row, Random(seed))
    if operands is None:
        return None
    arrays, attributes = [operand.array for operand in operands], _attributes(draft, row, operands, seed)
    try:
        steps = _steps(row, arrays, _bound(row, attributes))
    except (ValueError, IndexError, TypeError):
        return None
    entries = {id(each): each for entry in steps for each in (entry, *entry.operands)}
    return sum(map(_work, entries.values())), len(steps)


def _steps(row: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> tuple[InnerArray, ...]:
    """Return the applications that an operator consists of: itself alone, if it is not made of others."""
    if row.composite is not None:
        return noted(row, arrays, attributes).entries
    return (InnerArray(np.asarray(numpy_forward(row)(*arrays, **attributes)), row, tuple(map(InnerArray, arrays))),)


def _bound(row: Operator, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return row.bind(keywords(Apply("y", row.name, ("x",), tuple(attributes.items()))))


def _work(entry: InnerArray) -> int:
    """Count entries; those of a product once for each factor, of which each receives the product of the others."""
    if entry.operator is None or entry.operator.name != PRODUCT:
        return entry.array.size
    factors = entry.operands[0].array.size
    return factors * factors // max(1, entry.array.size)


def _drawn(row: Operator, shape: Shape, seed: int, profile: Profile) -> Scenario | None:
    draft = Draft(profile, shape, SeededChoices(seed))
    source = Random(seed)
    operands = _operands(draft, row, source)
    if operands is None or max(operand.array.size for operand in operands) < HALF * math.prod(shape):
        return None
    attributes = _attributes(draft, row, operands, seed)
    value = draft.compute(row, operands, attributes, margin=MARGIN)
    if value is None or not well_formed(row, [operand.array for operand in operands], _bound(row, attributes)):
        return None
    draft.add_result(value, row.name, attributes)
    seed_array = _seed(row, value.shape, source)
    reads = [Read("grad", leaf.name) for leaf in draft.leaves if leaf.requires_grad]
    draft.steps += [Backward(value.name, Constant.of(seed_array)), *reads, Read("value", value.name)]
    return draft.scenario


def _attributes(draft: Draft, row: Operator, operands: list[Value], seed: int) -> dict[str, Any]:
    """Return attributes: the longest axis for the one that the operator takes, if any, then the shortest, then any."""
    shapes = tuple(operand.shape for operand in operands)
    attributes = choose_attributes(draft.choices, row, shapes, draft.profile)
    names = (attribute.name for attribute in row.attributes if attribute.type in AXES)
    axes = (int(np.argmax(shapes[0])), int(np.argmin(shapes[0])))
    return attributes | {name: axes[seed] for name in islice(names, 1) if seed < len(axes)}


def _seed(row: Operator, shape: Shape, source: Random) -> Array:
    """Return a cotangent, of an elementwise operator one that has the period of the operands."""
    low, high = SEED_RANGE
    if row.elementwise:
        return np.resize(low + (high - low) * _random_numbers(source, (PERIOD,)), shape)
    return low + (high - low) * _random_numbers(source, shape)


def _operands(draft: Draft, row: Operator, source: Random) -> list[Value] | None:
    """Return fresh leaves: for an elementwise operator of one shape and one period, else of random entries."""
    *first, last = row.arguments
    slots = (*first, last, last) if last.variadic else row.arguments
    rule, operands = operand_rule(row), list[Value]()
    for argument in slots:
        if row.elementwise:
            shape = draft.base
        else:
            shapes = tuple(operand.shape for operand in operands)
            shape = (
                rule.choose(draft.choices, shapes, draft.profile) if operands else adapted(row, rule.first(draft.base))
            )
        if math.prod(shape) > draft.profile.largest_size:
            return None
        operands.append(_leaf(draft, row, argument, shape, source))
    return operands


def _leaf(draft: Draft, row: Operator, argument: Argument, shape: Shape, source: Random) -> Value:
    if row.elementwise:
        leaf = fresh_leaf(draft.choices, draft.profile, row, argument, (PERIOD,))
        return Value.of(np.resize(leaf.array, shape), requires_grad=leaf.requires_grad)
    numbers = _random_numbers(source, shape)
    if argument.dtype == "bool":
        return Value.of(numbers < HALF, requires_grad=False)
    low, high = _range(row, argument, draft)
    return Value.of(rounded(low + (high - low) * numbers, draft.profile.dtype), requires_grad=True)


def _range(row: Operator, argument: Argument, draft: Draft) -> tuple[float, float]:
    """Return the part of the sample range in which many operators stay finite, or now and then numbers near one."""
    low, high = sample_range(row, argument)
    if draft.choices.boolean(TRIED_NEAR_ONE) and low <= NEAR_ONE[0] and NEAR_ONE[1] <= high:
        return NEAR_ONE
    tame = max(low, DEFAULT_RANGE[0]), min(high, DEFAULT_RANGE[1])
    return tame if tame[0] < tame[1] else (low, high)


def _random_numbers(source: Random, shape: Shape) -> Array:
    """Return numbers from 0 to 1, the same on every machine."""
    drawn = np.frombuffer(source.randbytes(4 * math.prod(shape)), dtype="<u4")
    return (drawn / 2.0**32).reshape(shape)
