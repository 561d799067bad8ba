"""Rules that are wrong where only one part of the check looks: the second backward, the second run, a small entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from tests.checking.own_functions import own, square_with

pytest.importorskip("autograd", reason="needs refgrad[autograd]")

METHODS = pytest.mark.parametrize("method", ["auto", "differences"])


@METHODS
def test_a_rule_that_is_wrong_for_negative_cotangents_of_one_number_is_caught(method: Any) -> None:
    wrong = own(lambda x: np.sum(x * x), lambda g, x: 2 * x * (g if g > 0 else 2 * g))
    assert outcome(wrong, np.array([0.5, 1.5]), method) == "wrong"


@METHODS
def test_a_rule_that_clips_what_comes_in_is_caught(method: Any) -> None:
    wrong = own(lambda x: np.sum(x * x), lambda g, x: 2 * x * np.clip(g, -0.4, 0.4))
    assert outcome(wrong, np.array([0.5, 1.5]), method) == "wrong"


@METHODS
def test_a_rule_that_is_used_up_by_its_first_backward_is_caught(method: Any) -> None:
    class Saved:
        """What a forward keeps for its backward, which writes to it."""

        factor = 1.0

    def forward(x: Any) -> Any:
        Saved.factor = 1.0
        return x * x

    def backward(g: Any, x: Any) -> Any:
        result, Saved.factor = 2 * x * g * Saved.factor, 1.5
        return result

    assert outcome(own(forward, backward), np.array([0.5, 1.5]), method) == "wrong"


@METHODS
@pytest.mark.engines
def test_a_rule_that_every_second_run_gets_wrong_is_caught(method: Any) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    runs = []

    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """A square that counts its runs."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            runs.append(x)
            ctx.save_for_backward(x)
            ctx.factor = 2 if len(runs) % 2 else 3
            return x * x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return ctx.factor * ctx.saved_tensors[0] * cotangents[0]

    assert outcome(Square.apply, torch.tensor([0.5, 1.5], dtype=torch.float64), method, "torch") == "wrong"


@METHODS
@pytest.mark.parametrize("size", [1e-4, 1e-9])
def test_an_entry_that_is_small_beside_others_is_looked_at(method: Any, size: float) -> None:
    scales = np.array([1.0, size, 1.0])
    wrong = own(lambda x: scales * x * x, lambda g, x: 2 * scales * x * g * np.array([1, 2, 1]))
    assert outcome(wrong, np.array([0.5, 0.8, 1.5]), method) == "wrong"


@METHODS
@pytest.mark.parametrize("size", [1e-4, 1e-9])
def test_an_output_that_is_small_beside_others_is_looked_at(method: Any, size: float) -> None:
    scales = np.array([1.0, size])

    def forward(x: Any) -> Any:
        return scales * np.stack([x[0] * x[0], x[0] * x[1]])

    def backward(g: Any, x: Any) -> Any:
        return np.array([2 * x[0] * g[0] + 1.5 * x[1] * size * g[1], x[0] * size * g[1]])

    assert outcome(own(forward, backward), np.array([0.5, 0.8]), method) == "wrong"


def test_a_zero_whose_truth_is_small_is_looked_at() -> None:
    wrong = own(lambda x: x * x * np.array([1.0, 1e-7]), lambda g, x: 2 * x * g * np.array([1.0, 0.0]))
    assert outcome(wrong, np.array([0.5, 0.8]), "differences") == "wrong"


@pytest.mark.parametrize("error", [1e-3, 1e-6, 1e-9])
def test_a_first_look_sees_what_the_full_one_sees(error: float) -> None:
    assert outcome(square_with(lambda g, x: 2 * x * g * (1 + error)), np.array([0.5, 0.8]), "differences") == "wrong"


@pytest.mark.parametrize("error", [0.5, 1e-2])
def test_a_staircase_does_not_pass_a_first_look(error: float) -> None:
    """Its steps are a hundredth: whole multiples of a power of two would hide them."""
    stairs = own(lambda x: np.floor(x * 128) / 128, lambda g, _: g * (1 - error))
    assert outcome(stairs, np.array([0.7, 1.3]), "differences") != "right"


def test_a_right_function_of_float64_is_called_few_times() -> None:
    calls = []

    def forward(x: Any) -> Any:
        calls.append(x)
        return np.sin(x)

    assert outcome(own(forward, lambda g, x: g * np.cos(x)), np.array([0.5, 0.8, 1.5]), "differences") == "right"
    assert len(calls) <= 10


def outcome(function: Any, x: Any, method: Any, engine: str = "autograd") -> str:
    """Return what a check says."""
    return check_gradients(function, x, engine, method=method, raise_exception=False).outcome
