"""What else can be asked of a gradient: its own gradient, forward mode, and batches of cotangents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import Check
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.numbers import Array
from refgrad.checking.report import GradientReport, unsupported
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.subject import Subject
from refgrad.scenario.formats import FORMATS

BATCH = 3
"""So many cotangents are pulled back at once."""


def higher_orders(  # noqa: PLR0913 (what a check is made of, and how often)
    subject: Subject,
    report: GradientReport,
    choices: np.random.Generator,
    *,
    tolerance: float,
    deadline: Deadline,
    order: int,
) -> GradientReport:
    """Return the report on the gradients of gradients up to an order, as soon as one is not right."""
    for each in range(2, order + 1):
        subject = derived(subject, choices)
        try:
            report = explanation.report(Check(subject, choices, tolerance, "differences", deadline))
        except SubjectError as error:
            if "once_differentiable" not in str(error) and "does not require grad" not in str(error):
                raise
            report = unsupported(subject.engine.adapter.name, f"the gradient cannot be differentiated: {error}")
        if report.outcome != "right":
            told = f"in the gradient of order {each} as a function of inputs and cotangents, "
            return replace(report, message=told + str(report))
    return report


def derived(subject: Subject, choices: np.random.Generator) -> Subject:
    """Return the gradient as a function of the checked inputs and of the cotangents."""
    pullback = subject.pullback(subject.point)
    wanted = [k for k, active in enumerate(pullback.active) if active]
    primals = subject.arguments(subject.point)
    seeds = [
        subject.library.make(_random(choices, pullback.outputs[k].shape), pullback.kinds[k], requires_grad=True)
        for k in wanted
    ]
    checked = [primals[i] for i in subject.positions]
    function = subject.library.gradient_function(only_checked(subject, wanted), len(checked))
    result = Subject(subject.engine, function, (*checked, *seeds))
    result.again = subject.again
    return result


def forward_report(subject: Subject, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or that forward mode does not give what backward, which is right, gives."""
    pullback = subject.pullback(subject.point)
    wanted = [k for k, active in enumerate(pullback.active) if active]
    primals = subject.arguments(subject.point)
    checked = [primals[i] for i in subject.positions]
    directions = [_random(choices, array.shape) for array in subject.point]
    kinds = [subject.inputs[i].kind for i in subject.positions]
    tangents = [subject.library.seed(d, kind) for d, kind in zip(directions, kinds, strict=True)]
    try:
        with warnings.catch_warnings(action="ignore"):
            _, found = subject.library.jvp(only_checked(subject, wanted), checked, tangents)
    except (SubjectError, RuntimeError, TypeError) as error:
        return unsupported(subject.engine.adapter.name, f"forward mode is not there: {error}")
    for k, tangent in zip(wanted, found, strict=True):
        shape = pullback.outputs[k].shape
        pushed = np.zeros(shape) if tangent is None else subject.library.read(tangent)
        for seed in _seeds(choices, shape):
            seeds = tuple(seed.astype(o.dtype) if j == k else None for j, o in enumerate(pullback.outputs))
            gradients = pullback.gradients(seeds)
            terms = [
                (np.sum(g * d), np.sum(np.abs(g * d)))
                for g, d in zip(gradients, directions, strict=True)
                if g is not None
            ]
            pulled, size = (float(sum(parts)) for parts in zip((0.0, 0.0), *terms, strict=True))
            forward = float(np.sum(pushed * seed))
            if not abs(forward - pulled) <= half_of_the_digits(pullback.precision) * (size + abs(forward)):
                message = (
                    f"forward mode is wrong: output {k}, weighted by a seed, changes by {forward:.10g} along a "
                    f"direction, where backward, which is right, says {pulled:.10g}"
                )
                return replace(report, outcome="wrong", message=message)
    return report


def batched_report(subject: Subject, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report, or that gradients under a batch of cotangents are not those under each of them."""
    pullback = subject.pullback(subject.point)
    wanted = [k for k, active in enumerate(pullback.active) if active]
    batches = [[_random(choices, pullback.outputs[k].shape) for _ in range(BATCH)] for k in wanted]
    try:
        with warnings.catch_warnings(action="ignore"):
            found = subject.library.batched_gradients(
                [pullback.tensors[k] for k in wanted],
                pullback.leaves,
                [subject.library.seed(np.stack(b), pullback.kinds[k]) for k, b in zip(wanted, batches, strict=True)],
            )
    except RuntimeError as error:
        told = f"batched gradients raised {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return unsupported(subject.engine.adapter.name, told)
    for row in range(BATCH):
        seeds = tuple(
            batches[wanted.index(k)][row].astype(output.dtype) if k in wanted else None
            for k, output in enumerate(pullback.outputs)
        )
        for i, one, many in zip(subject.positions, pullback.gradients(seeds), found, strict=True):
            if one is None or many is None:
                continue
            batched = subject.library.read_gradient(many)[row]
            allowed = half_of_the_digits(pullback.precision) * float(np.max(np.abs(one), initial=0.0))
            if batched.shape != one.shape or not np.all(np.abs(batched - one) <= allowed):
                message = f"the gradient of input {subject.name_of(i)} is another one under a batch of cotangents"
                return replace(report, outcome="wrong", message=message)
    return report


def only_checked(subject: Subject, wanted: Sequence[int]) -> Callable[..., Any]:
    """Return the function of the checked inputs alone, with some of its outputs."""

    def function(*primals: Any) -> Any:
        given = dict(zip(subject.positions, primals, strict=True))
        outputs = subject.call(subject.arguments(subject.point, lambda position, _: given[position]))
        return tuple(outputs[k] for k in wanted)

    return function


def half_of_the_digits(precision: str) -> float:
    """Return how far two ways to compute the same number may differ: by the lower half of a format's digits."""
    return 2.0 ** -(FORMATS[precision].bits // 2)


def _seeds(choices: np.random.Generator, shape: tuple[int, ...]) -> list[Array]:
    return [_random(choices, shape) for _ in range(2)]


def _random(choices: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(choices.uniform(0.5, 1.5, shape) * choices.choice((-1.0, 1.0), shape))
