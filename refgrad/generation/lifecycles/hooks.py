"""Steps of a lifecycle that add hooks to tensors, remove them, and retain gradients of results."""

from __future__ import annotations

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.lifecycles.backward_calls import backward_from
from refgrad.generation.lifecycles.choosing import misuses, new_name, recorded_values, some_value
from refgrad.scenario import Hook, RetainGrad, Unhook


def add_hook(draft: Draft) -> None:
    """Add a hook to a gradient, often to one that has a hook already, since the order of several matters."""
    usable = recorded_values(draft)
    hooked = [value for value in usable if value.name in draft.hooks.values()]
    if hooked and draft.choices.boolean(0.4):
        usable = hooked
    hook_into(draft, some_value(draft) if misuses(draft) or not usable else some_value(draft, usable))


def hook_into(draft: Draft, value: Value) -> None:
    """Add a hook to the gradient of a tensor, which observes or scales it."""
    factor = draft.choices.choice([None, None, 2.0, -0.5])
    hook = new_name(draft, "g")
    draft.steps.append(Hook(hook, value.name, factor))
    draft.hooks[hook] = value.name
    value.touched = True


def remove_hook(draft: Draft) -> None:
    """Remove a hook, which may have been removed already."""
    if draft.hooks:
        draft.steps.append(Unhook(draft.choices.choice([*draft.hooks])))


def change_hooks(draft: Draft) -> None:
    """Add hooks to one gradient and remove some of its hooks, in any order, then run backward."""
    usable = recorded_values(draft)
    if not usable:
        return
    value = some_value(draft, usable)
    for _ in draft.choices.repeat(2, 5):
        hooks = [hook for hook, tensor in draft.hooks.items() if tensor == value.name]
        if hooks and draft.choices.boolean(0.5):
            draft.steps.append(Unhook(draft.choices.choice(hooks)))
        else:
            hook_into(draft, value)
    backward_from(draft, value)


def retain_grad(draft: Draft) -> None:
    """Retain the gradient of a result, or rarely of any value."""
    usable = [value for value in recorded_values(draft) if not value.is_leaf]
    value = some_value(draft) if misuses(draft) or not usable else some_value(draft, usable)
    draft.steps.append(RetainGrad(value.name))
    value.touched = True
