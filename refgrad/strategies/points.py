"""Strategies for arrays at which functions are checked: ordinary numbers, edges of operators, and numbers nearby."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from refgrad.operators import operator_table

OFFSET = 2.0**-20
"""Distance from an edge of the numbers that are drawn next to it."""

ORDINARY = 4.0
"""Largest magnitude of numbers of an ordinary size."""

LARGEST_EXPONENT = 8
"""Largest magnitude of the binary exponents of numbers of other sizes."""

POOL = 3
"""Largest number of different numbers in arrays that are drawn to have ties."""


def points(
    shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str] = ("float64",)
) -> st.SearchStrategy[tuple[npt.NDArray[Any], ...]]:
    """Return a strategy for tuples of NumPy arrays, one for each shape, all of one of the dtypes.

    Entries are zero, edges of the operators of the table and numbers next to them, equal to each other, or any number
    of an ordinary size.
    """
    return st.sampled_from(sorted(dtypes)).flatmap(lambda dtype: st.tuples(*(_arrays(s, dtype) for s in shapes)))


def _arrays(shape: tuple[int, ...], dtype: str) -> st.SearchStrategy[npt.NDArray[Any]]:
    size = int(np.prod(shape))
    pools = st.lists(_numbers(), min_size=1, max_size=POOL).flatmap(
        lambda pool: st.lists(st.sampled_from(pool), min_size=size, max_size=size)
    )
    entries = st.one_of(st.lists(_numbers(), min_size=size, max_size=size), pools)
    return entries.map(lambda numbers: np.array(numbers, dtype).reshape(shape))


@cache
def _numbers() -> st.SearchStrategy[float]:
    edges = st.sampled_from(_edges())
    sizes = st.floats(-LARGEST_EXPONENT, LARGEST_EXPONENT).map(lambda exponent: 2.0**exponent)
    return st.one_of(
        st.floats(-ORDINARY, ORDINARY),
        edges,
        st.tuples(edges, st.sampled_from([-OFFSET, OFFSET])).map(sum),
        st.tuples(st.sampled_from([-1.0, 1.0]), sizes).map(lambda pair: pair[0] * pair[1]),
    )


@cache
def _edges() -> tuple[float, ...]:
    """Return the numbers at which operators of the table have edges, the simplest first."""
    numbers = {
        float(number)
        for row in operator_table().values()
        for edge in row.edges
        for example in edge.examples
        for number in example.values()
        if abs(number) <= 2.0**LARGEST_EXPONENT
    }
    return tuple(sorted(numbers | {0.0, 1.0, -1.0}, key=lambda number: (abs(number), number < 0)))
