"""The check of gradients of low precision over all entries at once, and cotangents that show faults of low precision.

The truth is a reverse pass in float64 over the trace. The reference engine runs it, so a gradient is only used as the
truth if a forward sweep, which shares no rule with that engine, agrees with it (:mod:`refgrad.oracles.screening`).

What rounding explains is simulated: the trace runs with a random error in each operator, which gives the scale of each
entry, and the function and its backward run with each 16-bit result of an operator moved by a unit in the last place,
which gives the errors that its own roundings have in common. :mod:`refgrad.checking.low_precision.statistics` compares.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from operator import itemgetter
from typing import Any, Final, Protocol

import numpy as np

from refgrad import engine
from refgrad.checking.certified import ASIDE, CertifiedJudge
from refgrad.checking.libraries.trees import Array, Arrays
from refgrad.checking.low_precision.statistics import (
    NUMBERS,
    Contrast,
    Errors,
    contrasts,
    first_finding,
    noise,
    normal_quantile,
)
from refgrad.checking.messages import CONSTANT, WrongEntries, spelled
from refgrad.checking.subject import CheckedFunction, Seeds
from refgrad.checking.tracing import Trace
from refgrad.checking.tracing.recorder import RecordedLeaf
from refgrad.engine.operators.recording import record_operators
from refgrad.operators import Operator, operator_table
from refgrad.oracles import screening
from refgrad.oracles.screening import Contributions
from refgrad.oracles.slopes.directions import OutOfTime
from refgrad.scenario.formats import FORMATS

ROUNDED: Final = frozenset({"sum", "mean", "prod", "matmul", "add_at"})
"""Structural operators whose results are rounded; the others move entries."""


Result = tuple[str, WrongEntries | None, Mapping[str, float], int]
"""Result of a comparison: the outcome and what is wrong, unless rounding explains all errors; the smallest detectable
error of scale of each input; and the number of cotangents under which the truth is known."""


class ComparedCheck(Protocol):
    """What the comparison uses of a check."""

    subject: CheckedFunction
    outputs: Arrays
    seeds: list[Seeds]
    choices: np.random.Generator
    accumulate: str

    def fresh(self, seeds: Seeds) -> list[Array]:
        """Return the gradients of a new run."""


def compare(check: ComparedCheck, judge: CertifiedJudge) -> Result:
    """Compare gradients under some cotangents with the truth, over all entries at once."""
    compared: list[tuple[Contrast, InputErrors]] = []
    beyond: list[tuple[float, WrongEntries]] = []
    count = 0
    dense = check.seeds[0]
    for seeds, simulated in cotangents(dense) if any(seed is not None and seed.size for seed in dense) else ():
        try:
            data = measured(check, judge, seeds, simulated=simulated)
        except OutOfTime:
            break
        count += bool(data)
        for name, each in data.items():
            part = InputErrors(check, seeds, name, each)
            size, text, worst_entry = _of_entries(name, each)
            beyond.append((size, part.wrong_entries(text, worst_entry)))
            if simulated:
                compared += [(contrast, part) for contrast in contrasts(each, part.regressors)]
    whole = [(each, part.name) for each, part in compared if each.regressor == "scale" and not each.index]
    least = dict(
        sorted(((name, each.detectable(len(compared))) for each, name in whole), key=itemgetter(1), reverse=True)
    )
    for outcome, limit, share in (
        ("wrong", Contrast.wrong_above, NUMBERS.entry_gap),
        ("inconclusive", Contrast.limit, 1),
    ):
        worst = first_finding([contrast for contrast, _ in compared], limit)
        results = [part.of_contrast(worst, len(compared)) for contrast, part in compared if contrast is worst]
        results += [comparison for size, comparison in beyond if size > share]
        if results:
            doubt = ": too little beyond it to be called wrong" if outcome == "inconclusive" else ""
            return outcome, replace(results[0], text=f"{results[0].text}{doubt}"), least, count
    return "", None, least, count


def cotangents(dense: Seeds) -> Iterator[tuple[Seeds, bool]]:
    """Yield cotangents, and whether rounding is simulated under them.

    These are random ones, random ones of one sign, ones, one entry, and zeros.
    """

    def single(seed: Array) -> Array:
        return np.where(np.arange(seed.size) == seed.size // 2, 1, 0).reshape(seed.shape).astype(seed.dtype)

    for make in (np.array, np.abs, np.ones_like, single, np.zeros_like):
        simulated = make not in {single, np.zeros_like}
        yield tuple(None if seed is None else make(seed) for seed in dense), simulated


def measured(check: ComparedCheck, judge: CertifiedJudge, seeds: Seeds, *, simulated: bool) -> dict[str, Errors]:
    """Return the errors of each input by its name under some cotangents, or nothing if there is no truth.

    Raises OutOfTime if the time is used up.
    """
    trace, choices, subject, unit = judge.trace, check.choices, check.subject, FORMATS[judge.trace.dtype].unit
    contributions = judge.seeded(seeds)
    true_gradients = truth(trace, contributions, choices)
    if true_gradients is None:
        return {}

    def drawn(*rounding: Any) -> list[Array]:
        subject.deadline.refuse()
        return list(reverse_gradients(trace, contributions, *rounding).values())

    numbers = max(1, sum(array.size for array in subject.point))
    runs = min(NUMBERS.runs, max(NUMBERS.draws, NUMBERS.most_numbers // numbers))
    zero = not any(seed is not None and seed.any() for seed in seeds)
    many = runs if simulated else NUMBERS.draws
    errors, seen, shared = ([], False, []) if zero else simulation(check, seeds, many, shared=simulated)
    count = runs if simulated and not errors else NUMBERS.draws
    rounded = [drawn(unit, choices) for _ in range(count)]
    draws = [np.stack(each) - base for base, each in zip(drawn(), zip(*rounded, strict=True), strict=True)]
    largest = max(array.size for array in trace.values.values())
    result = {}
    for k, (observed, true) in enumerate(zip(check.fresh(seeds), true_gradients.values(), strict=True)):
        form, size = FORMATS[subject.kinds[k].part], np.abs(np.nan_to_num(true))
        lost = size * min(1.0, FORMATS[check.accumulate].unit * largest / max(1, true.size))
        scale = np.sqrt(np.mean(np.square(draws[k]), axis=0) + np.square(form.unit * size) / 3 + np.square(lost))
        effects = [(1, lost[None]), *((size, changes[k]) for size, changes in shared)]
        result[subject.names[k]] = Errors(
            observed.astype(np.float64), true, scale, (errors or draws)[k], effects, form, unit, seen
        )
    return result


@cache
def functions() -> Mapping[str, Any]:
    """Return the operators of the table as functions of the reference engine's tensors."""
    return record_operators(operator_table())


