"""The smallest inputs at which a gradient is wrong, and what is special about them.

From the inputs that are drawn, others are made that put an operator inside of the function onto an edge.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from refgrad.checking.certified import CertifiedJudge, UserFunction
from refgrad.checking.check import Failing, Fault, GradientCheck, Judge
from refgrad.checking.deadline import Deadline
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.trees import Array, Arrays
from refgrad.checking.messages import Sighting, wrong_entry
from refgrad.checking.patterns import Whole, pattern
from refgrad.checking.report import Explanation, GradientReport
from refgrad.checking.subject import Seeds, SideEffectError, quiet
from refgrad.checking.tracing import Untraceable, trace
from refgrad.checking.tracing.inner_edges import InnerEdge, Watched
from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.claim import DifferencesJudge
from refgrad.oracles.slopes.directions import OutOfTime, halved

EXAMPLES = 400
"""Largest number of inputs that are tried before they are made smaller."""

EDGES = 2
"""Largest number of edges that are tried for each drawn inputs."""

TIMES = 3
"""Largest number of times that an edge is tried before inputs are made smaller."""


def is_strategy(inputs: Any) -> bool:
    """Return True if inputs are a strategy. This does not import hypothesis."""
    hypothesis = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and isinstance(inputs, hypothesis.SearchStrategy)


class Search:
    """The state of a search.

    ``check`` checks the gradient at some inputs, until the deadline; ``watch`` traces the function there.
    """

    def __init__(
        self, check: Callable[[Any], GradientReport], watch: Callable[[Any], Watched | None], deadline: Deadline
    ) -> None:
        """Start a search."""
        self.check, self.watch, self.deadline = check, watch, deadline
        self.times: Counter[InnerEdge] = Counter()
        self.wrong_at: InnerEdge | None = None
        self.right: list[GradientReport] = []
        self.open: GradientReport | None = None
        self.wrong: GradientReport | None = None
        self.tried = 0

    def run(self, strategy: Any, seed: int) -> GradientReport:
        """Return the report on the smallest inputs at which a gradient is wrong, or on all that were tried.

        Inputs are drawn until the gradient is wrong at some, and made smaller, as long as there is time.
        """
        from hypothesis import HealthCheck, Phase, find, settings  # noqa: PLC0415 (importing it takes longer than a check)
        from hypothesis.errors import NoSuchExample  # noqa: PLC0415

        chosen = settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        with suppress(OutOfTime, NoSuchExample):
            find(strategy, self.is_wrong, settings=chosen, random=Random(seed))  # noqa: S311 (no secret)
        if self.wrong is None:
            return self.summary()
        words = f"at inputs that a search found, after {self.tried} others:\n"
        return replace(self.wrong.introduced(words), points=self.tried)

    def is_wrong(self, inputs: Any) -> bool:
        """Return True if the gradient is wrong at some inputs, or at others near them that put operators onto edges."""
        if self.fails(inputs):
            return True
        watched = self.watch(inputs)
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
        """Return True if the gradient is wrong at some inputs. Raise OutOfTime after the deadline.

        The time starts with the first inputs: to import what draws them may take longer than a check.
        """
        if not self.tried:
            self.deadline.start(self.deadline.seconds)
        self.deadline.refuse()
        report = self.check(inputs)
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


Index = tuple[int, int]
"""An output, and the flat position of an entry in it."""


def report(check: GradientCheck) -> GradientReport:
    """Run a check and return its report, which can be explained if it is about a wrong entry."""
    found = check.run()
    if isinstance(found, GradientReport):
        return found
    return replace(check.report("wrong"), explain=lambda: explanation(check, found))


def explanation(check: GradientCheck, found: Failing) -> Explanation:
    """Return the message about a wrong entry and the entry, as far as there is time to find them.

    If the function does not run as it did during the check, they are those of the check itself.
    """
    with quiet(), check.subject.chance.kept():
        try:
            return Explainer(check).explain(found.seeds, found.discrepancy)
        except Exception:  # noqa: BLE001 (the function may raise anything now)
            sighting = Sighting(found.discrepancy, found.seeds, check.subject.point)
            message = wrong_entry(check.subject, sighting, "", check.judge.method)
            return message, found.discrepancy


class Explainer:
    """Runs the function of a check again until its wrong entry is explained."""

    def __init__(self, check: GradientCheck) -> None:
        """Explain the result of a check."""
        self.check = check

    def explain(self, seeds: Seeds, discrepancy: Discrepancy) -> Explanation:
        """Return the message about a wrong entry and the entry, after finding the output and simpler inputs for it."""
        point, missing, advice = self.check.subject.point, False, ""
        with suppress(OutOfTime):
            if discrepancy.entry is None:
                discrepancy = self.failing(seeds, discrepancy) or discrepancy
            advice = self.ignored_cotangent(seeds) or self.pattern(seeds)
            seeds, discrepancy = self.narrowed(seeds, discrepancy)
            point, discrepancy = self.simplified(seeds, discrepancy)
            discrepancy, missing = self.run_again(point, seeds, discrepancy)
        sighting = Sighting(discrepancy, seeds, point, missing)
        return wrong_entry(self.check.subject, sighting, advice, self.check.judge.method), discrepancy

    def pattern(self, seeds: Seeds) -> str:
        """Return the pattern of all entries together."""
        if self.check.judge.method == "directions":
            return ""
        check, subject = self.check, self.check.subject
        parts = zip(subject.names, check.fresh(seeds), check.judge.truths(seeds), subject.point, strict=True)
        shapes = [output.shape for output in check.outputs]
        return pattern([Whole(name, g.astype(np.float64), t, x) for name, g, t, x in parts], shapes)

    def ignored_cotangent(self, seeds: Seeds) -> str:
        """Return what doubling the seeds shows: advice if the gradient does not double, or an empty string."""
        double = tuple(None if array is None else 2 * array for array in seeds)
        once, twice = (
            np.concatenate([g.ravel() for g in self.check.fresh(s)]) if self.check.seedable else np.zeros(0)
            for s in (seeds, double)
        )
        if not once.any() or not np.isfinite(once).all():
            return ""
        if np.allclose(twice, once):
            return "the backward does not depend on the gradient that comes in: multiply by it"
        squared = "the backward multiplies twice by the gradient that comes in: do so once"
        return squared if np.allclose(twice, 4 * once) else ""

    def narrowed(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Seeds, Discrepancy]:
        """Return the seeds with as few entries as possible under which the gradient is wrong, a 1 if it is only one."""

        def failing(half: Sequence[Index]) -> tuple[Seeds, Discrepancy] | None:
            part = self.masked(seeds, half)
            found = self.failing(part, discrepancy)
            return None if found is None else (part, found)

        indices = [(k, int(i)) for k, array in enumerate(seeds) if array is not None for i in np.flatnonzero(array)]
        kept, last = halved(indices, failing)
        for output, flat in kept if len(kept) == 1 else ():
            unit = self.check.single(output, flat, 1.0)
            found = self.failing(unit, discrepancy)
            if found is not None:
                return unit, found
        return last or (seeds, discrepancy)

    def failing(self, seeds: Seeds, known: Discrepancy) -> Discrepancy | None:
        """Return the worst entry under other seeds, or None if none fails."""
        found = [d for d in self.check.judged(seeds, self.check.fresh(seeds), known) if d.failing]
        return min(found, key=lambda d: (d.severity != "wrong", -min(d.relative_error, 1e300)), default=None)

    def masked(self, seeds: Seeds, indices: Sequence[Index]) -> Seeds:
        """Return the seeds with zeros in all but some entries."""
        kept: list[Array | None] = [None] * len(seeds)
        for k, i in indices:
            source = seeds[k]
            assert source is not None
            if kept[k] is None:
                kept[k] = np.zeros_like(source)
            kept[k].flat[i] = source.flat[i]  # type: ignore[union-attr]
        return tuple(kept)

    def run_again(self, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Discrepancy, bool]:
        """Return the discrepancy as a program would show it that runs once, and whether no gradient arrives at all."""
        gradients = self.check.subject.at(point).pullback(point).gradients(seeds)
        gradient = gradients[self.check.subject.positions.index(discrepancy.input)]
        if gradient is None or discrepancy.entry is None:
            return discrepancy, gradient is None
        return replace(discrepancy, observed=float(gradient[discrepancy.entry])), False

    def simplified(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Arrays, Discrepancy]:
        """Return the simplest inputs at which the same input's gradient is as wrong, and its discrepancy there."""
        check = self.check
        if check.judge.method == "directions" or check.reference is not None:
            return self.check.subject.point, discrepancy
        for digits in (0, 1, 2):
            point = tuple(np.round(array, digits) for array in check.subject.point)
            found = self.elsewhere(point, seeds, discrepancy)
            if found is not None and min(found.relative_error, 1) >= min(discrepancy.relative_error, 1) / 2:
                return point, found
        return self.check.subject.point, discrepancy

    def elsewhere(self, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> Discrepancy | None:
        """Return the discrepancy at another point if the same entry is wrong there in the same way, or None."""
        check = self.check
        try:
            subject = check.subject.at(point)
            pullback = subject.pullback(point)
            last = pullback if pullback.runs_by_itself else None
            judge: Judge
            if check.judge.method == "certified":
                traced = trace(subject, pullback.outputs, pullback.precision)
                judge, last = CertifiedJudge(traced, subject.positions, check.choices), traced.run or last
            else:
                judge = DifferencesJudge(UserFunction(subject, pullback.outputs, pullback.precision), check.choices)
            found = judge.judge(seeds, check.gradients(last or subject.pullback(point), seeds), discrepancy)
        except (SubjectError, SideEffectError, UnsupportedError, Untraceable, Fault):
            return None
        return next((d for d in found if _kind(d) == _kind(discrepancy)), None)


def _kind(d: Discrepancy) -> tuple[str, int, tuple[int, ...] | None, bool]:
    return d.severity, d.input, d.entry, math.isfinite(d.observed)
