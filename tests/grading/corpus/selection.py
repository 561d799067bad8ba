"""The scenarios of the corpus, by the check that each belongs to. They do not depend on a run's seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from types import MappingProxyType
from typing import Final

from refgrad.generation import (
    LIFECYCLE,
    GenerationError,
    Profile,
    edge_scenario,
    fixed_cases,
    forward_cases,
    lifecycle_scenario,
    random_scenario,
    second_order_cases,
)
from refgrad.generation.single_operators.fixed_cases import various
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.claims import all_claims
from refgrad.operators import operator_table
from refgrad.scenario import Scenario

Chosen = Iterator[tuple[str, Scenario]]

FIXED_CASES: Final = 16
"""Largest number of boundary cases of an operator from which scenarios are selected."""

SMALL: Final = 5
"""Largest number of entries of the leaves of a scenario of one operator, unless it has only larger ones."""

PER_OPERATOR: Final = 3
PER_EDGE: Final = 2
GRAPHS: Final = 60
LIFECYCLES: Final = 50

DOUBLES: Final = Profile(seeds=True)
SINGLES: Final = Profile(seeds=True, dtype="float32")
SHORT: Final = Profile(length=(2, 6), largest_size=6)
CHANGING: Final = replace(LIFECYCLE, length=(3, 9), dimensions=(2, 1), max_rank=1)


def operators() -> Chosen:
    """Yield boundary cases of each operator that differ in shapes and attributes, and one of arrays without entries."""
    for name in operator_table():
        cases = fixed_cases(name, DOUBLES, FIXED_CASES)
        empty = (each for each in cases if any(0 in leaf.value.shape for leaf in each.leaves))
        few = chain(_few(various(cases), PER_OPERATOR), islice(empty, 1)) if cases else ()
        yield from ((f"operators/{name}", scenario) for scenario in few)


def edges() -> Chosen:
    """Yield scenarios with entries on edges, for each operator that has edges."""
    for name, row in operator_table().items():
        if row.edges:
            drawn = (_drawn(seed, name) for seed in range(4 * PER_EDGE))
            yield from ((f"edges/{name}", each) for each in _few(filter(None, drawn), PER_EDGE))


def _drawn(seed: int, operator: str) -> Scenario | None:
    try:
        return edge_scenario(seed, operator, Profile(seeds=True, edges=1.0))
    except GenerationError:
        return None


def second_order() -> Chosen:
    """Yield a scenario of each operator that differentiates twice."""
    for name in operator_table():
        cases = second_order_cases(name, DOUBLES, FIXED_CASES, weighted=True)
        yield from ((f"second_order/{name}", scenario) for scenario in _smallest(cases))


def forward_mode() -> Chosen:
    """Yield a scenario of each operator in which every leaf has a tangent."""
    for name in operator_table():
        cases = forward_cases(name, DOUBLES, FIXED_CASES)
        yield from ((f"forward_mode/{name}", scenario) for scenario in _smallest(cases))


def single_precision() -> Chosen:
    """Yield a boundary case of each operator in float32."""
    for name in operator_table():
        cases = various(fixed_cases(name, SINGLES, FIXED_CASES))
        yield from ((f"operators/{name}", scenario) for scenario in _smallest(cases))


def behaviours() -> Chosen:
    """Yield the scenarios of behaviours."""
    return ((row.id, scenario) for row in all_behaviours() for scenario in row.scenarios)


def claims() -> Chosen:
    """Yield the scenarios of claims."""
    return ((row.id, scenario) for row in all_claims() for scenario in row.scenarios)


def graphs() -> Chosen:
    """Yield random graphs of a few operators."""
    return (("graphs/several_backwards", random_scenario(seed, SHORT)) for seed in range(GRAPHS))


def lifecycles() -> Chosen:
    """Yield scenarios in which tensors and graphs change."""
    return (("lifecycles", lifecycle_scenario(seed, CHANGING)) for seed in range(LIFECYCLES))


CHAPTERS: Final[Mapping[str, Callable[[], Chosen]]] = MappingProxyType({
    chapter.__name__: chapter
    for chapter in (
        operators, edges, second_order, forward_mode, single_precision, behaviours, claims, graphs, lifecycles
    )
})  # fmt: skip
"""Chapters of the corpus, one file each, with the functions that yield their scenarios."""

OF_EVERY_POLICY: Final = frozenset({"behaviours", "claims"})
"""Chapters with entries for every policy. The others have entries for the default policy only."""


def _few(scenarios: Iterable[Scenario], count: int) -> list[Scenario]:
    """Return the first ``count`` of the small scenarios, or else the smallest one."""
    distinct = list(dict.fromkeys(scenarios))
    small = [scenario for scenario in distinct if _numbers(scenario) <= SMALL]
    return small[:count] or _smallest(distinct)


def _smallest(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Return the scenario with the fewest numbers, preferably more than one, in a list; without scenarios, none."""
    return sorted(scenarios, key=lambda scenario: (_numbers(scenario) < 2, _numbers(scenario)))[:1]


def _numbers(scenario: Scenario) -> int:
    return sum(leaf.value.size for leaf in scenario.leaves)