class Tensors:
    """The number system of the reference engine's tensors.

    If there are random numbers, results have relative errors of at most ``unit``, and so do cotangents.
    """

    def __init__(self, trace: Trace, unit: float, choices: np.random.Generator | None) -> None:
        """Differentiate by the inputs of a trace."""
        self.unit, self.choices = unit, choices
        self.leaves: dict[str, Any] = dict.fromkeys(trace.inputs)

    def dual(self, name: str, array: Array) -> Any:
        """Return the array of a leaf."""
        if name not in self.leaves:
            return self.constant(array)
        self.leaves[name] = engine.tensor(array.astype(np.float64), requires_grad=True)
        return self.leaves[name]

    def constant(self, array: Array) -> Any:
        """Return an array as a constant."""
        return engine.tensor(array if array.dtype == np.bool_ else array.astype(np.float64))

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
        """Apply an operator, with random rounding errors in its result and in its cotangent.

        Rules that use the result use it with its errors.
        """
        result = functions()[operator.name](*arguments, **attributes)
        moves = operator.structure is not None and operator.name not in ROUNDED
        if self.choices is None or moves or not result.requires_grad:
            return result
        result.shared_array()[...] *= 1 + self.unit * self.choices.uniform(-1.0, 1.0, result.shape)
        return result * engine.tensor(1 + self.unit * self.choices.uniform(-1.0, 1.0, result.shape))


def reverse_gradients(
    trace: Trace, contributions: Contributions, unit: float = 0.0, choices: np.random.Generator | None = None
) -> dict[str, Array]:
    """Return the gradient of the sum of seed · output by each input, with rounding errors if there are ``choices``."""
    system: Any = Tensors(trace, unit, choices)
    with np.errstate(all="ignore"):
        values: Mapping[str, Any] = trace.evaluated(system)
        weights = [np.asarray(seed, np.float64) for _, seed in contributions]
        if choices is not None and unit > FORMATS["bfloat16"].unit:  # cotangents are rounded to 8 bits, too
            weights = [weight * (1 + unit * choices.uniform(-1.0, 1.0, weight.shape)) for weight in weights]
        terms = [(values[name] * weight).sum() for (name, _), weight in zip(contributions, weights, strict=True)]
        recorded = [term for term in terms if term.requires_grad]
        leaves = list(system.leaves.values())
        gradients = engine.grad(sum(recorded), leaves, allow_unused=True) if recorded else (None,) * len(leaves)
    pairs = zip(trace.shapes.items(), gradients, strict=True)
    return {name: np.zeros(shape) if each is None else each.numpy() for (name, shape), each in pairs}


