"""The check of one function at one point: what is asked of its gradient, and what is reported of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.differences import CHANCE_TO_MISS, DifferencesJudge
from refgrad.checking.discrepancy import Discrepancy, Judge, worst
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import Array, Arrays
from refgrad.checking.messages import Sighting, Symptoms, simpler_points, wrong_entry
from refgrad.checking.patterns import Whole, pattern
from refgrad.checking.pullbacks import Pullback, Seeds, SideEffectError
from refgrad.checking.report import GradientReport
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.subject import Subject
from refgrad.checking.tracing import Untraceable, trace
from refgrad.scenario.formats import rounded

Method = Literal["auto", "differences"]

TOLD = 16
"""So many open questions are told at most."""

OWN_SEEDS = 4
"""Up to this many outputs are each run backward by themselves, too."""

STRETCH = 2.0**10
"""A row of the Jacobian is weighed so many times more or less than the typical one, at most."""

REPEATABLE = 2.0**-40
"""Relative difference allowed between two backward calls: threads may add in another order."""


@dataclass(frozen=True, slots=True)
class _Fault(Exception):  # noqa: N818 (caught where it is raised for)
    """Something that is wrong beside the numbers."""

    message: str


class Check:
    """One function at one point."""

    def __init__(
        self,
        subject: Subject,
        choices: np.random.Generator,
        tolerance: float,
        method: Method,
        deadline: Deadline,
    ) -> None:
        """Run the function forward, and find out who knows the truth."""
        self.subject = subject
        self.choices = choices
        self.tolerance = tolerance
        self.deadline = deadline
        self.pullback = subject.pullback(subject.point)
        self.outputs = self.pullback.outputs
        subject.output_kinds = self.pullback.kinds
        self.reason = ""
        self.seen = False
        self.first_gradients: list[Array] = []
        self._differences: DifferencesJudge | None = None
        self.judge = self.find_judge(method)
        self.seeds = list(self.all_seeds())

    def find_judge(self, method: Method) -> Judge:
        """Return who knows the truth: the certified oracle where the function can be traced."""
        if method == "auto":
            try:
                traced = trace(self.subject, self.outputs, self.pullback.precision)
                return CertifiedJudge(traced, self.subject.positions, self.choices)
            except Untraceable as error:
                self.reason = str(error)
        return self.differences

    @property
    def differences(self) -> DifferencesJudge:
        """Who knows the function's values."""
        if self._differences is None:
            self._differences = DifferencesJudge(
                self.subject, self.outputs, self.choices, self.pullback.precision, self.deadline
            )
        return self._differences

    def all_seeds(self) -> Iterator[Seeds]:
        """Yield the seeds: two that weigh all outputs, then such of each output alone."""
        active = self.pullback.active
        if "seed" not in self.subject.engine.adapter.features:
            yield from (self.single(k, 0, 1.0) for k, output in enumerate(self.outputs) if output.size == 1)
            return
        yield self.dense(active)
        if sum(output.size for output, wanted in zip(self.outputs, active, strict=True) if wanted) > 1:
            yield self.balanced(self.dense(active))
        alone = [k for k, wanted in enumerate(active) if wanted]
        if 1 < len(alone) <= OWN_SEEDS:
            yield from (self.dense(tuple(k == each for k in range(len(active)))) for each in alone)

    def dense(self, wanted: Sequence[bool]) -> Seeds:
        """Return a seed that weighs all entries of some outputs."""
        return tuple(self.random(k) if taken else None for k, taken in enumerate(wanted))

    def random(self, output: int) -> Array:
        """Return a seed of random numbers between a half and two, of either sign; never 1."""
        shape = self.outputs[output].shape
        return self.storable(self.choices.uniform(0.5, 2.0, shape) * self.choices.choice((-1.0, 1.0), shape), output)

    def storable(self, seed: Array, output: int) -> Array:
        """Return a seed in numbers that the output's dtype has."""
        return rounded(seed, self.pullback.kinds[output].part).astype(self.outputs[output].dtype)

    def balanced(self, seeds: Seeds) -> Seeds:
        """Weigh the outputs by how slowly they change, so that no row of the Jacobian hides behind another."""
        rates = self.judge.row_scales()
        scales, offset = [], 0
        for output in self.outputs:
            scales.append(rates[offset : offset + output.size].reshape(output.shape))
            offset += output.size
        typical = float(np.exp(np.mean(np.log(rates)))) if rates.size else 1.0
        return tuple(
            None if seed is None else self.storable(seed * np.clip(typical / scale, 1 / STRETCH, STRETCH), k)
            for k, (seed, scale) in enumerate(zip(seeds, scales, strict=True))
        )

    def single(self, output: int, flat: int, weight: float) -> Seeds:
        """Return the seed that weighs one entry of one output."""
        array = np.zeros(self.outputs[output].shape, self.outputs[output].dtype)
        array.flat[flat] = weight
        return tuple(array if k == output else None for k in range(len(self.outputs)))

    def report(self) -> GradientReport:
        """Run all checks."""
        again = self.subject.pullback(self.subject.point)
        changed = self.changed(again.outputs)
        if changed is not None:
            text = f"output {changed} differs between two calls with the same inputs: make it repeatable first"
            return self.made("inconclusive", message=text, cause="changes")
        undefined = next((k for k, output in enumerate(self.outputs) if not np.isfinite(output).all()), None)
        if undefined is not None:
            text = f"output {undefined} is not finite at this point: choose one inside of the function's domain"
            return self.made("inconclusive", message=text, cause="domain")
        try:
            found = self.check_seeds()
            self.check_repetition(again)
        except _Fault as fault:
            return self.made("wrong", message=fault.message)
        return self.concluded(found)

    def concluded(self, found: list[tuple[Seeds, Discrepancy]]) -> GradientReport:
        """Report what was found."""
        failing = [(seeds, d) for seeds, d in found if d.failing and d.relative_error > self.tolerance]
        if failing:
            return self.made_wrong(*failing[0])
        open_questions = tuple({(d.input, d.entry): d for _, d in found}.values())
        unknown = [d for d in open_questions if d.severity == "inconclusive"]
        if unknown:
            return self.made("inconclusive", inconclusive=open_questions[:TOLD], cause=unknown[0].cause or "noise")
        if not self.seen:
            text = "no gradient could be held against the truth in the time that there was: raise the budget"
            return self.made("inconclusive", message=text, cause="time")
        return self.made("right", inconclusive=open_questions[:TOLD])

    def changed(self, again: Arrays) -> int | None:
        """Return the first output that is something else the second time."""
        for k, (first, second) in enumerate(zip(self.outputs, again, strict=True)):
            if first.shape != second.shape or not np.allclose(first, second, REPEATABLE, 0.0, equal_nan=True):
                return k
        return None

    def check_seeds(self) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under every seed; stop at the first that is wrong."""
        found: list[tuple[Seeds, Discrepancy]] = []
        for seeds in self.seeds:
            if self.deadline.over:
                break
            gradients = self.gradients(self.pullback, seeds)
            self.first_gradients = self.first_gradients or gradients
            discrepancies = self.judged(seeds, gradients)
            if any(discrepancy.failing for discrepancy in discrepancies):
                discrepancies = self.judged(seeds, self.fresh(seeds))
            found += [(seeds, discrepancy) for discrepancy in discrepancies]
            self.seen = True
            if any(discrepancy.failing for discrepancy in discrepancies):
                break
        return found

    def fresh(self, seeds: Seeds) -> list[Array]:
        """Return the gradients of a run of their own: some functions keep what only the last run left."""
        return self.gradients(self.subject.pullback(self.subject.point), seeds)

    def judged(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return what is not right; where certification says nothing, differences decide."""
        found = self.judge.judge(seeds, gradients, known)
        if self.judge.method != "certified":
            return found
        return [
            better
            for each in found
            for better in (
                self.differences.judge(seeds, gradients, known or each) if each.severity == "inconclusive" else [each]
            )
        ]

    def gradients(self, pullback: Pullback, seeds: Seeds) -> list[Array]:
        """Return the gradients, zeros where none arrive. Raises a fault for another shape or dtype than the input's."""
        result = []
        for position, gradient, primal in zip(
            self.subject.positions, pullback.gradients(seeds), self.subject.point, strict=True
        ):
            if gradient is None:
                result.append(np.zeros(primal.shape, primal.dtype))
                continue
            for what, got, wanted in (("shape", gradient.shape, primal.shape), ("dtype", gradient.dtype, primal.dtype)):
                if got != wanted:
                    name = self.subject.name_of(position)
                    raise _Fault(f"the gradient of input {name} has the {what} {got}, but the input has {wanted}")
            result.append(gradient)
        return result

    def check_repetition(self, pullback: Pullback) -> None:
        """Refuse a backward that gives something else the second time."""
        again = self.gradients(pullback, self.seeds[0]) if self.first_gradients else []
        if not again:
            return
        for position, a, b in zip(self.subject.positions, self.first_gradients, again, strict=True):
            size = float(np.max(np.abs(a[np.isfinite(a)]), initial=0.0))
            if not np.allclose(a, b, REPEATABLE, REPEATABLE * size, equal_nan=True):
                name = self.subject.name_of(position)
                raise _Fault(f"the gradient of input {name} differs between two backward calls with the same seed")

    def made(self, outcome: Any, **fields: Any) -> GradientReport:
        """Return a report with what is known of the whole check."""
        method: Any = self.judge.method
        entries = sum(array.size for array in self.subject.point)
        judge = self.judge
        return GradientReport(
            self.subject.engine.adapter.name,
            outcome,
            method,
            entries,
            len(self.seeds),
            self.reason,
            judge.sees_from(entries) if isinstance(judge, CertifiedJudge) else None,
            CHANCE_TO_MISS if method == "directions" else 0.0,
            looked_at=len(judge.looked_at) if isinstance(judge, DifferencesJudge) and judge.open else entries,
            **fields,
        )

    def made_wrong(self, seeds: Seeds, discrepancy: Discrepancy) -> GradientReport:
        """Return the report on a wrong entry, after finding the output and simpler inputs that show it."""
        symptoms = replace(self.symptoms(seeds), pattern=self.pattern(seeds))
        if not self.deadline.over:
            seeds, discrepancy = self.narrowed(seeds, discrepancy)
        point, shown = self.simplified(seeds, discrepancy)
        shown, missing = self.seen_again(point, seeds, shown)
        message = wrong_entry(self.subject, Sighting(shown, seeds, point, missing), symptoms, self.judge.method)
        return self.made("wrong", message=message, discrepancy=discrepancy)

    def pattern(self, seeds: Seeds) -> str:
        """See what all entries together say, if there is the time for it."""
        if self.deadline.over or self.judge.method == "directions":
            return ""
        names = [self.subject.name_of(position) for position in self.subject.positions]
        parts = zip(names, self.fresh(seeds), self.judge.truths(seeds), self.subject.point, strict=True)
        shapes = [output.shape for output in self.outputs]
        return pattern([Whole(name, g.astype(np.float64), t, x) for name, g, t, x in parts], shapes)

    def symptoms(self, seeds: Seeds) -> Symptoms:
        """See what doubling the seed does."""
        if "seed" not in self.subject.engine.adapter.features:
            return Symptoms()
        double = tuple(None if array is None else 2 * array for array in seeds)
        once, twice = (np.concatenate([g.ravel() for g in self.fresh(s)]) for s in (seeds, double))
        if not once.any() or not np.isfinite(once).all():
            return Symptoms()
        return Symptoms(ignores_seed=np.allclose(twice, once), squares_seed=np.allclose(twice, 4 * once))

    def narrowed(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Seeds, Discrepancy]:
        """Halve the seeds until one entry of one output is left, as long as the gradient stays wrong."""
        places = [(k, int(i)) for k, array in enumerate(seeds) if array is not None for i in np.flatnonzero(array)]
        while len(places) > 1 and not self.deadline.over:
            for half in (places[: len(places) // 2], places[len(places) // 2 :]):
                part = self.masked(seeds, half)
                found = self.failing(part, discrepancy)
                if found is not None:
                    places, seeds, discrepancy = half, part, found
                    break
            else:
                return seeds, discrepancy
        unit = self.single(*places[0], 1.0)
        found = self.failing(unit, discrepancy) if len(places) == 1 else None
        return (seeds, discrepancy) if found is None else (unit, found)

    def failing(self, seeds: Seeds, known: Discrepancy) -> Discrepancy | None:
        """Return what is wrong under other seeds."""
        return worst([d for d in self.judged(seeds, self.fresh(seeds), known) if d.failing])

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
        gradient = self.subject.at(point).pullback(point).gradients(seeds)[self.subject.positions.index(shown.input)]
        if gradient is None or shown.entry is None:
            return shown, gradient is None
        return replace(shown, observed=float(gradient[shown.entry])), False

    def simplified(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Arrays, Discrepancy]:
        """Return the simplest inputs at which the same input's gradient is still wrong, and how."""
        if self.judge.method == "directions" or self.deadline.over:
            return self.subject.point, discrepancy
        for point in simpler_points(self.subject.point):
            found = self.elsewhere(point, seeds, discrepancy)
            if found is not None:
                return point, found
        return self.subject.point, discrepancy

    def elsewhere(self, point: Arrays, seeds: Seeds, discrepancy: Discrepancy) -> Discrepancy | None:
        """Return what is wrong with the same input's gradient at another point, if it is wrong in the same way."""
        try:
            subject = self.subject.at(point)
            pullback = subject.pullback(point)
            judge: Judge
            if self.judge.method == "certified":
                traced = trace(subject, pullback.outputs, pullback.precision)
                judge = CertifiedJudge(traced, subject.positions, self.choices)
            else:
                judge = DifferencesJudge(subject, pullback.outputs, self.choices, pullback.precision)
            found = judge.judge(seeds, self.gradients(subject.pullback(point), seeds), discrepancy)
        except (SubjectError, SideEffectError, UnsupportedError, Untraceable, _Fault):
            return None
        return next((d for d in found if alike(d, discrepancy)), None)


def alike(a: Discrepancy, b: Discrepancy) -> bool:
    """Whether two are about the same entry, and of the same kind."""
    kinds = [(d.severity, d.input, d.entry, bool(np.isfinite(d.observed))) for d in (a, b)]
    return kinds[0] == kinds[1]
