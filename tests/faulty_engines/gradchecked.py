"""The faults that PyTorch's gradcheck and gradgradcheck catch, run as their users run them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import torch

from refgrad.generation import operator_scenario
from refgrad.interpreter import keywords
from refgrad.operators import Operator, operator_table
from tests.faulty_engines.fault import Fault
from tests.faulty_engines.tapes.forward_tape import ForwardTape
from tests.faulty_engines.tapes.recording_tape import RecordingTape
from tests.faulty_engines.tapes.tape import Array, Steps, Tape, Tensor

Answer = Literal["yes", "no", "cannot ask", "-"]

PROTOCOL: Final = """\
`torch.autograd.gradcheck` and `gradgradcheck` of PyTorch {version} were run beside it in float64, with their default
settings, as their users run them. Each operator that a fault breaks becomes a `torch.autograd.Function`, with the
engine's forward and its own backward, and is checked at random numbers in a plain shape: once with its default
attributes, and twice with others if it has any. Then follow {functions} ordinary functions: {names}. An engine is
caught where a check returns False or raises. Engines with a forward mode are checked with `check_forward_ad=True`, and
`gradgradcheck` is run on those that can differentiate a gradient (a dash stands for the others). *Cannot ask* stands
where no call of either expresses what is broken.

The comparison says where which faults hide, not that one is to replace the other. gradcheck is given a function and a
point, and compares its Jacobian with differences to three digits, by cotangents that are one in one entry: edges, odd
shapes and attributes are met if its caller thinks of them, and a life of several backward calls is not its subject.
"""

ASKED: Final = frozenset({
    *("operators", "edges", "second_order", "contracts", "forward_mode"),
    *("graphs", "sharing", "shapes", "higher_order"),
})
"""The chapters of checks that a call of gradcheck can express, for some function at some point."""

SHAPE_RANK: Final = 2
TRIES: Final = 200

OTHERWISE: Final = 2
"""How many points have an attribute that is not the default."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A function of arrays, and the point where it is checked."""

    function: Callable[..., Tensor]
    arrays: tuple[Array, ...]


def diamond(ops: Any, x: Tensor) -> Tensor:
    """A result that is used twice."""
    a = ops.exp(x)
    return ops.add(ops.sin(a), ops.multiply(a, x))  # type: ignore[no-any-return]


def two_leaves(ops: Any, x: Tensor, y: Tensor) -> Tensor:
    """A scalar made of two arrays."""
    return ops.sum(ops.multiply(ops.add(x, y), ops.sin(x)))  # type: ignore[no-any-return]


def square(ops: Any, x: Tensor) -> Tensor:
    """One array as both operands."""
    return ops.multiply(x, x)  # type: ignore[no-any-return]


def softmax(ops: Any, x: Tensor) -> Tensor:
    """Softmax of rows, written out."""
    exponentials = ops.exp(x)
    return ops.divide(exponentials, ops.sum(exponentials, axis=1, keepdims=True))  # type: ignore[no-any-return]


def perceptron(ops: Any, *given: Tensor) -> Tensor:
    """A perceptron of two layers."""
    x, first, bias, second, shift = given
    hidden = ops.tanh(ops.add(ops.matmul(x, first), bias))
    return ops.add(ops.matmul(hidden, second), shift)  # type: ignore[no-any-return]


