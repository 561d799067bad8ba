"""Fixed scenarios of one operator on arrays of thousands and of tens of thousands of entries.

Rules fail from some length on: in a later block of a long array, at the tail after the last full vector, if a counter
of 16 bits overflows, or if both axes of a matrix are long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any, Final
from zlib import crc32

import numpy as np

from refgrad.generation.attributes.rules import DEFAULT_RANGE, adapted, choose_attributes
from refgrad.generation.draft.admission import Array, well_formed
from refgrad.generation.draft.application import fresh_leaf, sample_range, slots
from refgrad.generation.draft.backward_calls import SEED_RANGE
from refgrad.generation.draft.draft import Draft, Operand
from refgrad.generation.draft.operands import operand_rule
from refgrad.generation.profile import STANDARD, Profile, SeededChoices
from refgrad.interpreter import keywords, noted, numpy_forward
from refgrad.interpreter.composites import InnerArray
from refgrad.operators import Argument, Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.scenario import Apply, Backward, Constant, Read, Scenario
from refgrad.scenario.formats import rounded
from refgrad.scenario.rewrite import with_constants

LARGE_SHAPES: Final[tuple[tuple[Shape, ...], ...]] = (
    ((67, 71), (71, 67), (1033,), (2, 67, 9), (115, 3, 3), (67, 3, 5)),
    ((33_001,), (2, 16_503), (16_503, 2), (2, 16_503), (3667, 3, 3), (2, 3, 5503), (181, 183), (2, 129, 129)),
)
"""Shapes of each size, which operators try in turn: square ones, then long rows and long columns.

There is a tail after the last multiple of 4, 8, 16 and 64, and the long ones end shortly after 2**14 or 2**15."""

IN_TURN: Final = (2, 3)
"""Number of shapes of each size one of which is tried first. The others are for operators that these do not fit."""

LARGEST: Final = 70_000
"""Largest number of entries of an array."""

PERIOD: Final = 61
"""Period of the entries of the operands of elementwise operators. No power of two is a multiple of it."""

MARGIN: Final = 1e-5
"""Smallest distance of values from kinks. Among so many values some are near one, and rounding is far smaller."""

MOST_WORK: Final = 600_000
"""Largest number of entries that an operator computes in a scenario, including intermediate results."""

MOST_STEPS: Final = 400
"""Largest number of operators that a composite applies."""

NEAR_ONE: Final = (0.9995, 1.0005)
"""Range of numbers whose long products neither overflow nor underflow."""

PRODUCT: Final = "prod"
"""Operator whose gradient is a product of all other factors, which a rule may compute separately for each factor."""

AXES: Final = frozenset({"axis", "axes", "flat_axis", "scalar_axis"})
"""Types of attributes that name an axis of the first operand."""

CLASSES: Final = 100
"""Largest number of classes that an operator distinguishes, since it may create a row of a matrix for each."""

HALF: Final = 0.5
"""Share of truth values that are true, and smallest size of the largest operand, relative to the shape."""

LONG: Final = 16
"""Length to which longer axes are shortened, and to half of it, to estimate how the work grows with them."""

TRIED_NEAR_ONE: Final = 0.3
"""Probability that an operand holds numbers of :data:`NEAR_ONE`, if they are in its range."""

ATTEMPTS: Final = 4
"""Number of attempts with other numbers and attributes for each shape."""


@lru_cache(maxsize=512)
def large_scenarios(operator: str, profile: Profile = STANDARD) -> tuple[Scenario, ...]:
    """Return the scenarios of an operator on large arrays that it and the profile admit, at most one for each size."""
    row = operator_table()[operator]
    wide = replace(profile, max_backwards=1, unused_leaves=0.0, constants=0.0, special=0.0, largest_size=LARGEST)
    made = (
        _first_admitted(row, _in_turn(row, shapes, count), wide)
        for shapes, count in zip(LARGE_SHAPES, IN_TURN, strict=True)
    )
    return tuple(scenario for scenario in made if scenario is not None)


def period_of(scenario: Scenario) -> Scenario | None:
    """Return the scenario of one period of the operands and seed of an elementwise operator, or None without a period.

    The result of the operator on the large arrays is a repetition of its result on these.
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
    return with_constants(scenario, lambda constant: Constant.of(constant.to_numpy().ravel()[:PERIOD], constant.dtype))


