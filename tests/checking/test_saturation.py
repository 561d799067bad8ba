"""Is a gradient that is made of a rounded output judged by what that output still tells?"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from refgrad import check_gradients
from tests.effort import turn

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

POINT = [0.5, -1.0, 3.5, 8.0]
"""In bfloat16, the hyperbolic tangent of the last two is 1, and 1 - y * y is 0."""

Rule = Callable[[Any, Any], Any]

RIGHT: dict[str, Any] = {
    "tanh": torch.tanh,
    "sum of tanh": lambda x: x.tanh().sum(),
    "sigmoid": torch.sigmoid,
    "softmax": lambda x: torch.softmax(x, 0),
}

WRONG: dict[str, Rule] = {
    "a sign": lambda _, y: 1 + y * y,
    "no square": lambda _, y: 1 - y,
    "no derivative": lambda _, y: torch.ones_like(y),
    "a tenth too large": lambda _, y: 1.1 * (1 - y * y),
    "nothing": lambda _, y: torch.zeros_like(y),
    "that of the sigmoid": lambda _, y: y * (1 - y),
}


def ruled(forward: Callable[[Any], Any], rule: Rule) -> Any:
    """Return a function with a rule of its input and its output."""

    class Ruled(torch.autograd.Function):  # type: ignore[misc]
        """A function with any rule."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = forward(x)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return cotangents[0] * rule(*ctx.saved_tensors)

    return Ruled.apply


def outcome(function: Any, point: list[float], dtype: Any) -> str:
    inputs = torch.tensor(point, dtype=dtype)
    return check_gradients(function, inputs, method="differences", raise_exception=False).outcome


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_what_an_output_near_its_limit_gives_is_not_called_wrong(name: str, dtype: Any) -> None:
    assert outcome(RIGHT[name], POINT, dtype) == "right"
    assert outcome(RIGHT[name], [3.5, 9.0], dtype) == "right"


def spread(scale: float, dtype: Any) -> Any:
    """Return more entries than are differentiated by one by one."""
    numbers = torch.randn(20, 15, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return (scale * numbers).to(dtype)


FURTHER: dict[str, Any] = {
    **RIGHT,
    "softmax of rows": lambda x: torch.softmax(x, -1),
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "softplus": torch.nn.functional.softplus,
    "sigmoid by tanh": lambda x: torch.sigmoid(x) * torch.tanh(x),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=[pytest.mark.slow] * ((row + column + turn()) % 2))
        for row, name in enumerate(FURTHER)
        for column, dtype in enumerate((torch.bfloat16, torch.float16))
    ],
    ids=str,
)
def test_of_many_halves_none_is_called_wrong(name: str, dtype: Any) -> None:
    """Each function is differentiated in one dtype, and in the other one where tests are slow."""
    report = check_gradients(FURTHER[name], spread(4.0, dtype), method="differences", raise_exception=False)
    assert report.outcome == "right"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_gradient_of_many_halves_is_still_wrong(name: str, dtype: Any) -> None:
    function = ruled(torch.tanh, WRONG[name])
    for each in (function, lambda x: function(x).sum()):
        report = check_gradients(each, spread(4.0, dtype), method="differences", raise_exception=False)
        assert report.outcome == "wrong"


@pytest.mark.parametrize("seed", [0, 2, 9, 29])
def test_outputs_that_float16_has_no_numbers_for_are_lost(seed: int) -> None:
    point = 8 * torch.randn(4, 15, generator=torch.Generator().manual_seed(seed))
    assert check_gradients(lambda x: torch.softmax(x, -1), point.half())


@pytest.mark.parametrize("method", ["auto", "differences"])
@pytest.mark.parametrize(("factor", "outcome"), [(1.0, "right"), (2.0, "wrong")])
def test_what_float16_has_numbers_for_is_not_lost(factor: float, outcome: str, method: Any) -> None:
    function = ruled(lambda x: torch.exp(-x), lambda _, y: -y * factor)
    point = torch.tensor([10.0, 10.5], dtype=torch.float16)
    assert check_gradients(function, point, method=method, raise_exception=False).outcome == outcome


def test_the_same_of_jax() -> None:
    jax: Any = pytest.importorskip("jax", reason="needs refgrad[jax]")
    point = jax.numpy.asarray(POINT, dtype=jax.numpy.bfloat16)
    with jax.enable_x64(new_val=True):
        assert check_gradients(import_module("jax.numpy").tanh, point, "jax")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_gradient_of_tanh_is_still_wrong(name: str, dtype: Any) -> None:
    assert outcome(ruled(torch.tanh, lambda _, y: 1 - y * y), POINT, dtype) == "right"
    assert outcome(ruled(torch.tanh, WRONG[name]), POINT, dtype) == "wrong"


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
def test_an_output_that_is_small_where_its_slope_is_allows_for_nothing(factor: float) -> None:
    """exp(-8) is a small number with all of its digits, unlike 1 - tanh(8)."""
    assert outcome(ruled(lambda x: torch.exp(-x), lambda _, y: -y), [8.0, 4.0], torch.bfloat16) == "right"
    assert outcome(ruled(lambda x: torch.exp(-x), lambda _, y: -y * factor), [8.0, 4.0], torch.bfloat16) == "wrong"


def test_a_constant_beside_a_function_allows_for_nothing() -> None:
    """Outputs near 1000 are four apart in bfloat16, but no rule is made of them."""

    def shifted(factor: float) -> Any:
        return ruled(lambda x: 1000 + torch.sin(x), lambda x, _: factor * torch.cos(x))

    assert outcome(shifted(1.0), [1.0, 2.0], torch.bfloat16) == "right"
    assert outcome(shifted(1.1), [1.0, 2.0], torch.bfloat16) == "wrong"
