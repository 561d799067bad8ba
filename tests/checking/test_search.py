"""Tests of the search over inputs: what is wrong in a narrow range only is found, and made small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from refgrad import GradientError, check_gradients
from refgrad.checking.explanation import EXAMPLES
from refgrad.strategies import points
from tests.checking.own_functions import own

pytestmark = pytest.mark.turns(2)

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")


def wrong_where(condition: Any) -> Any:
    """Return the square of numbers, with a rule that is wrong for some of them."""
    return own(lambda x: x * x, lambda g, x: np.where(condition(x), 3, 2) * x * g)


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: (x > 2.25) & (x < 2.75),
        lambda x: np.abs(x) > 64,
        lambda x: (np.abs(x) < 2.0**-10) & (x != 0),
        lambda x: np.full(x.shape, np.unique(x).size < x.size),
    ],
    ids=["an interval", "large", "small", "ties"],
)
def test_a_rule_that_is_wrong_for_a_few_numbers_is_found(condition: Any) -> None:
    report = check_gradients(wrong_where(condition), points([(3,)]), "autograd", budget=60, raise_exception=False)
    assert report.outcome == "wrong"
    assert report.points > 1
    assert "at inputs that a search found" in str(report)


def test_what_is_found_is_made_small() -> None:
    with pytest.raises(GradientError) as caught:
        check_gradients(wrong_where(lambda x: x > 2.2), points([(2,)]), "autograd")
    report = caught.value.report
    assert report.discrepancy is not None
    assert report.discrepancy.entry is not None
    assert report.discrepancy.observed == 9.0


def test_kinks_that_a_rule_gets_wrong_are_tried_on_purpose() -> None:
    wrong = own(lambda x: np.maximum(x, 0), lambda g, x: np.where(x == 0, 7.0, x > 0) * g)
    assert check_gradients(wrong, points([(2,)]), "autograd", raise_exception=False).outcome == "wrong"


@pytest.mark.engines
def test_a_right_function_is_right_at_all_inputs_and_the_report_says_at_how_many() -> None:
    report = check_gradients(lambda x, y: torch.relu(x) @ y, points([(2, 3), (3,)], ["float64", "float32"]), budget=2)
    assert report.outcome == "right"
    assert report.points > 5
    assert f"at {report.points} points" in str(report)


@pytest.mark.engines
def test_any_strategy_of_inputs_can_be_given() -> None:
    lengths = st.integers(1, 4).map(lambda n: torch.ones(n, dtype=torch.float64))
    assert check_gradients(lambda x: x.prod() * x.sum(), lengths)


@pytest.mark.engines
def test_a_function_that_is_nowhere_defined_is_inconclusive() -> None:
    report = check_gradients(lambda x: torch.log(-1 - x * x), points([(2,)]), raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "domain")


@pytest.mark.engines
def test_a_search_ends_when_its_time_is_up() -> None:
    report = check_gradients(torch.sin, points([(2,)]), budget=0.2, raise_exception=False)
    assert 0 < report.points < EXAMPLES
