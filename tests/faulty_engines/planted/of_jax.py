"""Faults planted into JAX."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.faulty_engines.planted.conditional import where

_of_jax = partial(where, engine="jax")

JAX_FAULTS: Final = (
    _of_jax("takes the axis before the last for the last", "operators/softmax", "{axis} == -2", kind="attributes"),
    _of_jax(
        "has no stretched axis inside four",
        "operators/multiply",
        "{x}.ndim == {y}.ndim == 4 and {x}.shape[1] == 1 < {y}.shape[1]",
        kind="sizes and ranks",
    ),
    _of_jax(
        "has room for eight uses of an entry",
        "operators/take_along_axis",
        "max(np.unique(np.array({indices}, dtype=int), return_counts=True)[1], default=0) > 8",
        kind="windows and indices",
    ),
)
