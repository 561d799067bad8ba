"""Steps of a lifecycle that run backward or record a gradient: their outputs and seeds, and retained graphs."""

from __future__ import annotations

import math
from typing import Final

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Memory, Value
from refgrad.generation.lifecycles.building import add_result
from refgrad.generation.lifecycles.choosing import misuses, new_name, random_constant, recorded_values, some_value
from refgrad.generation.lifecycles.profile import LARGEST
from refgrad.operators.structure import Shape
from refgrad.scenario import Backward, Constant, Grad

LATEST: Final = 6
"""Number of latest values among which the output of a recorded gradient is drawn."""


def backward(draft: Draft) -> None:
    """Run backward from a value that requires grad, or rarely from any value."""
    usable = recorded_values(draft)
    backward_from(draft, some_value(draft) if misuses(draft) or not usable else some_value(draft, usable))


def backward_again(draft: Draft) -> None:
    """Run backward from a value from which a backward started before, if there is one."""
    started = [value for value in draft.values if value.started]
    if started:
        backward_from(draft, draft.choices.choice(started))


def backward_from(draft: Draft, output: Value) -> None:
    """Run backward from this value, with or without a seed, and with or without ``retain_graph``."""
    retain_graph = "retain_graph" in draft.profile.features and draft.choices.boolean(0.6)
    output.started = output.touched = True
    draft.steps.append(Backward(output.name, _seed(draft, output), retain_graph))


def backward_from_loss(draft: Draft) -> None:
    """Reduce a value to a scalar and run backward from it."""
    operand = some_value(draft, recorded_values(draft) or None)
    offered = [operator for operator in ("sum", "sum", "mean") if draft.profile.allows(operator)]
    if offered:
        bound = operand.memory.bound * math.prod(operand.shape)
        add_result(draft, draft.choices.choice(offered), (operand,), (), bound)
    recorded = offered and (draft.values[-1].requires_grad or misuses(draft))
    backward_from(draft, draft.values[-1] if recorded else operand)


def record_gradient(draft: Draft) -> None:
    """Record a gradient of a result by a leaf."""
    leaves = [value for value in draft.values if value.differentiable]
    usable = [value for value in recorded_values(draft) if not value.is_leaf]
    if leaves and usable:
        output, leaf = draft.choices.choice(usable[-LATEST:]), draft.choices.choice(leaves)
        step = Grad(new_name(draft, "h"), output.name, leaf.name, _seed(draft, output))
        draft.define(Value(leaf.shape, requires_grad=True, memory=Memory.up_to(LARGEST, viewed=True)), step)


def _seed(draft: Draft, output: Value) -> Constant | None:
    if not draft.profile.seeds:
        return None
    if misuses(draft) and draft.choices.boolean(0.3):
        return random_constant(draft, _unfit_shape(output.shape)) if draft.choices.boolean(0.5) else None
    return random_constant(draft, output.shape) if output.shape or draft.choices.boolean(0.3) else None


def _unfit_shape(shape: Shape) -> Shape:
    return () if shape == (2,) else (2,)
