"""Pieces of memory: which may overlap, and which were written to since a value was saved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle.graph import MemoryPieces, may_share
from refgrad.scenario import Apply


@st.composite
def neighbours(draw: st.DrawFn) -> list[list[int]]:
    """For every piece, earlier ones that it may overlap with."""
    count = draw(st.integers(1, 8))
    return [draw(st.lists(st.integers(0, i - 1), max_size=2)) if i else [] for i in range(count)]


def connected(start: int, pairs: set[tuple[int, int]]) -> set[int]:
    met = {start}
    while True:
        more = {b for a, b in pairs if a in met} | {a for a, b in pairs if b in met}
        if more <= met:
            return met
        met |= more


@given(neighbours())
def test_pieces_may_overlap_if_a_chain_of_neighbours_connects_them(near: list[list[int]]) -> None:
    memory = MemoryPieces()
    numbers = [memory.new(others) for others in near]
    assert len(set(numbers)) == len(near)
    pairs = {(piece, other) for piece, others in enumerate(near) for other in others}
    for piece in numbers:
        assert memory.may_overlap(piece) == connected(piece, pairs) - {piece}


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_a_version_is_stale_if_and_only_if_its_piece_was_written_to_since(before: list[int], after: list[int]) -> None:
    memory = MemoryPieces()
    pieces = [memory.new() for _ in range(4)]
    for piece in before:
        memory.write(piece)
    versions = [memory.now(piece) for piece in pieces]
    for piece in after:
        memory.write(piece)
    assert [memory.stale([version]) for version in versions] == [piece in after for piece in pieces]
    assert memory.stale(versions) == bool(after)


@pytest.mark.parametrize(
    ("operator", "shares"),
    [
        ("exp", False),
        ("positive", True),  # some engines return x itself
        ("sum", False),
        ("matmul", False),
        ("reshape", True),
        ("transpose", True),
        ("squeeze_all", True),
    ],
)
def test_what_picks_entries_may_share_memory_and_what_computes_them_does_not(operator: str, *, shares: bool) -> None:
    arguments = ("x", "y") if operator == "matmul" else ("x",)
    assert may_share(Apply("r", operator, arguments)) is shares
