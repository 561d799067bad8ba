"""Tests of the judge by finite differences: where it looks, what it lets pass, and what it does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking import explanation
from refgrad.checking.certified import UserFunction, _most_precise
from refgrad.checking.subject import CheckedFunction
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.oracles.slopes.claim import DifferencesJudge
from refgrad.oracles.slopes.slopes import SCALES
from tests.checking.own_functions import Array, own

pytestmark = pytest.mark.engines


def outcome(function: Any, *arrays: Array) -> str:
    return str(check_gradients(function, arrays, "autograd", method="differences", raise_exception=False).outcome)


def test_no_point_is_asked_for_that_is_farther_away_than_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function may not be defined there; 2 is the power of two above 1. The explanation looks farther."""
    monkeypatch.setattr(explanation, "explanation", lambda _check, _found: ("wrong", None))
    asked: list[float] = []

    def forward(x: Array) -> Array:
        asked.append(float(x.flat[0]))
        return np.sin(x)

    point = np.array([1.0])
    assert outcome(own(forward, lambda g, x: g * np.cos(x) * 1.5), point) == "wrong"
    farthest = max(abs(x - 1) for x in asked)
    assert farthest <= 2 * SCALES["float64"].steps[0]


@pytest.mark.parametrize(("error", "expected"), [(2e-11, "wrong"), (0.0, "right")])
def test_an_error_of_ten_digits_in_a_smooth_gradient_is_wrong(error: float, expected: str) -> None:
    """The slopes of a sine are known to 2e-12."""
    function = own(np.sin, lambda g, x: g * np.cos(x) * (1 + error))
    assert outcome(function, np.array([0.3, 0.4])) == expected


@pytest.mark.parametrize(("error", "dtype"), [(5e-3, "float64"), (2e-2, "float32")])
def test_a_function_of_float32_is_looked_at_in_float64_where_that_agrees_to_a_hundredth(
    error: float, dtype: str
) -> None:
    def function(x: Array) -> Array:
        return np.asarray(x * x * x.dtype.type(1 + error if x.dtype == np.float64 else 1.0))

    subject = CheckedFunction(start(find_adapter("autograd")), function, [np.array([1.5], dtype=np.float32)])
    function_at_point = UserFunction(subject, subject.values(subject.point))
    assert [array.dtype.name for array in function_at_point.arrays] == [dtype]


@pytest.mark.parametrize(("entries", "seeds"), [(1, 1), (2, 2), (100, 2)])
def test_two_seeds_weigh_all_outputs(entries: int, seeds: int) -> None:
    report = check_gradients(own(np.sin, lambda g, x: g * np.cos(x)), (np.linspace(0.1, 1, entries),), "autograd")
    assert report.seeds == seeds


def test_several_outputs_are_each_run_backward_by_themselves_too() -> None:
    assert check_gradients(lambda x: (2 * x, x * x), (np.linspace(0.1, 1, 3),), "autograd").seeds == 4


@pytest.mark.parametrize(("difference", "expected"), [(2e-13, "right"), (2e-12, "inconclusive")])
def test_a_function_is_repeatable_up_to_the_order_of_its_sums(difference: float, expected: str) -> None:
    calls: list[Array] = []

    def forward(x: Array) -> Array:
        calls.append(x)
        return np.sin(x) * (1 + difference * (len(calls) == 1))

    function = own(forward, lambda g, x: g * np.cos(x))
    report = check_gradients(function, (np.array([0.3]),), "autograd", raise_exception=False)
    assert report.outcome == expected


@pytest.mark.parametrize(("difference", "expected"), [(2e-13, "right"), (2e-12, "wrong")])
def test_a_backward_is_repeatable_up_to_the_order_of_its_sums(difference: float, expected: str) -> None:
    calls: list[Array] = []

    def backward(cotangent: Array, x: Array) -> Array:
        calls.append(x)
        return cotangent * np.cos(x) * (1 + difference * (len(calls) == 1))

    report = check_gradients(
        own(np.sin, backward), (np.array([0.3]),), "autograd", method="differences", raise_exception=False
    )
    assert report.outcome == expected


