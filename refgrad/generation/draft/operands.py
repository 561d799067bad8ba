"""The shapes that an operator's operands may have together: one rule for each way in which operands combine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from refgrad.generation.attributes.rules import differing_axes, stretched
from refgrad.generation.choices import Choices
from refgrad.generation.draft.shape_patterns import bound, chosen, nearest
from refgrad.generation.profile import LARGEST_SIZE, Profile
from refgrad.operators import Operator
from refgrad.operators.structure import Shape
from refgrad.operators.table import Operands


@dataclass(frozen=True, slots=True)
class OperandRule:
    """Which shapes fit those of the previous operands, and how to choose one that does.

    ``fits(shapes, shape)`` returns True if ``shape`` may follow ``shapes``. ``choose(choices, shapes, profile)``
    returns a shape that may follow ``shapes``, and ``first(shape)`` a shape close to ``shape`` for the first operand.
    """

    fits: Callable[[tuple[Shape, ...], Shape], bool]
    choose: Callable[[Choices, tuple[Shape, ...], Profile], Shape]
    first: Callable[[Shape], Shape] = lambda shape: shape


@lru_cache(maxsize=2**14)
def broadcast_shape(*shapes: Shape) -> Shape | None:
    """Return the shape to which all of these broadcast, or None."""
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for place, length in enumerate(shape, rank - len(shape)):
            if length not in {1, result[place]}:
                if result[place] != 1:
                    return None
                result[place] = length
    return tuple(result)


def narrowed(choices: Choices, shape: Shape) -> Shape:
    """Return a shape that broadcasts to this one: axes shortened to one, or leading axes left out."""
    kept = shape[choices.integer(0, len(shape)) :] if choices.boolean(0.3) else shape
    if not choices.boolean(0.4):
        return kept
    return tuple(1 if choices.boolean(0.5) else length for length in kept)


def _broadcasts(shapes: tuple[Shape, ...], shape: Shape) -> bool:
    result = broadcast_shape(*shapes, shape)
    return result is not None and math.prod(result) <= LARGEST_SIZE


def _broadcasting(choices: Choices, shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    result = broadcast_shape(*shapes)
    assert result is not None
    if profile.rank and len(result) <= profile.rank and choices.boolean(0.2):
        return stretched(choices, result, profile)
    return narrowed(choices, result)


def _multiplies(shapes: tuple[Shape, ...], shape: Shape) -> bool:
    if not shapes:
        return len(shape) > 0
    (left,) = shapes
    if not shape or left[-1] != (shape[-2] if len(shape) > 1 else shape[0]):
        return False
    return broadcast_shape(left[:-2], shape[:-2]) is not None


def _multiplying(choices: Choices, shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    """Return the shape of a vector, a matrix, or a stack of matrices that broadcasts against the first operand."""
    (left,) = shapes
    inner, stack = left[-1], left[:-2]
    room = profile.max_rank - 2
    if room < 0 or choices.boolean(0.25):
        return (inner,)
    matrix = (inner, choices.choice(profile.dimensions))
    if choices.boolean(0.4):
        return matrix
    if len(stack) < room and choices.boolean(0.4):
        return (*stretched(choices, stack, profile)[-room:], *matrix) if stack else (2, *matrix)
    return (*narrowed(choices, stack), *matrix)


def _same(shapes: tuple[Shape, ...], shape: Shape) -> bool:
    return not shapes or shape == shapes[0]


def _joins(shapes: tuple[Shape, ...], shape: Shape) -> bool:
    return bool(differing_axes((*shapes, shape)))


def _joining(choices: Choices, shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    axis = choices.choice(differing_axes(shapes))
    first = shapes[0]
    return (*first[:axis], choices.choice((first[axis], *profile.dimensions)), *first[axis + 1 :])


OPERAND_RULES: Final[Mapping[Operands, OperandRule]] = MappingProxyType({
    "any": OperandRule(lambda _shapes, _shape: True, lambda _choices, shapes, _profile: shapes[0]),
    "broadcast": OperandRule(_broadcasts, _broadcasting),
    "matmul": OperandRule(_multiplies, _multiplying, lambda shape: shape or (2,)),
    "same": OperandRule(_same, lambda _choices, shapes, _profile: shapes[0]),
    "join": OperandRule(_joins, _joining, lambda shape: shape or (2,)),
})


@cache
def operand_rule(operator: Operator) -> OperandRule:
    """Return the rule for the operator's operands."""
    if operator.operands != "pattern":
        return OPERAND_RULES[operator.operands]
    patterns = operator.shapes
    return OperandRule(
        lambda shapes, shape: bound(patterns, (*shapes, shape)) is not None,
        lambda choices, shapes, profile: chosen(choices, patterns, shapes, profile),
        lambda shape: nearest(patterns[0], shape),
    )
