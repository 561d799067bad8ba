"""Screening of results on large arrays without certifying each entry.

If the entries of an elementwise operator's operands repeat, one period is certified, and every entry is compared with
the certified one at the same position of the period. Otherwise values are compared with NumPy's, and gradients with
those of the reference engine, which are compared with a difference quotient along one direction that moves every entry.
Agreement is no proof. Results that disagree are certified before anything is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation import period_of
from refgrad.grading.judging.comparison import Due
from refgrad.interpreter import Float64, evaluate
from refgrad.lifecycle import Gradient, Value, lower
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, start
from refgrad.native.observation import Observation
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import Constant, Leaf, Read, Scenario
from refgrad.scenario.formats import FLOAT64, coarsest
from refgrad.scenario.rewrite import with_constants

Floats = npt.NDArray[Any]
Shown = Mapping[Read, Floats | None]

DISAGREEMENT: Final = 1e-10
"""Tolerance for two float64 numbers, relative to their size plus the mean size of their array.

It is some million roundings. Sums of tens of thousands of terms in another order differ by less, and results that were
computed in float32 by more.
"""

STEP: Final = 1e-7
"""Largest distance that the entries move for the difference quotient: a hundredth of their distance from kinks."""

OFF_COURSE: Final = 1e-4
"""Tolerance for the reference engine's directional derivative compared with the difference quotient.

It is relative to the size of a random sum of its terms. A single wrong entry among tens of thousands changes the
derivative by some ten times as much.
"""

SHAKEN: Final = 2.0**-50
"""Relative size of the perturbation of leaves and seeds."""

CONDITION: Final = 2.0**11
"""Factor of the perturbation's effect up to which rounding explains a difference.

There are many operations, and the effect of one random perturbation may be small.
"""

ROUNDED: Final = 2.0**-46
"""Share of the differentiated sum that may be lost to rounding."""


def agrees(scenario: Scenario, engine: Engine) -> bool:
    """Return True if all arrays that an engine shows of a scenario pass the screening.

    An engine that does not support a step passes.
    """
    observations = observe(scenario, engine)
    if any(seen.error is not None and seen.error.is_refusal for seen in observations):
        return True
    if any(seen.error is not None or seen.ending is not None or seen.masked for seen in observations):
        return False
    shown = _shown(scenario, observations)
    period = period_of(scenario)
    with np.errstate(all="ignore"):
        if period is not None:
            return _repeats(shown, scenario, period, engine)
        return _is_near(shown, scenario, engine)


def _shown(scenario: Scenario, observations: tuple[Observation, ...]) -> dict[Read, Floats | None]:
    steps = zip(scenario.steps, observations, strict=True)
    return {step: seen.array for step, seen in steps if isinstance(step, Read)}


def _repeats(shown: Shown, scenario: Scenario, period: Scenario, engine: Engine) -> bool:
    """Return True if, for each array, the smallest and the largest entry at each position of the period are right."""
    (shape,) = {leaf.value.shape for leaf in scenario.leaves}
    lowered = lower(period, engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
    for step, prediction in zip(period.steps, lowered.predictions, strict=True):
        if not isinstance(step, Read) or not isinstance(prediction, Value | Gradient):
            continue
        array = shown[step]
        if array is None or array.shape != shape or array.dtype.kind not in "fiub":
            return False
        certified = Due(oracle, prediction, engine.adapter).certified()
        if any(judge(extreme, certified).outcome != "passed" for extreme in _extremes(array, certified.midpoint.size)):
            return False
    return True


def _extremes(array: npt.NDArray[Any], period: int) -> Iterator[Floats]:
    """Yield the smallest, then the largest entries at each position of the period; NaN where there is one."""
    entries = array.ravel().astype(np.float64)
    blocks = np.concatenate([entries, entries[entries.size % period : period]]).reshape(-1, period)
    yield blocks.min(axis=0)
    yield blocks.max(axis=0)


def _is_near(shown: Shown, scenario: Scenario, engine: Engine) -> bool:
    """Return True if values are near NumPy's, and gradients near the reference engine's, if these pass their own check.

    A difference of at most some thousand times the effect of perturbing leaves and seeds by a few roundings is
    explained by the condition of the computation.
    """
    expected = _expected(scenario)
    if expected is None:
        return False
    form = coarsest((engine.adapter.dtype, *(leaf.value.dtype for leaf in scenario.leaves)))
    share = DISAGREEMENT ** (form.bits / FLOAT64.bits)
    differing = [read for read, array in expected.items() if not _same(shown[read], array, share)]
    if not differing:
        return True
    shaken = _expected(_shaken(scenario))
    return shaken is not None and all(
        _same(shown[read], expected[read], share, noise=_difference(shaken[read], expected[read])) for read in differing
    )


def _same(seen: Floats | None, expected: Floats | None, share: float, noise: Floats | float = 0.0) -> bool:
    if seen is None or expected is None:
        return seen is None and expected is None
    if seen.shape != expected.shape or seen.dtype.kind not in "fiub" or not np.all(np.isfinite(expected)):
        return False
    if not expected.size:
        return True
    size = np.abs(expected)
    allowed = share * (size + size.mean()) + CONDITION * noise
    return bool(np.all(_difference(seen.astype(np.float64), expected) <= allowed))


def _difference(one: Floats | None, other: Floats | None) -> Floats:
    return np.zeros(()) if one is None or other is None else np.abs(one - other)


def _shaken(scenario: Scenario) -> Scenario:
    """Return the scenario with leaves and seeds perturbed by a few roundings."""
    source = Random(0)  # noqa: S311 (no secret)

    def shaken(constant: Constant) -> Constant:
        if constant.dtype == "bool":
            return constant
        array = constant.to_numpy()
        return Constant.of(array * (1 + SHAKEN * _direction(source, array.shape)), constant.dtype)

    return with_constants(scenario, shaken)


def _expected(scenario: Scenario) -> Shown | None:
    """Return the expected arrays of the reads, or None if the reference engine's gradients do not fit the values."""
    values = evaluate(scenario, Float64())
    observations = observe(scenario, start(find_adapter("refgrad")))
    gradients = {read: array for read, array in _shown(scenario, observations).items() if read.what == "grad"}
    if not _fit(gradients, values, scenario):
        return None
    return {
        step: values[step.name] if step.what == "value" else gradients[step]
        for step in scenario.steps
        if isinstance(step, Read)
    }


