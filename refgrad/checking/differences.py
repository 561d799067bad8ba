"""Users' functions as finite differences see them: by values only, in float64 all the way if that is possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Arrays
from refgrad.checking.subject import Seeds, SideEffectError, Subject
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.directions import flattened, split
from refgrad.oracles.slopes.slopes import SCALES, Scale
from refgrad.scenario.formats import least_precise

AGREEMENT: Mapping[str, float] = MappingProxyType({"float64": 1e-2, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.2})
"""Largest relative difference between a function and its run in float64 that makes them the same function."""


class UserFunction:
    """A function of an engine's tensors at a point, of which values and gradients are known at other points, too.

    Values are computed in float64, if the function accepts that and has about the same values then. ``precision`` is
    the coarsest dtype of its arithmetic.
    """

    def __init__(self, subject: Subject, outputs: Arrays, precision: str = "") -> None:
        """Take a function and its outputs at its point."""
        self.subject, self.outputs = subject, outputs
        self.positions = subject.positions
        dtypes = [*(kind.part for kind in subject.kinds), *(output.dtype.name for output in outputs)]
        self.precision = precision or least_precise(dtypes)
        self.finest, self.arrays, self.here, self.scale = _finest(subject, outputs, self.precision)

    def values(self, entries: Floats) -> Floats:
        """Return the flattened outputs at a flattened point, or NaN if there are none, or more or fewer than here."""
        try:
            values = flattened(self.finest.values(split(entries, self.arrays)))
        except SubjectError:
            return np.full(self.here.size, np.nan)
        return values if values.size == self.here.size else np.full(self.here.size, np.nan)

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        """Return the flattened gradient at a flattened point, or None if the function does not run there."""
        point = split(entries, self.subject.point)
        try:
            gradients = self.subject.pullback(point).gradients(seeds)
        except (SubjectError, SideEffectError, UnsupportedError):
            return None
        return flattened([np.zeros(p.shape) if g is None else g for g, p in zip(gradients, point, strict=True)])

    def moved(self, entries: Floats) -> UserFunction | None:
        """Return the function at another point, or None if it does not run there."""
        subject = self.subject.at(split(entries, self.subject.point))
        try:
            return UserFunction(subject, subject.pullback(subject.point).outputs, self.precision)
        except (SubjectError, SideEffectError, UnsupportedError):
            return None

    def coarser(self) -> UserFunction:
        """Return the function as one that computes in float32."""
        return UserFunction(self.subject, self.outputs, "float32")


def _finest(subject: Subject, outputs: Arrays, precision: str) -> tuple[Subject, Arrays, Floats, Scale]:
    """Return the function, its inputs and flattened outputs, and its steps.

    They are in float64 if the function accepts that and has about the same values then.
    """
    here = flattened(outputs)
    if precision == "float64":
        return subject, subject.point, here, SCALES["float64"]
    point = tuple(array.astype(np.float64) for array in subject.point)
    for finer in _finer(subject):
        try:
            values = finer.values(point)
        except SubjectError:
            continue
        fine = flattened(values)
        same = [
            v.shape == o.shape and (v.dtype == np.float64 or o.dtype.kind != "f")
            for v, o in zip(values, outputs, strict=True)
        ]
        if all(same) and _agree(fine, here, AGREEMENT[precision]):
            return finer, point, fine, SCALES["float64"]
    return subject, subject.point, here, SCALES[precision]


def _finer(subject: Subject) -> Iterator[Subject]:
    raised = subject.raised()
    if raised is not None:
        yield raised
    if any(kind.part != "float64" for kind in subject.kinds):
        yield subject


def _agree(fine: Floats, here: Floats, tolerance: float) -> bool:
    size = min(1.0, float(np.max(np.abs(here[np.isfinite(here)]), initial=0.0)))
    return bool(np.allclose(fine, here, rtol=tolerance, atol=tolerance * size, equal_nan=True))
