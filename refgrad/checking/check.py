"""The check of one function at one point: seeds, backward runs, and judgement of the gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from refgrad.checking.certified import CertifiedJudge, UserFunction, undecided
from refgrad.checking.libraries import WrongError
from refgrad.checking.libraries.trees import CANCELLED, NEARBY_TOLERANCE, Array, Arrays, furthest, near
from refgrad.checking.report import OUT_OF_TIME, Explanation, GradientReport
from refgrad.checking.subject import CheckedFunction, DirectPullback, Gradients, Pullback, Seeds
from refgrad.checking.tracing import Trace, Untraceable, trace
from refgrad.oracles import Discrepancy
from refgrad.oracles.screening import random_signed
from refgrad.oracles.slopes.claim import CHANCE_TO_MISS, DifferencesJudge
from refgrad.oracles.slopes.directions import OutOfTime, split
from refgrad.scenario.formats import FORMATS, least_precise, rounded

Method = Literal["auto", "differences"]
Judge: TypeAlias = CertifiedJudge | DifferencesJudge

OWN_SEEDS = 4
"""Largest number of outputs that are each run backward separately, too."""

STRETCH = 1 / CANCELLED
"""Largest factor between the weights of a row of the Jacobian and of a typical one."""

SEED_WIDTH = 1.5
"""Largest number by which the magnitude of an entry of a seed exceeds a half."""

BACK = 2.0
"""Factor of a seed in another run."""

OTHER_SEED = -1 / BACK
"""Factor of the seed of a second backward: the gradient is multiplied by it exactly."""

HIDING = 6
"""A row of the Jacobian that is smaller than another by this share of the format's bits is hidden by that one."""

REPEATABLE = 2.0**-40
"""Largest relative difference between two backward calls: threads may add in another order."""


class GradientFaultError(WrongError):
    """A fault of a gradient other than a wrong number."""


Failing: TypeAlias = tuple[Seeds, Discrepancy]
"""Seeds, and an entry that is wrong under them."""


