"""Tests of halving a sequence until the part that fails is left."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles.slopes.directions import OutOfTime, halved


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
