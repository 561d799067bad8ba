"""The application of one more operator to a scenario under construction: to existing values or to fresh leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.generation.admission import MARGIN, Array, has_ties
from refgrad.generation.attributes.rules import adapted, admits, choose_attributes
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.operands import broadcast_shape, narrowed, operand_rule
from refgrad.generation.profile import (
    COUNTS,
    INTEGERS,
    MAGNITUDES,
    NUMBERS,
    PROBABILITIES,
    Choices,
    Profile,
    least_margin,
)
from refgrad.operators import Argument, Operator
from refgrad.operators.operator import Shape
from refgrad.scenario.formats import rounded


def sample_range(operator: Operator, argument: Argument) -> tuple[float, float]:
    """Return the range from which the argument's entries are drawn."""
    low, high = operator.samples.get(argument.name, NUMBERS["default_range"])
    return low, high


def tame(low: float, high: float) -> tuple[float, float]:
    """Return the part of a range that lies in the default range. It is empty if the second number is not larger."""
    least, most = NUMBERS["default_range"]
    return max(low, least), min(high, most)


def accepted_range(operator: Operator, argument: Argument) -> tuple[float, float]:
    """Return the range in which the argument's entries must lie. An operator without one accepts any value."""
    return operator.samples.get(argument.name, (-MAGNITUDES["largest_value"], MAGNITUDES["largest_value"]))


def fresh_leaf(choices: Choices, profile: Profile, operator: Operator, argument: Argument, shape: Shape) -> Operand:
    """Return a leaf of this shape for this argument, which is not yet part of a scenario."""
    size = math.prod(shape)
    if argument.dtype == "bool":
        array: Array = np.array([choices.happens("fair_coin") for _ in range(size)], dtype=bool).reshape(shape)
        return Operand.of(array, requires_grad=False)
    low, high = sample_range(operator, argument)
    tame_low, tame_high = tame(low, high)
    if tame_high - tame_low >= MAGNITUDES["narrowest_range"] and choices.happens("tame_leaf"):
        low, high = tame_low, tame_high
    array = random_array(choices, low, high, shape, profile.dtype)
    own = operator.stress_values.get(argument.name)
    stress = [own] * COUNTS["stress_weight"] if own is not None else []
    if size and profile.special and choices.boolean(min(1.0, profile.special * (2 if stress else 1))):
        ends: list[Sequence[float]] = [(low, high), *stress]
        array = rounded(special_array(choices, operator, array, ends), profile.dtype)
    return Operand.of(array, requires_grad=not choices.boolean(profile.constants))


def random_array(choices: Choices, low: float, high: float, shape: Shape, dtype: str) -> Array:
    """Return a float64 array of short decimal numbers between the bounds, rounded to ``dtype``."""
    return rounded(np.array(choices.decimals(low, high, math.prod(shape)), dtype=np.float64), dtype).reshape(shape)


def _small_numbers(operator: Operator) -> Sequence[float]:
    """Return the small numbers for an operator. Near a jump, smaller quotients underflow onto its other side."""
    if operator.family == "linear_algebra":
        return NUMBERS["modest"]
    kinds = {edge.kind for edge in operator.edges}
    if not operator.elementwise or "jump" in kinds:
        return NUMBERS["small"]
    return NUMBERS["normal"] if "kink" in kinds else NUMBERS["tiny"]


def special_array(choices: Choices, operator: Operator, array: Array, ends: list[Sequence[float]]) -> Array:
    """Return the array with at least one entry replaced by special numbers of one kind.

    The kinds are the array's first entry, each element of ``ends``, and, if the range contains 0, zeros and small
    numbers. The first element of ``ends`` holds the ends of the range.
    """
    low, high = ends[0]
    kinds = [(float(array.flat[0]),), *ends, *([NUMBERS["zeros"], _small_numbers(operator)] if low < 0 < high else [])]
    numbers = choices.choice(kinds)
    certain = choices.integer(0, array.size - 1)
    entries = [
        choices.choice(numbers) if index == certain or choices.happens("special_entry") else entry
        for index, entry in enumerate(array.ravel().tolist())
    ]
    return np.array(entries, dtype=np.float64).reshape(array.shape)


def put_on_edge(
    choices: Choices, operator: Operator, operands: list[Operand], example: Mapping[str, float], dtype: str
) -> list[Operand]:
    """Return the operands with at least one entry moved onto an example of an edge.

    Entries that broadcasting combines are moved together. Operands must not be empty.
    """
    result = broadcast_shape(*(operand.shape for operand in operands))
    assert result is not None
    certain = choices.integer(0, math.prod(result) - 1)
    positions = [at for at in range(math.prod(result)) if at == certain or choices.happens("entry_on_edge")]
    moved = []
    for argument, operand in zip(operator.arguments, operands, strict=True):
        array = operand.array.copy()
        if argument.name in example:
            entries = np.broadcast_to(np.arange(array.size).reshape(array.shape), result).ravel()
            array.flat[entries[positions]] = example[argument.name]
        numbers = array if operand.condition else rounded(array, dtype)
        moved.append(Operand.of(numbers, requires_grad=operand.requires_grad))
    return moved


def with_ties(choices: Choices, operand: Operand) -> Operand:
    """Return the operand with every entry replaced by one of two of its numbers, so that most reductions have a tie."""
    entries = operand.array.ravel().tolist()
    pair = [choices.choice(entries), choices.choice(entries)]
    array = np.array([choices.choice(pair) for _ in entries], dtype=operand.array.dtype).reshape(operand.shape)
    return Operand.of(array, requires_grad=operand.requires_grad)


