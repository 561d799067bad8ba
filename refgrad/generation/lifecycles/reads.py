"""Steps of a lifecycle that read what can be read, reset gradients and delete names."""

from __future__ import annotations

from typing import Final

from refgrad.generation.draft.draft import Draft
from refgrad.generation.lifecycles.choosing import misuses, some_value
from refgrad.scenario import Delete, Read, ZeroGrad

FEWEST: Final = 3
"""Number of values up to which none is deleted."""


def delete(draft: Draft) -> None:
    """Delete the name of a value, unless there are few values."""
    if len(draft.values) > FEWEST:
        value = some_value(draft)
        draft.steps.append(Delete(value.name))
        draft.values.remove(value)


def zero_grad(draft: Draft) -> None:
    """Reset the gradient of a leaf, or rarely of any value."""
    to_zeros = "zero_grad_to_zeros" in draft.profile.features and draft.choices.boolean(0.4)
    leaves = [value for value in draft.values if value.is_leaf and value.requires_grad]
    chosen = some_value(draft, None if misuses(draft) or not leaves else leaves)
    draft.steps.append(ZeroGrad(chosen.name, to_zeros))


def read(draft: Draft) -> None:
    """Read a gradient, a value or a flag."""
    what = draft.choices.choice(["grad", "grad", "value", *_flags(draft)])
    draft.steps.append(_reading(what, some_value(draft).name))


def read_everything(draft: Draft) -> None:
    """Read the gradient, the value and the flags of every tensor, and the gradients that every hook received."""
    flags = _flags(draft)
    for value in draft.values:
        draft.steps += [_reading(what, value.name) for what in ("grad", "value", *flags)]
    draft.steps += [_reading("hook", hook) for hook in draft.hooks]


def _flags(draft: Draft) -> list[str]:
    return [what for what in ("requires_grad", "is_leaf", "recorded") if f"read_{what}" in draft.profile.features]


def _reading(what: str, name: str) -> Read:
    return Read.from_json({"what": what, "name": name})
