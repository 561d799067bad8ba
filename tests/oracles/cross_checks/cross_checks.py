"""Cross-checks of the oracles: whether they agree with each other on a scenario.

Where they do not, the suite is wrong, not an engine. Five oracles that share no rule for arrays are compared: the
certified reverse sweep over a tape of balls, certified tangents carried forward, finite differences, the complex step,
and SymPy. Each states a gradient with a bound on its error, or why it does not apply. Two of them disagree on an entry
where their intervals have no number in common; where one interval is too wide to say anything the entry is
inconclusive, though the intervals must overlap all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.oracles.certified.certified import CertifiedOracle
from refgrad.oracles.certified.directional import directional_derivative
from refgrad.scenario import Constant, Leaf, Scenario
from tests.oracles.cross_checks.complex_step import ComplexStepRefusedError, complex_step
from tests.oracles.cross_checks.finite_differences import finite_differences
from tests.oracles.cross_checks.symbolic import DIGITS, SymbolicRefusedError, symbolic_gradient

Contributions = tuple[tuple[str, Constant | None], ...]
Floats = npt.NDArray[np.float64]

TELLING = 1e-6
"""An interval wider than this fraction of max(1, |truth|) says nothing."""

FORWARD_ENTRIES = 16
"""Entries of leaves for which tangents are carried forward, once for each."""

ULP = 2.0**-52


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What one oracle says of all entries of all leaves, flat: values and bounds of their errors, or why it refuses."""

    value: Floats
    error: Floats
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Entries that two oracles both spoke of: how many were compared, and how many of these they (dis)agree on."""

    compared: int
    agree: int
    inconclusive: int
    disagree: int
    gap: float
    """The largest distance of conclusive values, relative to max(1, |value|)."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """What each oracle says of a scenario, and how each pair of those that apply agrees."""

    statements: Mapping[str, Statement]
    pairs: Mapping[tuple[str, str], Agreement]

    @property
    def disagree(self) -> bool:
        """Whether any two oracles disagree on any entry."""
        return any(pair.disagree for pair in self.pairs.values())


def cross_check(scenario: Scenario, contributions: Contributions | None = None) -> CrossCheck:
    """Ask every oracle for the gradient of the sum of seed · output (of all backwards, unless it is said which).

    Raises ScenarioEvaluationError where the scenario cannot be evaluated.
    """
    if contributions is None:
        contributions = tuple((backward.output, backward.seed) for _, backward in scenario.backwards)
    statements = {name: ask(scenario, contributions) for name, ask in ORACLES.items()}
    speaking = [name for name, statement in statements.items() if not statement.refusal]
    pairs = {(a, b): agreement(statements[a], statements[b]) for a, b in combinations(speaking, 2)}
    return CrossCheck(MappingProxyType(statements), MappingProxyType(pairs))


def agreement(one: Statement, other: Statement) -> Agreement:
    """Compare what two oracles say, entry by entry."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(1.0, np.minimum(np.abs(one.value), np.abs(other.value)))
        distance = np.abs(one.value - other.value)
        disagree = distance > one.error + other.error + ULP * size
        unsure = ~((one.error <= TELLING * size) & (other.error <= TELLING * size)) & ~disagree
        gaps = (distance / size)[~unsure]
    return Agreement(
        compared=distance.size,
        agree=int((~disagree & ~unsure).sum()),
        inconclusive=int(unsure.sum()),
        disagree=int(disagree.sum()),
        gap=float(gaps.max()) if gaps.size else 0.0,
    )


def _leaves(scenario: Scenario) -> list[Leaf]:
    return [leaf for leaf in scenario.leaves if leaf.requires_grad]


def _flat(arrays: list[Any]) -> Floats:
    return np.concatenate([np.zeros(0), *(np.asarray(array, dtype=np.float64).ravel() for array in arrays)])


def _refusal(reason: str) -> Statement:
    return Statement(np.zeros(0), np.zeros(0), reason)


def _certified(scenario: Scenario, contributions: Contributions) -> Statement:
    oracle = CertifiedOracle(scenario)
    found = [oracle.narrowest_gradient(leaf.name, contributions) for leaf in _leaves(scenario)]
    return Statement(_flat([c.midpoint for c in found]), _flat([c.radius for c in found]))


def _forward(scenario: Scenario, contributions: Contributions) -> Statement:
    leaves = _leaves(scenario)
    if sum(leaf.value.size for leaf in leaves) > FORWARD_ENTRIES:
        return _refusal(f"more than {FORWARD_ENTRIES} entries")
    balls = []
    for leaf in leaves:
        for entry in range(leaf.value.size):
            direction = np.zeros(leaf.value.size)
            direction[entry] = 1.0
            moving = {leaf.name: direction.reshape(leaf.value.shape)}
            balls.append(directional_derivative(scenario, contributions, moving))
    radii = [float(ball.rad()) * (1 + ULP) if ball.is_finite() else np.inf for ball in balls]
    return Statement(_flat([float(ball) for ball in balls]), _flat(radii))


def _differences(scenario: Scenario, contributions: Contributions) -> Statement:
    found = finite_differences(scenario, contributions)
    names = [leaf.name for leaf in _leaves(scenario)]
    return Statement(_flat([found[n].value for n in names]), _flat([found[n].error for n in names]))


def _complex(scenario: Scenario, contributions: Contributions) -> Statement:
    try:
        found = complex_step(scenario, contributions)
    except ComplexStepRefusedError as error:
        return _refusal(str(error))
    slopes = [found[leaf.name] for leaf in _leaves(scenario)]
    return Statement(_flat([slope.value for slope in slopes]), _flat([slope.error for slope in slopes]))


def _symbolic(scenario: Scenario, contributions: Contributions) -> Statement:
    try:
        found = symbolic_gradient(scenario, contributions)
    except SymbolicRefusedError as error:
        return _refusal(str(error))
    value = _flat([found[leaf.name].astype(np.float64) for leaf in _leaves(scenario)])
    return Statement(value, 10.0 ** (5 - DIGITS) * np.maximum(1.0, np.abs(value)))


ORACLES: Mapping[str, Callable[[Scenario, Contributions], Statement]] = MappingProxyType({
    "certified": _certified,
    "certified, forward": _forward,
    "finite differences": _differences,
    "complex step": _complex,
    "symbolic": _symbolic,
})
