"""The gradient of a gradient, as a function of inputs and cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import Check
from refgrad.checking.libraries import SubjectError
from refgrad.checking.libraries.numbers import Array
from refgrad.checking.report import GradientReport, Introduced, Text, unsupported
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.subject import Subject


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
            why = f"the gradient cannot be differentiated: {error}"
            report = unsupported(subject.engine.adapter.name, why, error.__cause__)
        if report.outcome != "right":
            words = f"in the gradient of order {each} as a function of inputs and cotangents, "
            told = report.told if report.outcome == "wrong" else Text(str(report))
            return replace(report, told=Introduced(words, told))
    return report


def derived(subject: Subject, choices: np.random.Generator) -> Subject:
    """Return the gradient as a function of the checked inputs and of the cotangents."""
    pullback = subject.pullback(subject.point)
    wanted = [k for k, active in enumerate(pullback.active) if active]
    primals = subject.arguments(subject.point)
    seeds = [
        subject.library.make(random_array(choices, pullback.outputs[k].shape), pullback.kinds[k], requires_grad=True)
        for k in wanted
    ]
    checked = [primals[i] for i in subject.positions]
    function = subject.library.gradient_function(only_checked(subject, wanted), len(checked))
    result = Subject(subject.engine, function, (*checked, *seeds))
    result.chance = subject.chance
    return result


def only_checked(subject: Subject, wanted: Sequence[int]) -> Callable[..., Any]:
    """Return the function of the checked inputs alone, with some of its outputs."""

    def function(*primals: Any) -> Any:
        outputs = subject.applied(*primals)
        return tuple(outputs[k] for k in wanted)

    return function


def random_array(choices: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return numbers of either sign, none of which is near 0."""
    return np.asarray(choices.uniform(0.5, 1.5, shape) * choices.choice((-1.0, 1.0), shape))
