"""What do engines show on a generated graph, and how much of its rounding budget does each of them use?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from refgrad.generation import Choices, Profile, random_scenario
from refgrad.grading.judging.examination import confront
from refgrad.grading.judging.verdict import Finding, Outcome
from refgrad.lifecycle import Gradient, predict, required_features
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, start
from refgrad.operators import operator_table
from refgrad.oracles import Certified, CertifiedOracle, judge
from refgrad.oracles.judgement import VAGUE_ABOVE
from refgrad.report.document import read_report
from refgrad.scenario import Constant, Leaf, Scenario
from refgrad.scenario.formats import FLOAT64

Floats = npt.NDArray[np.float64]

REPORTS: Final = Path(__file__).parents[2] / "reports"


@cache
def left_out(name: str) -> Mapping[str, str]:
    """Return the operators that the committed report finds wrong with an engine, and the check that shows it."""
    path = REPORTS / f"{name}.json"
    verdicts = read_report(path).verdicts if path.exists() else ()
    return {v.operator: v.id for v in reversed(verdicts) if v.operator and v.failed}


UNIT_ROUNDOFF: Final = 2.0**-53

COMPARABLE: Final = frozenset({"passed", "convention", "inconclusive"})
"""Findings on graphs that ran to their end and whose every number was compared."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A kind of generated graphs: a profile, and by which powers of ten every number is moved at random."""

    name: str
    profile: Profile
    moved: tuple[float, float] | None = None


CONDITIONS: Final = (
    Condition("short decimals, far from kinks", Profile(max_backwards=1)),
    Condition("all bits random, far from kinks", Profile(max_backwards=1), (-9.0, -7.0)),
    Condition("several backward calls", Profile(max_backwards=3), (-9.0, -7.0)),
    Condition("long graphs", Profile(max_backwards=1, length=(20, 60)), (-9.0, -7.0)),
    Condition("near kinks: 1e-3 to 1e-15", Profile(max_backwards=1, edges=0.3), (-15.0, -3.0)),
)
AT_KINKS: Final = Condition("on kinks", Profile(max_backwards=1, edges=0.3))


@dataclass(frozen=True, slots=True)
class Graded:
    """What one engine showed on a graph; ``ratio`` is its largest error over its budget (None: nothing to compare)."""

    engine: str
    finding: Finding
    ratio: float | None


@cache
def engine(name: str) -> Engine:
    """Return a started engine that computes on one thread."""
    started = start(find_adapter(name))
    if name == "torch":
        started.namespace["torch"].set_num_threads(1)
    return started


@cache
def sound_operators(name: str) -> frozenset[str]:
    """The operators that an engine has, less those that are known to be wrong."""
    return frozenset(operator_table()) & frozenset(engine(name).operators) - left_out(name).keys()


def scenario_of(seed: int, condition: Condition, operators: frozenset[str]) -> Scenario:
    """Return the scenario that follows from a seed, a condition and the operators it may use."""
    scenario = random_scenario(seed, replace(condition.profile, operators=operators))
    return scenario if condition.moved is None else _moved(scenario, condition.moved, Choices(~seed & 2**62 - 1))


def _moved(scenario: Scenario, exponents: tuple[float, float], choices: Choices) -> Scenario:
    """Return the scenario with every entry of every leaf moved a little, each by another power of ten."""
    return Scenario(tuple(_moved_leaf(s, exponents, choices) if isinstance(s, Leaf) else s for s in scenario.steps))


def _moved_leaf(leaf: Leaf, exponents: tuple[float, float], choices: Choices) -> Leaf:
    array = leaf.value.to_numpy()
    if array.dtype == np.bool_:
        return leaf
    low, high = exponents
    fractions = np.array([[choices.integer(0, 2**53) * 2.0**-53 for _ in "ab"] for _ in range(array.size)])
    fractions = fractions.reshape(*array.shape, 2)
    shift = np.copysign(10.0 ** (low + (high - low) * fractions[..., 0]), fractions[..., 1] - 0.5)
    return replace(leaf, value=Constant.of(array + shift * np.maximum(np.abs(array), 1.0)))


def grade(scenario: Scenario, names: tuple[str, ...]) -> Iterator[Graded]:
    """Grade every named engine that has all that the scenario needs; they share one certified truth."""
    oracle = CertifiedOracle(scenario)
    features = required_features(scenario)
    predicted = cache(lambda policy: predict(scenario, policy))
    for name in names:
        adapter = engine(name).adapter
        if not scenario.operators <= sound_operators(name) or not features <= adapter.features:
            continue
        predictions, observations = predicted(adapter.policy), observe(scenario, engine(name))
        finding = confront(predictions, observations, oracle, adapter)
        ratios = [
            ratio(seen.array.astype(np.float64), oracle.gradient(p.leaf, p.contributions))
            for p, seen in zip(predictions, observations, strict=True)
            if isinstance(p, Gradient) and seen.array is not None and finding.outcome in COMPARABLE
        ]
        yield Graded(name, finding, max((r for r in ratios if r is not None), default=None))


def ratio(observed: Floats, certified: Certified) -> float | None:
    """The largest error of an entry in units of its rounding budget, over the entries that can be decided."""
    truth, radius, budget = certified.midpoint, certified.radius, certified.budget
    with np.errstate(all="ignore"):
        size = VAGUE_ABOVE * np.maximum(1.0, np.abs(truth))
        clear = np.isfinite(truth) & (radius <= size) & (budget <= size)
        excess = np.maximum(np.abs(observed - truth) - radius - FLOAT64.smallest_normal, 0.0)
        allowed = budget + UNIT_ROUNDOFF * np.abs(truth)
        ratios = np.where(excess == 0, 0.0, excess / allowed)[clear]
    return float(ratios.max()) if ratios.size else None


def detected(scenario: Scenario, name: str, exponents: tuple[int, ...], choices: Choices) -> list[Outcome] | None:
    """Put a relative error of each power of ten into one random entry of a gradient: what is the engine's verdict?

    None where the scenario sends nothing but zeros to its leaves. An entry that should be zero is never chosen: what an
    engine leaves there is rounding.
    """
    predictions = predict(scenario, engine(name).adapter.policy)
    oracle = CertifiedOracle(scenario)
    places = [
        (seen.array, oracle.gradient(p.leaf, p.contributions), place)
        for p, seen in zip(predictions, observe(scenario, engine(name)), strict=True)
        if isinstance(p, Gradient) and seen.array is not None
        for place in map(tuple, np.argwhere(oracle.gradient(p.leaf, p.contributions).midpoint * seen.array))
    ]
    if not places:
        return None
    array, certified, place = choices.choice(places)
    sign = choices.choice((1.0, -1.0))
    outcomes: list[Outcome] = []
    for exponent in exponents:
        faulty = array.astype(np.float64)
        faulty[place] *= 1.0 + sign * 10.0**exponent
        outcomes.append(judge(faulty, certified).outcome)
    return outcomes
