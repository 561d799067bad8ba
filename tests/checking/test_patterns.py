"""Tests of patterns of wrong gradients: each is told where it is, and nothing is where there is any doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.checking.patterns import Whole, pattern

CHOICES = np.random.default_rng(2)
X, Y = CHOICES.normal(size=(4, 4)), CHOICES.normal(size=(4, 4))
POINT = np.linspace(-1.5, 2, 16).reshape(4, 4)


def one(claimed: Any, truth: Any = X, *, outputs: tuple[tuple[int, ...], ...] = ((),)) -> str:
    return pattern([Whole("0", np.asarray(claimed), np.asarray(truth), POINT)], outputs)


def two(first: Any, second: Any) -> str:
    return pattern([Whole("0", first, X, POINT), Whole("1", second, Y, POINT)], ((5,),))


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        (X.T, "the gradient is transposed"),
        (-X, "the sign is flipped"),
        (0 * X, "nothing arrives: look for a value that leaves the graph (item, numpy, detach, a copy)"),
        (7 * X, "every entry is 7 times what it should be"),
        (X / 7, "every entry lacks a factor of 7"),
        (
            X / 5,
            "every entry is 5 times too small, the length of axis 0 of output 0: a mean where there should be a sum",
        ),
        (
            16 * X,
            "every entry is 16 times too large, the number of entries of input 0: a sum where there should be a mean",
        ),
        (np.where(POINT > 1, 2 * X, X), "wrong only where the input is > 1"),
        (np.where(POINT < 0, 0, X), "wrong only where the input is < 0"),
        (X.astype(np.float32).astype(float), "right in its leading digits only"),
        (1.001 * X, ""),
        (X, ""),
        (np.where(np.arange(16).reshape(4, 4) == 5, 0, X), ""),
        (np.where(np.arange(16).reshape(4, 4) % 3 == 0, 0, X), ""),
        (np.full((4, 4), np.nan), ""),
        (Y, ""),
    ],
)
def test_what_all_entries_say(claimed: Any, told: str) -> None:
    found = one(claimed, outputs=((5,),))
    assert found.startswith(told)
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (X, -Y, "the gradient of input 1 alone is wrong: the sign is flipped"),
        (Y, X, "the gradients of inputs 0 and 1 are swapped"),
        (X, X, "input 1 gets the gradient of input 0"),
        (X.T, Y.T, "the gradient is transposed"),
        (X.T, -Y, ""),
    ],
)
def test_what_several_inputs_say(first: Any, second: Any, told: str) -> None:
    assert two(first, second) == told


@pytest.mark.parametrize("factor", [-1.0, 5.0, 16.0, 0.2])
def test_entries_that_are_off_by_a_hundred_thousandth_are_not_the_same(factor: float) -> None:
    assert one(factor * X, outputs=((5,),))
    assert not one(factor * X * (1 + 5e-5), outputs=((5,),))
    assert one(np.where(POINT > 1, 2 * X, X))
    assert not one(np.where(POINT > 1, 2 * X, X * (1 + 5e-5)))


def test_a_single_entry_says_nothing() -> None:
    assert not pattern([Whole("0", np.array([6.0]), np.array([2.0]), np.array([1.0]))], ((),))


def test_a_symmetric_gradient_is_not_called_transposed() -> None:
    assert one(1.0001 * (X + X.T), X + X.T) == ""


@given(
    st.floats(0.1, 10).filter(
        lambda factor: abs(factor - round(factor)) > 1e-3 and abs(1 / factor - round(1 / factor)) > 1e-3
    )
)
def test_a_factor_that_is_no_round_number_has_no_name(factor: float) -> None:
    assert one(factor * X) == ""
