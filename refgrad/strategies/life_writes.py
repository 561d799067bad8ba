"""What does a random life of a graph overwrite, and with what?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from refgrad.scenario import AttributeValue, Slice, Write
from refgrad.strategies.life_draft import LARGEST, LifeDraft, LifeName, Shape

Index: TypeAlias = tuple[AttributeValue, ...]
Action: TypeAlias = Literal["add", "multiply", "copy"]

ACTIONS: Final[tuple[Action, ...]] = ("add", "multiply", "copy")


def overwrite(life: LifeDraft) -> None:
    """Overwrite what may be overwritten, or a part of it, with what fits; or, seldom, anything with anything.

    Nothing is promised of writes to memory that is viewed, and PyTorch 2.13 does not survive all of them.
    """
    trouble = life.trouble()
    targets = [name for name in life.names if not name.memory.viewed and (trouble or _may_change(name, life))]
    if not targets:
        return
    target = life.any(targets)
    index = _index(life, target.shape)
    operand = life.any([name for name in life.names if trouble or _fits(name.shape, target.shape, index)])
    possible = [action for action in ACTIONS if _bound(action, target, operand) <= LARGEST]
    if possible and operand.memory.bound <= LARGEST:
        _write(life, target, life.choices.choice(possible), operand, index)


def _may_change(name: LifeName, life: LifeDraft) -> bool:
    return not (life.recording and name.leaf and name.requires)


def _fits(operand: Shape, target: Shape, index: Index | None) -> bool:
    return not operand or (index is None and operand == target)


def _bound(action: Action, target: LifeName, operand: LifeName) -> float:
    """Return how large the numbers may become; nothing can be copied onto itself."""
    match action:
        case "add":
            return target.memory.bound + operand.memory.bound
        case "multiply":
            return target.memory.bound * operand.memory.bound
    return LARGEST + 1 if operand is target else operand.memory.bound


def _write(life: LifeDraft, target: LifeName, action: Action, operand: LifeName, index: Index | None) -> None:
    life.steps.append(Write(target.name, action, operand.name, index))
    life.touched.add(target.name)
    target.memory.bound = max(target.memory.bound, _bound(action, target, operand))
    if life.recording and operand.requires:
        target.requires, target.leaf = True, False


def _index(life: LifeDraft, shape: Shape) -> Index | None:
    """Return a part of what has axes, if there are numbers that fit any part."""
    offered = "in_place_at_index" in life.profile.features and any(not name.shape for name in life.names)
    if not shape or not offered or life.choices.boolean(0.5):
        return None
    items: Sequence[AttributeValue] = (0, 1, Slice(None, 1), Slice(1, None))
    return (life.choices.choice(items),)
