"""Fixed scenarios of one operator on arrays of thousands and of tens of thousands of entries.

Rules fail from some length on: in a later block of a long array, at the tail after the last full vector, if a counter
of 16 bits overflows, or if both axes of a matrix are long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any, Final
from zlib import crc32

import numpy as np

from refgrad.generation.admission import Array
from refgrad.generation.application import fresh_leaf, next_shape, sample_range, slots, tame
from refgrad.generation.attributes.rules import choose_attributes
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.profile import COUNTS, MAGNITUDES, NUMBERS, SHAPES, STANDARD, Choices, Profile
from refgrad.generation.single_operators.fixed_cases import certain
from refgrad.interpreter import native, noted
from refgrad.interpreter.composites import InnerArray
from refgrad.operators import Argument, Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.scenario import Backward, Constant, Read, Scenario
from refgrad.scenario.formats import FORMATS, rounded
from refgrad.scenario.rewrite import with_constants

PERIOD: Final = COUNTS["period"]

PRODUCT: Final = "prod"
"""Operator whose gradient is a product of all other factors, which a rule may compute separately for each factor."""

AXES: Final = frozenset({"axis", "axes", "flat_axis", "scalar_axis"})
"""Types of attributes that name an axis of the first operand."""


@lru_cache(maxsize=COUNTS["remembered_cases"])
def large_scenarios(operator: str, profile: Profile = STANDARD) -> tuple[Scenario, ...]:
    """Return the scenarios of an operator on large arrays that it and the profile admit, at most one for each size."""
    row = operator_table()[operator]
    wide = replace(certain(profile), largest_size=COUNTS["largest_array"])
    sizes = ("thousands", "tens_of_thousands")
    scenarios = (_first_admitted(row, _in_turn(row, SHAPES[size], SHAPES[f"other_{size}"]), wide) for size in sizes)
    return tuple(scenario for scenario in scenarios if scenario is not None)


@lru_cache(maxsize=COUNTS["remembered_cases"])
def uncountable_scenarios(operator: str, profile: Profile) -> tuple[Scenario, ...]:
    """Return a scenario with more rows than the dtype of the profile can count, if the operator admits it."""
    wide = replace(certain(profile), largest_size=COUNTS["largest_array"])
    rows = 2 ** FORMATS[profile.dtype].bits + 1
    scenario = _first_admitted(operator_table()[operator], [(rows, 1)], wide)
    return () if scenario is None else (scenario,)


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


def _in_turn(row: Operator, shapes: Sequence[Shape], others: Sequence[Shape]) -> Sequence[Shape]:
    """Return all shapes, beginning with one of ``shapes`` that depends on the operator."""
    start = crc32(row.name.encode()) % len(shapes)
    return (*shapes[start:], *shapes[:start], *others)


def _first_admitted(row: Operator, shapes: Sequence[Shape], profile: Profile) -> Scenario | None:
    with np.errstate(all="ignore"):
        drawn = (
            _drawn(row, shape, seed, profile)
            for shape in shapes
            if len(shape) <= profile.rank and _has_few_classes(row, shape)
            for seed in range(COUNTS["attempts_at_a_large_shape"])
            if _is_within_reach(row, shape, seed, profile)
        )
        return next((scenario for scenario in drawn if scenario is not None), None)


def _has_few_classes(row: Operator, shape: Shape) -> bool:
    has_classes = any(attribute.type == "classes" for attribute in row.attributes)
    return not has_classes or shape[min(1, len(shape) - 1)] <= COUNTS["most_classes"]


def _is_within_reach(row: Operator, shape: Shape, seed: int, profile: Profile) -> bool:
    """Return True if the work of the operator on this shape, estimated from two shorter ones, stays within bounds.

    The same seed leads to the same choices for each of the three shapes.
    """
    if row.elementwise:
        return True
    longest = COUNTS["estimated_length"]
    small, middle = ([min(n, length) if n > longest else n for n in shape] for length in (longest // 2, longest))
    few, more = (_cost(row, tuple(each), seed, profile) for each in (small, middle))
    if few is None or more is None:
        return False
    doublings = math.log2(math.prod(middle) / math.prod(small))
    grown = math.log2(math.prod(shape) / math.prod(middle))
    factors = (max(1.0, more[at] / few[at]) ** (grown / doublings) for at in (0, 1))
    work, steps = (cost * factor for cost, factor in zip(more, factors, strict=True))
    return bool(work <= COUNTS["most_work"] and steps <= COUNTS["most_steps"])


def _cost(row: Operator, shape: Shape, seed: int, profile: Profile) -> tuple[int, int] | None:
    """Return the number of entries that an operator computes on this shape, and of operators that it applies."""
    builder = Builder(profile, shape, Choices(seed))
    operands = _operands(builder, row, Random(seed))
    if operands is None:
        return None
    arrays, attributes = [operand.array for operand in operands], _attributes(builder, row, operands, seed)
    try:
        steps = noted(row, arrays, row.bind({name: native(value) for name, value in attributes.items()})).entries
    except (ValueError, IndexError, TypeError):
        return None
    entries = {id(each): each for entry in steps for each in (entry, *entry.operands)}
    return sum(map(_work, entries.values())), len(steps)


def _work(entry: InnerArray) -> int:
    """Return the number of entries. Those of a product count once for each factor, see :data:`PRODUCT`."""
    if entry.operator is None or entry.operator.name != PRODUCT:
        return entry.array.size
    factors = entry.operands[0].array.size
    return factors * factors // max(1, entry.array.size)


def _drawn(row: Operator, shape: Shape, seed: int, profile: Profile) -> Scenario | None:
    builder, source = Builder(profile, shape, Choices(seed)), Random(seed)
    operands = _operands(builder, row, source)
    least = MAGNITUDES["true_share"] * math.prod(shape)
    if operands is None or max(operand.array.size for operand in operands) < least:
        return None
    attributes = _attributes(builder, row, operands, seed)
    value = builder.compute(row, operands, attributes, margin=MAGNITUDES["large_margin"])
    if value is None:
        return None
    builder.add_result(value, row.name, attributes)
    if not value.applied.well_formed:
        return None
    numbers = _random_numbers(source, (PERIOD,) if row.elementwise else value.shape)
    seed_array = np.resize(_scaled(numbers, NUMBERS["default_range"]), value.shape)
    reads = [Read("grad", leaf.name) for leaf in builder.leaves if leaf.requires_grad]
    builder.steps += [Backward(value.name, Constant.of(seed_array)), *reads, Read("value", value.name)]
    return builder.scenario


def _attributes(builder: Builder, row: Operator, operands: list[Operand], seed: int) -> dict[str, Any]:
    """Return attributes. For the first seeds, the axis is the longest or the shortest one of the first operand."""
    shapes = tuple(operand.shape for operand in operands)
    attributes = choose_attributes(builder.choices, row, shapes, builder.profile)
    names = (attribute.name for attribute in row.attributes if attribute.type in AXES)
    axes = (int(np.argmax(shapes[0])), int(np.argmin(shapes[0])))
    return attributes | {name: axes[seed] for name in islice(names, 1) if seed < len(axes)}


def _operands(builder: Builder, row: Operator, source: Random) -> list[Operand] | None:
    """Return new leaves: of one shape and period for an elementwise operator, and of random entries for others."""
    operands: list[Operand] = []
    for argument in slots(row, 2):
        shapes = tuple(operand.shape for operand in operands)
        shape = builder.base if row.elementwise else next_shape(builder, row, shapes, builder.base)
        if math.prod(shape) > builder.profile.largest_size:
            return None
        operands.append(_leaf(builder, row, argument, shape, source))
    return operands


def _leaf(builder: Builder, row: Operator, argument: Argument, shape: Shape, source: Random) -> Operand:
    if row.elementwise:
        leaf = fresh_leaf(builder.choices, builder.profile, row, argument, (PERIOD,))
        return Operand.of(np.resize(leaf.array, shape), requires_grad=leaf.requires_grad)
    numbers = _random_numbers(source, shape)
    if argument.dtype == "bool":
        return Operand.of(numbers < MAGNITUDES["true_share"], requires_grad=False)
    scaled = _scaled(numbers, _range(row, argument, builder))
    return Operand.of(rounded(scaled, builder.profile.dtype), requires_grad=True)


def _range(row: Operator, argument: Argument, builder: Builder) -> Sequence[float]:
    """Return the part of the sample range in which many operators stay finite, or sometimes numbers near one."""
    low, high = sample_range(row, argument)
    least, most = NUMBERS["near_one"]
    if builder.choices.happens("near_one") and low <= least and most <= high:
        return NUMBERS["near_one"]
    tame_low, tame_high = tame(low, high)
    return (tame_low, tame_high) if tame_low < tame_high else (low, high)


def _random_numbers(source: Random, shape: Shape) -> Array:
    """Return numbers from 0 to 1 that are the same on every machine."""
    drawn = np.frombuffer(source.randbytes(4 * math.prod(shape)), dtype="<u4")
    return (drawn / 2.0**32).reshape(shape)


def _scaled(numbers: Array, bounds: Sequence[float]) -> Array:
    """Return numbers from 0 to 1 spread over a range."""
    low, high = bounds
    return low + (high - low) * numbers