def _fit(gradients: Shown, values: Mapping[str, Any], scenario: Scenario) -> bool:
    """Return True if the gradients predict how the outputs change along a direction that moves all of their leaves."""
    source = Random(0)  # noqa: S311 (no secret)
    moving = {read.name: _direction(source, values[read.name].shape) for read in gradients}
    slopes = [array * moving[read.name] for read, array in gradients.items() if array is not None]
    told = sum(float(slope.sum()) for slope in slopes)
    size = math.sqrt(sum(float((slope**2).sum()) for slope in slopes))
    before, after = (_weighted(each, scenario) for each in (values, evaluate(scenario, _Moved(moving, STEP))))
    lost = ROUNDED * float(np.abs(before).sum()) / STEP
    return abs(float((after - before).sum()) / STEP - told) <= OFF_COURSE * size + lost


def _direction(source: Random, shape: tuple[int, ...]) -> Floats:
    """Return random numbers from -1 to 1."""
    drawn = np.frombuffer(source.randbytes(4 * math.prod(shape)), dtype="<i4")
    return (drawn / 2.0**31).reshape(shape)


class _Moved(Float64):
    """Evaluation in float64 with the leaves perturbed."""

    def __init__(self, moving: Mapping[str, Floats], step: float) -> None:
        """Move the leaves named in ``moving`` by ``step`` times their directions."""
        self.moving = moving
        self.step = step

    def leaf(self, leaf: Leaf) -> Any:
        """Return the leaf's array, perturbed if the leaf is named in ``moving``."""
        array = super().leaf(leaf)
        return array + self.step * self.moving[leaf.name] if leaf.name in self.moving else array


def _weighted(values: Mapping[str, Any], scenario: Scenario) -> Floats:
    """Return the entries of seed times output of all backward calls, flattened and concatenated."""
    weighted = (
        values[step.output] if step.seed is None else values[step.output] * step.seed.to_numpy()
        for _, step in scenario.backwards
    )
    return np.concatenate([np.ravel(each) for each in weighted])
