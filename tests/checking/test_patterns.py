"""Tests of patterns of wrong gradients: each is told where it is, and nothing is where there is any doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.checking.patterns import Whole, pattern
from refgrad.scenario.formats import FORMATS
from tests.effort import each

CHOICES = np.random.default_rng(2)
X, Y = CHOICES.normal(size=(4, 4)), CHOICES.normal(size=(4, 4))
ROWS, AT = np.array([[0.7], [1.3], [2.1], [0.4]]), np.arange(4)[:, None]
POINT = np.linspace(-1.5, 2, 16).reshape(4, 4)


def one(claimed: Any, truth: Any = X, *, outputs: tuple[tuple[int, ...], ...] = ((),)) -> str:
    return pattern([[Whole("0", np.asarray(claimed), np.asarray(truth), POINT)]], outputs)


def two(first: Any, second: Any) -> str:
    return pattern([[Whole("0", first, X, POINT), Whole("1", second, Y, POINT)]], ((5,),))


@each(
    ("claimed", "told"),
    [
        (X.T, "the gradient is transposed"),
        (-X, "the sign of every entry is flipped"),
        (2 * X, "every entry is 2 times what it should be: look for a term that is added twice"),
        (X / 2, "every entry lacks a factor of 2: look for a use of the value"),
        (-3 * X, "every entry is -3 times what it should be"),
        (0.7 * X, "every entry is 0.7 times what it should be"),
        (X[::-1], "the gradient is reversed along axis 0"),
        (np.roll(X, 1, 1), "the gradient is moved by 1 along axis 1"),
        (X * ROWS, "indices of axis 0 have factors of their own: look for a missing scale along axis 0"),
        (X * ROWS.T, "indices of axis 1 have factors of their own: look for a missing scale along axis 1"),
        (np.where(AT == 2, -X, X), "wrong only at index 2 of axis 0, where the sign of each entry is flipped"),
        (np.where(AT == 2, 0, X), "wrong only at index 2 of axis 0, where nothing arrives"),
        (np.where(AT.T >= 2, 1.5 * X, X), "wrong only from index 2 on along axis 1, where each entry is 1.5 times"),
        (np.where(AT.T >= 2, Y, X), "wrong only from index 2 on along axis 1"),
        (X + 0.3, "the error of each entry is the same number: look for a wrong or missing sum or mean"),
        (X + ROWS, "the error of each entry is the same number along axis 1: look for a wrong or missing sum or mean"),
        (0 * X, "nothing arrives: look for a value that leaves the graph (item, numpy, detach, a copy)"),
        (7 * X, "every entry is 7 times what it should be"),
        (X / 7, "every entry lacks a factor of 7"),
        (
            X / 5,
            "every entry is 5 times too small, the length of axis 0 of output 0, as by a mean in place of a sum",
        ),
        (
            5 * X,
            "every entry is 5 times too large, the length of axis 0 of output 0, as by a sum in place of a mean",
        ),
        (np.where(POINT > 1, 2 * X, X), "wrong only where the input is > 1"),
        (np.where(POINT < 0, 0, X), "wrong only where the input is < 0"),
        (np.where(POINT < -1.1, 0, X), "wrong only where the input is < -1.1"),
        (np.where(POINT > 1.6, 0, X), "wrong only where the input is > 1.6"),
        (X.astype(np.float32).astype(float), "right in its leading digits only"),
        (1.001 * X, "every entry is 1.001 times what it should be"),
        (X, ""),
        (np.where(np.arange(16).reshape(4, 4) == 5, 0, X), "nothing arrives where it is wrong"),
        (np.where(np.arange(16).reshape(4, 4) % 3 == 0, 0, X), "nothing arrives where it is wrong"),
        (np.where(np.arange(16).reshape(4, 4) % 3 == 0, Y, X), ""),
        (np.full((4, 4), np.nan), ""),
        (Y, ""),
    ],
)
def test_what_all_entries_say(claimed: Any, told: str) -> None:
    found = one(claimed, outputs=((5,),))
    assert found.startswith(told)
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("outputs", "named"),
    [
        (((),), "4 times too large, the length of axis 0 of input 0, as by a sum in place of a mean"),
        (((4,),), "4 times too large, the length of axis 0 of input 0, as by a sum in place of a mean"),
        (((4, 4),), "4 times what it should be"),
        (((4, 4, 4),), "4 times too large, the length of axis 0 of output 0, as by a sum in place of a mean"),
    ],
)
def test_a_factor_is_the_length_of_an_axis_only_if_that_is_reduced(outputs: Any, named: str) -> None:
    assert one(4 * X, outputs=outputs) == f"every entry is {named}"


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (X, -Y, "the gradient of input 1 alone is wrong: the sign of every entry is flipped"),
        (Y, X, "the gradients of inputs 0 and 1 are swapped"),
        (X, X, "input 1 gets the gradient of input 0"),
        (X.T, Y.T, "the gradient is transposed"),
        (X.T, -Y, "in input 0, the gradient is transposed; in input 1, the sign of every entry is flipped"),
        (X.T, X * Y, "in input 0, the gradient is transposed"),
    ],
)
def test_what_several_inputs_say(first: Any, second: Any, told: str) -> None:
    assert two(first, second) == told


@pytest.mark.parametrize("factor", [-1.0, 5.0, 16.0, 0.2])
def test_entries_that_are_off_by_a_hundred_thousandth_are_not_the_same(factor: float) -> None:
    named = one(factor * X, outputs=((5,),))
    other = one(factor * X * (1 + 5e-5), outputs=((5,),))
    assert named != other == f"every entry is {float(f'{factor * (1 + 5e-5):.7g}')} times what it should be"
    assert one(np.where(POINT > 1, 2 * X, X))
    assert not one(np.where(POINT > 1, 2 * X, X * (1 + 5e-5 * Y)))


def test_a_pattern_of_one_point_is_a_coincidence() -> None:
    def at(claimed: float, truth: float) -> list[Whole]:
        return [Whole("0", np.array([claimed]), np.array([truth]), np.array([1.0]))]

    assert pattern([at(6.0, 2.0), at(1.5, 0.5)], ((),)) == "every entry is 3 times what it should be"
    assert not pattern([at(6.0, 2.0), at(1.6, 0.5)], ((),))


def test_a_gradient_that_is_right_at_another_point_has_no_pattern() -> None:
    assert not pattern([[Whole("0", 1.05 * X, X, POINT)], [Whole("0", X, X, POINT)]], ((),))
    assert not pattern([[Whole("0", np.where(AT == 2, 0, X), X, POINT)], [Whole("0", X, X, POINT)]], ((),))


def test_decimal_fractions_may_differ_between_points() -> None:
    def at(factor: float, points: Any) -> list[Whole]:
        return [Whole("0", np.where(points > 1, factor * X, X), X, points)]

    text = pattern([at(1.3, POINT), at(1.2, POINT.T)], ((),))
    assert text == "wrong only where the input is > 1, where each entry is 1.3 times what it should be"


@pytest.mark.parametrize(
    ("others", "reported"),
    [
        ({"output 0": Y}, "the error of each entry is a multiple of output 0 along axis 1"),
        ({"the cotangent of output 0": X + ROWS * Y}, "the incoming gradient is passed on unchanged"),
        ({}, ""),
    ],
)
def test_a_missing_term_is_a_multiple_of_an_array(others: dict[str, Any], reported: str) -> None:
    found = pattern([[Whole("0", X + ROWS * Y, X, POINT, others=others)]], ((5,),))
    assert found.startswith(reported)
    assert bool(found) == bool(reported)


@pytest.mark.parametrize("claimed", [ROWS * X[:1] + 0 * X, 0 * X + Y[:1]], ids=["factors", "numbers"])
def test_what_any_gradient_of_this_form_has_is_no_pattern(claimed: Any) -> None:
    """All products of a row and a column have factors along both, and constant gradients have constant errors."""
    assert one(claimed, 0 * X + X[:1]) == ""


def test_a_factor_is_not_called_the_gradient_of_another_input() -> None:
    points = [[Whole("0", X, X, POINT), Whole("1", X, 2 * X, POINT)]]
    half = "every entry lacks a factor of 2: look for a use of the value whose gradient is overwritten or detached"
    assert pattern(points, ((),)) == f"the gradient of input 1 alone is wrong: {half}"


def test_a_gradient_that_should_be_zero_is_passed_on() -> None:
    whole = Whole("0", Y, 0 * X, POINT, others={"the cotangent of output 0": Y})
    straight = "as by a straight-through estimator, but the derivative is 0"
    assert pattern([[whole]], ((5,),)) == f"the incoming gradient is passed on unchanged, {straight}"


def test_indices_that_occur_several_times() -> None:
    claimed = np.where((AT == 1) | (AT == 3), X / 3, X)
    whole = Whole("0", claimed, X, POINT, indices={"1": np.array([1, 3, 0, 3, 1])})
    assert (
        pattern([[whole]], ((5,),))
        == "wrong only at indices that occur several times in input 1: add up their gradients"
    )


@pytest.mark.parametrize(("entries", "named"), [(2, False), (16, True)])
def test_few_entries_of_low_precision_are_no_evidence(entries: int, named: bool) -> None:  # noqa: FBT001 (a parameter)
    truth = X.ravel()[:entries]
    whole = Whole("0", -truth * 1.004, truth, truth, FORMATS["bfloat16"])
    assert (pattern([[whole]], ((),)) == "the sign of every entry is flipped") is named


def test_a_symmetric_gradient_is_not_called_transposed() -> None:
    assert "transposed" not in one(1.0001 * (X + X.T), X + X.T)


@given(
    st.floats(0.1, 10).filter(
        lambda factor: abs(factor - round(factor)) > 1e-3 and abs(1 / factor - round(1 / factor)) > 1e-3
    )
)
def test_a_factor_that_is_no_round_number_has_no_name(factor: float) -> None:
    assert one(factor * X) == f"every entry is {float(f'{factor:.7g}')} times what it should be"
