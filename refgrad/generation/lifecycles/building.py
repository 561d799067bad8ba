"""Steps of a lifecycle that create tensors: leaves, results, views and detached tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Memory, Value
from refgrad.generation.lifecycles.choosing import NUMBERS, new_name, random_constant, some_value
from refgrad.generation.lifecycles.profile import LARGEST
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, Detach, Leaf

UNARY: Final[Mapping[str, Callable[[float, int], float]]] = MappingProxyType({
    "sin": lambda _, __: 1.0,
    "tanh": lambda _, __: 1.0,
    "exp": lambda bound, _: math.exp(bound),
    "negative": lambda bound, _: bound,
    "sum": lambda bound, size: bound * size,
    "mean": lambda bound, _: bound,
})
"""Operators of one argument, with the bound of their results, given a bound of the argument and its size."""

BINARY: Final = ("add", "subtract", "multiply", "multiply")
"""Operators of two arguments. A repeated one is more likely."""

REDUCING: Final = frozenset({"sum", "mean"})


def add_leaf(draft: Draft, *, requires_grad: bool) -> None:
    """Add a leaf of the base shape, or sometimes a scalar."""
    shape = draft.base if draft.choices.boolean(0.8) else ()
    step = Leaf(new_name(draft, "x"), random_constant(draft, shape), requires_grad)
    value = Value(shape, requires_grad, Memory(*NUMBERS), is_leaf=True, differentiable=requires_grad)
    draft.define(value, step)


def add_another_leaf(draft: Draft) -> None:
    """Add a leaf that may require grad."""
    add_leaf(draft, requires_grad=draft.choices.boolean(0.7))


def add_result(draft: Draft, operator: str, operands: tuple[Value, ...], shape: Shape, bound: float) -> None:
    """Apply an operator whose result has this shape, and entries of a magnitude up to ``bound``."""
    requires_grad = draft.records and any(operand.requires_grad for operand in operands)
    step = Apply(new_name(draft, "a"), operator, tuple(operand.name for operand in operands))
    draft.define(Value(shape, requires_grad, Memory.up_to(bound)), step)


def apply_unary(draft: Draft) -> None:
    """Apply an operator of one argument, if there is one whose result is not too large."""
    operand = some_value(draft)
    bounds = {name: bound(operand.memory.bound, math.prod(operand.shape)) for name, bound in UNARY.items()}
    possible = [name for name, bound in bounds.items() if draft.profile.allows(name) and bound <= LARGEST]
    if not possible:
        return
    operator = draft.choices.choice(possible)
    add_result(draft, operator, (operand,), () if operator in REDUCING else operand.shape, bounds[operator])


def apply_binary(draft: Draft) -> None:
    """Apply an operator to two values, of which one may be a scalar, unless its result is too large."""
    x, y = some_value(draft), some_value(draft)
    offered = [operator for operator in BINARY if draft.profile.allows(operator)]
    if not offered:
        return
    operator = draft.choices.choice(offered)
    bound = x.memory.bound * y.memory.bound if operator == "multiply" else x.memory.bound + y.memory.bound
    if bound <= LARGEST:
        add_result(draft, operator, (x, y), max(x.shape, y.shape, key=len), bound)


def apply_matmul(draft: Draft) -> None:
    """Multiply two vectors or two square matrices, unless the product is too large."""
    shape = draft.base
    fitting = [value for value in draft.values if value.shape == shape]
    if not shape or not fitting or not draft.profile.allows("matmul"):
        return
    x, y = draft.choices.choice(fitting), draft.choices.choice(fitting)
    bound = shape[-1] * x.memory.bound * y.memory.bound
    if bound <= LARGEST:
        add_result(draft, "matmul", (x, y), shape if len(shape) > 1 else (), bound)


def add_view(draft: Draft) -> None:
    """Reshape a value to its own shape, for which some engines return a view."""
    x = some_value(draft)
    if not draft.profile.allows("reshape"):
        return
    step = Apply(new_name(draft, "v"), "reshape", (x.name,), (("shape", x.shape),))
    draft.define(Value(x.shape, x.requires_grad and draft.records, x.memory), step)
    x.memory.viewed = True


def detach(draft: Draft) -> None:
    """Detach a value."""
    source = some_value(draft)
    source.touched = True
    step = Detach(new_name(draft, "d"), source.name)
    draft.define(Value(source.shape, requires_grad=False, memory=source.memory), step)
