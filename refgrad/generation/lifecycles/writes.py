"""Steps of a lifecycle that overwrite tensors: their targets and operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.lifecycles.choosing import misuses, some_value
from refgrad.generation.lifecycles.profile import LARGEST
from refgrad.operators.structure import Shape
from refgrad.scenario import AttributeValue, Slice, Write

Index: TypeAlias = tuple[AttributeValue, ...]
Action: TypeAlias = Literal["add", "multiply", "copy"]

ACTIONS: Final[tuple[Action, ...]] = ("add", "multiply", "copy")


def overwrite(draft: Draft) -> None:
    """Overwrite a tensor that may change, or a part of it, with a value that fits; rarely, any tensor with any value.

    Memory that is viewed is not written to: the effect is unspecified, and PyTorch 2.13 crashes on some such writes.
    """
    misused = misuses(draft)
    targets = [value for value in draft.values if not value.memory.viewed and (misused or _may_change(value, draft))]
    if not targets:
        return
    target = some_value(draft, targets)
    index = _index(draft, target.shape)
    operand = some_value(draft, [value for value in draft.values if misused or _fits(value.shape, target.shape, index)])
    possible = [action for action in ACTIONS if _bound(action, target, operand) <= LARGEST]
    if possible and operand.memory.bound <= LARGEST:
        _write(draft, target, draft.choices.choice(possible), operand, index)


def _may_change(value: Value, draft: Draft) -> bool:
    return not (draft.records and value.is_leaf and value.requires_grad)


def _fits(operand: Shape, target: Shape, index: Index | None) -> bool:
    return not operand or (index is None and operand == target)


def _bound(action: Action, target: Value, operand: Value) -> float:
    """Return a bound on the magnitude of the result. It is too large for a copy of a tensor onto itself."""
    match action:
        case "add":
            return target.memory.bound + operand.memory.bound
        case "multiply":
            return target.memory.bound * operand.memory.bound
    return LARGEST + 1 if operand is target else operand.memory.bound


def _write(draft: Draft, target: Value, action: Action, operand: Value, index: Index | None) -> None:
    draft.steps.append(Write(target.name, action, operand.name, index))
    target.touched = True
    target.memory.grow(_bound(action, target, operand))
    if draft.records and operand.requires_grad:
        target.requires_grad, target.is_leaf = True, False


def _index(draft: Draft, shape: Shape) -> Index | None:
    """Return the index of a part of a tensor that has axes, if there are scalars, which fit any part, or None."""
    offered = "in_place_at_index" in draft.profile.features and any(not value.shape for value in draft.values)
    if not shape or not offered or draft.choices.boolean(0.5):
        return None
    items: Sequence[AttributeValue] = (0, 1, Slice(None, 1), Slice(1, None))
    return (draft.choices.choice(items),)
