"""A deadline counts the time in which a check is at work."""

from __future__ import annotations

import time

import pytest

from refgrad.checking.slopes.deadline import Deadline


def test_time_between_two_stretches_of_work_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    deadline = Deadline(10.0)
    now += 4.0
    deadline.stop()
    now += 1000.0
    with deadline.taken_up():
        assert deadline.remaining == 6.0
        now += 5.0
    now += 1000.0
    with deadline.taken_up():
        assert deadline.remaining == 1.0
        assert not deadline.over
        now += 1.0
        assert not deadline.over
        now += 1.0
        assert deadline.over
