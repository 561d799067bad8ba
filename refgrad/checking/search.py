"""The search for the smallest inputs of a hypothesis strategy at which a gradient is wrong.

From the inputs that are drawn, others are made that put an operator inside of the function onto an edge.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from refgrad.checking.check import Deadline
from refgrad.checking.report import GradientReport
from refgrad.checking.tracing.inner_edges import InnerEdge, Watched

EXAMPLES = 400
"""Largest number of inputs that are tried before they are made smaller."""

EDGES = 2
"""Largest number of edges that are tried for each drawn inputs."""

TIMES = 3
"""Largest number of times that an edge is tried before inputs are made smaller."""

Report = Callable[[Any, float], GradientReport]


def is_strategy(inputs: Any) -> bool:
    """Return True if inputs are a strategy. This does not import hypothesis."""
    hypothesis = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and isinstance(inputs, hypothesis.SearchStrategy)


def search(
    strategy: Any, check: Report, watch: Callable[[Any], Watched | None], seed: int, budget: float
) -> GradientReport:
    """Return the report on the smallest inputs at which a gradient is wrong, or on all that were tried.

    ``check`` takes inputs and the number of seconds that it may take; ``watch`` traces the function at some inputs.
    """
    return Search(check, watch, Deadline(budget)).run(strategy, seed)


class Search:
    """The state of a search."""

    def __init__(self, check: Report, watch: Callable[[Any], Watched | None], deadline: Deadline) -> None:
        """Start a search."""
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
        """Draw inputs until the gradient is wrong at some, and make these smaller, as long as there is time."""
        from hypothesis import HealthCheck, Phase, find, settings  # noqa: PLC0415 (importing it takes longer than a check)
        from hypothesis.errors import NoSuchExample  # noqa: PLC0415

        chosen = settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        try:
            find(strategy, self.is_wrong, settings=chosen, random=Random(seed))  # noqa: S311 (no secret)
        except NoSuchExample:
            return self.summary()
        assert self.wrong is not None
        words = f"at inputs that a search found, after {self.tried} others:\n"
        return replace(self.wrong.introduced(words), points=self.tried)

    def is_wrong(self, inputs: Any) -> bool:
        """Return True if the gradient is wrong at some inputs, or at others near them that put operators onto edges."""
        if self.fails(inputs):
            return True
        watched = None if self.deadline.is_over() else self.watch(inputs)
        return watched is not None and any(self.wrong_on(edge, watched) for edge in self.chosen(watched))

    def chosen(self, watched: Watched) -> list[InnerEdge]:
        """Return the edges to try: the one at which a gradient was wrong, if there is one."""
        edges = watched.edges()
        if self.wrong is not None:
            return [edge for edge in edges if edge == self.wrong_at]
        return sorted((edge for edge in edges if self.times[edge] < TIMES), key=self.times.__getitem__)[:EDGES]

    def wrong_on(self, edge: InnerEdge, watched: Watched) -> bool:
        """Return True if the gradient is wrong on an edge that changing one entry of the inputs leads to."""
        self.times[edge] += 1
        inputs = watched.inputs_on(edge)
        if inputs is None or not self.fails(inputs):
            return False
        self.wrong_at = edge
        return True

    def fails(self, inputs: Any) -> bool:
        """Return True if the gradient is wrong at some inputs. Nothing is checked after the deadline."""
        if self.deadline.is_over() and self.tried:
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
        """Return the report if the gradient is wrong nowhere: an inconclusive one if it is right nowhere either."""
        if not self.right:
            assert self.open is not None
            return replace(self.open, points=self.tried)
        last = self.right[-1]
        return replace(last, points=len(self.right), entries=sum(report.entries for report in self.right))
