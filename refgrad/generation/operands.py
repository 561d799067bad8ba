"""The shapes that an operator's operands may have together: one rule for each way in which operands combine.

A pattern such as ``"... n k"`` describes shapes: a letter stands for a length, the same one wherever the letter occurs.
A number stands for itself, and a leading or trailing ``...`` for any axes, the same ones in every pattern that has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from refgrad.generation.attributes.choosing import differing_axes, stretched
from refgrad.generation.profile import COUNTS, Choices, Profile
from refgrad.operators import Operator
from refgrad.operators.operator import Shape
from refgrad.operators.table import Operands

Bindings: TypeAlias = Mapping[str, Shape]
ANY: Final = "..."


def bound(patterns: tuple[str, ...], shapes: tuple[Shape, ...]) -> Bindings | None:
    """Return the lengths that each letter stands for, or None if the shapes do not fit the first patterns."""
    bindings: dict[str, Shape] = {}
    for pattern, shape in zip(patterns, shapes, strict=False):
        matched = _matched(pattern, shape)
        if matched is None:
            return None
        for letter, lengths in matched:
            if bindings.setdefault(letter, lengths) != lengths:
                return None
    return bindings


def nearest(pattern: str, shape: Shape) -> Shape:
    """Return a shape of this pattern with lengths taken from ``shape``."""
    letters, own, others = _divided(pattern, shape)
    lengths = [*own, *(2 for _ in letters)]
    bindings: dict[str, int] = {}
    bound_lengths = [
        int(letter) if letter.isdigit() else bindings.setdefault(letter, length)
        for letter, length in zip(letters, lengths, strict=False)
    ]
    return (*bound_lengths, *others) if pattern.endswith(ANY) else (*others, *bound_lengths)


def _divided(pattern: str, shape: Shape) -> tuple[list[str], Shape, Shape]:
    """Return the letters of a pattern, the axes of ``shape`` for the letters, and those for ``...``."""
    letters = [letter for letter in pattern.split() if letter != ANY]
    free = max(0, len(shape) - len(letters)) if ANY in pattern else 0
    if pattern.endswith(ANY):
        return letters, shape[: len(shape) - free], shape[len(shape) - free :]
    return letters, shape[free:], shape[:free]


def chosen(choices: Choices, patterns: tuple[str, ...], shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    """Return a shape of the pattern after those of ``shapes``; letters without a length yet get a random one."""
    bindings = dict(bound(patterns, shapes) or {})
    lengths: list[int] = []
    for letter in patterns[len(shapes)].split():
        if letter.isdigit():
            lengths.append(int(letter))
        else:
            default = () if letter == ANY else (choices.choice(profile.dimensions),)
            lengths.extend(bindings.setdefault(letter, default))
    return tuple(lengths)


def _matched(pattern: str, shape: Shape) -> list[tuple[str, Shape]] | None:
    letters, own, others = _divided(pattern, shape)
    if len(own) != len(letters):
        return None
    if any(letter.isdigit() and int(letter) != length for letter, length in zip(letters, own, strict=True)):
        return None
    pairs: list[tuple[str, Shape]]
    pairs = [(letter, (length,)) for letter, length in zip(letters, own, strict=True) if not letter.isdigit()]
    return [(ANY, others), *pairs] if ANY in pattern else pairs


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
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def narrowed(choices: Choices, shape: Shape) -> Shape:
    """Return a shape that broadcasts to this one: axes shortened to one, or leading axes left out."""
    kept = shape[choices.integer(0, len(shape)) :] if choices.happens("fewer_axes") else shape
    if not choices.happens("shortened_axes"):
        return kept
    return tuple(1 if choices.happens("fair_coin") else length for length in kept)


def _broadcasts(shapes: tuple[Shape, ...], shape: Shape) -> bool:
    result = broadcast_shape(*shapes, shape)
    return result is not None and math.prod(result) <= COUNTS["largest_size"]


def _broadcasting(choices: Choices, shapes: tuple[Shape, ...], profile: Profile) -> Shape:
    result = broadcast_shape(*shapes)
    assert result is not None
    if profile.rank and len(result) <= profile.rank and choices.happens("stretched_result"):
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
    if room < 0 or choices.happens("vector_factor"):
        return (inner,)
    matrix = (inner, choices.choice(profile.dimensions))
    if choices.happens("matrix_factor"):
        return matrix
    if len(stack) < room and choices.happens("longer_stack"):
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
