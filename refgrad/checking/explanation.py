"""The smallest inputs at which a gradient is wrong, and what is special about them.

Drawn inputs are also changed so that an operator inside the function lies on an edge.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np

from refgrad.checking.certified import CertifiedJudge, UserFunction
from refgrad.checking.check import GradientCheck, Judge, alike
from refgrad.checking.deadline import Deadline
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.trees import Array, Arrays, furthest_of, half_digits
from refgrad.checking.messages import PRINTED_ENTRIES, is_printed, wrong_entry
from refgrad.checking.patterns import Whole, pattern
from refgrad.checking.report import Explanation, GradientReport
from refgrad.checking.subject import CheckedFunction, Pullback, Seeds, quiet
from refgrad.checking.tracing import Untraceable, trace
from refgrad.checking.tracing.inner_edges import InnerEdge, Watched
from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.claim import DifferencesJudge
from refgrad.oracles.slopes.directions import OutOfTime, halved
from refgrad.scenario.formats import FORMATS, rounded

EXAMPLES = 400
"""Largest number of inputs that are tried before they are made smaller."""

EDGES = 2
"""Largest number of edges that are tried for each drawn inputs."""

TIMES = 3
"""Largest number of times that an edge is tried before inputs are made smaller."""

MULTIPLES = (2.0, 1 / 16)
"""Factors of the seeds. A clipped gradient does not grow with the seeds."""

IGNORED = {
    0: "the backward does not depend on the gradient that comes in: multiply by it",
    2: "the backward multiplies twice by the gradient that comes in: do so once",
}
"""Hints about a gradient that grows with another power of the seeds than the first, by that power."""

UNDEFINED = (SubjectError, Untraceable)
"""Exceptions of a function that is not defined at another point."""


def is_strategy(inputs: Any) -> bool:
    """Return True if inputs are a strategy. This does not import hypothesis."""
    hypothesis = sys.modules.get("hypothesis.strategies")
    return hypothesis is not None and isinstance(inputs, hypothesis.SearchStrategy)


class Search:
    """State of a search for the smallest inputs with a wrong gradient.

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
        """Return True if the gradient is wrong at some inputs, or nearby where an operator lies on an edge."""
        if self.fails(inputs):
            return True
        watched = self.watch(inputs)
        return watched is not None and any(self.wrong_on(edge, watched) for edge in self.chosen(watched))

    def chosen(self, watched: Watched) -> list[InnerEdge]:
        """Return the edges to try: only the one at which a gradient was wrong, if there is one."""
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

        The time starts with the first inputs, since importing hypothesis may take longer than a check.
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
        """Return the report if no gradient is wrong. It is inconclusive if no gradient is right either."""
        if not self.right:
            assert self.open is not None
            return replace(self.open, points=self.tried)
        last = self.right[-1]
        return replace(last, points=len(self.right), entries=sum(report.entries for report in self.right))


Index = tuple[int, int]
"""An output, and the flat position of an entry in it."""


def report(check: GradientCheck) -> GradientReport:
    """Run a check and return its report, which can be explained if it is about a wrong entry."""
    result = check.run()
    if isinstance(result, GradientReport):
        return result
    return replace(check.report("wrong"), explanation=cache(lambda: explanation(check, *result)))


def explanation(check: GradientCheck, seeds: Seeds, wrong: Discrepancy) -> Explanation:
    """Return the message about a wrong entry and the entry, as far as there is time to find them.

    If the function behaves differently than during the check, the message and entry are those of the check.
    """
    subject = check.subject
    subject.deadline.resume()
    with quiet(), subject.random_state.kept():
        with suppress(Exception):  # the function, which runs again, may raise any exception
            return explain(check, seeds, wrong)
        return Explanation(wrong_entry(subject, wrong, seeds, subject.point, check.judge.method), wrong)


def explain(check: GradientCheck, seeds: Seeds, discrepancy: Discrepancy) -> Explanation:
    """Return the message about a wrong entry, and the entry, for a single output and simpler inputs if possible."""
    point, missing, hint = check.subject.point, False, ""
    with suppress(OutOfTime):
        refuse_change(check, seeds, discrepancy)
        if discrepancy.entry is None:
            discrepancy = worst_entry(check, seeds, discrepancy) or discrepancy
        hint = ignored_cotangent(check, seeds) or shared_pattern(check, seeds)
        seeds, discrepancy = narrowed(check, seeds, discrepancy)
        point, discrepancy = simplified(check, seeds, discrepancy)
        discrepancy, missing = run_again(check, point, seeds, discrepancy)
    message = wrong_entry(check.subject, discrepancy, seeds, point, check.judge.method, hint=hint, missing=missing)
    return Explanation(message, discrepancy)


