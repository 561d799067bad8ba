"""The shrinker, which reduces a scenario that fails to a small one that still does, and the weight that it reduces.

The shrinker asks questions, each of which depends on the answers to those before it.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, Final, TypeAlias

from refgrad.generation.shrinking.repair import Evaluated, Kept, evaluated, repaired
from refgrad.generation.shrinking.simpler_values import complexity
from refgrad.generation.shrinking.simplifications import SIMPLIFICATIONS, Steps
from refgrad.scenario import Backward, Grad, Hook, Scenario
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.rewrite import needed, renamed

Fails: TypeAlias = Callable[[Scenario], bool]
Next: TypeAlias = "Callable[[], Question | None]"

LIMIT: Final = 1000
"""Largest number of scenarios that are tested while shrinking."""


def shrink(scenario: Scenario, fails: Fails, limit: int = LIMIT) -> Scenario:
    """Return a scenario that fails like this one, and of which no known simplification fails.

    Shrinking is greedy and deterministic: any candidate that is simpler (see :func:`refgrad.generation.weight`) and
    fails is taken, until there is none or ``fails`` was called ``limit`` times. Every candidate evaluates in float64
    without leaving a domain. If no step of the scenario is certain to fail, none of a candidate is; if the scenario
    stays clear of kinks, candidates do. In the end names become a, b, c if the scenario then still fails.

    A scenario that does not evaluate is returned unchanged. Exceptions of ``fails`` propagate.
    """
    start = evaluated(scenario)
    if start is None:
        return scenario
    smallest = _descended(scenario, first_question(start), fails, limit)
    short = with_short_names(smallest)
    return short if short == smallest or fails(short) else smallest


def _descended(scenario: Scenario, question: Question | None, fails: Fails, limit: int) -> Scenario:
    smallest = scenario
    for _ in range(limit):
        if question is None:
            break
        if fails(question.scenario):
            smallest, question = question.scenario, question.after_yes
        else:
            question = question.after_no
    return smallest


def with_short_names(scenario: Scenario) -> Scenario:
    """Return the scenario with its names changed to a, b, c and so on, in order of definition."""
    hooks = [step.name for step in scenario.steps if isinstance(step, Hook)]
    names = dict(zip([*scenario.definitions, *hooks], _short_names(), strict=False))
    return Scenario(renamed(scenario.steps, names))


def _short_names() -> Iterator[str]:
    yield from string.ascii_lowercase
    for number in count(1):
        yield from (f"{letter}{number}" for letter in string.ascii_lowercase)


def weight(scenario: Scenario) -> tuple[Any, ...]:
    """Return the complexity of a scenario, what matters most first. Every simplification that is kept reduces it."""
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


class Question:
    """The question whether a simpler scenario still fails. The next question is computed on first use and cached."""

    def __init__(self, scenario: Scenario, after_yes: Next, after_no: Next) -> None:
        """Take the scenario, and the functions that compute the next question after a yes and after a no."""
        self.scenario = scenario
        self._after_yes = after_yes
        self._after_no = after_no

    @cached_property
    def after_yes(self) -> Question | None:
        """Next question if this scenario fails, or None at the end."""
        return self._after_yes()

    @cached_property
    def after_no(self) -> Question | None:
        """Next question if this scenario does not fail, or None at the end."""
        return self._after_no()


def first_question(start: Evaluated) -> Question | None:
    """Return the first question about a scenario that fails, or None if nothing simpler is known.

    The descent is greedy and deterministic: a candidate that fails and is simpler replaces the current scenario. Kinds
    of simplification take turns, each until it yields nothing more, in rounds until one changes nothing. No scenario is
    tested twice.
    """
    kept = Kept(start.proper, start.clear, pruned=True)
    least = _pruned(start)
    if least is None:
        return _begun(start, kept, frozenset())
    asked = frozenset([least.scenario.text])
    return Question(
        least.scenario,
        lambda: _begun(least, kept, asked),
        lambda: _begun(start, replace(kept, pruned=False), asked),
    )


def _pruned(start: Evaluated) -> Evaluated | None:
    """Return the scenario without leaves and results that nothing needs, or None if it has none."""
    least = needed(start.scenario.steps, actions=True)
    return None if least == start.scenario.steps else evaluated(Scenario(least))


@dataclass(frozen=True, slots=True)
class _Stage:
    """A scenario that fails, the current kind of simplification, and whether this round has changed anything."""

    current: Evaluated
    kept: Kept
    weight: tuple[Any, ...]
    kind: int
    changed: bool

    @property
    def candidates(self) -> Iterator[Steps]:
        return SIMPLIFICATIONS[self.kind](self.current)

    @property
    def following(self) -> _Stage | None:
        if self.kind + 1 < len(SIMPLIFICATIONS):
            return replace(self, kind=self.kind + 1)
        return replace(self, kind=0, changed=False) if self.changed else None

    def improved(self, candidate: Evaluated) -> _Stage:
        return replace(self, current=candidate, weight=weight(candidate.scenario), changed=True)


def _begun(start: Evaluated, kept: Kept, seen: frozenset[str]) -> Question | None:
    stage = _Stage(start, kept, weight(start.scenario), kind=0, changed=False)
    return _asked(stage, stage.candidates, seen)


def _asked(stage: _Stage | None, candidates: Iterator[Steps], seen: frozenset[str]) -> Question | None:
    """Return the question about the next candidate that is simpler and was not tested before.

    The iterator of candidates is shared with the question after a no. Only that one continues it.
    """
    while stage is not None:
        for steps in candidates:
            candidate = repaired(steps, stage.kept)
            if (
                candidate is not None
                and candidate.scenario.text not in seen
                and weight(candidate.scenario) < stage.weight
            ):
                return _question(stage, candidates, candidate, seen | {candidate.scenario.text})
        stage = stage.following
        candidates = iter(()) if stage is None else stage.candidates
    return None


def _question(stage: _Stage, candidates: Iterator[Steps], candidate: Evaluated, seen: frozenset[str]) -> Question:
    def after_yes() -> Question | None:
        improved = stage.improved(candidate)
        return _asked(improved, improved.candidates, seen)

    return Question(candidate.scenario, after_yes, lambda: _asked(stage, candidates, seen))
