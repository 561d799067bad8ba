"""An assertion holds for what is right, and fails for what the engine gave."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.facts import Entry, Subject
from refgrad.native.languages import Python


def entry(observed: float, lower: float, upper: float, budgets: float = 10.0) -> Entry:
    return Entry(
        subject=Subject("gradient", "x"), index=(), observed=repr(observed), lower=repr(lower), upper=repr(upper),
        relative_error="nan", budgets=repr(budgets), ulps="nan",
    )  # fmt: skip


def text(fact: Entry) -> str:
    return fact.condition.text(Python())


def holds(fact: Entry, got: float) -> bool:
    return bool(eval(text(fact), {"math": math}, {"got": got}))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(NUMBERS, st.one_of(st.just(math.nan), st.sampled_from([math.inf, -math.inf]), NUMBERS), st.floats(5, 1e15))
def test_a_right_number_passes_and_the_one_that_was_seen_fails(right: float, seen: float, budgets: float) -> None:
    error = abs(seen - right)
    assume(not error <= 5e-15 * abs(right))  # NaN is far away
    assume(error != 0 and (abs(right) >= sys.float_info.min or not error < 1e-300))
    fact = entry(seen, right, right, budgets)
    assert holds(fact, right)
    assert not holds(fact, seen)


@given(NUMBERS, st.floats(1e-12, 1.0), st.floats(5, 1e6))
def test_what_rounding_explains_passes(right: float, error: float, budgets: float) -> None:
    assume(1e-200 < abs(right) < 1e200 and error / budgets > 1e-16)
    fact = entry(right * (1 + error), right, right, budgets)
    assert holds(fact, right * (1 + 0.5 * error / budgets))


@pytest.mark.parametrize("right", [math.inf, -math.inf])
def test_an_infinity_is_right_exactly(right: float) -> None:
    fact = entry(math.nan, right, right)
    assert holds(fact, right)
    assert not holds(fact, math.nan)
    assert not holds(fact, -right)


def test_not_a_number_is_right_where_it_is_due() -> None:
    fact = entry(0.355, math.nan, math.nan)
    assert (text(fact), fact.condition.right) == ("math.isnan(got)", "nan")
    assert holds(fact, math.nan)
    assert not holds(fact, 0.355)


def test_any_number_of_an_interval_passes() -> None:
    fact = entry(math.nan, -2.0, 2.0)
    assert all(holds(fact, got) for got in (-2.0, 0.0, 2.0))
    assert not any(holds(fact, got) for got in (-2.5, 2.5, math.nan))
    half = entry(-1.0, 0.0, math.inf)
    assert [holds(half, got) for got in (-1.0, 0.0, math.inf)] == [False, True, True]


def test_a_subnormal_number_is_told_as_it_is() -> None:
    fact = entry(math.nan, 5e-311, 5e-311)
    assert fact.condition.right == "5e-311"
    assert holds(fact, 5e-311)
    assert not holds(fact, math.nan)
