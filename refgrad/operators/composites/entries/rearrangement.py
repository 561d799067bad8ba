"""Arrays made of the entries of others, each copied from a place, once, more often or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from refgrad.operators.composite import Composite, Operators
from refgrad.operators.structure import Shape, refuse_size

Places: TypeAlias = npt.NDArray[np.intp]

BLANK: Final = -1
"""The place of an entry that is copied from nowhere."""


def blanks(*shape: int) -> Places:
    """Return an array of blank places. Raises ValueError for one that is too large."""
    refuse_size(prod(shape))
    return np.full(shape, BLANK)


def places_of(*shapes: Shape) -> list[Places]:
    """Return arrays of these shapes that hold their entries' places: counted on from one array to the next."""
    ends = np.cumsum([0, *map(prod, shapes)])
    return [np.arange(end, end + prod(shape)).reshape(shape) for end, shape in zip(ends, shapes, strict=False)]


def copied(ops: Operators, arrays: Sequence[Any], places: Places) -> Any:
    """Return the entries of ``arrays`` at ``places`` (see :func:`places_of`), in the shape of ``places``."""
    flat = [ops.reshape(x, shape=(prod(x.shape),)) for x in arrays]
    entries = flat[0] if len(flat) == 1 else ops.concatenate(*flat, axis=0)
    return ops.reshape(ops.take(entries, axis=0, indices=_flat(places)), shape=places.shape)


def filled(ops: Operators, arrays: Sequence[Any], places: Places, value: float = 0.0) -> Any:
    """Return the same with ``value`` wherever ``places`` are BLANK."""
    there = places != BLANK
    kept = copied(ops, arrays, places[there])
    spread = ops.add_at(kept, shape=(places.size,), index=(_flat(np.flatnonzero(there)),))
    result = ops.reshape(spread, shape=places.shape)
    return result if value == 0 else ops.where(ops.constant(there), result, value)


def moved(rule: Callable[..., Any]) -> Composite:
    """Return the operator that does to the entries of one array what ``rule`` does to their places."""

    def forward(ops: Operators, x: Any, **attributes: Any) -> Any:
        (places,) = places_of(x.shape)
        return copied(ops, [x], np.asarray(rule(places, **attributes)))

    return Composite(forward)


def moved_between_zeros(rule: Callable[..., Any]) -> Composite:
    """Return the operator that does so, with zeros wherever ``rule`` answers BLANK."""

    def forward(ops: Operators, x: Any, **attributes: Any) -> Any:
        (places,) = places_of(x.shape)
        return filled(ops, [x], np.asarray(rule(places, **attributes)))

    return Composite(forward)


def joined(rule: Callable[..., Any]) -> Composite:
    """Return the operator that does to the entries of several arrays what ``rule`` does to their places."""

    def forward(ops: Operators, *arrays: Any, **attributes: Any) -> Any:
        places = places_of(*(x.shape for x in arrays))
        return copied(ops, arrays, np.asarray(rule(*places, **attributes)))

    return Composite(forward)


def joined_between_zeros(rule: Callable[..., Any]) -> Composite:
    """Return the operator that does so, with zeros wherever ``rule`` answers BLANK."""

    def forward(ops: Operators, *arrays: Any, **attributes: Any) -> Any:
        places = places_of(*(x.shape for x in arrays))
        return filled(ops, arrays, np.asarray(rule(*places, **attributes)))

    return Composite(forward)


def required(condition: bool, problem: str) -> None:  # noqa: FBT001 (what is required, as in assert)
    """Raise ValueError where shapes and attributes do not fit together."""
    if not condition:
        raise ValueError(problem)


def _flat(places: Places) -> tuple[int, ...]:
    return tuple(places.ravel().tolist())
