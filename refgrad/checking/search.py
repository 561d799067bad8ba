"""The search for inputs at which a gradient is wrong, and for the smallest, among those of a hypothesis strategy.

Inputs that put an operator inside of the function onto an edge are made of those that were drawn.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from refgrad.checking.report import GradientReport, Introduced
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.tracing.inner_edges import InnerEdge, Watched

EXAMPLES = 400
"""So many inputs are tried at most; more where they are made smaller."""

EDGES = 2
"""So many edges are tried beside each inputs that are drawn."""

TIMES = 3
"""An edge is tried so many times; more where the inputs are made smaller at which it is wrong."""

Report = Callable[[Any, float], GradientReport]


def is_strategy(inputs: Any) -> bool:
    """Whether inputs are to be drawn; hypothesis is not loaded to find that out."""
    hypothesis = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and isinstance(inputs, hypothesis.SearchStrategy)


def search(
    strategy: Any, check: Report, watch: Callable[[Any], Watched | None], seed: int, budget: float
) -> GradientReport:
    """Return the report on the smallest inputs at which a gradient is found wrong, or on all that were tried.

    ``check`` gets the inputs and how many seconds it has; ``watch`` sees what the function does at some inputs.
    """
    return Search(check, watch, Deadline(budget)).run(strategy, seed)


class Search:
    """What has been found so far."""

    def __init__(self, check: Report, watch: Callable[[Any], Watched | None], deadline: Deadline) -> None:
        """Start with nothing."""
        self.check = check
        self.watch = watch
        self.times: Counter[InnerEdge] = Counter()
        self.wrong_at: InnerEdge | None = None
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
        """Check the gradient at some inputs, and where they put operators inside onto edges."""
        if self.looked_at(inputs):
            return True
        watched = None if self.deadline.over else self.watch(inputs)
        return watched is not None and any(self.wrong_on(edge, watched) for edge in self.chosen(watched))

    def chosen(self, watched: Watched) -> list[InnerEdge]:
        """Return the edges to try: that on which a gradient was wrong, once there is one."""
        edges = watched.edges()
        if self.wrong is not None:
            return [edge for edge in edges if edge == self.wrong_at]
        return sorted((edge for edge in edges if self.times[edge] < TIMES), key=self.times.__getitem__)[:EDGES]

    def wrong_on(self, edge: InnerEdge, watched: Watched) -> bool:
        """Check the gradient on an edge, if one entry of the inputs leads there."""
        self.times[edge] += 1
        inputs = watched.inputs_on(edge)
        if inputs is None or not self.looked_at(inputs):
            return False
        self.wrong_at = edge
        return True

    def looked_at(self, inputs: Any) -> bool:
        """Whether the gradient is wrong at some inputs; those that are too late are not looked at."""
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
