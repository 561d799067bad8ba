"""Functions that cannot be differentiated twice are unsupported, not wrong; absent gradients count as zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.modes import same

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines


def cube(backward: Any) -> Any:
    """Return the third power with a backward of its own."""

    class Cube(torch.autograd.Function):  # type: ignore[misc]
        """The third power."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

    Cube.backward = staticmethod(backward)
    return Cube.apply


def plain(ctx: Any, cotangent: Any) -> Any:
    """The gradient of the third power."""
    (x,) = ctx.saved_tensors
    return 3 * cotangent * x**2


def refused(ctx: Any, cotangent: Any) -> Any:
    """The same, but not where its graph is recorded."""
    if torch.is_grad_enabled():
        raise ValueError("not twice")
    return plain(ctx, cotangent)


once = cube(torch.autograd.function.once_differentiable(plain))


def checked(function: Any) -> Any:
    """Return the report on the second order."""
    inputs = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return check_gradients(function, inputs, order=2, raise_exception=False)


@pytest.mark.parametrize(
    "function", [once, lambda x: once(x).exp(), lambda x: once(x) + x**2], ids=["alone", "inside", "on one of two ways"]
)
def test_a_function_that_is_differentiable_once_cannot_be_checked_twice(function: Any) -> None:
    report = checked(function)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")
    assert "a function on the way is marked with once_differentiable" in report.message


def test_a_constant_has_no_gradient_to_differentiate() -> None:
    report = checked(lambda _: torch.ones(2, dtype=torch.float64))
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")
    assert "does not require grad" in report.message


def test_another_exception_is_told_as_one() -> None:
    report = checked(cube(refused))
    assert (report.outcome, report.cause) == ("inconclusive", "raises")
    assert isinstance(report.raised, ValueError)


def test_a_rule_that_can_be_differentiated_twice_is_right() -> None:
    assert checked(cube(plain)).outcome == "right"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, None, True),
        (None, np.zeros(2), True),
        (np.zeros(2), None, True),
        (None, np.array([0.0, 1.0]), False),
        (np.array([0.0, 1.0]), None, False),
        (np.zeros(2), np.zeros(2), True),
    ],
)
def test_no_gradient_is_as_good_as_zeros(one: Any, other: Any, *, expected: bool) -> None:
    assert same(one, other, 1e-8) is expected
