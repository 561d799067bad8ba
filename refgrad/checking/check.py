"""The check of one function at one point: what is asked of its gradient, and what is reported of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.differences import CHANCE_TO_MISS, DifferencesJudge
from refgrad.checking.discrepancy import Discrepancy, Judge
from refgrad.checking.libraries.numbers import Array, Arrays
from refgrad.checking.pullbacks import Pullback, Seeds
from refgrad.checking.report import GradientReport, Text
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.subject import Subject
from refgrad.checking.tracing import Recorder, Untraceable, trace
from refgrad.scenario.formats import FORMATS, least_precise, rounded

Method = Literal["auto", "differences"]

TOLD = 16
"""So many open questions are told at most."""

OWN_SEEDS = 4
"""Up to this many outputs are each run backward by themselves, too."""

STRETCH = 2.0**10
"""A row of the Jacobian is weighed so many times more or less than the typical one, at most."""

OTHER_SEED = -0.5
"""Multiplies a seed exactly, and a gradient with it."""

BACK = 2.0
"""Multiplies a seed in another run."""

HIDING = 6
"""A row of the Jacobian that is so much smaller that this part of a format's bits is lost hides behind another."""

REPEATABLE = 2.0**-40
"""Relative difference allowed between two backward calls: threads may add in another order."""


