"""Accuracy of an engine's elementwise operators in units in the last place, with the worst point of each.

This is a measurement and not a verdict. An operator is applied to points of which half are uniform in the range of its
row and half are spread over many magnitudes. Then it is applied, in several rounds, to as many points close to the
worst ones so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
from flint import arb

from refgrad.generation.attributes.rules import choose_attributes
from refgrad.generation.profile import STANDARD, Choices
from refgrad.grading.settings import NUMBERS
from refgrad.lifecycle import ExpectedValue, Gradient, lower
from refgrad.native.engine import Engine, observe
from refgrad.operators import Operator, operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.certified.certified import Certified
from refgrad.oracles.judgement import last_place
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario
from refgrad.scenario.formats import rounded

Points = npt.NDArray[np.float64]

ACCURACY: Final = NUMBERS["accuracy"]


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a value, or of the derivative by an operand, among ``points``, and its point.

    ``ulps`` is the error in units in the last place of the truth, and ``budgets`` in multiples of what rounding of the
    operands and of each step explains.
    """

    operator: str
    of: str
    points: int
    ulps: float
    budgets: float
    at: Mapping[str, float]
    seen: float
    truth: float


def measurable(engine: Engine) -> list[Operator]:
    """Return the engine's elementwise operators of real operands, without those whose derivatives all vanish."""
    return [
        row
        for row in operator_table().values()
        if row.elementwise
        and engine.offers(row)
        and len(row.differentiable_arguments) == len(row.arguments)
        and not all(map(row.vanishes, row.differentiable_arguments))
    ]


def measure(engine: Engine, row: Operator, dtype: str) -> list[Worst]:
    """Return the largest errors of an operator's value and of each derivative in a dtype, if the engine shows them."""
    random = np.random.default_rng(crc32(row.name.encode()))
    points = np.stack([_spread(random, row, name) for name in row.argument_names], axis=-1)
    worst: dict[str, Worst] = {}
    count = 0
    for nearer in (*ACCURACY["nearer"], None):
        errors = [each for each in _errors(engine, row, rounded(points, dtype), dtype) if each.ulps.size]
        if not errors:
            break
        count += ACCURACY["points"]
        for each in errors:
            one = each.worst(row, count)
            worst[each.of] = max(one, worst.get(each.of, one), key=lambda known: known.ulps)
        if nearer is not None:
            chosen = np.concatenate([
                each.points[np.argsort(-each.ulps)[: ACCURACY["worst_of_a_round"]]] for each in errors
            ])
            moved = chosen[random.integers(len(chosen), size=ACCURACY["points"])]
            points = moved * (1 + nearer * random.standard_normal(moved.shape))
    return list(worst.values())


def _spread(random: np.random.Generator, row: Operator, argument: str) -> Points:
    """Return points in the range of an operand, and points of all magnitudes with the signs that the range has.

    If libraries replace subnormal operands of the operator by design, a clamp may replace larger numbers, too: then all
    points are in the range.
    """
    low, high = row.samples[argument]
    half = 0 if "subnormal" in row.exceptional.conventions else ACCURACY["points"] // 2
    least, most = ACCURACY["magnitudes"]
    magnitudes = 10 ** random.uniform(least, most, half)
    signs = random.choice([sign for sign, there in ((-1, low < 0), (1, high > 0)) if there], half)
    return np.concatenate([random.uniform(low, high, ACCURACY["points"] - half), signs * magnitudes])


@dataclass(frozen=True, slots=True)
class _Errors:
    """The errors of a quantity at the points where its truth is a normal number of the dtype."""

    of: str
    points: Points
    ulps: Points
    budgets: Points
    seen: Points
    truths: Points

    def worst(self, row: Operator, count: int) -> Worst:
        at = int(np.argmax(self.ulps))
        point = dict(zip(row.argument_names, self.points[at].tolist(), strict=True))
        ulps, budgets, seen, truth = (float(each[at]) for each in (self.ulps, self.budgets, self.seen, self.truths))
        return Worst(row.name, self.of, count, ulps, budgets, point, seen, truth)


def _errors(engine: Engine, row: Operator, points: Points, dtype: str) -> Iterator[_Errors]:
    """Yield the errors of the value and of each derivative for which the engine shows an array."""
    lowered = lower(_scenario(row, points, dtype), engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, dtype)
    for each, seen in zip(lowered.predictions, observe(lowered.scenario, engine), strict=True):
        if not isinstance(each, ExpectedValue | Gradient) or seen.array is None or seen.array.shape != points.shape[:1]:
            continue
        if isinstance(each, ExpectedValue):
            yield _compared("value", points, seen.array, oracle.value(each.lowered))
        else:
            yield _compared(f"slope by {each.leaf}", points, seen.array, oracle.gradient(each.leaf, each.contributions))


def _scenario(row: Operator, points: Points, dtype: str) -> Scenario:
    """Return a scenario that applies the operator once to leaves, one for each column, and runs one backward."""
    attributes = choose_attributes(Choices(0), row, (points.shape[:1],) * len(row.arguments), STANDARD)
    leaves = [
        Leaf(name, Constant.of(column, dtype), requires_grad=True)
        for name, column in zip(row.argument_names, points.T, strict=True)
    ]
    return Scenario((
        *leaves,
        Apply("out", row.name, row.argument_names, tuple(sorted(attributes.items()))),
        Backward("out", Constant.of(np.ones(len(points)), dtype)),
        Read("value", "out"),
        *(Read("grad", leaf.name) for leaf in leaves),
    ))


def _compared(of: str, points: Points, seen: npt.NDArray[Any], truth: Certified) -> _Errors:
    """Return the errors where the truth is known, is not zero, and neither overflows nor underflows."""
    form, size = truth.form, np.abs(truth.midpoint)
    units = np.array([last_place(number, form) if math.isfinite(number) else math.nan for number in size.tolist()])
    normal = (size >= form.smallest_normal) & (size <= form.largest) & (truth.radius <= ACCURACY["settled"] * units)
    chosen = np.flatnonzero(normal)
    numbers = seen.astype(np.float64)[chosen]
    balls = truth.balls[chosen]
    away = np.array([
        float((arb(number) - ball).abs_upper()) if math.isfinite(number) else math.inf
        for number, ball in zip(numbers.tolist(), balls, strict=True)
    ])
    budgets = truth.budget[chosen]
    explained = np.divide(away, budgets, out=np.zeros_like(away), where=budgets > 0)
    return _Errors(of, points[chosen], away / units[chosen], explained, numbers, truth.midpoint[chosen])
