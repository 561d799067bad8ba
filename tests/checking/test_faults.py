"""Is every kind of wrong backward caught, whichever way the truth is found?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Literal

import numpy as np
import pytest

from refgrad import GradientError, check_gradients
from tests.checking.own_functions import FAULTS, inputs, own, square_with

pytestmark = pytest.mark.engines

Method = Literal["auto", "differences"]
both_ways = pytest.mark.parametrize("method", ["auto", "differences"])


def check(function: Callable[..., Any], *arrays: Any, method: Method = "auto") -> Any:
    return check_gradients(function, arrays, "autograd", method=method, raise_exception=False)


@both_ways
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_backward_is_caught(fault: str, method: Method) -> None:
    assert not check(square_with(FAULTS[fault]), inputs(2, 3), method=method)


@both_ways
def test_a_right_backward_passes(method: Method) -> None:
    report = check(square_with(lambda g, x: 2 * x * g), inputs(2, 3), method=method)
    assert report.outcome == "right"
    assert report.method == ("certified" if method == "auto" else "differences")


@both_ways
def test_a_sign_flipped_among_a_thousand_is_caught_and_found(method: Method) -> None:
    report = check(square_with(FAULTS["sign flipped"]), inputs(1000), method=method)
    assert report.discrepancy.entry == (700,)
    assert report.method == ("certified" if method == "auto" else "directions")


@both_ways
def test_a_small_gradient_that_is_wrong_by_half_is_caught(method: Method) -> None:
    assert not check(own(lambda x: 1e-7 * x * x, lambda g, x: 1e-7 * x * g), inputs(4), method=method)


@both_ways
def test_one_wrong_entry_of_a_jacobian_of_a_thousand_is_caught(method: Method) -> None:
    matrix = np.random.default_rng(1).normal(size=(40, 25))
    wrong = matrix.copy()
    wrong[31, 4] *= 1.001
    report = check(own(lambda x: matrix @ x, lambda g, _: wrong.T @ g), inputs(25), method=method)
    assert (report.discrepancy.input, report.discrepancy.entry) == (0, (4,))
    assert "output:          0, entry (31,)" in report.message


@both_ways
def test_a_function_that_cannot_be_differentiated_says_at_what_it_failed(method: Method) -> None:
    def refuses(_cotangent: Any, _x: Any) -> Any:
        raise ValueError("no rule")

    report = check(square_with(refuses), inputs(2), method=method)
    assert report.message == "the backward from output 0 raised ValueError: no rule"


def test_a_function_that_raises_is_not_blamed_on_its_backward() -> None:
    report = check(lambda x: x @ x, inputs(2, 3))
    assert report.message.startswith("the function raised ValueError: ")


def test_a_function_that_gives_something_else_each_time_is_refused() -> None:
    calls = count(1)
    report = check(lambda x: x * next(calls), inputs(2))
    assert report.message == "output 0 differs between two calls with the same inputs: make it repeatable first"
    assert (report.outcome, report.cause) == ("inconclusive", "changes")


def test_a_backward_that_gives_something_else_each_time_is_caught() -> None:
    calls = []

    def forgetful(cotangent: Any, x: Any) -> Any:
        calls.append(x)
        return 2 * x * cotangent * (1 if len(calls) < 3 else 3)  # two seeds

    report = check(square_with(forgetful), inputs(2))
    assert report.message == "the gradient of input 0 differs between two backward calls with the same seed"


@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        ("WRONG_SHAPE", "the gradient of input 0 has the shape (2,), but the input has (1, 2)"),
        ("WRONG_DTYPE", "the gradient of input 0 has the dtype float32, but the input has float64"),
    ],
)
def test_a_gradient_unlike_its_input_is_caught(adapter: str, told: str) -> None:
    engine = f"tests.checking.odd_engine:{adapter}"
    report = check_gradients(lambda x: x.squared(), inputs(1, 2), engine, raise_exception=False)
    assert report.message == told


def test_a_point_outside_of_the_domain_is_no_fault() -> None:
    report = check(lambda x: x**0.5, np.array([1.0, -1.0]))
    assert report.outcome == "inconclusive"
    assert str(report) == "output 0 is not finite at this point: choose one inside of the function's domain"


def test_inputs_without_floating_point_are_refused() -> None:
    assert check(lambda x: x, np.arange(3)).message == "none of the inputs is an array of floating-point numbers"


def test_the_error_carries_the_report() -> None:
    with pytest.raises(GradientError) as caught:
        check_gradients(square_with(FAULTS["half"]), inputs(2), "autograd")
    assert caught.value.report.outcome == "wrong"
    assert str(caught.value) == caught.value.report.message


def test_a_tolerance_lets_small_errors_pass() -> None:
    function = square_with(FAULTS["1e-9 too large"])
    assert check_gradients(function, inputs(2), "autograd", tolerance=1e-8)
    assert not check_gradients(function, inputs(2), "autograd", tolerance=1e-10, raise_exception=False)


def test_an_interval_of_a_hundredth_says_nothing() -> None:
    """The noise of what is added to 1e10 leaves two digits of the slope."""
    assert check(lambda x: (x + 1e10) - 1e10, np.array([0.7]), method="differences").outcome == "inconclusive"


def test_a_function_that_is_another_one_in_float64_is_judged_in_float32() -> None:
    x = np.array([0.7, 1.3], dtype=np.float32)
    report = check(lambda x: x * x * np.float32(1.1 if x.dtype == np.float64 else 1.0), x, method="differences")
    assert report.outcome != "wrong"
