"""Lifecycles: random sequences of steps that build graphs, change tensors, run backward and release graphs.

The generator does not decide which steps fail or what each step must show: its results are only guaranteed to be
scenarios. Numbers stay of moderate size, by bounds that are kept for every piece of memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from refgrad.generation.application import random_array
from refgrad.generation.builder import Builder, Memory, Operand
from refgrad.generation.profile import COUNTS, INTEGERS, MAGNITUDES, NUMBERS, PROBABILITIES, SHAPES, Choices, Profile
from refgrad.operators.operator import Shape
from refgrad.scenario import AttributeValue, Constant, Scenario, Slice, kinds
from refgrad.scenario.functions import (
    BOUNDS,
    CALLS,
    ScenarioFunction,
    bound_of,
    features_of,
    is_derivative,
    is_predictable,
    scenario_functions,
)

ALL_FEATURES: Final = frozenset({
    "arrays", "seed", "retain_graph", "zero_grad", "zero_grad_to_zeros", "double_backward", "detach", "no_grad",
    "enable_grad", "set_requires_grad", "in_place", "in_place_at_index", "hooks", "unhook", "retain_grad",
    "read_requires_grad", "read_is_leaf", "read_recorded",
})  # fmt: skip
"""Features that steps of a lifecycle may need."""

LIFECYCLE_OPERATORS: Final = frozenset({
    "add", "exp", "matmul", "mean", "multiply", "negative", "reshape", "sin", "subtract", "sum", "tanh",
})  # fmt: skip
"""Operators that lifecycles apply, for which it is known what they save."""

CALLED_OPERATORS: Final = frozenset({"cos", "sigmoid"}) | LIFECYCLE_OPERATORS
"""Operators of lifecycles in which functions are called."""

BINARY: Final = ("add", "add", "subtract", "multiply", "multiply")
"""Operators of two arguments. A repeated one is more likely."""

Index: TypeAlias = tuple[AttributeValue, ...]


def lifecycle_profile(
    *,
    features: frozenset[str] = ALL_FEATURES,
    operators: frozenset[str] = LIFECYCLE_OPERATORS,
) -> Profile:
    """Return a profile of lifecycles for an engine that has these features."""
    least, most = INTEGERS["actions"]
    return Profile(
        features=features - {"arrays", "seed"},
        scalars_only="arrays" not in features,
        seeds="seed" in features,
        operators=operators,
        length=(least, most),
        misuse=PROBABILITIES["misuse"],
    )


LIFECYCLE: Final = lifecycle_profile()

LARGEST: Final = MAGNITUDES["largest_in_lifecycle"]
LOW, HIGH = NUMBERS["lifecycle_range"]


def some_value(builder: Builder, values: Sequence[Operand] | None = None) -> Operand:
    """Return one of these values, or of all in scope. Late ones and touched ones are more likely."""
    offered = builder.values if values is None else values
    touched = [value for value in offered if value.touched]
    return builder.choices.choice([*offered[-3:], *offered[-3:], *offered, *touched, *touched])


def recorded_values(builder: Builder) -> list[Operand]:
    """Return the values in scope that require grad."""
    return [value for value in builder.values if value.requires_grad]


def misuses(builder: Builder) -> bool:
    """Return True, with the probability in the profile, to choose something that is likely to fail."""
    return builder.choices.boolean(builder.profile.misuse)


def some_usable(builder: Builder, usable: Sequence[Operand]) -> Operand:
    """Return one of these values, or rarely any other value, with which the step is likely to fail."""
    return some_value(builder, None if misuses(builder) or not usable else usable)


def new_name(builder: Builder, stem: str) -> str:
    """Return an unused name. Tensors and hooks are numbered together."""
    return f"{stem}{len(builder.leaves) + len(builder.results) + len(builder.hooks) + 1}"


def random_constant(builder: Builder, shape: Shape) -> Constant:
    """Return random numbers for a leaf or a seed."""
    return Constant.of(random_array(builder.choices, LOW, HIGH, shape, builder.profile.dtype), builder.profile.dtype)


def add_leaf(builder: Builder, *, requires_grad: bool) -> None:
    """Add a leaf of the base shape, or sometimes a scalar."""
    shape = builder.base if builder.choices.happens("base_shape") else ()
    step = kinds.Leaf(new_name(builder, "x"), random_constant(builder, shape), requires_grad)
    value = Operand(shape, requires_grad, Memory(LOW, HIGH), is_leaf=True, differentiable=requires_grad)
    builder.define(value, step)


def add_another_leaf(builder: Builder) -> None:
    """Add a leaf that may require grad."""
    add_leaf(builder, requires_grad=builder.choices.happens("recorded_leaf"))


def add_result(builder: Builder, operator: str, operands: tuple[Operand, ...], shape: Shape, bound: float) -> None:
    """Apply an operator whose result has this shape, and entries of a magnitude up to ``bound``."""
    requires_grad = builder.records and any(operand.requires_grad for operand in operands)
    step = kinds.Apply(new_name(builder, "a"), operator, tuple(operand.name for operand in operands))
    builder.define(Operand(shape, requires_grad, Memory.up_to(bound)), step)


def apply_unary(builder: Builder) -> None:
    """Apply an operator of one argument, if there is one whose result is not too large."""
    operand = some_value(builder)
    bounds = {name: bound(operand.memory.bound, math.prod(operand.shape)) for name, bound in BOUNDS.items()}
    possible = [name for name, bound in bounds.items() if builder.profile.allows(name) and bound <= LARGEST]
    if not possible:
        return
    operator = builder.choices.choice(possible)
    add_result(builder, operator, (operand,), () if operator in {"sum", "mean"} else operand.shape, bounds[operator])


def apply_binary(builder: Builder) -> None:
    """Apply an operator to two values, often leaves, of which one may be a scalar, unless its result is too large."""
    leaves = [value for value in builder.values if value.is_leaf] if builder.choices.happens("of_leaves") else None
    x, y = some_value(builder, leaves or None), some_value(builder, leaves or None)
    offered = [operator for operator in BINARY if builder.profile.allows(operator)]
    if not offered:
        return
    operator = builder.choices.choice(offered)
    bound = x.memory.bound * y.memory.bound if operator == "multiply" else x.memory.bound + y.memory.bound
    if bound <= LARGEST:
        add_result(builder, operator, (x, y), max(x.shape, y.shape, key=len), bound)


def apply_matmul(builder: Builder) -> None:
    """Multiply two vectors or two square matrices, unless the product is too large."""
    shape = builder.base
    fitting = [value for value in builder.values if value.shape == shape]
    if not shape or not fitting or not builder.profile.allows("matmul"):
        return
    x, y = builder.choices.choice(fitting), builder.choices.choice(fitting)
    bound = shape[-1] * x.memory.bound * y.memory.bound
    if bound <= LARGEST:
        add_result(builder, "matmul", (x, y), shape if len(shape) > 1 else (), bound)


def add_view(builder: Builder) -> None:
    """Reshape a value to its own shape, for which some engines return a view."""
    x = some_value(builder)
    if not builder.profile.allows("reshape"):
        return
    step = kinds.Apply(new_name(builder, "v"), "reshape", (x.name,), (("shape", x.shape),))
    builder.define(Operand(x.shape, x.requires_grad and builder.records, x.memory), step)
    x.memory.viewed = True


def call_function(builder: Builder) -> None:
    """Call a function in a way that the engine has, unless its result is too large. Derivatives are summed."""
    way = builder.choices.choice([way for way in CALLS if features_of(way) <= builder.profile.features])
    allowed = (each for each in scenario_functions().values() if all(map(builder.profile.allows, each.operators)))
    functions = [each for each in allowed if each.can_be_drawn and is_predictable(each, way)]
    if not functions:
        return
    function = builder.choices.choice(functions)
    operands = _operands_of_call(builder, function, way)
    if not operands:
        return
    bounds = dict(zip(function.arguments, (each.memory.bound for each in operands), strict=True))
    for _ in range(kinds.REPEATS if "loop" in way else 1):
        bounds[function.arguments[0]] = bound_of(function, bounds, math.prod(operands[0].shape))
    if bounds[function.arguments[0]] > LARGEST:
        return
    requires_grad = builder.records and any(each.requires_grad for each in operands)
    step = kinds.FunctionCall(new_name(builder, "a"), way, function.name, tuple(each.name for each in operands))
    shape = operands[0].shape * (2 if is_derivative(way) else 1)
    builder.define(Operand(shape, requires_grad, Memory.up_to(bounds[function.arguments[0]], viewed=True)), step)
    if is_derivative(way):
        result = builder.values.pop()
        add_result(builder, "sum", (result,), (), LARGEST)


def _operands_of_call(builder: Builder, function: ScenarioFunction, way: str) -> tuple[Operand, ...]:
    """Return values of one shape, none if there are too few. Engines differ in whether a Jacobian calls hooks."""
    of_leaves = not kinds.OF_LEAVES.isdisjoint(way.split(kinds.OF))
    usable = [x for x in builder.values if x.memory.bound <= HIGH and (x.shape or "vmap" not in way)]
    usable = [x for x in usable if isinstance(x.step, kinds.Leaf)] if of_leaves else usable
    derived = is_derivative(way)
    if derived:
        open_to = (x for x in usable if x.differentiable and x.requires_grad and builder.records)
        usable = [x for x in open_to if x.name not in builder.hooks.values()]
    if not usable:
        return ()
    first = some_value(builder, usable)
    others = [x for x in usable if x.shape == first.shape and not (derived and x is first)]
    if len(function.arguments) > 1 and not others:
        return ()
    return first, *(some_value(builder, others) for _ in function.arguments[1:])


def detach(builder: Builder) -> None:
    """Detach a value."""
    source = some_value(builder)
    source.touched = True
    step = kinds.Detach(new_name(builder, "d"), source.name)
    builder.define(Operand(source.shape, requires_grad=False, memory=source.memory), step)


def backward(builder: Builder) -> None:
    """Run backward from a value that requires grad, or rarely from any value."""
    backward_from(builder, some_usable(builder, recorded_values(builder)))


def backward_again(builder: Builder) -> None:
    """Run backward from a value from which a backward started before, if there is one."""
    started = [value for value in builder.values if value.started]
    if started:
        backward_from(builder, builder.choices.choice(started))


def backward_from(builder: Builder, output: Operand) -> None:
    """Run backward from this value, perhaps repeatedly, with or without a seed, with or without ``retain_graph``."""
    retain_graph = "retain_graph" in builder.profile.features and builder.choices.happens("retained_graph")
    output.started = output.touched = True
    builder.steps.append(kinds.Backward(output.name, _seed(builder, output), retain_graph))
    if retain_graph and builder.choices.happens("repeated_backward"):
        backward_from(builder, output)


def backward_from_loss(builder: Builder) -> None:
    """Reduce a value to a scalar and run backward from it."""
    operand = some_value(builder, recorded_values(builder) or None)
    offered = [operator for operator in ("sum", "sum", "mean") if builder.profile.allows(operator)]
    if offered:
        bound = operand.memory.bound * math.prod(operand.shape)
        add_result(builder, builder.choices.choice(offered), (operand,), (), bound)
    recorded = offered and (builder.values[-1].requires_grad or misuses(builder))
    backward_from(builder, builder.values[-1] if recorded else operand)


def record_gradient(builder: Builder) -> None:
    """Record a gradient of a result by a leaf."""
    leaves = [value for value in builder.values if value.differentiable]
    usable = [value for value in recorded_values(builder) if not value.is_leaf]
    if leaves and usable:
        output, leaf = builder.choices.choice(usable[-COUNTS["latest_values"] :]), builder.choices.choice(leaves)
        step = kinds.Grad(new_name(builder, "h"), output.name, leaf.name, _seed(builder, output))
        builder.define(Operand(leaf.shape, requires_grad=True, memory=Memory.up_to(LARGEST, viewed=True)), step)


def _seed(builder: Builder, output: Operand) -> Constant | None:
    if not builder.profile.seeds:
        return None
    if misuses(builder) and builder.choices.happens("unfit_seed"):
        unfit: Shape = () if output.shape == (2,) else (2,)
        return random_constant(builder, unfit) if builder.choices.happens("fair_coin") else None
    return random_constant(builder, output.shape) if output.shape or builder.choices.happens("seeded_scalar") else None


def overwrite(builder: Builder) -> None:
    """Overwrite a tensor that may change, or a part of it, with a value that fits; rarely, any tensor with any value.

    Memory that is viewed is not written to: the effect is unspecified, and PyTorch 2.13 crashes on some such writes.
    """
    misused = misuses(builder)
    fixed = [] if misused or not builder.records else [value for value in recorded_values(builder) if value.is_leaf]
    targets = [value for value in builder.values if not value.memory.viewed and value not in fixed]
    if not targets:
        return
    target = some_value(builder, targets)
    index = _index(builder, target.shape)
    fitting: set[Shape] = {(), target.shape} if index is None else {()}
    operand = some_value(builder, [value for value in builder.values if misused or value.shape in fitting])
    possible = [action for action in kinds.WRITES if _bound(action, target, operand) <= LARGEST]
    if not possible or operand.memory.bound > LARGEST:
        return
    action = builder.choices.choice(possible)
    builder.steps.append(kinds.Write(target.name, action, operand.name, index))
    target.touched = True
    target.memory.grow(_bound(action, target, operand))
    if builder.records and operand.requires_grad:
        target.requires_grad, target.is_leaf = True, False


def _bound(action: kinds.Action, target: Operand, operand: Operand) -> float:
    """Return a bound on the magnitude of the result. It is too large for a copy of a tensor onto itself."""
    match action:
        case "add":
            return target.memory.bound + operand.memory.bound
        case "multiply":
            return target.memory.bound * operand.memory.bound
    return LARGEST + 1 if operand is target else operand.memory.bound


def _index(builder: Builder, shape: Shape) -> Index | None:
    """Return the index of a part of a tensor that has axes, if there are scalars, which fit any part, or None."""
    offered = "in_place_at_index" in builder.profile.features and any(not value.shape for value in builder.values)
    if not shape or not offered or builder.choices.happens("fair_coin"):
        return None
    items: Sequence[AttributeValue] = (0, 1, Slice(None, 1), Slice(1, None))
    return (builder.choices.choice(items),)


def add_hook(builder: Builder) -> None:
    """Add a hook to a gradient, often to one that has a hook already, since the order of several matters."""
    usable = recorded_values(builder)
    hooked = [value for value in usable if value.name in builder.hooks.values()]
    if hooked and builder.choices.happens("hooked_again"):
        usable = hooked
    hook_into(builder, some_usable(builder, usable))


def hook_into(builder: Builder, value: Operand) -> None:
    """Add a hook to the gradient of a tensor, which observes or scales it."""
    factor = builder.choices.choice([None, None, *NUMBERS["hook_factors"]])
    hook = new_name(builder, "g")
    builder.steps.append(kinds.Hook(hook, value.name, factor))
    builder.hooks[hook] = value.name
    value.touched = True


def remove_hook(builder: Builder) -> None:
    """Remove a hook, which may have been removed already."""
    if builder.hooks:
        builder.steps.append(kinds.Unhook(builder.choices.choice([*builder.hooks])))


def change_hooks(builder: Builder) -> None:
    """Add hooks to one gradient and remove some of its hooks, in any order, then run backward."""
    usable = recorded_values(builder)
    if not usable:
        return
    value = some_value(builder, usable)
    for _ in range(builder.choices.integer(*INTEGERS["changes_of_hooks"])):
        hooks = [hook for hook, tensor in builder.hooks.items() if tensor == value.name]
        if hooks and builder.choices.happens("fair_coin"):
            builder.steps.append(kinds.Unhook(builder.choices.choice(hooks)))
        else:
            hook_into(builder, value)
    backward_from(builder, value)


def retain_grad(builder: Builder) -> None:
    """Retain the gradient of a result, or rarely of any value."""
    value = some_usable(builder, [value for value in recorded_values(builder) if not value.is_leaf])
    builder.steps.append(kinds.RetainGrad(value.name))
    value.touched = True


def enter_region(builder: Builder) -> None:
    """Enter a region that records nothing, or, if the engine has them, one that records."""
    modes: list[kinds.Mode] = ["no_grad"]
    if "enable_grad" in builder.profile.features:
        modes = ["no_grad", "no_grad", "enable_grad"]
    _enter(builder, builder.choices.choice(modes))


def _enter(builder: Builder, mode: kinds.Mode) -> None:
    builder.steps.append(kinds.EnterMode(mode))
    builder.regions.append(mode == "enable_grad")


def leave_region(builder: Builder) -> None:
    """Leave the innermost region, if there is one, perhaps by an error."""
    if builder.regions:
        builder.steps.append(kinds.LeaveMode(builder.choices.happens("left_by_error")))
        builder.regions.pop()


def update(builder: Builder) -> None:
    """Overwrite a tensor while nothing is recorded, as optimizers do."""
    _enter(builder, "no_grad")
    overwrite(builder)
    leave_region(builder)


def toggle_requires_grad(builder: Builder) -> None:
    """Change whether a leaf, or rarely any value, requires grad."""
    leaves = [value for value in builder.values if value.is_leaf]
    value = some_value(builder) if misuses(builder) else builder.choices.choice(leaves or builder.values)
    value.touched = True
    if value.requires_grad:
        builder.steps.append(kinds.StopRequiringGrad(value.name))
        value.requires_grad, value.differentiable = not value.is_leaf, False
    else:
        builder.steps.append(kinds.RequireGrad(value.name))
        value.requires_grad = value.is_leaf = value.differentiable = True


def delete(builder: Builder) -> None:
    """Delete the name of a value, unless there are few values."""
    if len(builder.values) > COUNTS["fewest_values"]:
        value = some_value(builder)
        builder.steps.append(kinds.DeleteName(value.name))
        builder.values.remove(value)


def zero_grad(builder: Builder) -> None:
    """Reset the gradient of a leaf, or rarely of any value."""
    to_zeros = "zero_grad_to_zeros" in builder.profile.features and builder.choices.happens("reset_to_zeros")
    leaves = [value for value in recorded_values(builder) if value.is_leaf]
    builder.steps.append(kinds.ZeroGrad(some_usable(builder, leaves).name, to_zeros))


def read(builder: Builder) -> None:
    """Read a gradient, a value or a flag."""
    observed: tuple[kinds.Readable, ...] = ("grad", "grad", "value", *_flags(builder))
    builder.steps.append(kinds.Read(builder.choices.choice(observed), some_value(builder).name))


def _flags(builder: Builder) -> list[kinds.Readable]:
    flags: tuple[kinds.Readable, ...] = ("requires_grad", "is_leaf", "recorded")
    return [what for what in flags if f"read_{what}" in builder.profile.features]


ACTIONS: Final[tuple[tuple[frozenset[str], int, Callable[[Builder], None]], ...]] = (
    (frozenset(), 6, apply_unary),
    (frozenset(), 6, apply_binary),
    (frozenset({"arrays"}), 1, apply_matmul),
    (frozenset({"arrays"}), 1, add_view),
    (frozenset(), 1, add_another_leaf),
    (frozenset(), 5, backward_from_loss),
    (frozenset(), 2, backward),
    (frozenset(), 3, backward_again),
    (frozenset({"double_backward"}), 2, record_gradient),
    (frozenset({"detach"}), 2, detach),
    (frozenset({"no_grad"}), 3, enter_region),
    (frozenset({"no_grad"}), 4, leave_region),
    (frozenset({"set_requires_grad"}), 2, toggle_requires_grad),
    (frozenset(), 1, delete),
    (frozenset({"in_place"}), 6, overwrite),
    (frozenset({"in_place", "no_grad"}), 2, update),
    (frozenset({"hooks"}), 2, add_hook),
    (frozenset({"hooks", "unhook"}), 1, change_hooks),
    (frozenset({"hooks", "unhook"}), 1, remove_hook),
    (frozenset({"retain_grad"}), 2, retain_grad),
    (frozenset({"zero_grad"}), 2, zero_grad),
    (frozenset(), 2, read),
    (frozenset({"call:rule"}), 12, call_function),
)
"""Actions, each with the features that it needs and its weight among all actions."""


def lifecycle_scenario(seed: int, profile: Profile = LIFECYCLE) -> Scenario:
    """Return the lifecycle generated from a seed, which is the same on every machine.

    In the end all regions are left, backward is often run once more, and everything is read that can be.
    """
    choices = Choices(seed)
    builder = Builder(profile, () if profile.scalars_only else choices.choice(SHAPES["lifecycle"]), choices)
    add_leaf(builder, requires_grad=True)
    for _ in range(choices.integer(0, COUNTS["most_further_leaves"])):
        add_leaf(builder, requires_grad=choices.happens("recorded_further_leaf"))
    actions = [action for needed, weight, action in ACTIONS if needed <= profile.offered for _ in range(weight)]
    for _ in range(choices.integer(*profile.length)):
        choices.choice(actions)(builder)
    while builder.regions:
        leave_region(builder)
    if builder.choices.happens("last_backward"):
        builder.choices.choice([backward_from_loss, backward, backward_again])(builder)
    observed: tuple[kinds.Readable, ...] = ("grad", "value", *_flags(builder))
    builder.steps += [kinds.Read(what, value.name) for value in builder.values for what in observed]
    builder.steps += [kinds.Read("hook", hook) for hook in builder.hooks]
    return builder.scenario
