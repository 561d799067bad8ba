"""Simplifications of scenarios in which tensors change: some steps are removed, with all that need them."""

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
"""Largest number of consecutive steps that are removed at once, except for halves."""


def shorter_lives(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario without some consecutive steps, many at first, and without steps that are then invalid."""
    steps = current.scenario.steps
    if not changes_tensors(steps):
        return
    length = len(steps) // 2
    while length:
        for start in range(len(steps) - length, -1, -length):
            yield consistent([*steps[:start], *steps[start + length :]])
        length = min(length // 2, LONGEST)


def without_one_change(current: Evaluated) -> Iterator[Steps]:
    """Yield the scenario with one change less.

    The change is a region, the error that leaves one, the detaching of a tensor, the index of a write, or the factor of
    a hook.
    """
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
    """Leave out the steps that use undefined names, and regions that are not left or not entered."""
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
