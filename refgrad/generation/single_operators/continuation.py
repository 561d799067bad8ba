"""A scenario of first order, taken up again where its backward begins, and the steps that others put there."""

from __future__ import annotations

import math
from typing import Final

from refgrad.generation.choices import Choices
from refgrad.generation.draft.backward_calls import random_seed
from refgrad.generation.draft.draft import Draft
from refgrad.generation.draft.value import Memory, Value
from refgrad.generation.profile import Profile
from refgrad.interpreter import Float64, evaluate
from refgrad.operators.structure import Shape
from refgrad.scenario import Apply, AttributeValue, Backward, Constant, Grad, Leaf, Scenario

UNKNOWN: Final = math.inf
"""How large numbers may be of which nothing is known."""


def continued(first: Scenario, choices: Choices, profile: Profile) -> tuple[Draft, Backward]:
    """Return the draft of all that comes before the only backward of a scenario, and that backward."""
    ((at, backward),) = first.backwards
    draft, arrays = Draft(profile, (), choices), evaluate(first, Float64())
    named: dict[str, Value] = {}
    for step in first.steps[:at]:
        assert isinstance(step, Leaf | Apply)
        arguments = tuple(named[name] for name in step.uses)
        recorded = step.requires_grad if isinstance(step, Leaf) else any(value.requires_grad for value in arguments)
        named[step.name] = Value.of(arrays[step.name], requires_grad=recorded, arguments=arguments)
        draft.define(named[step.name], step)
    return draft, backward


def value_of(draft: Draft, name: str) -> Value:
    """Return the value of a name."""
    return next(value for value in draft.values if value.name == name)


def leaves_of(draft: Draft, output: Value) -> list[Value]:
    """Return the leaves that require grad and that an output depends on."""
    return [leaf for place, leaf in enumerate(draft.leaves) if output.leaves >> place & 1]


def applications_of(draft: Draft, output: Value) -> list[Apply]:
    """Return the recorded applications that an output depends on, its own first."""
    reached = [value.step for place, value in enumerate(draft.results) if output.graph >> place & 1]
    return [step for step in reversed(reached) if isinstance(step, Apply)]


def add_random_leaf(draft: Draft, name: str, shape: Shape, *, requires_grad: bool = True) -> Value:
    """Add a leaf of random numbers of either sign."""
    step = Leaf(name, random_seed(draft.choices, shape, draft.profile), requires_grad)
    leaf = Value.of(step.value.to_numpy(), requires_grad=requires_grad)
    draft.define(leaf, step)
    return leaf


def add_product(draft: Draft, name: str, x: Value, y: Value) -> Value:
    """Multiply two values of one shape."""
    return add_application(draft, Apply(name, "multiply", (x.name, y.name)), (x, y), x.shape)


def add_sum(draft: Draft, name: str, x: Value) -> Value:
    """Sum a value over its first axis."""
    axis: tuple[tuple[str, AttributeValue], ...] = (("axis", 0),)
    return add_application(draft, Apply(name, "sum", (x.name,), axis), (x,), x.shape[1:])


def add_application(draft: Draft, step: Apply, arguments: tuple[Value, ...], shape: Shape) -> Value:
    """Add an application whose result has this shape."""
    recorded = any(argument.requires_grad for argument in arguments)
    value = Value(shape, recorded, Memory.up_to(UNKNOWN), arguments=arguments)
    draft.define(value, step)
    return value


def add_gradient(draft: Draft, name: str, output: Value, leaf: Value, seed: Constant | None) -> Value:
    """Record the gradient of an output by a leaf."""
    gradient = Value(leaf.shape, requires_grad=True, memory=Memory.up_to(UNKNOWN), arguments=(output, leaf))
    draft.define(gradient, Grad(name, output.name, leaf.name, seed))
    return gradient