@dataclass(eq=False)
class GradientCheck:
    """One function at one point, and the judge of its gradients.

    If there is a ``reference``, its derivative is the truth. Gradients of 16 bits may have been summed in the dtype
    ``accumulate``. ``seeds`` are those so far, and ``first`` has the gradients under the first of them;
    ``repeats`` is True if a second run is known to give the same multiples of them as of the seeds.
    """

    subject: CheckedFunction
    choices: np.random.Generator
    tolerance: float
    method: Method
    reference: CheckedFunction | None = None
    accumulate: str = "float32"
    seeds: list[Seeds] = field(default_factory=list)
    first: list[Array] = field(default_factory=list)
    repeats: bool = False
    detectable: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Run the function forward, and choose the judge."""
        self.run_twice()
        subject, changed = self.subject, self.varying is not None
        if subject.random_state.draws(lambda: subject.values(subject.point), changed=changed):
            self.run_twice()

    def run_twice(self) -> None:
        """Run the function forward twice, and trace the second run."""
        subject = self.subject
        self.pullback = subject.pullback(subject.point)
        self.outputs = self.pullback.outputs
        subject.output_kinds = self.pullback.kinds
        self.reason = ""
        self.expected_outputs = self.outputs
        if self.reference is not None:
            slow = self.reference.pullback(self.reference.point)
            self.pullback.precision = least_precise([self.pullback.precision, slow.precision])
            self.expected_outputs = slow.outputs
        self.__dict__.pop("differences", None)
        self.judge, traced = self.find_judge()
        if traced is None and self.reference is None and isinstance(self.judge, CertifiedJudge):
            traced = self.pullback if self.pullback.runs_by_itself else None  # the trace has the same outputs
        self.again = traced or subject.pullback(subject.point)
        self.varying = self.changed(self.again.outputs)
        if traced is not None and self.varying is not None:  # compiled code is rounded differently
            self.again = subject.pullback(subject.point)
            self.varying = self.changed(self.again.outputs)

    def find_judge(self) -> tuple[Judge, Pullback | None]:
        """Return the judge, a certified one if the function can be traced, and the run that was traced."""
        if self.method != "auto":
            return self.differences, None
        record, reference = Trace(), self.reference
        own = self.subject if reference is None else None
        truth: Judge
        try:
            traced = trace(reference or self.subject, self.expected_outputs, self.pullback.precision, record)
            truth = CertifiedJudge(traced, self.subject.positions, self.choices, self.tolerance, own)
        except Untraceable as error:
            self.reason = str(error)
            self.pullback.precision = least_precise([self.pullback.precision, *record.dtypes])
            truth = self.differences
        return truth, record.run if reference is None else None

    @cached_property
    def differences(self) -> DifferencesJudge:
        """The judge by differences of the function's values."""
        function = UserFunction(self.reference or self.subject, self.expected_outputs, self.pullback.precision)
        result = DifferencesJudge(function, self.choices)
        result.tolerance = self.tolerance
        return result

    def unlike_reference(self) -> str:
        """Describe an output that differs from the reference by more than rounding; empty if there is none."""
        outputs, reference, truth = self.outputs, self.expected_outputs, self.judge
        if len(outputs) != len(reference):
            return f"the function returns {len(outputs)} tensors, but the reference {len(reference)}"
        for k, (output, slow) in enumerate(zip(outputs, reference, strict=True)):
            if output.shape != slow.shape:
                return f"output {k} has the shape {output.shape}, but that of the reference {slow.shape}"
            if isinstance(truth, CertifiedJudge):
                same = truth.trace.has_value(truth.trace.outputs[k], output)
            else:
                same = near(slow, output, NEARBY_TOLERANCE[self.pullback.precision])
            if not same:
                _, index = furthest(output, slow)
                entry = f", entry {index}" * bool(index)
                return f"output {k}{entry} is {float(output[index])!r}, but {float(slow[index])!r} in the reference"
        return ""

    def all_seeds(self) -> Iterator[Seeds]:
        """Yield the seeds: two that weigh all outputs, then one for each output separately."""
        active = self.pullback.active
        if not self.seedable:
            yield from (self.single(k, 0, 1.0) for k, output in enumerate(self.outputs) if output.size == 1)
            return
        dense = self.dense(active)
        yield dense
        if sum(output.size for output, taken in zip(self.outputs, active, strict=True) if taken) > 1:
            yield self.balanced(dense)
        used = [k for k, taken in enumerate(active) if taken]
        if 1 < len(used) <= OWN_SEEDS:
            yield from (self.dense(tuple(k == each for k in range(len(active)))) for each in used)

    @property
    def seedable(self) -> bool:
        """Return True if the engine accepts a seed."""
        return "seed" in self.subject.engine.adapter.features

    def dense(self, outputs: Sequence[bool]) -> Seeds:
        """Return a seed of random entries, none equal to 1, for each chosen output, and None for the others."""
        pairs = zip(self.outputs, outputs, strict=True)
        return tuple(self.drawn(k, output.shape) if taken else None for k, (output, taken) in enumerate(pairs))

    def drawn(self, output: int, shape: tuple[int, ...]) -> Array:
        """Return a random seed for an output, and store how it was drawn."""
        state = self.choices.bit_generator.state["state"]
        seed = self.storable(random_signed(shape, self.choices, SEED_WIDTH), output)
        self.subject.drawn.append((seed, f"drawn({state['state']}, {state['inc']}, {SEED_WIDTH}, {shape})"))
        return seed

    def storable(self, seed: Array, output: int) -> Array:
        """Return a seed rounded to the output's dtype."""
        return rounded(seed, self.pullback.kinds[output].part).astype(self.outputs[output].dtype, copy=False)

    def balanced(self, seeds: Seeds) -> Seeds:
        """Weigh the outputs by the inverse of their rates of change, so that no row of the Jacobian hides another.

        If all rates are similar, the seeds are multiplied by one factor.
        """
        rates = self.judge.row_scales()
        bits = FORMATS[self.pullback.precision].bits // HIDING
        if rates.size and rates.max() <= 2.0**bits * rates.min():
            return tuple(None if seed is None else BACK * seed for seed in seeds)
        scales = split(rates, tuple(np.empty(output.shape) for output in self.outputs))
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
        """Run all checks and return the report. The caller adds the explanation of a wrong entry."""
        unlike = "" if self.reference is None else self.unlike_reference()
        if unlike:
            return self.report("wrong", message=unlike)
        if self.varying is not None:
            text = f"output {self.varying} differs between two calls with the same inputs: make it repeatable first"
            return self.report("inconclusive", message=text, cause="changes")
        undefined = next((k for k, output in enumerate(self.outputs) if not np.isfinite(output).all()), None)
        if undefined is not None:
            text = f"output {undefined} is not finite at this point: choose one inside of the function's domain"
            return self.report("inconclusive", message=text, cause="domain")
        try:
            discrepancies = self.check_seeds()
        except GradientFaultError as fault:
            return self.report("wrong", message=str(fault))
        compared = None if failing(discrepancies) or not self.seeds else self.comparison()
        return self.concluded(discrepancies) if compared is None else compared

    def comparison(self) -> GradientReport | None:
        """Return the report by the comparison of all entries in low precision, or None if it is not conclusive."""
        if not isinstance(self.judge, CertifiedJudge) or not self.judge.low:
            return None
        from refgrad.checking import low_precision  # noqa: PLC0415 (scipy and the engine take half a second to load)

        outcome, finding, self.detectable, cotangents = low_precision.compare(self, self.judge)
        if finding is not None:
            message = finding.message(self.subject)
            return self.report(outcome, message=message, cause="noise" * (outcome == "inconclusive"))
        if self.judge.trace.large and not cotangents:
            text = "its gradients are not known, since it is at a kink or too large: raise the budget"
            return self.report(
                "inconclusive", message=text, cause="time" if self.subject.deadline.is_over() else "kink"
            )
        return None

    def concluded(self, discrepancies: list[tuple[Seeds, Discrepancy]]) -> GradientReport | Failing:
        """Return the report on the discrepancies, or the first that fails."""
        wrong = [(seeds, d) for seeds, d in discrepancies if d.failing and d.relative_error > self.tolerance]
        if wrong:
            return wrong[0]
        open_questions = tuple({(d.input, d.entry): d for _, d in discrepancies}.values())
        unknown = [d for d in open_questions if d.severity == "inconclusive"]
        if unknown:
            cause = unknown[0].cause or "noise"
            message = OUT_OF_TIME if cause == "time" else ""
            return self.report("inconclusive", inconclusive=open_questions, cause=cause, message=message)
        if not self.seeds:
            return self.report("inconclusive", message=OUT_OF_TIME, cause="time")
        return self.report("right", inconclusive=open_questions)

    def changed(self, again: Arrays) -> int | None:
        """Return the first output that differs in the second run, or None."""
        pairs = zip(self.outputs, again, strict=True)
        return next((k for k, (first, second) in enumerate(pairs) if not alike(first, second)), None)

    def check_seeds(self) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients of two runs, in turn, under every seed, until one is wrong or the time is used up."""
        discrepancies: list[tuple[Seeds, Discrepancy]] = []
        with suppress(OutOfTime):
            for number, seeds in enumerate(self.all_seeds()):
                if number == 0:
                    discrepancies += self.check_twice(seeds)
                elif not self.known(seeds):
                    discrepancies += self.check_seed(seeds, self.gradients(self.other(number), seeds))
                self.seeds.append(seeds)
                if failing(discrepancies):
                    if number:
                        self.refuse_difference(self.first, self.fresh(self.seeds[0]))
                    break
        return discrepancies

    def other(self, number: int) -> Pullback:
        """Return the run that was not used last, or the only run if each backward runs the function anew."""
        return self.again if number % 2 and not self.pullback.runs_by_itself else self.pullback

    def known(self, seeds: Seeds) -> bool:
        """Return True if a second run, with seeds times ``BACK``, gives the gradients of the first times ``BACK``."""
        for a, b in zip(self.seeds[0], seeds, strict=True):
            if a is not b and (a is None or b is None or (BACK * a).tobytes() != b.tobytes()):
                return False
        return self.repeats or self.doubled(self.gradients(self.other(1), seeds))

    def doubled(self, gradients: Sequence[Array]) -> bool:
        """Return True if gradients are those under the first seeds times ``BACK``."""
        return all(alike(BACK * a, b) for a, b in zip(self.first, gradients, strict=True))

    def check_twice(self, seeds: Seeds) -> list[tuple[Seeds, Discrepancy]]:
        """Run backward twice through one graph, with other multiples of the seeds, and compare the gradients."""
        again, pure = self.other(1), self.subject.library.pure
        factor = 1.0 if not self.seedable else -BACK if pure else OTHER_SEED
        other, back = (tuple(None if seed is None else f * seed for seed in seeds) for f in (factor, BACK))
        self.first = self.gradients(self.pullback, seeds)
        if isinstance(self.pullback, DirectPullback) and isinstance(again, DirectPullback):
            second, doubled = map(self.checked, self.pullback.together([(self.pullback, other), (again, back)]))
            self.repeats = self.doubled(doubled)
        else:
            second = self.gradients(self.pullback, other)
            self.repeats = pure and self.doubled([-each for each in second])
        linear = all(alike(factor * a, b) for a, b in zip(self.first, second, strict=True))
        if not linear:
            self.refuse_difference(self.first, self.gradients(self.pullback, seeds))
        discrepancies = self.check_seed(seeds, self.first)
        return discrepancies if linear or failing(discrepancies) else discrepancies + self.check_seed(other, second)

    def check_seed(self, seeds: Seeds, gradients: Sequence[Array]) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under some seeds; if they seem to be wrong, judge those of a new run."""
        try:
            return self.confirmed(seeds, gradients)
        except OutOfTime:
            return [(seeds, undecided(self.subject.positions[0]))]

    def confirmed(self, seeds: Seeds, gradients: Sequence[Array]) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under some seeds, and those of a new run if they seem to be wrong and none is known."""
        discrepancies = [(seeds, discrepancy) for discrepancy in self.judged(seeds, gradients)]
        if not failing(discrepancies) or (self.repeats and gradients is self.first):
            return discrepancies
        again = self.fresh(seeds)
        if all(alike(a, b) for a, b in zip(gradients, again, strict=True)):
            return discrepancies
        discrepancies = [(seeds, discrepancy) for discrepancy in self.judged(seeds, again)]
        if not failing(discrepancies):
            self.refuse_difference(again, self.fresh(seeds))
        return discrepancies

    def refuse_difference(self, gradients: Sequence[Array], again: Sequence[Array]) -> None:
        """Raise a fault if a backward gave another gradient the second time."""
        for name, a, b in zip(self.subject.names, gradients, again, strict=True):
            if not alike(a, b):
                what = "differs between two backward calls with the same seed"
                raise GradientFaultError(f"the gradient of input {name} {what}")

    def fresh(self, seeds: Seeds) -> list[Array]:
        """Return the gradients of a new run, since some functions keep state, or of an earlier run without state."""
        known = self.pullback.runs_by_itself
        return self.gradients(self.pullback if known else self.subject.pullback(self.subject.point), seeds)

    def judged(self, seeds: Seeds, gradients: Sequence[Array], known: Discrepancy | None = None) -> list[Discrepancy]:
        """Return the discrepancies. Where certification is inconclusive, differences decide."""
        discrepancies = self.judge.judge(seeds, gradients, known)
        if not isinstance(self.judge, CertifiedJudge):
            return discrepancies
        if self.judge.low:  # differences are no better under rounding, and all entries are compared later
            return [d for d in discrepancies if d.severity != "inconclusive" or not np.isfinite(d.upper - d.lower)]
        return [
            better
            for each in discrepancies
            for better in (
                self.differences.judge(seeds, gradients, known or each) if each.severity == "inconclusive" else [each]
            )
        ]

    def gradients(self, pullback: Pullback, seeds: Seeds) -> list[Array]:
        """Return the gradients, zeros for absent ones. Raises GradientFaultError as ``checked`` does."""
        return self.checked(pullback.gradients(seeds))

    def checked(self, gradients: Gradients) -> list[Array]:
        """Return gradients, zeros for absent ones.

        Raises GradientFaultError if a shape or dtype differs from that of the input.
        """
        names, point = self.subject.names, self.subject.point
        result = [np.zeros(x.shape, x.dtype) if g is None else g for g, x in zip(gradients, point, strict=True)]
        for name, gradient, primal in zip(names, result, point, strict=True):
            for what in ("shape", "dtype"):
                actual, expected = getattr(gradient, what), getattr(primal, what)
                if actual != expected:
                    has = f"the {what} {actual}, but the input has {expected}"
                    raise GradientFaultError(f"the gradient of input {name} has {has}")
        return result

    def report(self, outcome: Any, message: str = "", **fields: Any) -> GradientReport:
        """Return a report with the facts of the whole check."""
        truth, entries = self.judge, sum(array.size for array in self.subject.point)
        method: Any = truth.method
        return GradientReport(
            self.subject.engine.adapter.name,
            outcome,
            method,
            entries,
            len(self.seeds),
            self.reason,
            sees_from=truth.sees_from(entries) if isinstance(truth, CertifiedJudge) else None,
            chance_to_miss=CHANCE_TO_MISS if method == "directions" else 0.0,
            detectable=self.detectable,
            looked_at=len(truth.looked_at) if isinstance(truth, DifferencesJudge) and truth.open else entries,
            explanation=Explanation(message),
            **fields,
        )


def failing(discrepancies: Sequence[tuple[Seeds, Discrepancy]]) -> bool:
    """Return True if any discrepancy is a fault of the gradient."""
    return any(discrepancy.failing for _, discrepancy in discrepancies)


def alike(a: Array, b: Array) -> bool:
    """Return True if two arrays are the same up to the order in which threads add."""
    if a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes() or (a == b).all():
        return True
    size = float(np.max(np.abs(a[np.isfinite(a)]), initial=0.0))
    return np.allclose(a, b, REPEATABLE, REPEATABLE * size, equal_nan=True)
