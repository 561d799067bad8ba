"""The phases of a grade are counted, each once."""

from __future__ import annotations

import pytest

from tests.benchmarks.grade_phases import PHASES, Clock, shares

pytestmark = pytest.mark.turns(2)


def test_the_time_of_a_phase_is_less_what_it_calls() -> None:
    clock = Clock()
    inner = clock.timed("inner", lambda: sum(range(200_000)))
    clock.timed("outer", lambda: [inner() for _ in range(5)])()
    assert 0 <= clock.seconds["outer"] < clock.seconds["inner"]


def test_all_phases_of_a_grade_are_met() -> None:
    found = shares("refgrad", "smoke", 200)
    assert sum(found.values()) == pytest.approx(1)
    assert all(found[phase] > 0 for phase in PHASES if phase != "engine")  # the reference engine has no process