def truth(trace: Trace, contributions: Contributions, choices: np.random.Generator) -> dict[str, Array] | None:
    """Return the gradients in float64, NaN for entries at a kink, or None if a forward sweep does not agree.

    They are the mean of those at two points, a relative distance of ``ASIDE`` away. Each entry may be off by as much of
    a typical one, which is far below a rounding of 16 bits.
    """
    signs = {name: choices.random(shape) - 1 / 2 for name, shape in trace.shapes.items()}
    sides = []
    for distance in (ASIDE, -ASIDE):
        moved = copy(trace)
        moved.steps = [
            step._replace(array=step.array + distance * np.copysign(np.abs(step.array) + ASIDE, signs[step.name]))
            if isinstance(step, RecordedLeaf) and step.name in signs
            else step
            for step in trace.steps
        ]
        sides.append(reverse_gradients(moved, contributions))
        rounding = screening.Rounding("float64", trace.terms, large=True)
        explained = ASIDE * math.sqrt(sum(side.size for side in sides[-1].values()))
        sweep = screening.Sweep(moved, sides[-1], choices, screening.weights_by_mean)
        if not sweep.passes(contributions, rounding, explained):
            return None
    return {name: _joined(sides[0][name], sides[1][name]) for name in trace.inputs}


def _joined(one: Array, other: Array) -> Array:
    """Return the mean of both sides, NaN where they differ."""
    size = np.abs(one) + np.abs(other) + np.sqrt(np.mean(np.square(one))) if one.size else one
    return np.where(np.abs(one - other) <= ASIDE**0.5 * size, (one + other) / 2, np.nan)


Simulation = tuple[list[Array], bool, list[tuple[int, list[Array]]]]


def simulation(check: ComparedCheck, seeds: Seeds, runs: int, *, shared: bool) -> Simulation:
    """Return the errors of each input in runs that are rounded anew, and the effects of results with few entries.

    If these are not ``shared``, results with few entries are rounded anew as all others. The second value is True if
    the backward rounds more than once for each input. The other two are empty if the function raises an exception when
    its results are changed.
    """
    unchanged = Rerounding(check.choices, only=sys.maxsize)

    def changes(each: Sequence[Rerounding], scale: float) -> list[Array]:
        columns = zip(*(run(check, seeds, rerounding) for rerounding in each), strict=True)
        return [(np.stack(column) - array) * scale / each[0].step for array, column in zip(base, columns, strict=True)]

    try:
        base = run(check, seeds, unchanged)
        few = {number: size for number, size in enumerate(unchanged.sizes) if size <= NUMBERS.few}
        few = dict(list(few.items())[: NUMBERS.few if shared else 0])
        errors = changes([Rerounding(check.choices, few) for _ in range(runs)], 1 / math.sqrt(12))
        ways = {size: range(min(NUMBERS.combinations, 1 << (size - 1).bit_length())) for size in few.values()}
        single = {only: [Rerounding(check.choices, (), only, way) for way in ways[size]] for only, size in few.items()}
        seen = len(unchanged.sizes) - unchanged.forward > 2 * len(base)
        return errors, seen, [(few[only], changes(each, 0.5)) for only, each in single.items()]
    except Exception:  # noqa: BLE001 (changed results may make it raise anything)
        return [], False, []


@dataclass(eq=False)
class Rerounding:
    """Moves the results of one run that have at most 16 bits by units in the last place, all but a few of them.

    Results with equal digits move alike, since equal numbers are rounded alike; in 8 bits those of equal operands. With
    ``only``, just the result with this number moves, by ``step`` units, in the combination ``way`` of directions.
    ``sizes`` are the numbers of entries of the results, of which so many belong to the ``forward``.
    """

    choices: np.random.Generator
    few: Collection[int] = ()
    only: int = -1
    way: int = 0
    sizes: list[int] = field(default_factory=list)
    forward: int = 0
    step: int = 1

    def __call__(self, dtype: str, bits: Array, operand: Array) -> None:
        """Move the finite entries of a result that are not close to zero, the largest ones towards zero."""
        position, form = len(self.sizes), FORMATS[dtype]
        self.sizes.append(bits.size)
        if position == self.only:
            self.step = NUMBERS.step if bits.itemsize > 1 else 1
            steps = self.step * walsh(np.arange(bits.size).reshape(bits.shape), self.way)
        elif self.only >= 0 or position in self.few:
            return
        else:
            count = 2 ** (form.bits - 1)
            keys = bits & (count - 1)
            if bits.itemsize == 1:
                values, inverse = np.unique(np.abs(np.frexp(operand)[0]), return_inverse=True)
                count, keys = values.size, inverse.reshape(bits.shape)
            steps = np.where(self.choices.random(count) < 1 / 2, -1, 1)[keys]
        magnitude, size, end = bits & np.iinfo(bits.dtype).max, np.abs(steps), form.bits_of_largest
        steps = np.where(magnitude > end - size, -size, steps)
        bits += np.where((magnitude > size) & (magnitude <= end), steps, 0).astype(bits.dtype)


