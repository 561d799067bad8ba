"""Programs as text that a maintainer can paste: the statements that were executed, and nothing of refgrad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refgrad.lifecycle import Fails, predict
from refgrad.native.languages import Language
from refgrad.native.program import Group
from refgrad.native.statements import Enter, Leave
from refgrad.scenario import Leave as LeaveStep
from refgrad.scenario import Scenario


def printed(groups: Sequence[Group], setup: str, language: Language, due_to_fail: frozenset[int] = frozenset()) -> str:
    """Return a program as text; ``due_to_fail`` are the numbers, from 0, of groups whose error is to be caught."""
    lines = _Layout(list(groups), language, due_to_fail).block(0)[0]
    return language.whole(setup, "\n".join(lines))


def failing_steps(scenario: Scenario, policy: object) -> frozenset[int]:
    """Return the steps, from 0, that must fail and are not the last: the program goes on behind them."""
    last = max((at for at, step in enumerate(scenario.steps) if not isinstance(step, LeaveStep)), default=0)
    predictions = predict(scenario, policy)  # type: ignore[arg-type]
    return frozenset(at for at, due in enumerate(predictions) if isinstance(due, Fails) and at < last)


class _Layout:
    """Lays groups out as lines, those between the ends of a region inside of it."""

    def __init__(self, groups: list[Group], language: Language, due_to_fail: frozenset[int]) -> None:
        self.groups = groups
        self.language = language
        self.due_to_fail = due_to_fail

    def block(self, at: int) -> tuple[list[str], int, bool]:
        """Return the lines from a group on to the end of its region, where that is, and whether by an exception."""
        lines: list[str] = []
        while at < len(self.groups):
            group = self.groups[at]
            if len(group) == 1 and isinstance(group[0], Enter):
                inner, at, by_error = self.block(at + 1)
                lines += self.language.region(group[0].region, inner, by_error=by_error)
            elif len(group) == 1 and isinstance(group[0], Leave):
                return lines, at, group[0].by_error
            else:
                plain = list(self.plain(group))
                lines += self.language.caught(plain) if at in self.due_to_fail else plain
            at += 1
        return lines, at, False

    def plain(self, group: Group) -> Iterator[str]:
        for statement in group:
            yield from self.language.lines(statement)
