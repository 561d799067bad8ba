"""Arrays of JAX are made in their own dtype, and share no memory with what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.libraries.trees import Kind
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")

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


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_code_for_keys_makes_the_same_keys(arrays: JaxArrays, impl: str) -> None:
    keys = jax.random.split(jax.random.key(7, impl=impl))
    made = eval(arrays.code(keys), {"jax": jax, "np": np})
    assert made.dtype == keys.dtype
    assert (made == keys).all()


def test_a_key_is_passed_on_as_it_is_given() -> None:
    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def twice_too_large(x: Any) -> Any:
        return 3 * x

    twice_too_large.defvjp(lambda x: (3 * x, None), lambda _, cotangent: (6 * cotangent,))
    key = jax.random.key(0)
    inputs = (jax.numpy.array([1.0, 2.0]), key)
    report = check_gradients(lambda x, key: x * jax.random.uniform(key), inputs, "jax", raise_exception=False)
    assert report.outcome == "right"
    wrong = check_gradients(
        lambda x, key: twice_too_large(x) + jax.random.uniform(key), inputs, "jax", raise_exception=False
    )
    assert wrong.outcome == "wrong"
    assert "x1 = jax.random.wrap_key_data(np.array([0, 0], dtype=np.uint32), impl='threefry2x32')" in str(wrong)


def test_a_function_that_returns_a_key_returns_no_tensor() -> None:
    report = check_gradients(
        lambda _: jax.random.key(0), jax.numpy.array([1.0]), "jax", raise_exception=False, strict=False
    )
    assert str(report) == "output 0 is PRNGKeyArray of dtype key<fry>, not a tensor"
