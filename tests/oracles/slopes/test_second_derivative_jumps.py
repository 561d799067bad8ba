"""Functions with a slope everywhere and a second derivative that jumps: right gradients pass, wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import autograd.numpy as anp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad import check_gradients
from tests.checking.own_functions import Array, own

pytestmark = pytest.mark.engines

Function = Callable[[Array], Array]


def spline(x: Array) -> Array:
    """Return the quadratic B-spline."""
    size = np.abs(x)
    return np.where(size < 0.5, 0.75 - size**2, np.where(size < 1.5, (1.5 - size) ** 2 / 2, 0))


def slope_of_spline(x: Array) -> Array:
    size = np.abs(x)
    return np.where(size < 0.5, -2 * x, np.where(size < 1.5, (size - 1.5) * np.sign(x), 0))


FUNCTIONS: Final[Mapping[str, tuple[Function, Function, list[float]]]] = {
    "squared relu": (lambda x: np.maximum(x, 0) ** 2, lambda x: 2 * np.maximum(x, 0), [0.0, 1.0, -1.0]),
    "squared relu and 1": (lambda x: 1 + np.maximum(x, 0) ** 2, lambda x: 2 * np.maximum(x, 0), [0.0, 1.0, -1.0]),
    "x times its size": (lambda x: x * np.abs(x), lambda x: 2 * np.abs(x), [0.0, 1.0, -0.5]),
    "huber": (
        lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5),
        lambda x: np.clip(x, -1, 1),
        [1.0, -1.0, 0.5],
    ),
    "squared hinge": (lambda x: np.maximum(1 - x, 0) ** 2, lambda x: -2 * np.maximum(1 - x, 0), [1.0, 0.0, 2.0]),
    "spline": (spline, slope_of_spline, [0.5, -0.5, 1.5, -1.5, 0.0, 0.2]),
    "elu": (lambda x: np.where(x > 0, x, np.expm1(x)), lambda x: np.exp(np.minimum(x, 0)), [0.0, 1.0, -1.0]),
    "a wave and a bend": (
        lambda x: 10 * np.sin(3 * x) + 0.01 * x * np.abs(x),
        lambda x: 30 * np.cos(3 * x) + 0.02 * np.abs(x),
        [0.0, 1.0, -0.5],
    ),
    "a bend beside the point": (
        lambda x: np.maximum(x - 1e-5, 0) ** 2,
        lambda x: 2 * np.maximum(x - 1e-5, 0),
        [1e-5, 0.0, 2e-5],
    ),
}

both_sizes = pytest.mark.parametrize("single", [False, True], ids=["several", "one"])
both_ends = pytest.mark.parametrize("summed", [False, True], ids=["entries", "sum"])


def outcome(name: str, *, single: bool, summed: bool, error: float = 0.0) -> str:
    function, slope, points = FUNCTIONS[name]
    checked = own(function, lambda g, x: g * (slope(x) + error * (1 + np.abs(slope(x)))))
    whole: Callable[[Any], Any] = (lambda x: anp.sum(checked(x))) if summed else checked
    point = np.array(points[0] if single else points)
    return str(check_gradients(whole, point, "autograd", method="differences", raise_exception=False).outcome)


@both_ends
@both_sizes
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_right_gradient_is_right(name: str, *, single: bool, summed: bool) -> None:
    assert outcome(name, single=single, summed=summed) == "right"


@both_ends
@both_sizes
@pytest.mark.parametrize("error", [1e-6, 0.05])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_gradient_is_wrong(name: str, error: float, *, single: bool, summed: bool) -> None:
    assert outcome(name, single=single, summed=summed, error=error) == "wrong"


@given(points=st.lists(st.sampled_from([-1.0, 0.0, 1e-9, 1.0, 2.0]) | st.floats(-2, 2), min_size=1, max_size=4))
def test_a_right_gradient_is_right_at_any_point(points: list[float]) -> None:
    checked = own(lambda x: np.maximum(x, 0) ** 2 + np.cos(x), lambda g, x: g * (2 * np.maximum(x, 0) - np.sin(x)))
    report = check_gradients(checked, np.array(points), "autograd", method="differences", raise_exception=False)
    assert report.outcome == "right"


@pytest.mark.parametrize(("factor", "expected"), [(1.0, "right"), (1.01, "wrong")])
def test_the_second_order_of_a_cube_of_relu_is_judged(factor: float, expected: str) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")

    class Slope(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return 3 * x.clamp(min=0) ** 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return factor * 6 * ctx.saved_tensors[0].clamp(min=0) * g

    class Cube(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clamp(min=0) ** 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Slope.apply(ctx.saved_tensors[0]) * g

    x = torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    assert check_gradients(Cube.apply, x, order=2, raise_exception=False).outcome == expected
