"""Distribution of checks among workers of pytest-xdist: those of one operator go to the same one, one after another.

They share the operator's boundary cases, which a worker caches, and need each other's verdicts, for which no worker
waits then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import pytest
from xdist.scheduler import LoadScheduling

from refgrad.grading.checks.check import Check
from refgrad.pytest_plugin.conformance import SUITE

QUEUED: Final = 3
"""Smallest number of items of a worker, including the running one: it starts none before it knows the next."""

SHARES: Final = 4
"""Approximate smallest number of messages in which a worker gets its part of the remaining items."""


class OperatorScheduling(LoadScheduling):  # type: ignore[misc]  # pytest-xdist publishes no types
    """Sends a worker the next items of its current operator, and then those of an operator that no other worker has.

    An item without an operator is a group of its own. All else is pytest-xdist's distribution by load.
    """

    def __init__(self, config: pytest.Config, log: Any, checks: Iterable[Check]) -> None:
        """Map the items of ``checks`` to their operators."""
        super().__init__(config, log)
        self._operators = {f"{SUITE}::{check.id}": check.operator_name for check in checks}
        self._at: dict[Any, str] = {}

    def check_schedule(self, node: Any, duration: float = 0.0) -> None:  # noqa: ARG002 (pytest-xdist's signature)
        """Send more items to a worker that soon has none, or shut it down if there are none."""
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif (lacking := QUEUED - len(self.node2pending[node])) > 0:
            self._send_tests(node, lacking)

    def _send_tests(self, node: Any, num: int) -> None:
        """Send a worker at least ``num`` items in one message, with further items of the last one's operator.

        It gets a share of the remaining items at most, or ``num`` if that is more, so that no worker is left with all.
        """
        most = max(num, len(self.pending) // (SHARES * len(self.nodes)))
        rest: list[int] = list(self.pending)
        chosen: list[int] = []
        while rest and len(chosen) < num:
            first = self._next(node, rest)
            group = self._at[node] = self._groups[first]
            of_group = [number for number in rest if self._groups[number] == group]
            chosen += of_group[: most - len(chosen)]
            rest = [number for number in rest if number not in chosen]
        self.pending[:] = [*chosen, *rest]
        super()._send_tests(node, len(chosen))

    def _next(self, node: Any, pending: Sequence[int]) -> int:
        """Return the number of the next item for a worker."""
        mine = self._at.get(node)
        others = {self._at[other] for other in self.nodes if other is not node and other in self._at}
        if mine is not None:
            for number in pending:
                if self._groups[number] == mine:
                    return number
        return next((number for number in pending if self._groups[number] not in others), pending[0])

    @cached_property
    def _groups(self) -> list[str]:
        """Operator of each item of the collection, or the id of an item without one."""
        assert self.collection is not None
        return [self._operators.get(item) or item for item in self.collection]
