"""Fresh leaves and their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from refgrad.generation.attributes.rules import DEFAULT_RANGE
from refgrad.generation.choices import Choices
from refgrad.generation.draft.admission import Array
from refgrad.generation.draft.operands import broadcast_shape
from refgrad.generation.draft.value import Value
from refgrad.generation.profile import LARGEST_VALUE, Profile
from refgrad.operators import Argument, Operator
from refgrad.operators.structure import Shape
from refgrad.scenario.formats import rounded

TAME: Final = 0.7
"""Probability that a leaf stays within DEFAULT_RANGE, which suits many operators, though its own accepts more."""

AT_LEAST: Final = 0.5
"""Smallest length of a range narrowed to DEFAULT_RANGE."""

REPLACED: Final = 0.4
"""Probability that an entry of a leaf with special numbers is one of them."""

STRESS: Final = 3
"""Weight of stress values among the kinds of special numbers, if the operator has any; other kinds have weight 1.

A leaf is twice as likely to have special numbers then, so that the other kinds do not become rare.
"""

ZEROS: Final = (0.0, -0.0)

TINY: Final = (1e-20, -1e-160, 1e-310, -5e-324)
"""Small numbers for smooth elementwise operators.

The first vanishes when added to other numbers, the square of the second is subnormal, and so are the last two.
"""

MODEST: Final = (1e-3, -1e-3)
"""Small numbers for linear algebra, with which a float32 matrix is not yet singular."""

NORMAL: Final = (1e-20, -1e-160, 1e-300, -1e-300)
"""Small normal numbers for operators with kinks: a library that flushes subnormal numbers to 0 would be on the kink."""

SMALL: Final = (1e-20, -1e-9)
"""Small numbers for operators with jumps, and for those that combine entries in sums and products."""


def sample_range(operator: Operator, argument: Argument) -> tuple[float, float]:
    """Return the range from which the argument's entries are drawn."""
    return operator.samples.get(argument.name, DEFAULT_RANGE)


def accepted_range(operator: Operator, argument: Argument) -> tuple[float, float]:
    """Return the range in which the argument's entries must lie. An operator without one accepts any value."""
    return operator.samples.get(argument.name, (-LARGEST_VALUE, LARGEST_VALUE))


def fresh_leaf(choices: Choices, profile: Profile, operator: Operator, argument: Argument, shape: Shape) -> Value:
    """Return a leaf of this shape for this argument, which is not yet part of a scenario."""
    size = math.prod(shape)
    if argument.dtype == "bool":
        array: Array = np.array([choices.boolean(0.5) for _ in range(size)], dtype=bool).reshape(shape)
        return Value.of(array, requires_grad=False)
    low, high = sample_range(operator, argument)
    tame_low, tame_high = max(low, DEFAULT_RANGE[0]), min(high, DEFAULT_RANGE[1])
    if tame_high - tame_low >= AT_LEAST and choices.boolean(TAME):
        low, high = tame_low, tame_high
    array = random_array(choices, low, high, shape, profile.dtype)
    stress = [operator.stress_values[argument.name]] * STRESS if argument.name in operator.stress_values else []
    if size and profile.special and choices.boolean(min(1.0, profile.special * (2 if stress else 1))):
        ends: list[tuple[float, ...]] = [(low, high), *stress]
        array = rounded(special_array(choices, operator, array, ends), profile.dtype)
    return Value.of(array, requires_grad=not choices.boolean(profile.constants))


def random_array(choices: Choices, low: float, high: float, shape: Shape, dtype: str) -> Array:
    """Return a float64 array of short decimal numbers between the bounds, rounded to ``dtype``."""
    return rounded(np.array(choices.decimals(low, high, math.prod(shape)), dtype=np.float64), dtype).reshape(shape)


def _small_numbers(operator: Operator) -> tuple[float, ...]:
    """Return the small numbers for an operator. Near a jump, smaller quotients underflow onto its other side."""
    if operator.family == "linear_algebra":
        return MODEST
    kinds = {edge.kind for edge in operator.edges}
    if not operator.elementwise or "jump" in kinds:
        return SMALL
    return NORMAL if "kink" in kinds else TINY


def special_array(choices: Choices, operator: Operator, array: Array, ends: list[tuple[float, ...]]) -> Array:
    """Return the array with at least one entry replaced by special numbers of one kind.

    The kinds are the array's first entry, each element of ``ends``, and, if the range contains 0, zeros and small
    numbers. The first element of ``ends`` holds the ends of the range.
    """
    low, high = ends[0]
    kinds = [
        (float(array.flat[0]),),
        *ends,
        *([ZEROS, _small_numbers(operator)] if low < 0 < high else []),
    ]
    numbers = choices.choice(kinds)
    certain = choices.integer(0, array.size - 1)
    entries = [
        choices.choice(numbers) if place == certain or choices.boolean(REPLACED) else entry
        for place, entry in enumerate(array.ravel().tolist())
    ]
    return np.array(entries, dtype=np.float64).reshape(array.shape)


def put_on_edge(
    choices: Choices, operator: Operator, operands: list[Value], example: Mapping[str, float], dtype: str
) -> list[Value]:
    """Return the operands with at least one entry moved onto an example of an edge.

    Entries that broadcasting combines are moved together. Operands must not be empty.
    """
    result = broadcast_shape(*(operand.shape for operand in operands))
    assert result is not None
    certain = choices.integer(0, math.prod(result) - 1)
    places = [place for place in range(math.prod(result)) if place == certain or choices.boolean(0.2)]
    moved = []
    for argument, operand in zip(operator.arguments, operands, strict=True):
        array = operand.array.copy()
        if argument.name in example:
            for place in places:
                array[_projected(np.unravel_index(place, result), array.shape)] = example[argument.name]
        numbers = array if operand.condition else rounded(array, dtype)
        moved.append(Value.of(numbers, requires_grad=operand.requires_grad))
    return moved


def with_ties(choices: Choices, operand: Value) -> Value:
    """Return the operand with every entry replaced by one of two of its numbers, so that most reductions have a tie."""
    entries = operand.array.ravel().tolist()
    pair = [choices.choice(entries), choices.choice(entries)]
    array = np.array([choices.choice(pair) for _ in entries], dtype=operand.array.dtype).reshape(operand.shape)
    return Value.of(array, requires_grad=operand.requires_grad)


def _projected(index: tuple[np.intp, ...], shape: Shape) -> tuple[int, ...]:
    """Return the index of the entry of an operand of this shape that broadcasting carries to ``index``."""
    last = index[len(index) - len(shape) :]
    return tuple(0 if length == 1 else int(place) for place, length in zip(last, shape, strict=True))
