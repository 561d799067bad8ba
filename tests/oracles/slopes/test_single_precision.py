"""Is a function of float32 held to what float32 can do: no more, and not much less?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad.checking import check_gradients

torch = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines


def inputs(seed: int, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return leaves of float32 away from kinks and poles."""
    generator = np.random.default_rng(seed)
    arrays = (generator.uniform(0.3, 1.7, shape).astype(np.float32) for shape in shapes)
    return tuple(torch.tensor(array, requires_grad=True) for array in arrays)


def layer(x: Any, w: Any, b: Any) -> Any:
    """A layer of a network, with a loss."""
    return (torch.tanh(x @ w + b).exp() / (1 + x.sum())).log().sum()


def chain(x: Any) -> Any:
    """Twelve operators in a row."""
    for _ in range(3):
        x = torch.sin(x) * torch.sqrt(x) + torch.exp(-x)
    return x


class Rough(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """exp with a gradient that is wrong by a part."""

    part = 1e-3

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Save the result."""
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Be off by a part."""
        (y,) = ctx.saved_tensors
        return cotangents[0] * y * (1 + Rough.part)


@pytest.mark.parametrize("seed", range(20))
def test_right_functions_raise_no_alarm(seed: int) -> None:
    assert check_gradients(layer, inputs(seed, (4, 3), (3, 5), (5,))).outcome != "wrong"
    assert check_gradients(chain, inputs(seed, (3, 4))).outcome != "wrong"


@pytest.mark.parametrize("seed", range(5))
def test_right_functions_pass_and_are_not_only_left_alone(seed: int) -> None:
    report = check_gradients(layer, inputs(seed, (4, 3), (3, 5), (5,)))
    assert (report.outcome, report.method) == ("right", "certified")


@pytest.mark.parametrize("method", ["auto", "differences"])
@pytest.mark.parametrize("seed", range(3))
def test_an_error_of_a_thousandth_is_caught(seed: int, method: Any) -> None:
    report = check_gradients(lambda x: Rough.apply(x) * x, inputs(seed, (3,)), method=method, raise_exception=False)
    assert report.outcome == "wrong"