def refuse_change(check: GradientCheck, seeds: Seeds, discrepancy: Discrepancy) -> None:
    """Raise SubjectError if the outputs or the wrong entry differ from those during the check."""
    entry = discrepancy.entry
    run = check.subject.pullback(check.subject.point)
    same = check.changed(run.outputs) is None
    if same and entry is not None:
        gradient = check.gradients(run, seeds)[check.subject.positions.index(discrepancy.input)]
        same = alike(np.asarray(gradient[entry]), np.asarray(discrepancy.observed))
    if not same:
        raise SubjectError("the function is not that of the check any more")


def shared_pattern(check: GradientCheck, seeds: Seeds) -> str:
    """Return the pattern of the entries if it is the same at another point, else an empty string."""
    if check.judge.method == "directions":
        return ""
    first = whole_gradients(check, check.subject, check.pullback, check.judge, seeds)
    other_seeds = check.dense(check.pullback.active) if check.seedable else seeds
    for point in other_points(check):
        try:
            other = whole_gradients(check, *moved(check, point), other_seeds)
        except UNDEFINED:
            continue
        return pattern([first, other], [each.shape for each in check.outputs])
    return ""


def whole_gradients(
    check: GradientCheck, subject: CheckedFunction, pullback: Pullback, judge: Judge, seeds: Seeds
) -> list[Whole]:
    """Return the claimed and the true gradient of each input."""
    from refgrad.checking import low_precision  # noqa: PLC0415 (its imports are slow)

    claimed = check.gradients(subject.pullback(subject.point), seeds)
    indices = {x.name: x.array for x in subject.inputs if x.array is not None and x.array.dtype.kind == "i"}
    form = FORMATS[check.pullback.precision]
    wholes = []
    for name, gradient, true, x in zip(
        subject.names, claimed, true_gradients(check, judge, seeds), subject.point, strict=True
    ):
        others = low_precision.regressors(subject, pullback.outputs, seeds, x.shape)
        wholes.append(Whole(name, gradient.astype(np.float64), true, x, form, others, indices))
    return wholes


def true_gradients(check: GradientCheck, judge: Judge, seeds: Seeds) -> Sequence[Array]:
    """Return the true gradients, NaN for those that are not known."""
    if isinstance(judge, CertifiedJudge) and judge.trace.large:
        from refgrad.checking import low_precision  # noqa: PLC0415 (as above)

        known = low_precision.truth(judge.trace, judge.seeded(seeds), check.choices)
        return judge.truths(seeds) if known is None else list(known.values())
    return judge.truths(seeds)


def other_points(check: GradientCheck) -> Iterator[Arrays]:
    """Yield points with permuted and slightly changed entries. A pattern that is no coincidence holds there, too."""
    for step in (1, 0):
        yield tuple(
            rounded(np.roll(x, step) * (1 + check.choices.uniform(-1, 1, x.shape) / 16), kind.part).astype(x.dtype)
            for x, kind in zip(check.subject.point, check.subject.kinds, strict=True)
        )


def ignored_cotangent(check: GradientCheck, seeds: Seeds) -> str:
    """Return advice if multiples of the seeds do not give the same multiples of the gradient, or an empty string."""
    if not check.seedable:
        return ""
    runs = {f: check.fresh([None if s is None else f * s for s in seeds]) for f in (1, *MULTIPLES)}
    once, *multiples = (np.concatenate([g.ravel() for g in gradients]) for gradients in runs.values())
    if not once.any() or not np.isfinite(once).all():
        return ""
    for power, text in IGNORED.items():
        if all(np.allclose(each, f**power * once) for f, each in zip(MULTIPLES, multiples, strict=True)):
            return text
    return ""


def narrowed(check: GradientCheck, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Seeds, Discrepancy]:
    """Return seeds with as few entries as possible under which the gradient is wrong. A single entry becomes 1."""

    def failing(half: Sequence[Index]) -> tuple[Seeds, Discrepancy] | None:
        part = masked(seeds, half)
        wrong = worst_entry(check, part, discrepancy)
        return None if wrong is None else (part, wrong)

    indices = [(k, int(i)) for k, array in enumerate(seeds) if array is not None for i in np.flatnonzero(array)]
    kept, last = halved(indices, failing)
    for output, flat in kept if len(kept) == 1 else ():
        unit = check.single(output, flat, 1.0)
        wrong = worst_entry(check, unit, discrepancy)
        if wrong is not None:
            return unit, wrong
    return last if last and all(is_printed(seed) for seed in last[0]) else (seeds, discrepancy)


