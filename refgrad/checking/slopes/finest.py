"""The most precise way to compute a function: in float64 all the way, where that is the same function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from refgrad.checking.discrepancy import flattened
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.numbers import Arrays
from refgrad.checking.subject import Subject
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.slopes import SCALES, THIRD, Scale

AGREEMENT: Mapping[str, float] = MappingProxyType({"float64": 1e-2, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.2})
"""Relative difference up to which a function and its run in float64 count as the same function."""

HALF_SCALES: Mapping[str, Scale] = MappingProxyType({
    "float16": Scale(2.0**-11, (2.0**-1, 2.0**-3), (2.0**-10, THIRD * 2.0**-5)),
    "bfloat16": Scale(2.0**-8, (2.0**-1, 2.0**-2), (2.0**-7, THIRD * 2.0**-3)),
})
"""The steps for halves; the smallest are a unit in the last place, since nothing moves by less."""


@dataclass(frozen=True, slots=True, eq=False)
class Finest:
    """A function, a point and its outputs there, in the precision in which slopes are looked for."""

    subject: Subject
    point: Arrays
    here: Floats
    scale: Scale


def scale_of(precision: str) -> Scale:
    """Return the steps that suit a precision."""
    return HALF_SCALES[precision] if precision in HALF_SCALES else SCALES[precision]


def finest(subject: Subject, outputs: Arrays, precision: str) -> Finest:
    """Return a function in float64 if it takes that and means the same, else as it is."""
    here = flattened(outputs)
    if precision == "float64":
        return Finest(subject, subject.point, here, SCALES["float64"])
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
            return Finest(finer, point, fine, SCALES["float64"])
    return Finest(subject, subject.point, here, scale_of(precision))


def _finer(subject: Subject) -> Iterator[Subject]:
    raised = subject.raised()
    if raised is not None:
        yield raised
    if any(kind.part != "float64" for kind in subject.kinds):
        yield subject


def _agree(fine: Floats, here: Floats, tolerance: float) -> bool:
    size = min(1.0, float(np.max(np.abs(here[np.isfinite(here)]), initial=0.0)))
    return bool(np.allclose(fine, here, rtol=tolerance, atol=tolerance * size, equal_nan=True))


def split(flat: Floats, like: Arrays) -> Arrays:
    """Cut a row of entries into arrays of these shapes and dtypes."""
    parts = []
    offset = 0
    for array in like:
        parts.append(flat[offset : offset + array.size].reshape(array.shape).astype(array.dtype))
        offset += array.size
    return tuple(parts)
