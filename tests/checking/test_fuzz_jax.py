"""Does anything but a report come out of a check of JAX, whatever the function and its inputs are?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checking.fuzz import (
    OPTIONS,
    SETTINGS,
    Function,
    arrays,
    assert_only_a_report,
    composed,
    counting,
    inputs_of,
    names_of,
    objects,
    raising,
    warning,
)

jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
jnp: Any = jax.numpy

pytestmark = pytest.mark.engines

DTYPES = st.sampled_from(["float64", "float64", "float32", "float16", jnp.bfloat16, "complex128", "int64", "bool"])


@pytest.fixture(autouse=True, scope="module")
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(new_val=True):
        yield


@st.composite
def tensors(draw: Any) -> Any:
    """Draw an array of JAX or of numpy, or a key of random numbers."""
    array = draw(arrays(DTYPES))
    sort = draw(st.sampled_from(["jax", "jax", "numpy", "numpy", "key"]))
    return jax.random.key(0) if sort == "key" else jnp.asarray(array) if sort == "jax" else array


def ruled(rule: Function) -> Function:
    """Return the square of an array with a rule of its own."""

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def function(x: Any) -> Any:
        return x * x

    function.defvjp(lambda x: (x * x, x), lambda x, cotangent: rule(cotangent, x))
    return function  # type: ignore[no-any-return]


ONE: dict[str, Function] = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "root": jnp.sqrt,
    "relu": jax.nn.relu,
    "sum": jnp.sum,
    "largest": jnp.max,
    "inverse": lambda x: 1 / x,
    "stopped": jax.lax.stop_gradient,
    "half stopped": lambda x: x * jax.lax.stop_gradient(x),
    "compiled": jax.jit(lambda x: jnp.sin(x) * 2),
    "a number": float,
    "nothing": lambda _: None,
    "objects": objects,
    "words": lambda _: "words",
    "numpy": np.asarray,
    "several": lambda x: (x, [jnp.exp(x), {"a": jnp.sum(x)}], None, 3),
    "integers": lambda x: x.astype(int),
    "constant": lambda _: jnp.ones(2),
    "branch": lambda x: x if x.sum() > 0 else -x,
    "loop": lambda x: jax.lax.fori_loop(0, 2, lambda _, y: y * x, x),
    "noise of numpy": lambda x: x * np.random.rand(),  # noqa: NPY002 (as people do)
    "noise of a key": lambda x: x * jax.random.uniform(jax.random.key(0), jnp.shape(x)),
    "a key": lambda _: jax.random.key(0),
    "callback": lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(jnp.shape(x), x.dtype), x),
    "gradient inside": jax.grad(lambda x: jnp.sum(x**3).real),
    "matrix": lambda x: x @ x,
    "sorted": jnp.sort,
    "complex": jnp.fft.fft,
    "raises": raising,
    "warns": warning,
    "counts": counting,
    "empty": lambda x: x[:0],
    "no cotangent": ruled(lambda _, x: (2 * x,)),
    "nothing back": ruled(lambda *_: (None,)),
    "another shape": ruled(lambda g, _: (g.sum(),)),
    "too many": ruled(lambda g, _: (g, g)),
    "no tuple": ruled(lambda g, _: g),
    "not a number": ruled(lambda g, _: (g * np.nan,)),
    "raises back": ruled(raising),
    "words back": ruled(lambda *_: "words"),
    "counts back": ruled(lambda g, _: (counting(g),)),
}
"""Functions of one array, which other inputs do not take part in."""


@settings(SETTINGS, max_examples=150)
@given(names=names_of(ONE), inputs=inputs_of(tensors()), options=OPTIONS)
def test_nothing_but_a_report_comes_out(names: list[str], inputs: Any, options: Any) -> None:
    function = composed(ONE, names, lambda value: isinstance(value, jax.Array | np.ndarray))
    assert_only_a_report(function, inputs, "jax", options)
