"""Functions of float64 that compute something in float32 are not called wrong for it, and wrong rules of such are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad import check_gradients

autograd: Any = pytest.importorskip("autograd", reason="needs refgrad[autograd]")
anp: Any = autograd.numpy

pytestmark = pytest.mark.engines

Function = Callable[..., Any]

POINTS = st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 1e-2), min_size=3, max_size=3).map(np.array)


def softmax(x: Any) -> Any:
    """A softmax in float32, weighted in float64."""
    powers = anp.exp(x.astype(np.float32))
    return (powers / anp.sum(powers)).astype(float) * x


FUNCTIONS: Final[Mapping[str, Function]] = {
    "a factor": lambda x: anp.tanh(x.astype(np.float32)).astype(float) * x,
    "a term": lambda x: (x.astype(np.float32) ** 2).astype(float) + anp.sin(x),
    "softmax": softmax,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(point=POINTS)
def test_what_is_right_is_certified_with_the_digits_of_float32(name: str, point: Any) -> None:
    report = check_gradients(FUNCTIONS[name], point, "autograd", raise_exception=False)
    assert (report.outcome, report.method) == ("right", "certified")


@pytest.mark.parametrize("name", FUNCTIONS)
@given(point=POINTS)
@settings(max_examples=8, deadline=None)
def test_what_is_right_is_not_called_wrong_by_differences(name: str, point: Any) -> None:
    report = check_gradients(
        FUNCTIONS[name], point, "autograd", method="differences", strict=False, raise_exception=False
    )
    assert report.outcome != "wrong"


METHODS: Final[tuple[Literal["auto", "differences"], ...]] = ("auto", "differences")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_rule_is_still_wrong(name: str, method: Literal["auto", "differences"]) -> None:
    function = FUNCTIONS[name]
    spoiled = autograd.extend.primitive(function)
    autograd.extend.defvjp(spoiled, lambda _, x: lambda g: 1.01 * autograd.make_vjp(function)(x)[0](g))
    point = np.array([0.5, -1.25, 2.0])
    assert check_gradients(spoiled, point, "autograd", method=method, raise_exception=False).outcome == "wrong"