@dataclass(frozen=True, slots=True)
class Fault(Exception):  # noqa: N818 (caught where it is raised for)
    """Something that is wrong beside the numbers."""

    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Failing:
    """An entry that is wrong, and the seeds under which it is."""

    seeds: Seeds
    discrepancy: Discrepancy


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
        self.seeds: list[Seeds] = []
        self.first: list[Array] = []
        self.run_twice(method)
        changed = self.varying is not None
        if subject.chance.found(lambda: subject.values(subject.point), changed=changed):
            self.run_twice(method)

    def run_twice(self, method: Method) -> None:
        """Run the function forward twice, the second time watched."""
        subject = self.subject
        self.pullback = subject.pullback(subject.point)
        self.outputs = self.pullback.outputs
        subject.output_kinds = self.pullback.kinds
        self.reason = ""
        self._differences: DifferencesJudge | None = None
        watched: Pullback | None = None
        self.judge, watched = self.find_judge(method)
        self.again = watched or subject.pullback(subject.point)
        self.varying = self.changed(self.again.outputs)
        if watched is not None and self.varying is not None:  # what is compiled rounds otherwise
            self.again = subject.pullback(subject.point)
            self.varying = self.changed(self.again.outputs)

    def find_judge(self, method: Method) -> tuple[Judge, Pullback | None]:
        """Return who knows the truth, the certified oracle where the function can be traced, and the run for that."""
        if method != "auto":
            return self.differences, None
        recorder = Recorder()
        try:
            traced = trace(self.subject, self.outputs, self.pullback.precision, recorder)
            judge = CertifiedJudge(traced, self.subject.positions, self.choices, self.tolerance, self.subject)
            return judge, recorder.run  # noqa: TRY300 (what is traced has come to here)
        except Untraceable as error:
            self.reason = str(error)
            self.pullback.precision = least_precise([self.pullback.precision, *recorder.dtypes])
        return self.differences, recorder.run

    @property
    def differences(self) -> DifferencesJudge:
        """Who knows the function's values."""
        if self._differences is None:
            self._differences = DifferencesJudge(
                self.subject, self.outputs, self.choices, self.pullback.precision, self.deadline
            )
            self._differences.tolerance = self.tolerance
        return self._differences

    def all_seeds(self) -> Iterator[Seeds]:
        """Yield the seeds: two that weigh all outputs, then such of each output alone."""
        active = self.pullback.active
        if not self.seedable:
            yield from (self.single(k, 0, 1.0) for k, output in enumerate(self.outputs) if output.size == 1)
            return
        dense = self.dense(active)
        yield dense
        if sum(output.size for output, wanted in zip(self.outputs, active, strict=True) if wanted) > 1:
            yield self.balanced(dense)
        alone = [k for k, wanted in enumerate(active) if wanted]
        if 1 < len(alone) <= OWN_SEEDS:
            yield from (self.dense(tuple(k == each for k in range(len(active)))) for each in alone)

    @property
    def seedable(self) -> bool:
        """Whether the engine lets one say with what a backward starts."""
        return "seed" in self.subject.engine.adapter.features

    def dense(self, wanted: Sequence[bool]) -> Seeds:
        """Return a seed that weighs all entries of some outputs."""
        return tuple(self.random(k) if taken else None for k, taken in enumerate(wanted))

    def random(self, output: int) -> Array:
        """Return a seed of random numbers between a half and two, of either sign; never 1."""
        drawn = self.choices.uniform(-1.5, 1.5, self.outputs[output].shape)
        return self.storable(drawn + np.copysign(0.5, drawn), output)

    def storable(self, seed: Array, output: int) -> Array:
        """Return a seed in numbers that the output's dtype has."""
        return rounded(seed, self.pullback.kinds[output].part).astype(self.outputs[output].dtype, copy=False)

    def balanced(self, seeds: Seeds) -> Seeds:
        """Weigh the outputs by how slowly they change, so that no row of the Jacobian hides behind another.

        Where all change alike, the seeds are the same but for a factor.
        """
        rates = self.judge.row_scales()
        bits = FORMATS[self.pullback.precision].bits // HIDING
        if rates.size and rates.max() <= 2.0**bits * rates.min():
            return tuple(None if seed is None else BACK * seed for seed in seeds)
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

    def run(self) -> GradientReport | Failing:
        """Run all checks; what is wrong is still to be explained."""
        if self.varying is not None:
            text = f"output {self.varying} differs between two calls with the same inputs: make it repeatable first"
            return self.made("inconclusive", told=Text(text), cause="changes")
        undefined = next((k for k, output in enumerate(self.outputs) if not np.isfinite(output).all()), None)
        if undefined is not None:
            text = f"output {undefined} is not finite at this point: choose one inside of the function's domain"
            return self.made("inconclusive", told=Text(text), cause="domain")
        try:
            found = self.check_seeds()
        except Fault as fault:
            return self.made("wrong", told=Text(fault.message))
        return self.concluded(found)

    def concluded(self, found: list[tuple[Seeds, Discrepancy]]) -> GradientReport | Failing:
        """Report what was found."""
        wrong = [(seeds, d) for seeds, d in found if d.failing and d.relative_error > self.tolerance]
        if wrong:
            return Failing(*wrong[0])
        open_questions = tuple({(d.input, d.entry): d for _, d in found}.values())
        unknown = [d for d in open_questions if d.severity == "inconclusive"]
        if unknown:
            return self.made("inconclusive", inconclusive=open_questions[:TOLD], cause=unknown[0].cause or "noise")
        if not self.seeds:
            text = "no gradient could be held against the truth in the time that there was: raise the budget"
            return self.made("inconclusive", told=Text(text), cause="time")
        return self.made("right", inconclusive=open_questions[:TOLD])

    def changed(self, again: Arrays) -> int | None:
        """Return the first output that is something else the second time."""
        for k, (first, second) in enumerate(zip(self.outputs, again, strict=True)):
            if not alike(first, second):
                return k
        return None

    def check_seeds(self) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under every seed, of two runs in turn; stop at the first that is wrong."""
        found: list[tuple[Seeds, Discrepancy]] = []
        for number, seeds in enumerate(self.all_seeds()):
            if self.deadline.over:
                break
            self.seeds.append(seeds)
            if number == 0:
                found += self.check_twice(seeds)
            elif not self.known(seeds):
                found += self.check_seed(seeds, self.gradients(self.other(number), seeds))
            if failing(found):
                if number:
                    self.refuse_difference(self.first, self.fresh(self.seeds[0]))
                break
        return found

    def other(self, number: int) -> Pullback:
        """Return one of two runs in turn, the same where there is nothing in which they could differ."""
        return self.again if number % 2 and not self.pullback.runs_by_itself else self.pullback

    def known(self, seeds: Seeds) -> bool:
        """Whether the gradients of another run are those of the first, for seeds that only differ by a factor."""
        for a, b in zip(self.seeds[0], seeds, strict=True):
            if a is not b and (a is None or b is None or (BACK * a).tobytes() != b.tobytes()):
                return False
        found = self.gradients(self.other(1), seeds)
        return all(alike(BACK * a, b) for a, b in zip(self.first, found, strict=True))

    def check_twice(self, seeds: Seeds) -> list[tuple[Seeds, Discrepancy]]:
        """Run backward twice through what was recorded, the second time with seeds whose gradient is known then."""
        factor = OTHER_SEED if self.seedable else 1.0
        other = tuple(None if seed is None else factor * seed for seed in seeds)
        self.first = self.gradients(self.pullback, seeds)
        second = self.gradients(self.pullback, other)
        linear = all(alike(factor * a, b) for a, b in zip(self.first, second, strict=True))
        if not linear:
            self.refuse_difference(self.first, self.gradients(self.pullback, seeds))
        found = self.check_seed(seeds, self.first)
        return found if linear or failing(found) else found + self.check_seed(other, second)

    def check_seed(self, seeds: Seeds, gradients: Sequence[Array]) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under some seeds, those of a run of their own if they seem to be wrong."""
        found = [(seeds, discrepancy) for discrepancy in self.judged(seeds, gradients)]
        if not failing(found):
            return found
        again = self.fresh(seeds)
        if all(alike(a, b) for a, b in zip(gradients, again, strict=True)):
            return found
        found = [(seeds, discrepancy) for discrepancy in self.judged(seeds, again)]
        if not failing(found):
            self.refuse_difference(again, self.fresh(seeds))
        return found

    def refuse_difference(self, gradients: Sequence[Array], again: Sequence[Array]) -> None:
        """Raise a fault where a backward gave something else the second time."""
        for position, a, b in zip(self.subject.positions, gradients, again, strict=True):
            if not alike(a, b):
                name = self.subject.name_of(position)
                raise Fault(f"the gradient of input {name} differs between two backward calls with the same seed")

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
            if gradient.shape != primal.shape or gradient.dtype != primal.dtype:
                what = "shape" if gradient.shape != primal.shape else "dtype"
                got, wanted = getattr(gradient, what), getattr(primal, what)
                name = self.subject.name_of(position)
                raise Fault(f"the gradient of input {name} has the {what} {got}, but the input has {wanted}")
            result.append(gradient)
        return result

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


def failing(found: Sequence[tuple[Seeds, Discrepancy]]) -> bool:
    """Whether anything is at fault."""
    return any(discrepancy.failing for _, discrepancy in found)


def alike(a: Array, b: Array) -> bool:
    """Whether two arrays are the same but for the order in which threads added."""
    if a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes() or (a == b).all():
        return True
    size = float(np.max(np.abs(a[np.isfinite(a)]), initial=0.0))
    return np.allclose(a, b, REPEATABLE, REPEATABLE * size, equal_nan=True)
