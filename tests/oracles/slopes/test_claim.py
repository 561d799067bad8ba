"""Tests of the width of intervals, and of halving a sequence until the part that fails is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.slopes.claim import KNOWN, LEAST_SLOPE, ClaimedGradient, DifferencesJudge
from refgrad.oracles.slopes.curves import BoundedSlopes
from refgrad.oracles.slopes.directions import Direction, OutOfTime, halved
from refgrad.scenario.formats import FLOAT64
from tests.oracles.slopes.test_judgements import Differentiated


def slopes(value: list[float], error: float = 0.0) -> BoundedSlopes:
    """Return slopes of as many outputs with an error bound, at no kink."""
    array = np.array(value)
    return BoundedSlopes(array, np.full(array.size, error), np.zeros(array.size), np.zeros(array.size, dtype=bool))


@pytest.mark.parametrize(
    ("slope", "claimed", "roundings"),
    [(3.0, 0.5, 18.5), (np.inf, 0.5, 2.5), (3.0, np.inf, 16.0), (np.inf, np.nan, 0.0)],
)
def test_rounding_is_allowed_for_what_is_finite(slope: float, claimed: float, roundings: float) -> None:
    judge = DifferencesJudge(Differentiated(np.sin, np.cos, np.ones(3)), np.random.default_rng(0))
    claim = ClaimedGradient(judge, (np.array([1.0, 2.0, -1.0]),), [np.array([claimed, 7.0, 1.0])])
    interval = claim.interval(Direction(np.array([1.0, 0.0, -2.0]), slopes([slope, 4.0, -5.0])), jitter=0.25)
    assert interval.allowed - 0.25 == pytest.approx(ALLOWANCE * FLOAT64.unit * roundings, abs=2.0**-54)


@pytest.mark.parametrize(
    ("slope", "width", "known"),
    [
        (0.0, KNOWN * LEAST_SLOPE, True),
        (0.0, 1.01 * KNOWN * LEAST_SLOPE, False),
        (2.0, 3.99 * KNOWN, True),
        (2.0, 4.01 * KNOWN, False),
    ],
)
def test_a_slope_is_the_truth_up_to_a_width_of_its_interval(
    slope: float, width: float, *, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = DifferencesJudge(Differentiated(np.sin, np.cos, np.full(1, 0.75)), np.random.default_rng(0))
    direction = Direction(np.ones(1), slopes([slope], width / 2))
    monkeypatch.setattr(judge, "axis_direction", lambda _: direction)
    (truth,) = judge.truths((np.ones(1),))
    assert truth.tolist() == pytest.approx([slope if known else np.nan], nan_ok=True)


@pytest.mark.parametrize("refined", [False, True])
def test_what_is_inconclusive_is_compared_again_with_refined_noise(
    *, refined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = DifferencesJudge(Differentiated(np.sin, np.cos, np.ones(1)), np.random.default_rng(0))
    claim, calls = ClaimedGradient(judge, (np.ones(1),), [np.ones(1)]), list[str]()
    doubtful = judge.discrepancy(np.ones(1), 1.0, (0.0, 2.0), 0)
    answers = iter([replace(doubtful, severity="inconclusive", cause="noise"), None])
    monkeypatch.setattr(claim, "compared", lambda _: next(answers))
    monkeypatch.setattr(judge, "refine", lambda: calls.append("refine"))
    judge.refined = refined
    assert claim.of(Direction(np.ones(1), slopes([1.0]))) is None
    assert calls == ([] if refined else ["refine"])


@given(length=st.integers(1, 200), data=st.data())
def test_one_faulty_member_is_found(length: int, data: st.DataObject) -> None:
    faulty = data.draw(st.integers(0, length - 1))
    members, last = halved(range(length), lambda half: faulty if faulty in half else None)
    assert list(members) == [faulty]
    assert last == (faulty if length > 1 else None)


@given(length=st.integers(2, 200), data=st.data())
def test_members_that_fail_only_together_are_kept_together(length: int, data: st.DataObject) -> None:
    pair = data.draw(st.sets(st.integers(0, length - 1), min_size=2, max_size=2))
    members, _ = halved(range(length), lambda half: True if pair <= set(half) else None)
    assert pair <= set(members)


def test_what_was_halved_is_kept_when_time_is_over() -> None:
    tried: list[Sequence[int]] = []

    def failing(half: Sequence[int]) -> bool:
        tried.append(half)
        if len(tried) > 1:
            raise OutOfTime
        return True

    members, last = halved(range(8), failing)
    assert (list(members), last) == ([*tried[0]], True)
    assert len(tried[0]) == 4


def test_an_entry_with_a_right_slope_of_zero_is_seen_along_few_directions() -> None:
    at = np.array([0.5, 0.0, 1.5])
    judge = DifferencesJudge(Differentiated(np.cos, lambda x: -np.sin(x), at), np.random.default_rng(0))
    assert ClaimedGradient(judge, (np.ones(3),), [-np.sin(at)]).passes()
