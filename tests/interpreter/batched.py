"""Evaluation of many points at once: a batch axis behind all others runs along with every entry.

The batch axis goes last, so that broadcasting needs no change. A value that does not depend on a batched leaf stays
unbatched. A structural operator says in its row how it meets the extra axis: ``trailing`` functions ignore it,
``gather`` functions only move entries and are run once on the entries' positions, and ``loop`` functions are run point
by point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter.evaluation import numpy_function
from refgrad.operators import Operator
from refgrad.operators.structures import reduced_axes
from refgrad.scenario import Grad, Jvp, Leaf


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """An array whose last axis, if ``points`` is not None, runs over that many points."""

    array: npt.NDArray[Any]
    points: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value at one point."""
        return self.array.shape if self.points is None else self.array.shape[:-1]

    def stretched(self, points: int) -> npt.NDArray[Any]:
        """The array with the batch axis, whether the value depends on the point or not."""
        return self.array if self.points is not None else np.broadcast_to(self.array[..., None], (*self.shape, points))


class BatchedFloat64:
    """Evaluates at many points: ``points[name]`` has the leaf's shape and the batch axis behind it."""

    def __init__(self, points: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Take the points of the leaves that vary; the others keep the scenario's value."""
        self.points = points

    def leaf(self, leaf: Leaf) -> Batch:
        """Return the leaf at every point; one that does not vary is float64 too, where it is not boolean."""
        if leaf.name in self.points:
            array = self.points[leaf.name]
            return Batch(array, array.shape[-1])
        array = leaf.value.to_numpy()
        return Batch(array if array.dtype == np.bool_ else array.astype(np.float64))

    def apply(self, operator: Operator, arguments: list[Batch], attributes: Mapping[str, Any]) -> Batch:
        """Return the operator's value at every point."""
        points = next((argument.points for argument in arguments if argument.points is not None), None)
        if points is None:
            return Batch(np.asarray(numpy_function(operator)(*(a.array for a in arguments), **attributes)))
        if operator.elementwise:
            arrays = [a.array if a.points is not None else a.array[..., None] for a in arguments]
            return Batch(np.asarray(numpy_function(operator)(*arrays, **attributes)), points)
        if operator.batching == "trailing":
            return Batch(_trailing(operator, arguments[0].array, attributes), points)
        if operator.batching == "gather":
            return Batch(_gathered(operator, arguments, attributes, points), points)
        return Batch(_looped(operator, arguments, attributes, points), points)

    def gradient(self, step: Grad, values: Mapping[str, Batch]) -> Batch:
        """Return numbers that are not known, in the leaf's shape: nothing is differentiated here."""
        return Batch(np.full(values[step.leaf].shape, np.nan))

    def tangent(self, step: Jvp, values: Mapping[str, Batch]) -> Batch:
        """Return numbers that are not known, in the output's shape: nothing is differentiated here."""
        return Batch(np.full(values[step.output].shape, np.nan))


def _trailing(operator: Operator, array: npt.NDArray[Any], attributes: Mapping[str, Any]) -> npt.NDArray[Any]:
    axes = reduced_axes(attributes["axis"], array.ndim - 1)
    return np.asarray(numpy_function(operator)(array, **{**attributes, "axis": axes}))


def _gathered(
    operator: Operator, arguments: list[Batch], attributes: Mapping[str, Any], points: int
) -> npt.NDArray[Any]:
    sizes = [int(np.prod(argument.shape)) for argument in arguments]
    starts = np.cumsum([0, *sizes])
    positions = [
        np.arange(start, start + size).reshape(argument.shape)
        for start, size, argument in zip(starts, sizes, arguments, strict=False)
    ]
    entries = np.concatenate([argument.stretched(points).reshape(-1, points) for argument in arguments])
    return entries[np.asarray(numpy_function(operator)(*positions, **attributes), dtype=np.intp)]


def _looped(operator: Operator, arguments: list[Batch], attributes: Mapping[str, Any], points: int) -> npt.NDArray[Any]:
    forward = numpy_function(operator)
    arrays = [argument.stretched(points) for argument in arguments]
    return np.stack([forward(*(a[..., i] for a in arrays), **attributes) for i in range(points)], axis=-1)
