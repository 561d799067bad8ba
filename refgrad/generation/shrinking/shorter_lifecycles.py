"""What is left of a lifecycle when some of its steps are taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from refgrad.generation.shrinking.repair import Evaluated, changes_tensors
from refgrad.scenario import (
    Delete,
    Detach,
    Enter,
    Grad,
    Hook,
    Leaf,
    Leave,
    Read,
    RequireGrad,
    RetainGrad,
    Step,
    StopRequiringGrad,
    Unhook,
    Write,
    ZeroGrad,
)

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
            yield [renamed_change(other, {step.name: step.source}) for other in steps if other is not step]
        if isinstance(step, Write) and step.index is not None:
            yield [*steps[:at], replace(step, index=None), *steps[at + 1 :]]
        if isinstance(step, Hook) and step.factor is not None:
            yield [*steps[:at], replace(step, factor=None), *steps[at + 1 :]]


def consistent(steps: Steps) -> list[Step]:  # noqa: C901 (one case for each kind of step that matters)
    """Leave out the steps that use what is not there, and regions that are not left or not entered."""
    kept: list[Step] = []
    names: set[str] = set()
    hooks: set[str] = set()
    leaves: set[str] = set()
    entered: list[int] = []
    for step in steps:
        needs_hook = isinstance(step, Unhook) or (isinstance(step, Read) and step.what == "hook")
        if not names.issuperset(step.uses) or (needs_hook and getattr(step, "name", "") not in hooks):
            continue
        if (isinstance(step, Grad) and step.leaf not in leaves) or (isinstance(step, Leave) and not entered):
            continue
        match step:
            case Enter():
                entered.append(len(kept))
            case Leave():
                entered.pop()
            case Hook(name=name):
                hooks.add(name)
            case Delete(name=name):
                names.discard(name)
                leaves.discard(name)
            case RequireGrad(name=name):
                leaves.add(name)
            case StopRequiringGrad(name=name):
                leaves.discard(name)
            case Leaf(name=name) if step.requires_grad:
                leaves.add(name)
        names |= {step.defines} if step.defines is not None else set()
        kept.append(step)
    return [step for at, step in enumerate(kept) if at not in entered]


def renamed_change(step: Step, names: Mapping[str, str]) -> Step:
    """Return a step with other names, if it is one that changes or observes tensors."""
    match step:
        case Detach(name=name, source=source):
            return replace(step, name=names.get(name, name), source=names.get(source, source))
        case Write(name=name, operand=operand):
            return replace(step, name=names.get(name, name), operand=names.get(operand, operand))
        case Hook(name=name, tensor=tensor):
            return replace(step, name=names.get(name, name), tensor=names.get(tensor, tensor))
        case (
            Read(name=name)
            | ZeroGrad(name=name)
            | RequireGrad(name=name)
            | StopRequiringGrad(name=name)
            | RetainGrad(name=name)
            | Delete(name=name)
            | Unhook(name=name)
        ):
            return replace(step, name=names.get(name, name))
    return step
