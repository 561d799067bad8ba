"""Grading without what a test does not look at: operators that are right by themselves, and faults behind the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.search import CheckSearch, Demonstration


@dataclass(slots=True)
class TrustingBench(Bench):
    """Grades the operators that are ``doubted``; that all others are right by themselves is taken for granted.

    To see for oneself takes most of the time of a run, and graphs and lifecycles ask for it.
    """

    doubted: frozenset[str] = frozenset()

    def grade(self, check: Check) -> Verdict:
        """Run a check of a doubted operator, or of none."""
        if check.operator_name and check.operator_name not in self.doubted:
            return self.verdict(check, "passed")
        return Bench.grade(self, check)

    @property
    def graded(self) -> dict[str, Verdict]:
        """The verdicts so far, those included that a check has asked for."""
        return self._verdicts


@contextmanager
def one_fault_a_search() -> Iterator[None]:
    """End every search at its first failure inside of the block: no fault of another kind is looked for behind it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckSearch, "_all", _first)
        yield


def _first(search: CheckSearch, counterexample: Any, _rest: object = ()) -> list[Demonstration]:
    return [search.demonstrated(counterexample, search.fails)]
