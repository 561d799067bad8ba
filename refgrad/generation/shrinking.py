"""The shrinker, which reduces a scenario that fails to a small one that still does, and the weight that it reduces.

The shrinker is a sequence of questions whether a simpler scenario still fails. Each depends on the answers so far.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from typing import Any, TypeAlias

from refgrad.generation.profile import COUNTS
from refgrad.generation.repair import Evaluated, Kept, adapted, evaluated, repaired
from refgrad.generation.simplifications import SIMPLIFICATIONS, Steps, complexity
from refgrad.scenario import Backward, Grad, Hook, Scenario
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.rewrite import needed, renamed

Fails: TypeAlias = Callable[[Scenario], bool]


def shrink(scenario: Scenario, fails: Fails, limit: int = COUNTS["shrinks"]) -> Scenario:
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
    smallest, question = scenario, first_question(start)
    for _ in range(limit):
        if question is None:
            break
        failed = fails(question.scenario)
        smallest = question.scenario if failed else smallest
        question = question.after(failed)
    short = with_short_names(smallest)
    return short if short == smallest or fails(short) else smallest


def with_short_names(scenario: Scenario) -> Scenario:
    """Return the scenario with its names changed to a, b, c and so on, in order of definition."""
    hooks = [step.name for step in scenario.steps if isinstance(step, Hook)]
    short = (f"{letter}{number or ''}" for number in count() for letter in string.ascii_lowercase)
    return Scenario(renamed(scenario.steps, dict(zip([*scenario.definitions, *hooks], short, strict=False))))


def weight(scenario: Scenario) -> tuple[Any, ...]:
    """Return the complexity of a scenario, what matters most first. Every simplification that is kept reduces it."""
    steps = scenario.steps
    starts = [step for step in steps if isinstance(step, Backward | Grad)]
    seeds = [step.seed for step in starts if step.seed is not None]
    tangents = [tangent for step in scenario.jvps for _, tangent in step.tangents]
    constants = [leaf.value for leaf in scenario.leaves] + seeds + tangents
    attributes = [step.to_text() for step in scenario.applications]
    return (
        len(scenario.applications) + sum(len(call.ways) for call in scenario.calls),
        len(scenario.backwards) + len(scenario.gradients) + len(scenario.jvps),
        sum(len(step.arguments) for step in scenario.applications),
        _repeated(scenario),
        len(scenario.leaves),
        len(steps),
        sum(len(constant.shape) for constant in constants),
        sum(constant.size for constant in constants),
        len(seeds) + sum(step.forward + (isinstance(step, Backward) and step.retain_graph) for step in starts),
        sum(map(len, attributes)),
        attributes,
        sum(leaf.requires_grad for leaf in scenario.leaves),
        sum(constant.dtype in FORMATS and constant.dtype != "float64" for constant in constants),
        sum(complexity(constant)[0] for constant in constants),
        [complexity(constant)[1] for constant in constants],
    )


def _repeated(scenario: Scenario) -> int:
    """Return the number of operands that are leaves and are operands of the same application before: users have two."""
    leaves = {leaf.name for leaf in scenario.leaves}
    applied = [[name for name in step.arguments if name in leaves] for step in scenario.applications]
    return sum(len(names) - len(set(names)) for names in applied)


@dataclass(frozen=True, slots=True)
class Question:
    """The question whether a simpler scenario still fails.

    ``after`` returns the next question for each answer, or None at the end. The questions are computed on first use.
    """

    scenario: Scenario
    after: Callable[[bool], Question | None]


def first_question(start: Evaluated) -> Question | None:
    """Return the first question about a scenario that fails, or None if nothing simpler is known.

    The descent is greedy and deterministic: a candidate that fails and is simpler replaces the current scenario. Kinds
    of simplification take turns, each until it yields nothing more, in rounds until one changes nothing. No scenario is
    tested twice. The first candidate lacks the leaves and results that nothing needs, if there are any.
    """
    kept = Kept(start.proper, start.clear, pruned=True)
    steps = needed(start.scenario.steps, actions=True)
    least = None if steps == start.scenario.steps else evaluated(Scenario(steps))
    if least is None:
        return _begun(start, kept, frozenset())
    asked = frozenset([least.scenario.steps])

    def after(answer: bool) -> Question | None:  # noqa: FBT001 (it is the answer)
        return _begun(least, kept, asked) if answer else _begun(start, replace(kept, pruned=False), asked)

    return Question(least.scenario, cache(after))


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


def _begun(start: Evaluated, kept: Kept, seen: frozenset[Steps]) -> Question | None:
    stage = _Stage(start, kept, weight(start.scenario), kind=0, changed=False)
    return _asked(stage, stage.candidates, seen)


def _asked(stage: _Stage | None, candidates: Iterator[Steps], seen: frozenset[Steps]) -> Question | None:
    """Return the question about the next candidate that is simpler and was not tested before.

    ``seen`` are the steps of all candidates so far, before and after their repair. The iterator of candidates is shared
    with the question after a no. Only that one continues it.
    """
    tried = set(seen)
    while stage is not None:
        for steps in candidates:
            if (chosen := adapted(steps, stage.kept)) in tried:
                continue
            candidate = repaired(chosen, stage.kept)
            if candidate and candidate.scenario.steps not in tried and weight(candidate.scenario) < stage.weight:
                return _question(stage, candidates, candidate, frozenset({*tried, chosen, candidate.scenario.steps}))
            tried.add(chosen)
        stage = stage.following
        candidates = iter(()) if stage is None else stage.candidates
    return None


def _question(stage: _Stage, candidates: Iterator[Steps], candidate: Evaluated, seen: frozenset[Steps]) -> Question:
    def after(answer: bool) -> Question | None:  # noqa: FBT001 (it is the answer)
        following = stage.improved(candidate) if answer else stage
        return _asked(following, following.candidates if answer else candidates, seen)

    return Question(candidate.scenario, cache(after))
