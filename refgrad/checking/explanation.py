"""What is told of a wrong gradient: the pattern of all entries, and the smallest seeds and inputs that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.check import Check, Failing, Fault
from refgrad.checking.differences import DifferencesJudge
from refgrad.checking.discrepancy import Discrepancy, Judge, worst
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Array, Arrays
from refgrad.checking.messages import Sighting, Symptoms, simpler_points, wrong_entry
from refgrad.checking.patterns import Whole, pattern
from refgrad.checking.pullbacks import Seeds, SideEffectError
from refgrad.checking.report import GradientReport, Text
from refgrad.checking.subject import quiet
from refgrad.checking.tracing import Untraceable, trace


def report(check: Check) -> GradientReport:
    """Run a check; what is wrong is explained to whom asks."""
    found = check.run()
    if isinstance(found, GradientReport):
        return found
    return check.made("wrong", told=Explained(check, found))


class Explained:
    """What is told of a wrong entry: looked for once, when it is asked for, in the time that the check had left."""

    def __init__(self, check: Check, found: Failing) -> None:
        """Keep what a check found."""
        self.check = check
        self.found = found

    @cached_property
    def text(self) -> Text:
        """The text and the entry; those of the check itself where the function does not run as it did then."""
        subject = self.check.subject
        with quiet(), self.check.deadline.taken_up(), subject.chance.kept():
            try:
                return Explanation(self.check).told(self.found.seeds, self.found.discrepancy)
            except Exception:  # noqa: BLE001 (a function that does not run as it did may raise anything)
                sighting = Sighting(self.found.discrepancy, self.found.seeds, subject.point)
                message = wrong_entry(subject, sighting, Symptoms(), self.check.judge.method)
                return Text(message, self.found.discrepancy)

    @property
    def message(self) -> str:
        """The whole message."""
        return self.text.message

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The entry that is wrong."""
        return self.text.discrepancy


class Explanation:
    """Runs the function of a check again until it knows what to tell."""

    def __init__(self, check: Check) -> None:
        """Explain what a check found."""
        self.check = check

    def told(self, seeds: Seeds, discrepancy: Discrepancy) -> Text:
        """Return what is told of a wrong entry, after finding the output and simpler inputs that show it."""
        if discrepancy.entry is None:
            discrepancy = self.failing(seeds, discrepancy) or discrepancy
        symptoms = replace(self.symptoms(seeds), pattern=self.pattern(seeds))
        if not self.check.deadline.over:
            seeds, discrepancy = self.narrowed(seeds, discrepancy)
        point, shown = self.simplified(seeds, discrepancy)
        shown, missing = self.seen_again(point, seeds, shown)
        message = wrong_entry(
            self.check.subject, Sighting(shown, seeds, point, missing), symptoms, self.check.judge.method
        )
        return Text(message, discrepancy)

    def pattern(self, seeds: Seeds) -> str:
        """See what all entries together say, if there is the time for it."""
        if self.check.deadline.over or self.check.judge.method == "directions":
            return ""
        names = [self.check.subject.name_of(position) for position in self.check.subject.positions]
        parts = zip(
            names, self.check.fresh(seeds), self.check.judge.truths(seeds), self.check.subject.point, strict=True
        )
        shapes = [output.shape for output in self.check.outputs]
        return pattern([Whole(name, g.astype(np.float64), t, x) for name, g, t, x in parts], shapes)

    def symptoms(self, seeds: Seeds) -> Symptoms:
        """See what doubling the seed does."""
        if not self.check.seedable:
            return Symptoms()
        double = tuple(None if array is None else 2 * array for array in seeds)
        once, twice = (np.concatenate([g.ravel() for g in self.check.fresh(s)]) for s in (seeds, double))
        if not once.any() or not np.isfinite(once).all():
            return Symptoms()
        return Symptoms(ignores_seed=np.allclose(twice, once), squares_seed=np.allclose(twice, 4 * once))

    def narrowed(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Seeds, Discrepancy]:
        """Halve the seeds until one entry of one output is left, as long as the gradient stays wrong."""
        places = [(k, int(i)) for k, array in enumerate(seeds) if array is not None for i in np.flatnonzero(array)]
        while len(places) > 1 and not self.check.deadline.over:
            for half in (places[: len(places) // 2], places[len(places) // 2 :]):
                part = self.masked(seeds, half)
                found = self.failing(part, discrepancy)
                if found is not None:
                    places, seeds, discrepancy = half, part, found
                    break
            else:
                return seeds, discrepancy
        if len(places) != 1:
            return seeds, discrepancy
        unit = self.check.single(*places[0], 1.0)
        found = self.failing(unit, discrepancy)
        return (seeds, discrepancy) if found is None else (unit, found)

    def failing(self, seeds: Seeds, known: Discrepancy) -> Discrepancy | None:
        """Return what is wrong under other seeds."""
        return worst([d for d in self.check.judged(seeds, self.check.fresh(seeds), known) if d.failing])

    def masked(self, seeds: Seeds, places: Sequence[tuple[int, int]]) -> Seeds:
        """Keep some entries of the seeds."""
        kept: list[Array | None] = [None] * len(seeds)
        for k, i in places:
            source = seeds[k]
            assert source is not None
            if kept[k] is None:
                kept[k] = np.zeros_like(source)
            kept[k].flat[i] = source.flat[i]  # type: ignore[union-attr]
        return tuple(kept)

    def seen_again(self, point: Arrays, seeds: Seeds, shown: Discrepancy) -> tuple[Discrepancy, bool]:
        """Return what a run by itself gives, as a program would see it, and whether no gradient arrives at all."""
        gradient = (
            self.check.subject
            .at(point)
            .pullback(point)
            .gradients(seeds)[self.check.subject.positions.index(shown.input)]
        )
        if gradient is None or shown.entry is None:
            return shown, gradient is None
        return replace(shown, observed=float(gradient[shown.entry])), False

    def simplified(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Arrays, Discrepancy]:
        """Return the simplest inputs at which the same input's gradient is still wrong, and how."""
        if self.check.judge.method == "directions" or self.check.deadline.over:
            return self.check.subject.point, discrepancy
        for point in simpler_points(self.check.subject.point):
            found = self.elsewhere(point, seeds, discrepancy)
            if found is not None:
                return point, found
        return self.check.subject.point, discrepancy

    def elsewhere(self, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> Discrepancy | None:
        """Return what is wrong with the same input's gradient at another point, if it is wrong in the same way."""
        try:
            subject = self.check.subject.at(point)
            pullback = subject.pullback(point)
            judge: Judge
            if self.check.judge.method == "certified":
                traced = trace(subject, pullback.outputs, pullback.precision)
                judge = CertifiedJudge(traced, subject.positions, self.check.choices)
            else:
                judge = DifferencesJudge(subject, pullback.outputs, self.check.choices, pullback.precision)
            found = judge.judge(seeds, self.check.gradients(subject.pullback(point), seeds), discrepancy)
        except (SubjectError, SideEffectError, UnsupportedError, Untraceable, Fault):
            return None
        return next((d for d in found if same_fault(d, discrepancy)), None)


def same_fault(a: Discrepancy, b: Discrepancy) -> bool:
    """Whether two are about the same entry, and of the same kind."""
    kinds = [(d.severity, d.input, d.entry, bool(np.isfinite(d.observed))) for d in (a, b)]
    return kinds[0] == kinds[1]
