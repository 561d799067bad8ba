"""The shrinker: from a scenario that fails to the smallest one that still does."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from refgrad.generation.shrinking.repair import Evaluated, Kept, evaluated, pruned, repaired
from refgrad.generation.shrinking.simpler_values import complexity
from refgrad.generation.shrinking.simplifications import SIMPLIFICATIONS, Simplification
from refgrad.scenario import Backward, Grad, Hook, Scenario
from refgrad.scenario.formats import FORMATS

Fails = Callable[[Scenario], bool]

LIMIT: Final = 1000
"""How often a failure is asked for again, at most."""


def shrink(scenario: Scenario, fails: Fails, limit: int = LIMIT) -> Scenario:
    """Return a scenario that fails like this one, and of which no simplification that is known here fails.

    Greedy and deterministic: any candidate that is simpler (see :func:`weight`) and fails is taken, until there is
    none or ``fails`` was asked ``limit`` times. Every candidate evaluates in float64, without leaving a domain. Where
    no step of the scenario is bound to fail, none of a candidate is; where it stays clear of kinks, candidates do. In
    the end names become a, b, c, if it then still fails.

    A scenario that does not evaluate is returned as it is. An exception that ``fails`` raises is not caught.
    """
    start = evaluated(scenario)
    if start is None:
        return scenario
    descent = _Descent(fails, limit, start, Kept(start.proper, start.clear, pruned=_fails_pruned(scenario, fails)))
    while descent.round():
        pass
    renamed = with_short_names(descent.current.scenario)
    return renamed if renamed == descent.current.scenario or fails(renamed) else descent.current.scenario


def _fails_pruned(scenario: Scenario, fails: Fails) -> bool:
    """Whether the failure has nothing to do with leaves and results that nothing needs."""
    needed = pruned(scenario.steps)
    return needed == scenario.steps or fails(Scenario(needed))


def weight(scenario: Scenario) -> tuple[Any, ...]:
    """Say how complicated a scenario is, what matters most first; every simplification that is kept makes it less."""
    steps = scenario.steps
    seeds = [step.seed for step in steps if isinstance(step, Backward | Grad) and step.seed is not None]
    tangents = [tangent for step in scenario.jvps for _, tangent in step.tangents]
    constants = [leaf.value for leaf in scenario.leaves] + seeds + tangents
    attributes = [step.to_text() for step in scenario.applications]
    return (
        len(scenario.applications),
        len(scenario.backwards) + len(scenario.gradients) + len(scenario.jvps),
        sum(len(step.arguments) for step in scenario.applications),
        len(scenario.leaves),
        len(steps),
        sum(len(constant.shape) for constant in constants),
        sum(constant.size for constant in constants),
        len(seeds) + sum(step.retain_graph for step in steps if isinstance(step, Backward)),
        sum(map(len, attributes)),
        attributes,
        sum(leaf.requires_grad for leaf in scenario.leaves),
        sum(constant.dtype in FORMATS and constant.dtype != "float64" for constant in constants),
        sum(complexity(constant)[0] for constant in constants),
        [complexity(constant)[1] for constant in constants],
    )


def with_short_names(scenario: Scenario) -> Scenario:
    """Return the scenario with its names changed to a, b, c and so on, in order of definition."""
    hooks = [step.name for step in scenario.steps if isinstance(step, Hook)]
    names = dict(zip([*scenario.definitions, *hooks], _short_names(), strict=False))
    return Scenario(tuple(step.renamed(names) for step in scenario.steps))


@dataclass(slots=True)
class _Descent:
    fails: Fails
    limit: int
    current: Evaluated
    kept: Kept
    seen: set[str] = field(default_factory=set)

    def round(self) -> bool:
        """Try every kind of simplification until it yields nothing more; say whether any did."""
        before = self.current
        for simplification in SIMPLIFICATIONS:
            while self.improve(simplification):
                pass
        return self.current is not before

    def improve(self, simplification: Simplification) -> bool:
        """Take the first candidate that is simpler and fails."""
        now = weight(self.current.scenario)
        for steps in simplification(self.current):
            candidate = repaired(steps, self.kept)
            if candidate is None or candidate.scenario.text in self.seen or weight(candidate.scenario) >= now:
                continue
            if len(self.seen) >= self.limit:
                return False
            self.seen.add(candidate.scenario.text)
            if self.fails(candidate.scenario):
                self.current = candidate
                return True
        return False


def _short_names() -> Iterator[str]:
    yield from string.ascii_lowercase
    for number in count(1):
        yield from (f"{letter}{number}" for letter in string.ascii_lowercase)