def worst_entry(check: GradientCheck, seeds: Seeds, known: Discrepancy) -> Discrepancy | None:
    """Return the worst entry under other seeds, or None if none fails."""
    gradients = check.fresh(seeds)
    failing_entries = [d for d in check.judged(seeds, gradients, known) if d.failing]
    worst = min(failing_entries, key=lambda d: (d.severity != "wrong", -min(d.relative_error, 1e300)), default=None)
    return worst or furthest_entry(check, gradients, seeds)


def furthest_entry(check: GradientCheck, gradients: Sequence[Array], seeds: Seeds) -> Discrepancy | None:
    """Return the least accurate entry of a function that is too large to certify, or None if no entry is far off."""
    if not isinstance(check.judge, CertifiedJudge) or not check.judge.trace.large:
        return None
    truths = true_gradients(check, check.judge, seeds)
    n, index, distance = furthest_of(gradients, truths)
    if not distance > half_digits(check.pullback.precision) * np.max(np.abs(truths[n]), initial=0.0):
        return None
    true = float(truths[n][index])
    return Discrepancy(
        "wrong", check.subject.positions[n], index, float(gradients[n][index]), true, true, f"{true:.10g}"
    )


def masked(seeds: Seeds, indices: Sequence[Index]) -> Seeds:
    """Return the seeds with all entries but those at the indices set to zero. A seed of zeros becomes None."""
    kept = [None if seed is None else np.zeros_like(seed) for seed in seeds]
    for k, i in indices:
        kept[k].flat[i] = seeds[k].flat[i]  # type: ignore[union-attr]
    return tuple(seed if seed is not None and seed.any() else None for seed in kept)


def run_again(check: GradientCheck, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Discrepancy, bool]:
    """Return the discrepancy that a single run shows, and True if no gradient arrives at the input."""
    gradients = check.subject.at(point).pullback(point).gradients(seeds)
    gradient = gradients[check.subject.positions.index(discrepancy.input)]
    if gradient is None or discrepancy.entry is None:
        return discrepancy, gradient is None
    return replace(discrepancy, observed=float(gradient[discrepancy.entry])), False


def simplified(check: GradientCheck, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Arrays, Discrepancy]:
    """Return the simplest inputs at which the gradient by the same input is as wrong, and the discrepancy there."""
    if check.judge.method == "directions" or check.reference is not None:
        return check.subject.point, discrepancy
    for digits in (0, 1, 2):
        point = tuple(np.round(x, digits) if x.size <= PRINTED_ENTRIES else x for x in check.subject.point)
        simpler = elsewhere(check, point, seeds, discrepancy)
        if simpler is not None and min(simpler.relative_error, 1) >= min(discrepancy.relative_error, 1) / 2:
            return point, simpler
    return check.subject.point, discrepancy


def moved(check: GradientCheck, point: Arrays) -> tuple[CheckedFunction, Pullback, Judge]:
    """Return the function at another point, its pullback and a judge. Raises one of ``UNDEFINED``."""
    subject = check.subject.at(point)
    pullback = subject.pullback(point)
    slow = check.reference.at(point) if check.reference else subject
    outputs = slow.pullback(point).outputs if check.reference else pullback.outputs
    if check.judge.method != "certified":
        function = UserFunction(slow, outputs, pullback.precision)
        return subject, pullback, DifferencesJudge(function, check.choices)
    traced = trace(slow, outputs, pullback.precision)
    return subject, pullback, CertifiedJudge(traced, subject.positions, check.choices)


def elsewhere(check: GradientCheck, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> Discrepancy | None:
    """Return the discrepancy at another point if the same entry is wrong there in the same way, or None."""
    try:
        subject, pullback, judge = moved(check, point)
        last = pullback if pullback.runs_by_itself else None
        if isinstance(judge, CertifiedJudge):
            last = judge.trace.run or last
        discrepancies = judge.judge(seeds, check.gradients(last or subject.pullback(point), seeds), discrepancy)
    except UNDEFINED:
        return None
    return next((d for d in discrepancies if _kind(d) == _kind(discrepancy)), None)


def _kind(d: Discrepancy) -> tuple[str, int, tuple[int, ...] | None, bool]:
    return d.severity, d.input, d.entry, math.isfinite(d.observed)