def apply_operator(builder: Builder, operator: Operator) -> bool:
    """Apply the operator to existing values or to fresh leaves; return False if neither was admitted."""
    edge = bool(operator.edges) and builder.choices.boolean(builder.profile.edges)
    if edge and builder.choices.happens("fair_coin"):
        return apply_on_edge(builder, operator)
    existing = choose_operands(builder, operator, PROBABILITIES["fresh_leaf"])
    return commit(builder, operator, existing, margin=None if edge else MARGIN) or apply_afresh(builder, operator)


def apply_afresh(builder: Builder, operator: Operator) -> bool:
    """Apply the operator to fresh leaves, clear of its kinks; return False if they were not admitted."""
    return commit(builder, operator, choose_operands(builder, operator, 1.0), margin=MARGIN)


def apply_on_edge(builder: Builder, operator: Operator) -> bool:
    """Apply the operator to fresh leaves, with at least one entry intended to lie on an edge of the operator."""
    operands = choose_operands(builder, operator, 1.0)
    if any(operand.array.size == 0 for operand in operands):
        return False
    if has_ties(operator):
        return commit(builder, operator, [with_ties(builder.choices, operands[0])], margin=None)
    example = builder.choices.choice([example for edge in operator.edges for example in edge.examples])
    attributes = {name: value for name, value in example.items() if name in operator.attribute_names}
    moved = put_on_edge(builder.choices, operator, operands, example, builder.profile.dtype)
    return commit(builder, operator, moved, margin=None, fixed=attributes)


def commit(
    builder: Builder,
    operator: Operator,
    operands: list[Operand],
    *,
    margin: float | None,
    fixed: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Apply the operator to these operands with random attributes, except for ``fixed``, if that is admitted.

    Without a ``margin`` the operands may lie on a kink.
    """
    shapes = tuple(operand.shape for operand in operands)
    attributes = choose_attributes(builder.choices, operator, shapes, builder.profile, fixed)
    value = builder.compute(operator, operands, attributes, margin=margin)
    if value is None:
        return False
    builder.add_result(value, operator.name, attributes)
    return True


def choose_operands(builder: Builder, operator: Operator, fresh: float) -> list[Operand]:
    """Return operands whose shapes fit; with probability ``fresh`` one is a new leaf even if an existing value fits.

    If no leaf requires grad so far, one of the operands does.
    """
    operands: list[Operand] = []
    count = builder.choices.choice(INTEGERS["variadic"]) if operator.arguments[-1].variadic else 1
    for argument in slots(operator, count):
        operands.append(_chosen(builder, operator, argument, operands, fresh))
    if not (any(leaf.requires_grad for leaf in builder.leaves) or any(value.requires_grad for value in operands)):
        numbers = [operand for operand in operands if not operand.condition]
        builder.choices.choice(numbers).requires_grad = True
    return operands


def _chosen(builder: Builder, operator: Operator, argument: Argument, before: list[Operand], fresh: float) -> Operand:
    choices, shapes = builder.choices, tuple(operand.shape for operand in before)
    if before and choices.happens("same_operand") and may_repeat(operator, argument, before[-1], shapes):
        return before[-1]
    if not choices.boolean(fresh) and (fitting := _fitting(builder, operator, argument, shapes)):
        unused = [value for value in fitting if not value.uses] if choices.happens("unused_value") else []
        return choices.choice(unused or fitting)
    base = builder.base if before else narrowed(choices, builder.base)
    return fresh_leaf(choices, builder.profile, operator, argument, next_shape(builder, operator, shapes, base))


def next_shape(builder: Builder, operator: Operator, shapes: tuple[Shape, ...], base: Shape) -> Shape:
    """Return a shape for the operand after those of ``shapes``. That of the first operand is close to ``base``."""
    rule = operand_rule(operator)
    return rule.choose(builder.choices, shapes, builder.profile) if shapes else adapted(operator, rule.first(base))


def slots(operator: Operator, count: int) -> tuple[Argument, ...]:
    """Return the argument of each operand. A variadic argument comes last and takes ``count`` operands."""
    *first, last = operator.arguments
    return (*first, *[last] * count) if last.variadic else operator.arguments


def _fitting(builder: Builder, operator: Operator, argument: Argument, shapes: tuple[Shape, ...]) -> list[Operand]:
    """Return the existing values that fit this argument after operands of these shapes."""
    low, high = accepted_range(operator, argument)
    condition = argument.dtype == "bool"
    margin = max(MARGIN, least_margin(builder.profile.dtype))
    return [
        value
        for value in builder.values
        if value.within(low, high, margin) and value.condition is condition and _fits(operator, shapes, value.shape)
    ]


@lru_cache(maxsize=2**16)
def _fits(operator: Operator, shapes: tuple[Shape, ...], shape: Shape) -> bool:
    if not shapes and not admits(operator, shape):
        return False
    return operand_rule(operator).fits(shapes, shape)


def may_repeat(operator: Operator, argument: Argument, value: Operand, shapes: tuple[Shape, ...]) -> bool:
    """Return True if the previous operand may be used for this argument too."""
    alike = value.condition == (argument.dtype == "bool")
    return alike and value.within(*accepted_range(operator, argument), MARGIN) and _fits(operator, shapes, value.shape)
