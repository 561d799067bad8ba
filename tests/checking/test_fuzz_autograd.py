"""Does anything but a report come out of a check of HIPS autograd, whatever the function and its inputs are?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
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
from tests.checking.own_functions import own

autograd: Any = pytest.importorskip("autograd", reason="needs refgrad[autograd]")
anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")

pytestmark = pytest.mark.engines

DTYPES = st.sampled_from(["float64", "float64", "float32", "float16", "complex128", "complex64", "int64", "bool"])


@st.composite
def tensors(draw: Any) -> Any:
    """Draw an array, perhaps a view, or a number."""
    array = draw(arrays(DTYPES))
    layout = draw(st.sampled_from(["plain", "plain", "transposed", "expanded", "sliced", "read-only", "number"]))
    if layout == "transposed":
        return array.T
    if layout == "expanded":
        return np.broadcast_to(array, (2, *array.shape))
    if layout == "sliced" and array.ndim:
        return np.concatenate([array, array])[::2]
    if layout == "read-only" and isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array[()] if layout == "number" and not array.ndim else array


def ruled(rule: Function) -> Function:
    """Return the square of an array with a rule of its own."""
    return own(lambda x: x * x, rule)


def written(x: Any) -> Any:
    """A function that writes to its input."""
    x[...] = 1
    return x


ONE: dict[str, Function] = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "root": anp.sqrt,
    "logarithm": anp.log,
    "largest": anp.max,
    "sum": anp.sum,
    "inverse": lambda x: 1 / x,
    "hinge": lambda x: anp.maximum(x, 0),
    "stopped": lambda x: anp.array(autograd.tracer.getval(x)),
    "half stopped": lambda x: x * autograd.tracer.getval(x),
    "a number": float,
    "nothing": lambda _: None,
    "objects": objects,
    "words": lambda _: "words",
    "plain numpy": lambda x: np.asarray(x) * 2,
    "several": lambda x: (x, [anp.exp(x), {"a": anp.sum(x)}], None, 3),
    "integers": lambda x: x.astype(int),
    "constant": lambda _: anp.ones(2),
    "branch": lambda x: x if anp.sum(x) > 0 else -x,
    "written": written,
    "noise of numpy": lambda x: x * np.random.rand(),  # noqa: NPY002 (as people do)
    "gradient inside": autograd.grad(lambda y: anp.sum(y**3)),
    "matrix": lambda x: anp.dot(x, x),
    "inverse matrix": anp.linalg.inv,
    "sorted": anp.sort,
    "complex": anp.fft.fft,
    "raises": raising,
    "warns": warning,
    "counts": counting,
    "empty": lambda x: x[:0],
    "generator": lambda x: (part for part in (x, x)),
    "no cotangent": ruled(lambda _, x: 2 * x),
    "nothing back": ruled(lambda *_: None),
    "another shape": ruled(lambda g, _: anp.sum(g)),
    "not a number": ruled(lambda g, _: g * np.nan),
    "raises back": ruled(raising),
    "words back": ruled(lambda *_: "words"),
    "counts back": ruled(lambda g, _: counting(g)),
}
"""Functions of one array, which other inputs do not take part in."""


@SETTINGS
@example(names=["generator", "stopped"], inputs=np.array(0.0), options={"budget": 0.5})
@given(names=names_of(ONE), inputs=inputs_of(tensors()), options=OPTIONS)
def test_nothing_but_a_report_comes_out(names: list[str], inputs: Any, options: Any) -> None:
    function = composed(ONE, names, lambda value: isinstance(value, np.ndarray | np.generic) or hasattr(value, "_node"))
    assert_only_a_report(function, inputs, "autograd", options)
