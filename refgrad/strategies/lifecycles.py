"""How is a random life of a graph made: building, losses, hooks, writes, regions and failures in any order?

Which steps fail, and what each shows, is not decided here: what comes out is only bound to be a scenario. Numbers stay
of moderate size, by bounds that are kept for every piece of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from hypothesis import strategies as st

from refgrad.scenario import (
    Apply,
    Delete,
    Detach,
    Enter,
    Leaf,
    Leave,
    Read,
    RequireGrad,
    Scenario,
    StopRequiringGrad,
    ZeroGrad,
)
from refgrad.strategies.choices import Choices, DrawnChoices, SeededChoices
from refgrad.strategies.life_draft import (
    FEWEST,
    LARGEST,
    LifecycleProfile,
    LifeDraft,
    LifeMemory,
    Shape,
)
from refgrad.strategies.life_walks import record_gradient, walk_again, walk_back, walk_from
from refgrad.strategies.life_watchers import hook, rehook, retain, unhook
from refgrad.strategies.life_writes import overwrite

Action: TypeAlias = Callable[[LifeDraft], None]


def lifecycle_scenario(seed: int, profile: LifecycleProfile | None = None) -> Scenario:
    """Return the lifecycle that follows from a seed; the same one on every machine."""
    return make_lifecycle(SeededChoices(seed), profile or LifecycleProfile())


@st.composite
def _drawn(draw: st.DrawFn, profile: LifecycleProfile) -> Scenario:
    return make_lifecycle(DrawnChoices(draw), profile)


def lifecycles(profile: LifecycleProfile | None = None) -> st.SearchStrategy[Scenario]:
    """Return a hypothesis strategy for lifecycles, in which every choice is drawn."""
    return _drawn(profile or LifecycleProfile())


def make_lifecycle(choices: Choices, profile: LifecycleProfile) -> Scenario:
    """Return a lifecycle made by these choices."""
    shape = choices.choice([(), (2,), (2,), (3,), (2, 2)]) if "arrays" in profile.features else ()
    life = LifeDraft(profile, choices, shape)
    _leaf(life, requires=True)
    for _ in choices.repeat(0, 2):
        _leaf(life, requires=choices.boolean(0.6))
    actions = [action for needed, weight, action in ACTIONS if needed <= profile.features for _ in range(weight)]
    for _ in choices.repeat(*profile.length):
        choices.together(lambda each: each.choice(actions)(life))
    _finish(life)
    return Scenario(tuple(life.steps))


def _leaf(life: LifeDraft, *, requires: bool) -> None:
    shape = life.shape if life.choices.boolean(0.8) else ()
    step = Leaf(life.fresh("x"), life.constant(shape), requires)
    life.define(step, shape, LifeMemory(2.0), requires=requires)
    life.roots |= {step.name} if requires else set()


def _another_leaf(life: LifeDraft) -> None:
    _leaf(life, requires=life.choices.boolean(0.7))


def _apply(life: LifeDraft) -> None:
    operand = life.any()
    size = int(np.prod(operand.shape))
    offered = [kind for kind in UNARY if kind in life.profile.operators]
    possible = [kind for kind in offered if UNARY[kind](operand.memory.bound, size) <= LARGEST]
    if not possible:
        return
    kind = life.choices.choice(possible)
    bound = UNARY[kind](operand.memory.bound, size)
    _result(life, kind, (operand.name,), () if kind in REDUCING else operand.shape, bound)


def _join(life: LifeDraft) -> None:
    x, y = life.any(), life.any()
    offered = [kind for kind in ("add", "subtract", "multiply", "multiply") if kind in life.profile.operators]
    if not offered:
        return
    kind = life.choices.choice(offered)
    bound = x.memory.bound * y.memory.bound if kind == "multiply" else x.memory.bound + y.memory.bound
    if bound > LARGEST:
        return
    _result(life, kind, (x.name, y.name), max(x.shape, y.shape, key=len), bound)


def _product(life: LifeDraft) -> None:
    shaped = [name for name in life.names if name.shape == life.shape]
    if not life.shape or not shaped or "matmul" not in life.profile.operators:
        return
    x, y = life.choices.choice(shaped), life.choices.choice(shaped)
    bound = life.shape[-1] * x.memory.bound * y.memory.bound
    if bound <= LARGEST:
        _result(life, "matmul", (x.name, y.name), life.shape if len(life.shape) > 1 else (), bound)


def _view(life: LifeDraft) -> None:
    x = life.any()
    memory = x.memory
    if "reshape" not in life.profile.operators:
        return
    step = Apply(life.fresh("v"), "reshape", (x.name,), (("shape", x.shape),))
    life.define(step, x.shape, memory, requires=x.requires and life.recording)
    memory.viewed = True


def _result(life: LifeDraft, operator: str, operands: tuple[str, ...], shape: Shape, bound: float) -> None:
    requires = life.recording and any(name.requires for name in life.names if name.name in operands)
    life.define(Apply(life.fresh("a"), operator, operands), shape, LifeMemory(bound), requires=requires)


UNARY: Final[Mapping[str, Callable[[float, int], float]]] = MappingProxyType({
    "sin": lambda _, __: 1.0,
    "tanh": lambda _, __: 1.0,
    "exp": lambda bound, _: float(np.exp(bound)),
    "negative": lambda bound, _: bound,
    "sum": lambda bound, size: bound * size,
    "mean": lambda bound, _: bound,
})
"""Operators of one argument: how large their results are, given a bound of the argument and its size."""

REDUCING: Final = frozenset({"sum", "mean"})


def _loss(life: LifeDraft) -> None:
    """Sum what may have been built, and walk back from there."""
    usable = [name for name in life.names if name.requires]
    operand = life.any(usable or None)
    size = int(np.prod(operand.shape))
    offered = [kind for kind in ("sum", "sum", "mean") if kind in life.profile.operators]
    if offered:
        _result(life, life.choices.choice(offered), (operand.name,), (), operand.memory.bound * size)
    recorded = offered and (life.names[-1].requires or life.trouble())
    walk_from(life, life.names[-1] if recorded else operand)


def _detach(life: LifeDraft) -> None:
    source = life.any()
    life.touched.add(source.name)
    life.define(Detach(life.fresh("d"), source.name), source.shape, source.memory, requires=False)


def _enter(life: LifeDraft) -> None:
    both = ["no_grad", "no_grad", "enable_grad"] if "enable_grad" in life.profile.features else ["no_grad"]
    mode = life.choices.choice(both)
    life.steps.append(Enter("no_grad" if mode == "no_grad" else "enable_grad"))
    life.regions.append(mode == "enable_grad")


def _leave(life: LifeDraft) -> None:
    if life.regions:
        life.steps.append(Leave(life.choices.boolean(0.4)))
        life.regions.pop()


def _update(life: LifeDraft) -> None:
    """Overwrite something while nothing is recorded, as optimizers do."""
    life.steps.append(Enter("no_grad"))
    life.regions.append(False)
    overwrite(life)
    _leave(life)


def _toggle(life: LifeDraft) -> None:
    name = life.any() if life.trouble() else life.choices.choice([n for n in life.names if n.leaf] or life.names)
    life.touched.add(name.name)
    if name.requires:
        life.steps.append(StopRequiringGrad(name.name))
        name.requires = not name.leaf
        life.roots.discard(name.name)
    else:
        life.steps.append(RequireGrad(name.name))
        name.requires = name.leaf = True
        life.roots.add(name.name)


def _delete(life: LifeDraft) -> None:
    if len(life.names) > FEWEST:
        name = life.any()
        life.steps.append(Delete(name.name))
        life.names.remove(name)


def _zero(life: LifeDraft) -> None:
    to_zeros = "zero_grad_to_zeros" in life.profile.features and life.choices.boolean(0.4)
    leaves = [name for name in life.names if name.leaf and name.requires]
    life.steps.append(ZeroGrad(life.any(None if life.trouble() or not leaves else leaves).name, to_zeros))


def _read(life: LifeDraft) -> None:
    offered = [what for what in ("requires_grad", "is_leaf", "recorded") if f"read_{what}" in life.profile.features]
    what = life.choices.choice(["grad", "grad", "value", *offered])
    life.steps.append(_reading(what, life.any().name))


def _reading(what: str, name: str) -> Read:
    return Read.from_json({"what": what, "name": name})


def _finish(life: LifeDraft) -> None:
    """Leave all regions, often walk back once more, and read all that can be read."""
    while life.regions:
        _leave(life)
    if life.choices.boolean(0.7):
        life.choices.together(lambda each: each.choice([_loss, walk_back, walk_again])(life))
    offered = [what for what in ("requires_grad", "is_leaf", "recorded") if f"read_{what}" in life.profile.features]
    for name in life.names:
        life.steps += [_reading("grad", name.name), _reading("value", name.name)]
        life.steps += [_reading(what, name.name) for what in offered]
    life.steps += [_reading("hook", hook) for hook in life.hooks]


ACTIONS: Final[tuple[tuple[frozenset[str], int, Action], ...]] = (
    (frozenset(), 6, _apply),
    (frozenset(), 6, _join),
    (frozenset({"arrays"}), 1, _product),
    (frozenset({"arrays"}), 1, _view),
    (frozenset(), 1, _another_leaf),
    (frozenset(), 5, _loss),
    (frozenset(), 2, walk_back),
    (frozenset(), 3, walk_again),
    (frozenset({"double_backward"}), 1, record_gradient),
    (frozenset({"detach"}), 2, _detach),
    (frozenset({"no_grad"}), 3, _enter),
    (frozenset({"no_grad"}), 4, _leave),
    (frozenset({"set_requires_grad"}), 2, _toggle),
    (frozenset(), 1, _delete),
    (frozenset({"in_place"}), 6, overwrite),
    (frozenset({"in_place", "no_grad"}), 2, _update),
    (frozenset({"hooks"}), 2, hook),
    (frozenset({"hooks", "unhook"}), 1, rehook),
    (frozenset({"hooks", "unhook"}), 1, unhook),
    (frozenset({"retain_grad"}), 2, retain),
    (frozenset({"zero_grad"}), 2, _zero),
    (frozenset(), 2, _read),
)
"""What may be done, with the features that it needs, each as often as its number says."""
