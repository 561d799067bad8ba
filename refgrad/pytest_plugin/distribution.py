"""Distribution of checks among workers of pytest-xdist: those of one operator go to the same one, one after another.

They share the operator's corners, which a worker keeps, and need each other's verdicts, for which nobody waits then.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from refgrad.grading.checks.check import Check
from refgrad.pytest_plugin.conformance import SUITE


class OperatorScheduling(LoadScheduling):  # type: ignore[misc]  # pytest-xdist publishes no types
    """Sends a worker the next item of the operator that it is at, and then the first of an operator nobody is at.

    Whatever is about no operator is a group of its own. All else is pytest-xdist's way to distribute items by load.
    """

    def __init__(self, config: pytest.Config, log: Any, checks: Iterable[Check]) -> None:
        """``checks`` tell what the items are about."""
        super().__init__(config, log)
        self._operators = {f"{SUITE}::{check.id}": check.operator_name for check in checks}
        self._at: dict[Any, str] = {}

    def _send_tests(self, node: Any, num: int) -> None:
        """Send a worker up to so many items."""
        for _ in range(min(num, len(self.pending))):
            number = self._next(node)
            self.pending.remove(number)
            self.pending.insert(0, number)
            self._at[node] = self._groups[number]
            super()._send_tests(node, 1)

    def _next(self, node: Any) -> int:
        """Return the number of the item that a worker takes up next."""
        mine = self._at.get(node)
        others = {self._at[other] for other in self.nodes if other is not node and other in self._at}
        pending: list[int] = self.pending
        if mine is not None:
            for number in pending:
                if self._groups[number] == mine:
                    return number
        return next((number for number in pending if self._groups[number] not in others), pending[0])

    @cached_property
    def _groups(self) -> list[str]:
        """What each item of the collection belongs to."""
        assert self.collection is not None
        return [self._operators.get(item) or item for item in self.collection]