def walsh(positions: Array, number: int) -> Array:
    """Return the signs of a Walsh function at some positions. Those of different numbers are orthogonal."""
    bits = [(positions & number) >> bit & 1 for bit in range(max(1, number.bit_length()))]
    return np.asarray(1 - 2 * (sum(bits) % 2))


def run(check: ComparedCheck, seeds: Seeds, change: Rerounding) -> list[Array]:
    """Return the gradients, rounded once more, of a run whose 16-bit results are changed."""
    subject, library = check.subject, check.subject.library
    pullback = subject.pullback(subject.point, lambda _: library.rerounded(change))
    change.forward = len(change.sizes)
    outputs, _, tensors = zip(*pullback.seeded(seeds), strict=True)
    with library.rerounded(change):
        gradients = library.gradients([pullback.tensors[k] for k in outputs], pullback.leaves, tensors)
        gradients = [np.zeros(x.shape) if g is None else 1 * g for g, x in zip(gradients, subject.point, strict=True)]
    return [library.read_gradient(gradient).astype(np.float64) for gradient in gradients]


def regressors(subject: CheckedFunction, outputs: Arrays, seeds: Seeds, shape: tuple[int, ...]) -> dict[str, Array]:
    """Return the inputs, outputs and cotangents of a shape by name: a missing term may be a multiple of one of them."""
    named: dict[str, Array | None] = {f"input {x}": y for x, y in zip(subject.names, subject.point, strict=True)}
    for stem, others in (("output", outputs), ("the cotangent of output", seeds)):
        named |= {f"{stem} {k}": array for k, array in enumerate(others)}
    return {name: x.astype(np.float64) for name, x in named.items() if x is not None and x.shape == shape}


def _of_entries(name: str, data: Errors) -> tuple[float, str, tuple[int, ...]]:
    """Return the ratio of the errors to those that rounding explains, a message, and the entry of the largest error."""
    size, ratios = noise(data)
    ratios = np.where(data.invalid, np.inf, ratios) / (normal_quantile(NUMBERS.false_alarms) * NUMBERS.noise)
    worst = tuple(map(int, np.unravel_index(int(np.argmax(ratios)), ratios.shape))) if ratios.size else ()
    if ratios.size and ratios[worst] > 1:
        values = f"{data.observed[worst]:.6g}, but the truth is {data.truth[worst]:.6g}"
        text = f"the gradient of input {name}, entry {worst}, is {values}, more than rounding explains"
        return float(ratios[worst]), text, worst
    text = f"the gradient of input {name} has errors that are {size:.0f} times as large as rounding explains"
    return size / NUMBERS.noise, text, worst


@dataclass(frozen=True, slots=True, eq=False)
class InputErrors:
    """The errors of the gradient of one input under some cotangents."""

    check: ComparedCheck
    seeds: Seeds
    name: str
    data: Errors

    @property
    def regressors(self) -> dict[str, Array]:
        """Arrays of which a missing term may be a multiple, by name."""
        shape = self.data.truth.shape
        return {CONSTANT: np.ones(shape), **regressors(self.check.subject, self.check.outputs, self.seeds, shape)}

    def wrong_entries(self, text: str, entries: tuple[int | slice, ...], regressor: str = "") -> WrongEntries:
        """Describe one wrong entry, or all entries that share an error of scale or a missing term."""
        number, gradients = self.check.subject.names.index(self.name), (self.data.observed, self.data.truth)
        array = self.regressors[regressor] if regressor else None
        return WrongEntries(text, self.seeds, number, entries, gradients, regressor, array)

    def of_contrast(self, worst: Contrast, count: int) -> WrongEntries:
        """Describe the entries that a contrast, one of ``count``, shows to be wrong."""
        rest = iter(worst.index)
        axes = range(self.data.truth.ndim)
        entries = tuple(slice(None) if axis in worst.axes or not worst.index else next(rest) for axis in axes)
        who = f"the gradient of input {self.name}" + f", entries [{spelled(entries)}]," * bool(worst.index)
        explained = worst.limit(count)
        if worst.regressor == "scale":
            text = f"{who} is {1 + worst.slope:.4g} times the true one ({explained:.2%} is explained by rounding)"
            return self.wrong_entries(text, entries)
        what = f"{worst.slope:.3g}" + f" * {worst.regressor}" * (worst.regressor != CONSTANT)
        text = f"{who} is the true one plus {what} (rounding explains {explained:.2g})"
        return self.wrong_entries(text, entries, worst.regressor)
