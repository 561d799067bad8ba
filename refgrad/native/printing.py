"""Programs as text that runs without refgrad: the same statements that were executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refgrad.lifecycle import Fails, predict
from refgrad.native.languages import Language
from refgrad.native.program import Group
from refgrad.native.statements import Enter, Leave
from refgrad.scenario import LeaveMode as LeaveStep
from refgrad.scenario import Scenario


def printed(groups: Sequence[Group], setup: str, language: Language, due_to_fail: frozenset[int] = frozenset()) -> str:
    """Return a program as text; ``due_to_fail`` holds the indices of groups whose errors are caught."""
    lines = _Layout(list(groups), language, due_to_fail).block(0)[0]
    return language.whole(setup, "\n".join(lines))


def failing_steps(scenario: Scenario, policy: object) -> frozenset[int]:
    """Return the indices of steps that must fail and are not the last: the program continues after them."""
    last = max((at for at, step in enumerate(scenario.steps) if not isinstance(step, LeaveStep)), default=0)
    predictions = predict(scenario, policy)  # type: ignore[arg-type]
    return frozenset(at for at, due in enumerate(predictions) if isinstance(due, Fails) and at < last)


class _Layout:
    """Layout of groups as lines, with the groups of a region nested in it."""

    def __init__(self, groups: list[Group], language: Language, due_to_fail: frozenset[int]) -> None:
        self.groups = groups
        self.language = language
        self.due_to_fail = due_to_fail

    def block(self, at: int) -> tuple[list[str], int, bool]:
        """Return the lines up to the end of a region, the index of that end, and whether an error causes it."""
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
