"""The shrinker, which reduces a scenario that fails to a small one that still does."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from refgrad.generation.shrinking.descent import Question, first_question
from refgrad.generation.shrinking.repair import evaluated
from refgrad.scenario import Hook, Scenario

Fails = Callable[[Scenario], bool]

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
    renamed = with_short_names(smallest)
    return renamed if renamed == smallest or fails(renamed) else smallest


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
    return Scenario(tuple(step.renamed(names) for step in scenario.steps))


def _short_names() -> Iterator[str]:
    yield from string.ascii_lowercase
    for number in count(1):
        yield from (f"{letter}{number}" for letter in string.ascii_lowercase)