@pytest.mark.parametrize(("error", "expected"), [(2e-7, "right"), (2e-6, "wrong")])
def test_a_gradient_of_float32_may_be_off_by_a_few_roundings(error: float, expected: str) -> None:
    """The function is looked at in float64, so that its slope is known to twelve digits; a rounding is 6e-8."""
    function = own(np.sin, lambda g, x: (g * np.cos(x) * (1 + error)).astype(x.dtype))
    assert outcome(function, np.array([0.3], dtype=np.float32)) == expected


@pytest.mark.parametrize(("error", "expected"), [(0.0, "right"), (1e-4, "wrong")])
def test_a_gradient_may_be_off_by_its_own_noise_and_by_no_more(error: float, expected: str) -> None:
    def noisy(cotangent: Array, x: Array) -> Array:
        noise = np.array([np.random.default_rng(abs(hash(float(number)))).normal() for number in x.ravel()])
        return cotangent * np.cos(x) * (1 + error + 1e-7 * noise.reshape(x.shape))

    assert outcome(own(np.sin, noisy), np.array([0.3])) == expected


def judge_of(forward: Any, *numbers: float) -> DifferencesJudge:
    subject = CheckedFunction(start(find_adapter("autograd")), forward, [np.array(numbers)])
    return DifferencesJudge(UserFunction(subject, subject.values(subject.point)), np.random.default_rng(0))


@pytest.mark.parametrize(("digits", "known"), [(16, True), (9, False)])
def test_slopes_that_are_not_known_to_seven_digits_are_no_truths(digits: int, *, known: bool) -> None:
    judge = judge_of(own(lambda x: np.round(np.sin(x), digits), lambda g, x: g * np.cos(x)), 0.3)
    (truth,) = judge.truths([np.ones(1)])
    assert np.isfinite(truth).all() == known


def test_the_noise_is_seen_from_near_where_the_function_is_no_staircase() -> None:
    """Many waves within large steps look like noise."""
    judge = judge_of(own(lambda x: np.sin(1e5 * x), lambda g, x: 1e5 * g * np.cos(1e5 * x)), 1.0)
    judge.measure()
    before = judge.deviation.copy()
    judge.refine()
    assert (judge.deviation < before / 100).all()


@pytest.mark.parametrize(("width", "expected"), [(0.1, "inconclusive"), (0.0, "right")])
def test_a_choice_at_a_kink_is_legal_if_the_gradient_is_right_right_beside_it(width: float, expected: str) -> None:
    def backward(cotangent: Array, x: Array) -> Array:
        slope = np.where(x == 0, 0.3, np.sign(x))
        return cotangent * np.where((x != 0) & (abs(x) < width), 0.5, slope)

    assert outcome(own(np.abs, backward), np.array([0.0])) == expected


@pytest.mark.parametrize("height", [1e-6, 1e-9, 1e-10])
def test_nothing_is_said_of_waves_that_no_step_resolves(height: float) -> None:
    function = own(lambda x: 1.0 + height * np.sin(1e9 * x), lambda g, _: 0 * g)
    assert outcome(function, np.array([0.3])) == "inconclusive"


@pytest.mark.parametrize(
    ("finer", "own", "in_float64"),
    [
        ("float64", "float32", True),
        ("float32", "float32", False),
        ("int64", "int64", True),
        ("float64", "float64", True),
    ],
)
def test_a_function_that_rounds_inside_keeps_its_own_steps(finer: str, own: str, *, in_float64: bool) -> None:
    raised: Any = SimpleNamespace(values=lambda point: (point[0].astype(finer),))
    subject: Any = SimpleNamespace(point=(np.array([1.0, 2.0], np.float32),), kinds=(), raised=lambda: raised)
    function, _, _, scale = _most_precise(subject, (np.array([1.0, 2.0], own),), "float32")
    assert (function is raised) is in_float64
    assert scale == SCALES["float64" if in_float64 else "float32"]