ORDINARY: Mapping[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = MappingProxyType({
    "a diamond": (diamond, ((2, 3),)),
    "a scalar of two leaves": (two_leaves, ((2, 3), (2, 3))),
    "a square": (square, ((2, 3),)),
    "softmax": (softmax, ((2, 3),)),
    "a perceptron": (perceptron, ((3, 2), (2, 4), (4,), (4, 2), (2,))),
})


def protocol() -> str:
    """Return how the checkers were run, in words."""
    return PROTOCOL.format(version=torch.__version__.split("+")[0], functions=len(ORDINARY), names=", ".join(ORDINARY))


def answers(fault: Fault) -> tuple[Answer, Answer]:
    """Return whether gradcheck catches a fault, and whether gradgradcheck does."""
    asked = questions(fault)
    chapters = {check.partition("/")[0] for check in fault.breaks}
    missed: Answer = "no" if chapters & ASKED else "cannot ask"
    first: Answer = "yes" if any(fails(fault.engine, question) for question in asked) else missed
    if not issubclass(fault.engine, RecordingTape):
        return first, "-"
    return first, "yes" if any(fails_twice(fault.engine, question) for question in asked) else missed


def questions(fault: Fault) -> list[Question]:
    """Return what is asked about an engine: the operators that it breaks, and ordinary functions."""
    names = {check.partition("/")[2] for check in fault.breaks} & operator_table().keys()
    return [*(question for name in sorted(names) for question in plain(name)), *ordinary()]


@cache
def ordinary() -> tuple[Question, ...]:
    """Return the ordinary functions, at normal random numbers."""
    draw = np.random.default_rng(0)
    return tuple(Question(f, tuple(draw.normal(size=shape) for shape in shapes)) for f, shapes in ORDINARY.values())


@cache
def plain(name: str) -> tuple[Question, ...]:
    """Return an operator at plain points where the right tape satisfies gradcheck, by default and otherwise."""
    row = operator_table()[name]
    return (*_found(row, defaults=True, count=1), *_found(row, defaults=False, count=OTHERWISE))


def _found(row: Operator, *, defaults: bool, count: int) -> list[Question]:
    if not defaults and not any(not a.required for a in row.attributes):
        return []
    found: list[Question] = []
    for seed in range(TRIES):
        question = _drawn(row, seed, defaults=defaults) if len(found) < count else None
        if question is not None and not fails(Tape, question):
            found.append(question)
    return found


def _drawn(row: Operator, seed: int, *, defaults: bool) -> Question | None:
    """Return an operator at a point, or None where the scenario that follows from this seed gives no plain one."""
    scenario = operator_scenario(seed, row.name)
    (step, *_), leaves = scenario.applications, scenario.leaves
    floats = [leaf for leaf in leaves if leaf.value.dtype == "float64"]
    shapes = [leaf.value.shape for leaf in leaves]
    attributes = dict(keywords(step))
    asked = {a.name: attributes[a.name] for a in row.attributes if a.required}
    if len(set(step.arguments)) < len(step.arguments) or any(0 in shape for shape in shapes):
        return None
    if seed < TRIES // 2 and (any(1 in shape for shape in shapes) or max(map(len, shapes)) < SHAPE_RANK):
        return None
    if not defaults and row.bind(attributes) == row.bind(asked):
        return None
    given = {leaf.name: leaf.value.to_numpy() for leaf in leaves}
    said = asked if defaults else attributes

    def function(ops: Any, *moved: Tensor) -> Tensor:
        tensors = {name: ops.constant(array) for name, array in given.items()}
        tensors |= dict(zip((leaf.name for leaf in floats), moved, strict=True))
        return getattr(ops, row.name)(*(tensors[name] for name in step.arguments), **said)  # type: ignore[no-any-return]

    draw, ranges = np.random.default_rng(seed), _ranges(row, step.arguments)
    return Question(function, tuple(_numbers(draw, leaf.value.shape, *ranges[leaf.name]) for leaf in floats))


def _ranges(row: Operator, arguments: Sequence[str]) -> dict[str, tuple[float, float]]:
    names = row.argument_names * (len(arguments) if row.arguments[0].variadic else 1)
    return {name: row.samples.get(of, (-3.0, 3.0)) for of, name in zip(names, arguments, strict=True)}


def _numbers(draw: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> Array:
    """Return normal random numbers, or even ones where an operator takes none around zero."""
    if low <= -1 and high >= 1:
        return np.clip(draw.normal(size=shape), low, high)
    return draw.uniform(low + 0.05 * (high - low), min(high, low + 4), size=shape)


def fails(engine: type[Tape], question: Question) -> bool:
    """Whether gradcheck finds fault with an engine at a point, or the engine raises."""
    return _fails(torch.autograd.gradcheck, engine, question, check_forward_ad=issubclass(engine, ForwardTape))


def fails_twice(engine: type[Tape], question: Question) -> bool:
    """Whether gradgradcheck does, of an engine that records gradients."""
    return _fails(torch.autograd.gradgradcheck, engine, question)


def _fails(check: Callable[..., bool], engine: type[Tape], question: Question, **settings: Any) -> bool:
    inputs = tuple(torch.tensor(array, requires_grad=True) for array in question.arrays)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return not check(
                lambda *xs: Forward.apply(engine, question, *xs), inputs, raise_exception=False, **settings
            )
        except Exception:  # noqa: BLE001 (whatever an engine raises, it is seen)
            return True


class Forward(torch.autograd.Function):  # type: ignore[misc]
    """A function as an engine computes it, with the engine's own backward."""

    @staticmethod
    def forward(ctx: Any, engine: type[Tape], question: Question, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.engine, ctx.question, ctx.tape = engine, question, engine()
        ctx.save_for_backward(*inputs)
        ctx.leaves = [ctx.tape.tensor(x.detach().numpy().copy(), requires_grad=True) for x in inputs]
        ctx.output = question.function(Steps(ctx.tape), *ctx.leaves)
        return torch.tensor(ctx.output.array)

    @staticmethod
    def backward(ctx: Any, cotangent: torch.Tensor) -> tuple[Any, ...]:
        if issubclass(ctx.engine, RecordingTape) and torch.is_grad_enabled():
            return None, None, *Backward.apply(ctx.engine, ctx.question, cotangent, *ctx.saved_tensors)
        for leaf in ctx.leaves:
            leaf.zero_grad()
        ctx.tape.backward(ctx.output, cotangent.detach().numpy(), retain_graph=True)
        return None, None, *(_torch(leaf.grad) for leaf in ctx.leaves)

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor | None) -> torch.Tensor:
        moving = [(i, t) for i, t in enumerate(tangents[2:]) if t is not None]

        def function(*moved: Tensor) -> Tensor:
            leaves = list(ctx.leaves)
            for (place, _), tensor in zip(moving, moved, strict=True):
                leaves[place] = tensor
            return ctx.question.function(Steps(ctx.tape), *leaves)  # type: ignore[no-any-return]

        arrays = [t.detach().numpy().copy() for _, t in moving]
        return torch.tensor(ctx.tape.jvp(function, [ctx.leaves[place] for place, _ in moving], arrays)[1].array)


class Backward(torch.autograd.Function):  # type: ignore[misc]
    """The gradients of a function as an engine records them, and what it makes of them when it goes back again."""

    @staticmethod
    def forward(
        ctx: Any, engine: type[RecordingTape], question: Question, cotangent: torch.Tensor, *inputs: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.tape = tape = engine()
        ctx.leaves = [tape.tensor(x.detach().numpy().copy(), requires_grad=True) for x in (cotangent, *inputs)]
        weight, *leaves = ctx.leaves
        weighted = Steps(tape).multiply(question.function(Steps(tape), *leaves), weight)
        ctx.gradients = [tape.grad(weighted, leaf, np.ones(weighted.shape)) for leaf in leaves]
        return tuple(torch.tensor(gradient.array) for gradient in ctx.gradients)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[Any, ...]:
        for leaf in ctx.leaves:
            leaf.zero_grad()
        for gradient, cotangent in zip(ctx.gradients, cotangents, strict=True):
            if gradient.node is not None:
                ctx.tape.backward(gradient, cotangent.detach().numpy(), retain_graph=True)
        return None, None, *(_torch(leaf.grad) for leaf in ctx.leaves)


def _torch(gradient: Array | None) -> torch.Tensor | None:
    return None if gradient is None else torch.tensor(gradient)
