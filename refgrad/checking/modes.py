"""Further checks of a right gradient: its own gradient, forward mode, and batches of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import Deadline, GradientCheck
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.trees import Array
from refgrad.checking.report import GradientReport, unsupported
from refgrad.checking.subject import CheckedFunction, Gradients, Pullback, Seeds, SideEffectError, refuse_other_value
from refgrad.scenario.formats import FORMATS

BATCH = 3
"""Number of cotangents in a batch."""

SEEDS = 2
"""Number of cotangents that each tangent is compared under."""


def higher_orders(  # noqa: PLR0913 (the arguments of a check, and the order)
    subject: CheckedFunction,
    report: GradientReport,
    choices: np.random.Generator,
    *,
    tolerance: float,
    deadline: Deadline,
    order: int,
) -> GradientReport:
    """Return the report on the gradients of gradients up to an order, or the first that is not right."""
    for each in range(2, order + 1):
        subject = derived(subject, choices)
        try:
            report = explanation.report(GradientCheck(subject, choices, tolerance, "differences", deadline))
        except SubjectError as error:
            if "once_differentiable" not in str(error) and "does not require grad" not in str(error):
                raise
            why = f"the gradient cannot be differentiated: {error}"
            report = unsupported(subject.engine.adapter.name, why, error.__cause__)
        if report.outcome != "right":
            return report.introduced(f"in the gradient of order {each} as a function of inputs and cotangents, ")
    return report


def derived(subject: CheckedFunction, choices: np.random.Generator) -> CheckedFunction:
    """Return the gradient as a function of the checked inputs and of the cotangents."""
    pullback = subject.pullback(subject.point)
    chosen = [k for k, active in enumerate(pullback.active) if active]
    primals = subject.arguments(subject.point)
    seeds = [
        subject.library.make(random_array(choices, pullback.outputs[k].shape), pullback.kinds[k], requires_grad=True)
        for k in chosen
    ]
    checked = [primals[i] for i in subject.positions]
    function = subject.library.gradient_function(only_checked(subject, chosen), len(checked))
    result = CheckedFunction(subject.engine, function, (*checked, *seeds))
    result.chance = subject.chance
    return result


def forward_report(subject: CheckedFunction, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or one that forward mode differs from the backward, which is right."""
    modes = Modes(subject, choices)
    directions = [random_array(choices, array.shape) for array in subject.point]
    try:
        tangents = modes.tangents(directions)
    except SideEffectError:
        raise
    except Exception as error:  # noqa: BLE001 (rules of users and of engines may raise anything)
        return unsupported(subject.engine.adapter.name, f"forward mode is not there: {first_line(error)}", error)
    for k, tangent in zip(modes.differentiable, tangents, strict=True):
        for _ in range(SEEDS):
            difference = modes.difference(k, tangent, directions)
            if difference:
                return replace(report, outcome="wrong", message=difference)
    return report