def _repeats(constant: Constant) -> bool:
    entries = constant.to_numpy().ravel()
    return entries.size > PERIOD and bool(np.array_equal(entries[PERIOD:], entries[:-PERIOD]))


def _in_turn(row: Operator, shapes: Sequence[Shape], count: int) -> Sequence[Shape]:
    """Return the shapes, beginning with one of the first ``count`` that depends on the operator."""
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
    """Return True if the work of the operator on this shape, estimated from two shorter ones, stays within bounds.

    The same seed leads to the same choices for each of the three shapes.
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
    """Return the number of entries that an operator computes on this shape, and of operators that it applies."""
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
    """Return the applications within an operator: only its own if it is not a composite."""
    if row.composite is not None:
        return noted(row, arrays, attributes).entries
    return (InnerArray(np.asarray(numpy_forward(row)(*arrays, **attributes)), row, tuple(map(InnerArray, arrays))),)


def _bound(row: Operator, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return row.bind(keywords(Apply("y", row.name, ("x",), tuple(attributes.items()))))


def _work(entry: InnerArray) -> int:
    """Return the number of entries. Those of a product count once for each factor, see :data:`PRODUCT`."""
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


def _attributes(draft: Draft, row: Operator, operands: list[Operand], seed: int) -> dict[str, Any]:
    """Return attributes. For the first seeds, the axis is the longest or the shortest one of the first operand."""
    shapes = tuple(operand.shape for operand in operands)
    attributes = choose_attributes(draft.choices, row, shapes, draft.profile)
    names = (attribute.name for attribute in row.attributes if attribute.type in AXES)
    axes = (int(np.argmax(shapes[0])), int(np.argmin(shapes[0])))
    return attributes | {name: axes[seed] for name in islice(names, 1) if seed < len(axes)}


def _seed(row: Operator, shape: Shape, source: Random) -> Array:
    """Return a cotangent. That of an elementwise operator has the period of the operands."""
    low, high = SEED_RANGE
    if row.elementwise:
        return np.resize(low + (high - low) * _random_numbers(source, (PERIOD,)), shape)
    return low + (high - low) * _random_numbers(source, shape)


def _operands(draft: Draft, row: Operator, source: Random) -> list[Operand] | None:
    """Return new leaves: of one shape and period for an elementwise operator, and of random entries for others."""
    rule, operands = operand_rule(row), list[Operand]()
    for argument in slots(row, 2):
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


def _leaf(draft: Draft, row: Operator, argument: Argument, shape: Shape, source: Random) -> Operand:
    if row.elementwise:
        leaf = fresh_leaf(draft.choices, draft.profile, row, argument, (PERIOD,))
        return Operand.of(np.resize(leaf.array, shape), requires_grad=leaf.requires_grad)
    numbers = _random_numbers(source, shape)
    if argument.dtype == "bool":
        return Operand.of(numbers < HALF, requires_grad=False)
    low, high = _range(row, argument, draft)
    return Operand.of(rounded(low + (high - low) * numbers, draft.profile.dtype), requires_grad=True)


def _range(row: Operator, argument: Argument, draft: Draft) -> tuple[float, float]:
    """Return the part of the sample range in which many operators stay finite, or sometimes numbers near one."""
    low, high = sample_range(row, argument)
    if draft.choices.boolean(TRIED_NEAR_ONE) and low <= NEAR_ONE[0] and NEAR_ONE[1] <= high:
        return NEAR_ONE
    tame = max(low, DEFAULT_RANGE[0]), min(high, DEFAULT_RANGE[1])
    return tame if tame[0] < tame[1] else (low, high)


def _random_numbers(source: Random, shape: Shape) -> Array:
    """Return numbers from 0 to 1 that are the same on every machine."""
    drawn = np.frombuffer(source.randbytes(4 * math.prod(shape)), dtype="<u4")
    return (drawn / 2.0**32).reshape(shape)
