"""Screening of results on large arrays without certifying each entry.

If the entries of an elementwise operator's operands repeat, one period is certified, and every entry is compared with
the certified one at the same position of the period. Otherwise values are compared with NumPy's, and gradients are
compared with the derivative along one random direction (:mod:`refgrad.oracles.screening`). Agreement is no proof.
Results that disagree are certified before anything is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count, islice
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation import period_of
from refgrad.grading.judging.comparison import Expected
from refgrad.grading.settings import NUMBERS
from refgrad.interpreter import float64_values
from refgrad.lifecycle import ExpectedValue, Gradient, lower
from refgrad.native.engine import Engine, observe
from refgrad.native.program import relevant_leaves
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.screening import Contributions, Expanded, Rounding, Sweep, weights_by_mean
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario
from refgrad.scenario.formats import FLOAT64, FORMATS, Format, least_precise
from refgrad.scenario.rewrite import with_constants

Floats = npt.NDArray[Any]
Arrays = Mapping[Read, Floats | None]

SCREENING: Final = NUMBERS["screening"]


def agrees(scenario: Scenario, engine: Engine) -> bool:
    """Return True if all arrays that an engine shows of a scenario pass the screening.

    An engine that does not support a step passes.
    """
    observations = observe(scenario, engine)
    if any(seen.error is not None and seen.error.is_unsupported for seen in observations):
        return True
    if any(seen.error is not None or seen.ending is not None or seen.masked for seen in observations):
        return False
    reads = {s: seen.array for s, seen in zip(scenario.steps, observations, strict=True) if isinstance(s, Read)}
    period = period_of(scenario)
    with np.errstate(all="ignore"):
        if period is not None:
            return _repeats(reads, scenario, period, engine)
        dtype = least_precise((engine.adapter.dtype, *(leaf.value.dtype for leaf in scenario.leaves)))
        return (
            _is_simple(scenario) and _values_agree(reads, scenario, dtype) and _gradients_agree(reads, scenario, dtype)
        )


def _repeats(reads: Arrays, scenario: Scenario, period: Scenario, engine: Engine) -> bool:
    """Return True if, for each array, the smallest and the largest entry at each position of the period are right."""
    (shape,) = {leaf.value.shape for leaf in scenario.leaves}
    lowered = lower(period, engine.adapter.policy)
    oracle = CertifiedOracle(lowered.scenario, engine.adapter.dtype)
    for step, prediction in zip(period.steps, lowered.predictions, strict=True):
        if not isinstance(step, Read) or not isinstance(prediction, ExpectedValue | Gradient):
            continue
        array = reads[step]
        if array is None or array.shape != shape or array.dtype.kind not in "fiub":
            return False
        certified = Expected(oracle, prediction, engine.adapter).certified()
        if any(judge(extreme, certified).outcome != "passed" for extreme in _extremes(array, certified.midpoint.size)):
            return False
    return True


def _extremes(array: npt.NDArray[Any], period: int) -> Iterator[Floats]:
    """Yield the smallest, then the largest entries at each position of the period; NaN where there is one."""
    entries = array.ravel().astype(np.float64)
    blocks = np.concatenate([entries, entries[entries.size % period : period]]).reshape(-1, period)
    yield blocks.min(axis=0)
    yield blocks.max(axis=0)


def _is_simple(scenario: Scenario) -> bool:
    """Return True if the scenario applies operators, then runs backward, then reads what it has."""
    order = (Leaf | Apply, Backward, Read)
    kinds = [next((k for k, kind in enumerate(order) if isinstance(step, kind)), -1) for step in scenario.steps]
    return kinds == sorted(kinds) and kinds[:1] == [0]


def _values_agree(reads: Arrays, scenario: Scenario, dtype: str) -> bool:
    """Return True if values are near NumPy's.

    A difference of at most some thousand times the effect of perturbing the leaves by a few roundings is explained by
    the condition of the computation.
    """
    expected = float64_values(scenario)
    share = SCREENING["disagreement"] ** (FORMATS[dtype].bits / FLOAT64.bits)
    values = {read.name: array for read, array in reads.items() if read.what == "value"}
    differing = [name for name, array in values.items() if not _same(array, expected[name], share)]
    if not differing:
        return True
    moved = float64_values(next(_perturbations(scenario, FORMATS[dtype])))
    return all(
        _same(values[name], expected[name], share, noise=np.abs(moved[name] - expected[name])) for name in differing
    )


def _same(seen: Floats | None, expected: Floats, share: float, noise: Floats | float = 0.0) -> bool:
    if seen is None or seen.shape != expected.shape or seen.dtype.kind not in "fiub":
        return False
    if not expected.size:
        return True
    size = np.abs(expected)
    allowed = share * (size + size.mean()) + SCREENING["condition"] * noise
    return bool(np.all(np.isfinite(expected)) and np.all(np.abs(seen.astype(np.float64) - expected) <= allowed))


def _gradients_agree(reads: Arrays, scenario: Scenario, dtype: str) -> bool:
    """Return True if gradients are right along a random direction, and are absent only if no backward reaches them."""
    gradients = {read.name: array for read, array in reads.items() if read.what == "grad"}
    reached = {leaf for _, step in scenario.backwards for leaf in relevant_leaves(scenario, step.output)}
    shapes = {leaf.name: leaf.value.shape for leaf in scenario.leaves}
    seen = {name: array for name, array in gradients.items() if array is not None}
    if seen.keys() != gradients.keys() & reached:
        return False
    if any(array.shape != shapes[name] or array.dtype.kind not in "fiub" for name, array in seen.items()):
        return False
    swept, contributions = Expanded(scenario), _contributions(scenario)
    sweep = Sweep(swept, seen, np.random.default_rng(0))
    rounding = Rounding(dtype, swept.terms(sweep.values), large=True)
    if sweep.passes(contributions, rounding):
        return True
    sweeps = (Sweep(swept, seen, np.random.default_rng(k), weights_by_mean) for k in range(SCREENING["directions"]))
    return all(
        sweep.passes(contributions, rounding)
        or sweep.passes(contributions, rounding, _explained(sweep, scenario, rounding))
        for sweep in sweeps
    )


def _explained(sweep: Sweep, scenario: Scenario, rounding: Rounding) -> float:
    """Return the error of a slope that rounding in each step explains, from the effect of perturbed leaves and seeds.

    The perturbations are uniform, so their standard deviation is ``PERTURBATION`` unit roundoffs over the root of 3.
    """
    moved = islice(_perturbations(scenario, FORMATS[rounding.dtype]), SCREENING["perturbations"])
    changes = [sweep.change(Expanded(each), _contributions(scenario), _contributions(each)) for each in moved]
    spread = math.sqrt(3 * sum(change**2 for change in changes) / SCREENING["perturbations"])
    effect = spread / SCREENING["perturbation"]
    return ALLOWANCE * math.sqrt(2 * sweep.operations) * effect if math.isfinite(effect) else 0.0


def _contributions(scenario: Scenario) -> Contributions:
    return [(s.output, None if s.seed is None else s.seed.to_numpy()) for _, s in scenario.backwards]


def _perturbations(scenario: Scenario, form: Format) -> Iterator[Scenario]:
    """Yield the scenario with leaves and seeds perturbed by a few roundings, each time by others."""
    return (with_constants(scenario, partial(_perturbed, form, source)) for source in map(Random, count()))


def _perturbed(form: Format, source: Random, constant: Constant) -> Constant:
    if constant.dtype == "bool":
        return constant
    noise = SCREENING["perturbation"] * form.unit * random_direction(source, constant.shape)
    return Constant.of(constant.to_numpy() * (1 + noise), constant.dtype)


def random_direction(source: Random, shape: tuple[int, ...]) -> Floats:
    """Return random numbers from -1 to 1."""
    return (np.frombuffer(source.randbytes(4 * math.prod(shape)), dtype="<i4") / 2.0**31).reshape(shape)