def batched_report(subject: CheckedFunction, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or one that gradients under a batch of cotangents differ from those under each of them."""
    modes = Modes(subject, choices)
    if not modes.differentiable:
        return report
    batches = {k: [random_array(choices, modes.outputs[k].shape) for _ in range(BATCH)] for k in modes.differentiable}
    try:
        found = modes.batched([np.stack(batch) for batch in batches.values()])
    except Exception as error:  # noqa: BLE001 (as above)
        message = f"batched gradients raised {type(error).__name__}: {first_line(error)}"
        return unsupported(subject.engine.adapter.name, message, error)
    for row in range(BATCH):
        gradients = modes.pullback.gradients(modes.seeds({k: batch[row] for k, batch in batches.items()}))
        for i, one, many in zip(subject.positions, gradients, found, strict=True):
            if not modes.same(one, None if many is None else many[row]):
                message = f"the gradient of input {subject.name_of(i)} is another one under a batch of cotangents"
                return replace(report, outcome="wrong", message=message)
    return report


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message; PyTorch adds others."""
    return str(error).partition("\n")[0]


class Modes:
    """A function that was run once, and its outputs that can be differentiated."""

    def __init__(self, subject: CheckedFunction, choices: np.random.Generator) -> None:
        """Take a function at its point."""
        self.subject = subject
        self.library = subject.library
        self.choices = choices

    @cached_property
    def pullback(self) -> Pullback:
        """The function, run forward."""
        return self.subject.pullback(self.subject.point)

    @property
    def outputs(self) -> Sequence[Array]:
        """Outputs of the function."""
        return self.pullback.outputs

    @cached_property
    def differentiable(self) -> list[int]:
        """Numbers of the outputs that can be run backward."""
        return [k for k, active in enumerate(self.pullback.active) if active]

    def seeds(self, arrays: dict[int, Array]) -> Seeds:
        """Return cotangents for some outputs, and None for the others."""
        return tuple(arrays[k].astype(o.dtype) if k in arrays else None for k, o in enumerate(self.outputs))

    def tangents(self, directions: Sequence[Array]) -> list[Array]:
        """Return the tangents of the outputs along directions by forward mode, zeros for absent ones."""
        subject = self.subject
        primals = subject.arguments(subject.point)
        checked = [primals[i] for i in subject.positions]
        kinds = [subject.inputs[i].kind for i in subject.positions]
        pushed = [self.library.seed(d, kind) for d, kind in zip(directions, kinds, strict=True)]
        values, found = self.library.jvp(only_checked(subject, self.differentiable), checked, pushed)
        for k, value in zip(self.differentiable, values, strict=True):
            refuse_other_value(self.outputs[k], self.library.read(value), k, self.pullback.precision)
        return [
            np.zeros(self.outputs[k].shape) if tangent is None else self.library.read(tangent)
            for k, tangent in zip(self.differentiable, found, strict=True)
        ]

    def difference(self, output: int, tangent: Array, directions: Sequence[Array]) -> str:
        """Return a message if a tangent and the gradients under a random cotangent differ, else an empty string."""
        seed = random_array(self.choices, self.outputs[output].shape)
        gradients = self.pullback.gradients(self.seeds({output: seed}))
        pairs = zip(gradients, directions, strict=True)
        terms = np.concatenate([np.zeros(0), *((g * d).ravel() for g, d in pairs if g is not None)])
        pulled, size = float(np.sum(terms)), float(np.sum(np.abs(terms)))
        forward = float(np.sum(tangent * seed))
        if abs(forward - pulled) <= self.digits * (size + abs(forward)):
            return ""
        return (
            f"forward mode is wrong: output {output}, weighted by a seed, changes by {forward:.10g} along a "
            f"direction, where backward, which is right, says {pulled:.10g}"
        )

    def batched(self, batches: Sequence[Array]) -> Gradients:
        """Return the gradients under batches of cotangents, one for each output that can be run backward."""
        pullback = self.pullback
        pairs = zip(self.differentiable, batches, strict=True)
        seeds = [self.library.seed(b, pullback.kinds[k]) for k, b in pairs]
        tensors = [pullback.tensors[k] for k in self.differentiable]
        found = self.library.batched_gradients(tensors, pullback.leaves, seeds)
        return tuple(None if each is None else self.library.read_gradient(each) for each in found)

    def same(self, one: Array | None, other: Array | None) -> bool:
        """Return True if two gradients agree in half of their digits; an absent one counts as zeros."""
        if one is None or other is None:
            return not any(each is not None and each.any() for each in (one, other))
        allowed = self.digits * float(np.max(np.abs(one), initial=0.0))
        return other.shape == one.shape and bool(np.all(np.abs(other - one) <= allowed))

    @property
    def digits(self) -> float:
        """Largest relative difference between two ways to compute a number: the lower half of the format's digits."""
        return 2.0 ** -(FORMATS[self.pullback.precision].bits // 2)


def only_checked(subject: CheckedFunction, chosen: Sequence[int]) -> Callable[..., Any]:
    """Return the function of the checked inputs alone, with the chosen outputs."""

    def function(*primals: Any) -> Any:
        outputs = subject.applied(*primals)
        return tuple(outputs[k] for k in chosen)

    return function


def random_array(choices: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return random numbers of either sign, none of which is near 0."""
    return np.asarray(choices.uniform(0.5, 1.5, shape) * choices.choice((-1.0, 1.0), shape))
