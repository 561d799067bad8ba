"""``check_gradients``: the check of the gradient of a user's function, or of a function of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.differences import DIRECTIONS, DifferencesJudge
from refgrad.checking.discrepancy import Discrepancy, Judge, worst
from refgrad.checking.messages import Sighting, Symptoms, simpler_points, wrong_entry
from refgrad.checking.report import GradientError, GradientReport
from refgrad.checking.screening import missed_below
from refgrad.checking.subject import Array, Arrays, Pullback, Seeds, SideEffectError, Subject, SubjectError
from refgrad.checking.tracing import Untraceable, trace
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start

Method = Literal["auto", "differences"]

SINGLE_OUTPUTS = 16
"""Each entry of the outputs is run backward by itself if there are no more than this, else so many of them."""

DENSE_SEEDS = 2
REPEATABLE = 2.0**-40
"""Relative difference allowed between two backward calls: threads may add in another order."""


def check_gradients(  # noqa: PLR0913 (what the checkers of other libraries let people say, by keyword)
    function: Callable[..., Any],
    inputs: Any,
    engine: str = "torch",
    *,
    seed: int = 0,
    tolerance: float = 0.0,
    method: Method = "auto",
    raise_exception: bool = True,
) -> GradientReport:
    """Check that backward through ``function`` gives the derivative of ``function`` at ``inputs``.

    ``function`` takes tensors of the engine and returns one or a tuple of them. ``inputs`` is a tensor or a tuple of
    tensors, numpy arrays or anything else that the function takes; what is of floating point and does not say that it
    needs no gradient is differentiated by. ``engine`` is a registered engine, or ``module:object`` for an adapter of
    one's own.

    Where the function is made of operators of the table, the gradient is held against certified intervals and the
    rounding that each entry is entitled to; elsewhere, or with ``method="differences"``, against finite differences
    with an error estimate. Random choices follow from ``seed``. A relative error below ``tolerance`` is let pass.

    Raises :class:`GradientError` with the wrong entry and a program that shows it, unless ``raise_exception`` is False;
    the report says the same. Raises AdapterError or EngineStartError where the engine cannot be had.
    """
    arguments = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    started = _started(engine)
    try:
        check = _Check(Subject(started, function, arguments), np.random.default_rng(seed), tolerance, method)
        report = check.report()
    except (SubjectError, SideEffectError) as error:
        report = GradientReport(engine, "wrong", "none", 0, 0, message=str(error))
    if raise_exception and not report:
        raise GradientError(report)
    return report


@cache
def _started(engine: str) -> Engine:
    """Find an engine once: the search through the installed packages takes longer than a check."""
    return start(find_adapter(engine))


@dataclass(frozen=True, slots=True)
class _Fault(Exception):  # noqa: N818 (caught where it is raised for)
    """Something that is wrong beside the numbers."""

    message: str


class _Check:
    """One function at one point."""

    def __init__(self, subject: Subject, choices: np.random.Generator, tolerance: float, method: Method) -> None:
        self.subject = subject
        self.choices = choices
        self.tolerance = tolerance
        self.pullback = subject.pullback(subject.point)
        self.outputs = self.pullback.outputs
        self.reason = ""
        self.first_gradients: list[Array] = []
        self.judge = self.find_judge(method)
        self.seeds = list(self.all_seeds())

    def find_judge(self, method: Method) -> Judge:
        """Return who knows the truth: the certified oracle where the function can be traced."""
        if method == "auto":
            try:
                traced = trace(self.subject, self.outputs)
                return CertifiedJudge(traced, self.subject.positions, self.choices)
            except Untraceable as error:
                self.reason = str(error)
        return DifferencesJudge(self.subject, self.outputs, self.choices)

    def all_seeds(self) -> Iterator[Seeds]:
        """Yield the seeds: some that weigh all outputs, then single entries of the outputs."""
        differentiable = [output.dtype.kind == "f" for output in self.outputs]
        if "seed" not in self.subject.engine.adapter.features:
            yield from (self.single(k, 0, 1.0) for k, output in enumerate(self.outputs) if output.size == 1)
            return
        places = [(k, i) for k, output in enumerate(self.outputs) if differentiable[k] for i in range(output.size)]
        for _ in range(DENSE_SEEDS if len(places) > 1 else 1):
            yield tuple(
                self.random(output) if wanted else None
                for output, wanted in zip(self.outputs, differentiable, strict=True)
            )
        if len(places) > SINGLE_OUTPUTS:
            places = [places[i] for i in sorted(self.choices.choice(len(places), SINGLE_OUTPUTS, replace=False))]
        yield from (self.single(k, i, 1.0) for k, i in places)

    def random(self, output: Array) -> Array:
        """Return a seed of random numbers between a half and two, of either sign; never 1."""
        sizes = self.choices.uniform(0.5, 2.0, output.shape)
        return np.asarray(sizes * self.choices.choice((-1.0, 1.0), output.shape)).astype(output.dtype)

    def single(self, output: int, flat: int, weight: float) -> Seeds:
        """Return the seed that weighs one entry of one output."""
        array = np.zeros(self.outputs[output].shape, self.outputs[output].dtype)
        array.flat[flat] = weight
        return tuple(array if k == output else None for k in range(len(self.outputs)))

    def report(self) -> GradientReport:
        """Run all checks."""
        try:
            self.check_function()
            undefined = [k for k, output in enumerate(self.outputs) if not np.isfinite(output).all()]
            if undefined:
                text = f"output {undefined[0]} is not finite at this point: choose one inside of the function's domain"
                return self.made("inconclusive", message=text)
            found = self.check_seeds()
            self.check_repetition()
        except _Fault as fault:
            return self.made("wrong", message=fault.message)
        failing = [(seeds, d) for seeds, d in found if d.failing and d.relative_error > self.tolerance]
        if failing:
            return self.made_wrong(*failing[0])
        open_questions = tuple({(d.input, d.entry): d for _, d in found}.values())
        outcome = "inconclusive" if any(d.severity == "inconclusive" for d in open_questions) else "right"
        return self.made(outcome, inconclusive=open_questions[:SINGLE_OUTPUTS])

    def check_function(self) -> None:
        """Refuse a function that gives something else each time."""
        for k, (first, second) in enumerate(zip(self.outputs, self.subject.values(self.subject.point), strict=True)):
            if first.shape != second.shape or not np.allclose(first, second, REPEATABLE, 0.0, equal_nan=True):
                raise _Fault(f"output {k} differs between two calls with the same inputs: make it repeatable first")

    def check_seeds(self) -> list[tuple[Seeds, Discrepancy]]:
        """Judge the gradients under every seed; stop at the first that is wrong."""
        found: list[tuple[Seeds, Discrepancy]] = []
        for seeds in self.seeds:
            gradients = self.gradients(self.pullback, seeds)
            self.first_gradients = self.first_gradients or gradients
            discrepancies = self.judge.judge(seeds, gradients)
            found += [(seeds, discrepancy) for discrepancy in discrepancies]
            if any(discrepancy.failing for discrepancy in discrepancies):
                break
        return found

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
                    raise _Fault(f"the gradient of input {position} has the {what} {got}, but the input has {wanted}")
            result.append(gradient)
        return result

    def check_repetition(self) -> None:
        """Refuse a backward that gives something else the second time."""
        again = self.gradients(self.subject.pullback(self.subject.point), self.seeds[0])
        for position, a, b in zip(self.subject.positions, self.first_gradients, again, strict=True):
            size = float(np.max(np.abs(a[np.isfinite(a)]), initial=0.0))
            if not np.allclose(a, b, REPEATABLE, REPEATABLE * size, equal_nan=True):
                raise _Fault(f"the gradient of input {position} differs between two backward calls with the same seed")

    def made(self, outcome: Any, **fields: Any) -> GradientReport:
        """Return a report with what is known of the whole check."""
        method: Any = self.judge.method
        entries = sum(array.size for array in self.subject.point)
        return GradientReport(
            self.subject.engine.adapter.name,
            outcome,
            method,
            entries,
            len(self.seeds),
            self.reason,
            missed_below(self.judge.trace.scenario, entries) if isinstance(self.judge, CertifiedJudge) else None,
            2.0**-DIRECTIONS if method == "directions" else 0.0,
            **fields,
        )

    def made_wrong(self, seeds: Seeds, discrepancy: Discrepancy) -> GradientReport:
        """Return the report on a wrong entry, after finding the output and simpler inputs that show it."""
        symptoms = self.symptoms(seeds)
        seeds, discrepancy = self.narrowed(seeds, discrepancy)
        point, shown = self.simplified(seeds, discrepancy)
        message = wrong_entry(self.subject, Sighting(shown, seeds, point), symptoms, self.judge.method)
        return self.made("wrong", message=message, discrepancy=discrepancy)

    def symptoms(self, seeds: Seeds) -> Symptoms:
        """See what doubling the seed does."""
        if "seed" not in self.subject.engine.adapter.features:
            return Symptoms()
        double = tuple(None if array is None else 2 * array for array in seeds)
        once, twice = (np.concatenate([g.ravel() for g in self.gradients(self.pullback, s)]) for s in (seeds, double))
        if not once.any() or not np.isfinite(once).all():
            return Symptoms()
        return Symptoms(ignores_seed=np.allclose(twice, once), squares_seed=np.allclose(twice, 4 * once))

    def narrowed(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Seeds, Discrepancy]:
        """Halve the seeds until one entry of one output is left, as long as the gradient stays wrong."""
        places = [(k, int(i)) for k, array in enumerate(seeds) if array is not None for i in np.flatnonzero(array)]
        while len(places) > 1:
            for half in (places[: len(places) // 2], places[len(places) // 2 :]):
                part = self.masked(seeds, half)
                found = self.failing(part, discrepancy)
                if found is not None:
                    places, seeds, discrepancy = half, part, found
                    break
            else:
                return seeds, discrepancy
        unit = self.single(*places[0], 1.0)
        found = self.failing(unit, discrepancy)
        return (seeds, discrepancy) if found is None else (unit, found)

    def failing(self, seeds: Seeds, known: Discrepancy) -> Discrepancy | None:
        """Return what is wrong under other seeds."""
        return worst([d for d in self.judge.judge(seeds, self.gradients(self.pullback, seeds), known) if d.failing])

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

    def simplified(self, seeds: Seeds, discrepancy: Discrepancy) -> tuple[Arrays, Discrepancy]:
        """Return the simplest inputs at which the same input's gradient is still wrong, and how."""
        if self.judge.method == "directions":
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
                judge = CertifiedJudge(trace(subject, pullback.outputs), subject.positions, self.choices)
            else:
                judge = DifferencesJudge(subject, pullback.outputs, self.choices)
            found = judge.judge(seeds, self.gradients(pullback, seeds), discrepancy)
        except (SubjectError, SideEffectError, Untraceable, _Fault):
            return None
        return next((d for d in found if alike(d, discrepancy)), None)


def alike(a: Discrepancy, b: Discrepancy) -> bool:
    """Whether two are about the same entry, and of the same kind."""
    kinds = [(d.severity, d.input, d.entry, bool(np.isfinite(d.observed))) for d in (a, b)]
    return kinds[0] == kinds[1]
