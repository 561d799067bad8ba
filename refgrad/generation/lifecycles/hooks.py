"""Steps of a lifecycle that put hooks on tensors, take them away, and keep gradients of results."""

from __future__ import annotations

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Value
from refgrad.generation.lifecycles.backward_calls import backward_from
from refgrad.generation.lifecycles.choosing import misuses, new_name, recorded_values, some_value
from refgrad.scenario import Hook, RetainGrad, Unhook


def add_hook(draft: Draft) -> None:
    """Hook into a gradient, often one that has a hook already: several have an order."""
    usable = recorded_values(draft)
    hooked = [value for value in usable if value.name in draft.hooks.values()]
    if hooked and draft.choices.boolean(0.4):
        usable = hooked
    hook_into(draft, some_value(draft) if misuses(draft) or not usable else some_value(draft, usable))


def hook_into(draft: Draft, value: Value) -> None:
    """Hook into the gradient of a tensor, to look at it or to scale it."""
    factor = draft.choices.choice([None, None, 2.0, -0.5])
    hook = new_name(draft, "g")
    draft.steps.append(Hook(hook, value.name, factor))
    draft.hooks[hook] = value.name
    value.touched = True


def remove_hook(draft: Draft) -> None:
    """Take a hook away, which may be gone already."""
    if draft.hooks:
        draft.steps.append(Unhook(draft.choices.choice([*draft.hooks])))


def change_hooks(draft: Draft) -> None:
    """Hook into one gradient and take hooks away from there, in any order, then run backward."""
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
    """Keep the gradient of a result, or seldom of anything."""
    usable = [value for value in recorded_values(draft) if not value.is_leaf]
    value = some_value(draft) if misuses(draft) or not usable else some_value(draft, usable)
    draft.steps.append(RetainGrad(value.name))
    value.touched = True
