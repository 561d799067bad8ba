"""What depends on a number, where it leads, and which limits are certain."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pytest

from refgrad.generation import Position
from refgrad.grading.judging.exceptional import Dependence
from refgrad.lifecycle import ExpectedValue, Gradient, predict
from refgrad.scenario import parse
from tests.native.reference import ADAPTER

LARGEST: Final = float(np.finfo(np.float64).max)

HEADS: Final = {
    "one": "x = leaf float64[3] {0x1.8p+0 -0x1p-1 0x1.4p+1} requires_grad\n",
    "two": (
        "x = leaf float64[3] {0x1.8p+0 -0x1p-1 0x1.4p+1} requires_grad\n"
        "y = leaf float64[3] {0x1.2p+0 0x1.cp+0 -0x1.9p+0} requires_grad\n"
    ),
}


def dependence(head: str, application: str, shape: str = "3", entry: int = 1) -> Dependence:
    seed = {"3": "seed float64[3] {0x1p+0 0x1p+1 -0x1p+0}", "": "seed float64[] {0x1p+0}"}[shape]
    reads = "read grad x\nread value z" + ("\nread grad y" if head == "two" else "")
    text = f"{HEADS[head]}z = {application}\nbackward z {seed}\n{reads}\n"
    return Dependence(Position(parse(text), "x", entry), ADAPTER)


def expectation(dependence: Dependence, kind: type[ExpectedValue | Gradient], name: str) -> ExpectedValue | Gradient:
    for each in predict(dependence.position.base):
        if isinstance(each, kind) and name == (each.name if isinstance(each, ExpectedValue) else each.leaf):
            return each
    raise LookupError(name)


def value(of: Dependence) -> ExpectedValue:
    found = expectation(of, ExpectedValue, "z")
    assert isinstance(found, ExpectedValue)
    return found


def test_entries_of_a_formula_are_free_but_for_one() -> None:
    found = dependence("two", "multiply x y")
    assert found.is_free(value(found)).tolist() == [True, False, True]
    assert found.is_free(expectation(found, Gradient, "y")).tolist() == [True, False, True]


def test_the_slope_by_the_place_itself_is_not_free() -> None:
    found = dependence("two", "multiply x y")
    assert found.is_free(expectation(found, Gradient, "x")).tolist() == [True, False, True]


def test_slopes_by_the_other_factors_of_a_product_always_move() -> None:
    found = dependence("one", "prod x", "")
    assert found.is_free(expectation(found, Gradient, "x")).tolist() == [False, False, False]
    assert found.always_moves(expectation(found, Gradient, "x")).tolist() == [True, False, True]


def test_sums_up_to_the_place_are_free() -> None:
    found = dependence("one", "cumsum x axis=0")
    assert found.is_free(value(found)).tolist() == [True, False, False]


def test_a_maximum_moves_with_some_numbers_only() -> None:
    found = dependence("one", "max x", "")
    assert found.moves(value(found)).tolist() is True
    assert found.always_moves(value(found)).tolist() is False


def test_what_is_the_number_whichever_it_is_is_handed_on() -> None:
    moved = dependence("one", "flip x axis=(0,)")
    assert moved.passed_on(value(moved), LARGEST).tolist()[1] == LARGEST
    summed = dependence("one", "sum x", "")
    assert math.isnan(float(summed.passed_on(value(summed), LARGEST)))


@pytest.mark.parametrize(
    ("application", "number", "limit"),
    [
        ("tanh x", math.inf, 1.0),
        ("tanh x", -math.inf, -1.0),
        ("exp x", math.inf, math.inf),
        ("exp x", -math.inf, 0.0),
        ("reciprocal x", -math.inf, 0.0),
        ("log x", math.inf, math.inf),
        ("arctan x", math.inf, math.pi / 2),
        ("sin x", math.inf, math.nan),
        ("softsign x", math.inf, math.nan),
        ("log x", -math.inf, math.nan),
        ("rsqrt x", math.inf, 0.0),
        ("reciprocal x", math.inf, 0.0),
    ],
)
def test_a_limit_is_certain_where_the_formula_and_large_numbers_agree(
    application: str, number: float, limit: float
) -> None:
    found = dependence("one", application)
    assert float(found.limits(value(found), number)[1]) == pytest.approx(limit, nan_ok=True)
    assert np.isnan(found.limits(value(found), number)[[0, 2]]).all()


@pytest.mark.parametrize(
    ("application", "number", "slope"),
    [
        ("tanh x", math.inf, 0.0),
        ("relu x", math.inf, 2.0),
        ("abs x", -math.inf, -2.0),
        ("exp x", math.inf, math.nan),
        ("softsign x", math.inf, math.nan),
        ("silu x", -math.inf, math.nan),
        ("sin x", math.inf, math.nan),
    ],
)
def test_the_limit_of_a_slope_is_due_where_it_is_finite_and_its_formula_gives_it(
    application: str, number: float, slope: float
) -> None:
    found = dependence("one", application)
    assert float(found.limits(expectation(found, Gradient, "x"), number)[1]) == pytest.approx(slope, nan_ok=True)


def test_a_limit_that_is_neared_too_slowly_is_not_certain() -> None:
    """Of 1 / x ** (1 / 3) a millionth is left at the second of the numbers that stand for infinity, of 1 / x none."""
    for exponent, due in (("-0x1.5555555555555p-2", False), ("-0x1p+0", True)):
        constant = f"y = leaf float64[3] {{{' '.join([exponent] * 3)}}}\n"
        seed, read = "seed float64[3] {0x1p+0 0x1p+1 -0x1p+0}", "read value z"
        text = f"{HEADS['one']}{constant}z = power x y\nbackward z {seed}\n{read}\n"
        found = Dependence(Position(parse(text), "x", 0), ADAPTER)
        assert np.isnan(found.limits(value(found), math.inf)[0]) != due


def test_how_near_a_limit_is_neared_is_relative_to_a_large_one() -> None:
    """A millionth is left at the second of the numbers that stand for infinity, beside a thousand."""
    ordinary = "z = leaf float64[3] {0x1.8p+0 -0x1p-1 0x1.4p+1} requires_grad\n"
    others = f"x = leaf float64[3] {{{' '.join(['1000'] * 3)}}}\ny = leaf float64[3] {{{' '.join(['1.15e12'] * 3)}}}\n"
    steps = "w = addcdiv x y z\nbackward w seed float64[3] {1 2 3}\nread value w\n"
    found = Dependence(Position(parse(ordinary + others + steps), "z", 0), ADAPTER)
    assert found.limits(expectation(found, ExpectedValue, "w"), math.inf)[0] == 1000.0


def test_composites_have_no_limits_that_are_due() -> None:
    found = dependence("one", "softmax x axis=0")
    assert np.isnan(found.limits(value(found), -math.inf)).all()
