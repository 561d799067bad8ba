"""The check of gradients of low precision over all entries at once, and cotangents that show faults of low precision.

The truth is a reverse pass in float64 over the trace (:mod:`refgrad.checking.tracing.reverse`). What rounding explains
is simulated: the trace runs with a random error in each operator, which gives the scale of each entry, and the function
and its backward run with each 16-bit result of an operator moved by a unit in the last place, which gives the errors
that its own roundings have in common. :mod:`refgrad.checking.low_precision.statistics` compares.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from refgrad.checking.certified import CertifiedJudge
from refgrad.checking.libraries.trees import Array, Arrays
from refgrad.checking.low_precision.statistics import (
    LARGEST_ENTRY,
    LARGEST_NOISE,
    Contrast,
    Errors,
    contrasts,
    first_finding,
    noise,
)
from refgrad.checking.subject import CheckedFunction, Seeds
from refgrad.checking.tracing import reverse
from refgrad.scenario.formats import FORMATS

DRAWS: Final = 8
"""Number of simulated runs of the trace. The root mean square of their errors is the scale of an entry.

The function itself is run at least as often.
"""

RUNS: Final = 32
"""Number of simulated runs of the function and its backward."""

MOST_NUMBERS: Final = 2**22
"""Largest number of entries of the gradients of all simulated runs."""

FEW: Final = 32
"""Largest number of entries of a result whose roundings do not average out, and of such results."""

COMBINATIONS: Final = 4
STEP: Final = 8
"""Number of units in the last place by which these are moved, so that the effect exceeds that of other roundings."""

Comparison = tuple[str, Mapping[str, float], int]
"""Result of a comparison: a message, empty if rounding explains all errors; the smallest detectable error of scale of
each input; and the number of cotangents under which the truth is known."""


class ComparedCheck(Protocol):
    """What the comparison uses of a check."""

    subject: CheckedFunction
    outputs: Arrays
    seeds: list[Seeds]
    choices: np.random.Generator
    deadline: Any

    def fresh(self, seeds: Seeds) -> list[Array]:
        """Return the gradients of a new run."""


def compare(check: ComparedCheck, judge: CertifiedJudge, accumulate: str) -> Comparison:
    """Compare gradients under some cotangents with the truth, over all entries at once."""
    found: list[tuple[Contrast, str]] = []
    messages, count = [], 0
    dense = check.seeds[0]
    for seeds, simulated in cotangents(dense) if any(seed is not None and seed.size for seed in dense) else ():
        try:
            data = measured(check, judge, seeds, accumulate, simulated=simulated)
        except TimeoutError:
            break
        count += bool(data)
        for name, each in data.items():
            messages.append(_of_entries(name, each))
            if simulated:
                found += [(contrast, name) for contrast in contrasts(each, regressors(check, seeds, each))]
    worst = first_finding([contrast for contrast, _ in found])
    if worst is not None:
        messages = [_of_contrast(name, worst, len(found)) for contrast, name in found if contrast is worst]
    whole = (
        (each.detectable(len(found)), name) for each, name in found if each.regressor == "scale" and not each.index
    )
    least = {name: size for size, name in sorted(whole, reverse=True)}
    return next(filter(None, messages), ""), least, count


def cotangents(dense: Seeds) -> Iterator[tuple[Seeds, bool]]:
    """Yield cotangents, and whether rounding is simulated under them.

    These are random ones, random ones of one sign, ones, one entry, and zeros.
    """

    def single(seed: Array) -> Array:
        return np.where(np.arange(seed.size) == seed.size // 2, 1, 0).reshape(seed.shape).astype(seed.dtype)

    for make in (np.array, np.abs, np.ones_like, single, np.zeros_like):
        simulated = make not in {single, np.zeros_like}
        yield tuple(None if seed is None else make(seed) for seed in dense), simulated


def measured(
    check: ComparedCheck, judge: CertifiedJudge, seeds: Seeds, accumulate: str, *, simulated: bool
) -> dict[str, Errors]:
    """Return the errors of each input by its name under some cotangents, or nothing if there is no truth.

    Raises TimeoutError if the time is used up.
    """
    trace, choices, subject = judge.trace, check.choices, check.subject
    contributions = [(name, seed) for name, seed in zip(trace.outputs, seeds, strict=True) if seed is not None]
    truth = reverse.truth(trace, contributions, choices)
    if truth is None:
        return {}

    def drawn(*rounding: Any) -> list[Array]:
        check.deadline.refuse()
        return list(reverse.gradients(trace, contributions, *rounding).values())

    runs = min(RUNS, max(DRAWS, MOST_NUMBERS // max(1, sum(array.size for array in subject.point))))
    errors, seen, shared = simulation(check, seeds, runs) if simulated else ([], False, [])
    rounded = [drawn(FORMATS[trace.dtype].unit, choices) for _ in range(runs if simulated and not errors else DRAWS)]
    draws = [np.stack(each) - base for base, each in zip(drawn(), zip(*rounded, strict=True), strict=True)]
    largest = max(array.size for array in trace.recorder.values.values())
    result = {}
    for k, (observed, true) in enumerate(zip(check.fresh(seeds), truth.values(), strict=True)):
        form, size = FORMATS[subject.kinds[k].part], np.abs(np.nan_to_num(true))
        lost = size * min(1.0, FORMATS[accumulate].unit * largest / max(1, true.size))
        scale = np.sqrt(np.mean(np.square(draws[k]), axis=0) + np.square(form.unit * size) / 3 + np.square(lost))
        effects = [(1, lost[None]), *((size, changes[k]) for size, changes in shared)]
        name = subject.name_of(subject.positions[k])
        result[name] = Errors(observed.astype(np.float64), true, scale, (errors or draws)[k], effects, form, seen)
    return result


Simulation = tuple[list[Array], bool, list[tuple[int, list[Array]]]]


def simulation(check: ComparedCheck, seeds: Seeds, runs: int) -> Simulation:
    """Return the errors of each input in runs that are rounded anew, and the effects of results with few entries.

    The second value is True if the backward rounds more than once for each input. The other two are empty if the
    function raises an exception when its results are changed.
    """
    unchanged = Rerounding(check.choices, only=sys.maxsize)

    def changes(each: Sequence[Rerounding], scale: float) -> list[Array]:
        columns = zip(*(run(check, seeds, rerounding) for rerounding in each), strict=True)
        return [(np.stack(column) - array) * scale for array, column in zip(base, columns, strict=True)]

    try:
        base = run(check, seeds, unchanged)
        few = {number: size for number, size in enumerate(unchanged.sizes) if size <= FEW}
        few = dict(list(few.items())[:FEW])
        errors = changes([Rerounding(check.choices, few) for _ in range(runs)], 1 / math.sqrt(12))
        ways = {size: range(min(COMBINATIONS, 1 << (size - 1).bit_length())) for size in few.values()}
        alone = {only: [Rerounding(check.choices, (), only, way) for way in ways[size]] for only, size in few.items()}
        seen = len(unchanged.sizes) - unchanged.forward > 2 * len(base)
        return errors, seen, [(few[only], changes(each, 0.5 / STEP)) for only, each in alone.items()]
    except TimeoutError:
        raise
    except Exception:  # noqa: BLE001 (the function may do anything with results that it did not expect)
        return [], False, []


class Rerounding:
    """Moves the 16-bit results of one run by units in the last place.

    Results with equal digits move alike, since equal numbers are rounded alike. With ``only`` the one result with this
    number moves, in a combination of directions; the others do not.
    """

    def __init__(self, choices: np.random.Generator, few: Collection[int] = (), only: int = -1, way: int = 0) -> None:
        """Choose what moves: all but a few results, or one of these in the combination with this number."""
        self.choices, self.few, self.only, self.way = choices, few, only, way
        self.sizes: list[int] = []
        self.forward = 0

    def __call__(self, dtype: str, bits: Array) -> None:
        """Move the entries of a result that are neither zero nor close to the ends of the range."""
        position, digits = len(self.sizes), FORMATS[dtype].bits - 1
        self.sizes.append(bits.size)
        if position == self.only:
            steps = STEP * walsh(np.arange(bits.size).reshape(bits.shape), self.way)
        elif self.only >= 0 or position in self.few:
            return
        else:
            steps = np.where(self.choices.random(2**digits) < 1 / 2, -1, 1)[bits & (2**digits - 1)]
        magnitude, end = bits & 0x7FFF, 0x7FFF >> digits << digits
        bits += np.where((magnitude > STEP) & (magnitude < end - STEP), steps, 0).astype(np.int16)


def walsh(positions: Array, number: int) -> Array:
    """Return the signs of a Walsh function at some positions. Those of different numbers are orthogonal."""
    bits = [(positions & number) >> bit & 1 for bit in range(max(1, number.bit_length()))]
    return np.asarray(1 - 2 * (sum(bits) % 2))


def run(check: ComparedCheck, seeds: Seeds, change: Rerounding) -> list[Array]:
    """Return the gradients, rounded once more, of a run whose 16-bit results are changed."""
    check.deadline.refuse()
    subject, library = check.subject, check.subject.library
    pullback = subject.pullback(subject.point, lambda _: library.rerounded(change))
    change.forward = len(change.sizes)
    outputs, _, tensors = zip(*pullback.seeded(seeds), strict=True)
    with library.rerounded(change):
        found = library.gradients([pullback.tensors[k] for k in outputs], pullback.leaves, tensors)
        found = [np.zeros(x.shape) if g is None else 1 * g for g, x in zip(found, subject.point, strict=True)]
    return [library.read_gradient(gradient).astype(np.float64) for gradient in found]


def regressors(check: ComparedCheck, seeds: Seeds, data: Errors) -> dict[str, Array]:
    """Return what a missing term may be a multiple of: a constant, and inputs, outputs and cotangents of the shape."""
    subject, named = check.subject, dict[str, Array | None]({"": np.ones(data.truth.shape)})
    for position, array in zip(subject.positions, subject.point, strict=True):
        named[f"input {subject.name_of(position)}"] = array
    for stem, others in (("output", check.outputs), ("the cotangent of output", seeds)):
        named |= {f"{stem} {k}": array for k, array in enumerate(others)}
    return {name: x.astype(np.float64) for name, x in named.items() if x is not None and x.shape == data.truth.shape}


def _of_entries(name: str, data: Errors) -> str:
    """Return a message about entries that are too far off, empty if there are none."""
    size, ratios = noise(data)
    ratios = np.where(data.invalid, np.inf, ratios)
    if ratios.size and ratios.max() > LARGEST_ENTRY:
        worst = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        values = f"{data.observed[worst]:.6g}, but the truth is {data.truth[worst]:.6g}"
        return f"the gradient of input {name}, entry {tuple(map(int, worst))}, is {values}, more than rounding explains"
    if size > LARGEST_NOISE:
        return f"the gradient of input {name} has errors that are {size:.0f} times as large as rounding explains"
    return ""


def _of_contrast(name: str, worst: Contrast, count: int) -> str:
    """Return the message about a contrast among so many."""
    where = f" in group {worst.index} along the axes {worst.axes}" if worst.index else ""
    who, explained = f"the gradient of input {name} is", worst.limit(count)
    if worst.regressor == "scale":
        return f"{who} {1 + worst.slope:.4g} times the true one{where} ({explained:.2%} is explained by rounding)"
    what = f"{worst.regressor} times {worst.slope:.3g}" if worst.regressor else f"the constant {worst.slope:.3g}"
    return f"{who} off by {what}{where} (rounding explains {explained:.2g})"
