"""Tests of halving a sequence until the part that fails is left."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles.slopes.directions import halved


@given(length=st.integers(1, 200), data=st.data())
def test_one_faulty_member_is_found(length: int, data: st.DataObject) -> None:
    faulty = data.draw(st.integers(0, length - 1))
    members, last = halved(range(length), lambda half: faulty if faulty in half else None, lambda: False)
    assert list(members) == [faulty]
    assert last == (faulty if length > 1 else None)


@given(length=st.integers(2, 200), data=st.data())
def test_members_that_fail_only_together_are_kept_together(length: int, data: st.DataObject) -> None:
    pair = data.draw(st.sets(st.integers(0, length - 1), min_size=2, max_size=2))
    members, _ = halved(range(length), lambda half: True if pair <= set(half) else None, lambda: False)
    assert pair <= set(members)


def test_nothing_is_halved_after_the_deadline() -> None:
    tried: list[Sequence[int]] = []
    assert halved([1, 2, 3], tried.append, lambda: True) == ([1, 2, 3], None)
    assert tried == []
