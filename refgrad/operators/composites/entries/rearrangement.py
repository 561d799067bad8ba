"""Composites that copy entries, defined by the flat indices that the entries are copied from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.structure import Shape, refuse_size

Positions: TypeAlias = npt.NDArray[np.intp]

BLANK: Final = -1
"""Index of an entry that is not copied from anywhere."""


def blanks(*shape: int) -> Positions:
    """Return an array of BLANK. Raises ValueError if it is too large."""
    refuse_size(prod(shape))
    return np.full(shape, BLANK)


def positions_of(*shapes: Shape) -> list[Positions]:
    """Return arrays of these shapes that hold the flat indices of their entries, counted on from array to array."""
    ends = np.cumsum([0, *map(prod, shapes)])
    return [np.arange(end, end + prod(shape)).reshape(shape) for end, shape in zip(ends, shapes, strict=False)]


def copied(ops: Operators, arrays: Sequence[Any], positions: Positions) -> Any:
    """Return the entries of ``arrays`` at the indices ``positions``, counted as by :func:`places_of`."""
    flat = [ops.reshape(x, shape=(prod(x.shape),)) for x in arrays]
    entries = flat[0] if len(flat) == 1 else ops.concatenate(*flat, axis=0)
    return ops.reshape(ops.take(entries, axis=0, indices=_flat(positions)), shape=positions.shape)


def filled(ops: Operators, arrays: Sequence[Any], positions: Positions, value: float = 0.0) -> Any:
    """Return :func:`copied`, with ``value`` wherever ``positions`` are BLANK."""
    there = positions != BLANK
    kept = copied(ops, arrays, positions[there])
    spread = ops.add_at(kept, shape=(positions.size,), index=(_flat(np.flatnonzero(there)),))
    result = ops.reshape(spread, shape=positions.shape)
    return result if value == 0 else ops.where(ops.constant(there), result, value)


def moved(rule: Callable[..., Any]) -> Composite:
    """Return the composite that rearranges the entries of one array as ``rule`` rearranges their indices."""

    def forward(ops: Operators, x: Any, **attributes: Any) -> Any:
        (positions,) = positions_of(x.shape)
        return copied(ops, [x], np.asarray(rule(positions, **attributes)))

    return Composite(forward)


def moved_between_zeros(rule: Callable[..., Any]) -> Composite:
    """Return the composite of :func:`moved`, with zeros wherever ``rule`` returns BLANK."""

    def forward(ops: Operators, x: Any, **attributes: Any) -> Any:
        (positions,) = positions_of(x.shape)
        return filled(ops, [x], np.asarray(rule(positions, **attributes)))

    return Composite(forward)


def joined(rule: Callable[..., Any]) -> Composite:
    """Return the composite that rearranges the entries of several arrays as ``rule`` rearranges their indices."""

    def forward(ops: Operators, *arrays: Any, **attributes: Any) -> Any:
        positions = positions_of(*(x.shape for x in arrays))
        return copied(ops, arrays, np.asarray(rule(*positions, **attributes)))

    return Composite(forward)


def joined_between_zeros(rule: Callable[..., Any]) -> Composite:
    """Return the composite of :func:`joined`, with zeros wherever ``rule`` returns BLANK."""

    def forward(ops: Operators, *arrays: Any, **attributes: Any) -> Any:
        positions = positions_of(*(x.shape for x in arrays))
        return filled(ops, arrays, np.asarray(rule(*positions, **attributes)))

    return Composite(forward)


def required(condition: bool, problem: str) -> None:  # noqa: FBT001 (what is required, as in assert)
    """Raise ValueError with the message ``problem`` unless ``condition`` is true."""
    if not condition:
        raise ValueError(problem)


def _flat(positions: Positions) -> tuple[int, ...]:
    return tuple(positions.ravel().tolist())
