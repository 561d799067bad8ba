"""Which hooks does a random life of a graph put on its tensors and take away, and which gradients does it keep?"""

from __future__ import annotations

from refgrad.scenario import Hook, RetainGrad, Unhook
from refgrad.strategies.life_draft import LifeDraft, LifeName
from refgrad.strategies.life_walks import walk_from


def hook(life: LifeDraft) -> None:
    """Hook into a gradient, often one that has a hook already: several have an order."""
    usable = [name for name in life.names if name.requires]
    hooked = [name for name in usable if name.name in life.hooks.values()]
    if hooked and life.choices.boolean(0.4):
        usable = hooked
    hook_into(life, life.any() if life.trouble() or not usable else life.any(usable))


def hook_into(life: LifeDraft, name: LifeName) -> None:
    """Hook into the gradient of a tensor, to look at it or to scale it."""
    factor = life.choices.choice([None, None, 2.0, -0.5])
    hook = life.fresh("g")
    life.steps.append(Hook(hook, name.name, factor))
    life.hooks[hook] = name.name
    life.touched.add(name.name)


def unhook(life: LifeDraft) -> None:
    """Take a hook away, which may be gone already."""
    if life.hooks:
        life.steps.append(Unhook(life.choices.choice([*life.hooks])))


def rehook(life: LifeDraft) -> None:
    """Hook into one gradient, and take hooks away from there, in any order, then let a backward pass."""
    usable = [name for name in life.names if name.requires]
    if not usable:
        return
    name = life.any(usable)
    for _ in life.choices.repeat(2, 5):
        hooks = [hook for hook, tensor in life.hooks.items() if tensor == name.name]
        if hooks and life.choices.boolean(0.5):
            life.steps.append(Unhook(life.choices.choice(hooks)))
        else:
            hook_into(life, name)
    walk_from(life, name)


def retain(life: LifeDraft) -> None:
    """Keep the gradient of something that was computed, or seldom of anything."""
    usable = [name for name in life.names if name.requires and not name.leaf]
    name = life.any() if life.trouble() or not usable else life.any(usable)
    life.steps.append(RetainGrad(name.name))
    life.touched.add(name.name)
