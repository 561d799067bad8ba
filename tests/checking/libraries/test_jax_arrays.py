"""Arrays of JAX are made in their own dtype, and share no memory with what they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.libraries.numbers import Kind
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start

pytest.importorskip("jax", reason="needs refgrad[jax]")

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def arrays() -> JaxArrays:
    return JaxArrays(start(find_adapter("jax")))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int32"])
def test_an_array_has_the_dtype_of_its_kind(arrays: JaxArrays, dtype: str) -> None:
    source = np.ones(2, "int32" if dtype == "int32" else "float64")
    made = arrays.make(source, Kind(dtype), requires_grad=True)
    assert isinstance(made, arrays.engine.namespace["jax"].Array)
    assert made.dtype.name == dtype


@pytest.mark.parametrize("is_seed", [False, True], ids=["input", "seed"])
def test_an_array_stays_when_what_it_was_made_of_is_written_to(arrays: JaxArrays, *, is_seed: bool) -> None:
    """JAX shares the memory of arrays that begin at a multiple of 64 bytes."""
    memory = np.zeros(80)
    start = -memory.ctypes.data % 64 // 8
    source, kind = memory[start : start + 64], Kind("float64")
    made = arrays.seed(source, kind) if is_seed else arrays.make(source, kind, requires_grad=True)
    source[:] = 1.0
    assert not np.asarray(made).any()
