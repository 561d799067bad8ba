"""A first adapter extends a family of spellings that a library has a good part of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.grading.first_adapter.candidates import KNOWN
from refgrad.grading.first_adapter.choosing import _family, best_of
from refgrad.native.adapter import family_rows
from refgrad.operators import Operator


class HavingSome:
    """A workbench of a library that computes some operators, in whichever spelling."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def existing(self, texts: Iterable[str]) -> set[str]:
        return set(texts)

    def has(self, row: Operator) -> bool:
        return row.name in self.names

    def computes(self, row: Operator, _text: str, _kinds: object) -> bool:
        return self.has(row)


@pytest.mark.parametrize(("share", "extended"), [(0.35, False), (0.45, True)])
def test_a_family_is_extended_where_two_fifths_of_it_are_there(*, share: float, extended: bool) -> None:
    rows = list(family_rows(KNOWN["families"][0]))
    others = {name for family in KNOWN["families"][1:] for name in family_rows(family)}
    single = sorted(rows, key=lambda name: name in others)[: int(share * len(rows))]
    started: Any = HavingSome(single)
    family, inherited = _family(started, ["lib"], ["a number"])
    assert (family == KNOWN["families"][0]) is extended
    assert inherited.keys() <= set(single)


@pytest.mark.parametrize(("kinds", "best"), [([0, 0], {}), ([0, 1], {"leaf": "1"}), ([2, 1], {"leaf": "0"})])
def test_the_first_candidate_that_works_for_most_kinds_is_the_best(kinds: list[int], best: dict[str, str]) -> None:
    started: Any = SimpleNamespace(knowing=lambda leaf: kinds[int(leaf)])
    assert best_of(started, [{"leaf": "0"}, {"leaf": "1"}], lambda count: ["kind"] * count) == best  # type: ignore[operator]
