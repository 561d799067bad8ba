"""Checks that apply are counted without those of what an engine does not offer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Level, Outcome, Totals, Verdict, merged


def verdict(outcome: Outcome, level: Level = "MUST") -> Verdict:
    return Verdict("a/b", "a", "", level, outcome)


@pytest.mark.parametrize(
    ("passed", "failed", "not_offered", "text"),
    [
        (107, 15, 2529, "of 122 checks that apply 15 fail; 2,529 are not offered"),
        (0, 1, 1, "of 1 check that applies 1 fails; 1 is not offered"),
        (1200, 0, 0, "of 1,200 checks that apply none fails"),
        (0, 0, 0, "of 0 checks that apply none fails"),
    ],
)
def test_totals_are_said_in_one_line(passed: int, failed: int, not_offered: int, text: str) -> None:
    counts: dict[Outcome, int] = {"passed": passed, "wrong": failed, "unsupported": not_offered}
    assert Totals.of([verdict(outcome) for outcome, count in counts.items() for _ in range(count)]).text == text


@given(st.lists(st.builds(verdict, st.sampled_from(OUTCOMES), st.sampled_from(["MUST", "SHOULD"]))))
def test_each_verdict_applies_or_is_not_offered(verdicts: list[Verdict]) -> None:
    totals = Totals.of(verdicts)
    assert totals.apply + totals.not_offered == len(verdicts)
    assert totals.must_failed <= totals.failed <= totals.apply
    assert totals.failed == len([each for each in verdicts if each.verdict in FAILURES])


@given(one=st.sampled_from(OUTCOMES), other=st.sampled_from(OUTCOMES))
def test_of_two_searches_the_worse_verdict_is_kept_and_no_failure_is_lost(one: Outcome, other: Outcome) -> None:
    first, second = (replace(verdict(each), message=each, examples=3) for each in (one, other))
    both = merged(first, second)
    assert both.verdict == min(one, other, key=OUTCOMES.index)
    assert both.examples == 6
    shown = [both.verdict, *(each.verdict for each in both.further)]
    assert sorted(set(shown) & FAILURES) == sorted({one, other} & FAILURES)
    assert len(both.further) == (one in FAILURES and other in FAILURES)
    assert [each.message for each in both.further] == shown[1:]
