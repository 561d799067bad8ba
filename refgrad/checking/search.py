"""The search for inputs at which a gradient is wrong, and for the smallest, among those of a hypothesis strategy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from refgrad.checking.report import GradientReport, Introduced
from refgrad.checking.slopes.deadline import Deadline

EXAMPLES = 400
"""So many inputs are tried at most; more where they are made smaller."""


def is_strategy(inputs: Any) -> bool:
    """Whether inputs are to be drawn; hypothesis is not loaded to find that out."""
    hypothesis = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and isinstance(inputs, hypothesis.SearchStrategy)


def search(strategy: Any, check: Callable[[Any, float], GradientReport], seed: int, budget: float) -> GradientReport:
    """Return the report on the smallest inputs at which a gradient is found wrong, or on all that were tried.

    ``check`` gets the inputs and how many seconds it has.
    """
    return Search(check, Deadline(budget)).run(strategy, seed)


class Search:
    """What has been found so far."""

    def __init__(self, check: Callable[[Any, float], GradientReport], deadline: Deadline) -> None:
        """Start with nothing."""
        self.check = check
        self.deadline = deadline
        self.right: list[GradientReport] = []
        self.open: GradientReport | None = None
        self.wrong: GradientReport | None = None
        self.tried = 0

    def run(self, strategy: Any, seed: int) -> GradientReport:
        """Draw inputs until some are wrong, and make these smaller, as long as there is time."""
        from hypothesis import HealthCheck, Phase, find, settings  # noqa: PLC0415 (loading it takes longer than a check)
        from hypothesis.errors import NoSuchExample  # noqa: PLC0415

        chosen = settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        try:
            find(strategy, self.is_wrong, settings=chosen, random=Random(seed))  # noqa: S311 (it keeps no secret)
        except NoSuchExample:
            return self.summary()
        assert self.wrong is not None
        words = f"at inputs that a search found, after {self.tried} others:\n"
        return replace(self.wrong, told=Introduced(words, self.wrong.told), points=self.tried)

    def is_wrong(self, inputs: Any) -> bool:
        """Check the gradient at some inputs; those that are too late are not looked at."""
        if self.deadline.over and self.tried:
            return False
        report = self.check(inputs, max(self.deadline.remaining, 0.0))
        self.tried += 1
        if report.outcome == "right":
            self.right.append(report)
        elif report.outcome == "wrong":
            self.wrong = report
        else:
            self.open = self.open or report
        return report.outcome == "wrong"

    def summary(self) -> GradientReport:
        """Return the report on inputs of which none is wrong: what keeps one from knowing, if none is right either."""
        if not self.right:
            assert self.open is not None
            return replace(self.open, points=self.tried)
        last = self.right[-1]
        return replace(last, points=len(self.right), entries=sum(report.entries for report in self.right))
