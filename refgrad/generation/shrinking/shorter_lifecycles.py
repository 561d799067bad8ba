"""Simplifications of scenarios in which tensors change: some steps are taken out, with all that needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from refgrad.generation.shrinking.repair import Evaluated, changes_tensors
from refgrad.operators import operator_table
from refgrad.scenario import Detach, Enter, Hook, Leave, ScenarioError, Step, Write
from refgrad.scenario.steps.scope import Scope

Steps: TypeAlias = Sequence[Step]

LONGEST: Final = 16
"""No longer stretches than this are taken out, but for halves."""


def shorter_lives(current: Evaluated) -> Iterator[Steps]:
    """The scenario without a stretch of its steps, long ones first, and without what then has no meaning."""
    steps = current.scenario.steps
    if not changes_tensors(steps):
        return
    length = len(steps) // 2
    while length:
        for start in range(len(steps) - length, -1, -length):
            yield consistent([*steps[:start], *steps[start + length :]])
        length = min(length // 2, LONGEST)


def without_one_change(current: Evaluated) -> Iterator[Steps]:
    """The scenario without one region, or with the source of a detached tensor in its place."""
    steps = current.scenario.steps
    waiting: list[int] = []
    for at, step in enumerate(steps):
        if isinstance(step, Enter):
            waiting.append(at)
        elif isinstance(step, Leave):
            both = {waiting.pop(), at}
            yield [other for place, other in enumerate(steps) if place not in both]
        if isinstance(step, Leave) and step.by_error:
            yield [*steps[:at], Leave(), *steps[at + 1 :]]
        if isinstance(step, Detach):
            yield [other.renamed({step.name: step.source}) for other in steps if other is not step]
        if isinstance(step, Write) and step.index is not None:
            yield [*steps[:at], replace(step, index=None), *steps[at + 1 :]]
        if isinstance(step, Hook) and step.factor is not None:
            yield [*steps[:at], replace(step, factor=None), *steps[at + 1 :]]


def consistent(steps: Steps) -> list[Step]:
    """Leave out the steps that use what is not there, and regions that are not left or not entered."""
    kept: list[Step] = []
    entered: list[int] = []
    scope = Scope(operator_table())
    for step in steps:
        try:
            step.check(scope)
        except ScenarioError:
            continue
        if isinstance(step, Enter):
            entered.append(len(kept))
        elif isinstance(step, Leave):
            entered.pop()
        kept.append(step)
    return [step for at, step in enumerate(kept) if at not in entered]
