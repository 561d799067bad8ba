"""Further checks of a right gradient: its own gradient, forward mode, and batches of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import SEED_WIDTH, GradientCheck
from refgrad.checking.libraries import SubjectError, UnsupportedError, WrongError
from refgrad.checking.libraries.trees import Array, Arrays, half_digits
from refgrad.checking.report import Explanation, GradientReport, unchecked
from refgrad.checking.subject import CheckedFunction, Pullback, Seeds, refuse_other_value
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.screening import random_signed
from refgrad.oracles.slopes.directions import flattened
from refgrad.scenario.formats import FORMATS

Function = Callable[..., Any]

BATCH = 3
"""Number of cotangents in a batch."""

SEEDS = 2
"""Number of cotangents with which each tangent is compared."""


def higher_orders(check: GradientCheck, report: GradientReport, order: int) -> GradientReport:
    """Check gradients of gradients up to an order. Return the first report that is not right, or the last one."""
    subject, choices = check.subject, check.choices
    for each in range(2, order + 1):
        subject = derived(subject, choices)
        try:
            higher = GradientCheck(subject, choices, check.tolerance, "differences")
            report = explanation.report(higher)
        except SubjectError as error:
            if "once_differentiable" not in str(error) and "does not require grad" not in str(error):
                raise
            why = f"the gradient cannot be differentiated: {error}"
            report = unchecked(subject.engine.adapter.name, why, raised=error.__cause__)
        if report.outcome != "right":
            return report.introduced(f"in the gradient of order {each} as a function of inputs and cotangents, ")
    return report


class FixedFunction(CheckedFunction):
    """A function that is only known at its point."""

    def at(self, point: Arrays) -> CheckedFunction:
        """Raise UnsupportedError, since the function is not known at other points."""
        del point
        raise UnsupportedError("the solution of the equation is known at one point only")


def of_equation(check: GradientCheck, report: GradientReport, equation: Function) -> GradientReport:
    """Check whether the gradient is the derivative of the program, or of the equation that it solves, or both.

    If it is neither, return the report on the equation.
    """
    solution, lost = implicit(check, equation)
    tolerance = max(check.tolerance, lost)
    second = explanation.report(GradientCheck(check.subject, check.choices, tolerance, check.method, solution))
    derivatives = {"program": report.outcome, "equation": second.outcome}
    chosen = report if report.outcome == "right" else second
    return (
        replace(chosen, derivatives=derivatives)
        if chosen.outcome == "right"
        else chosen.introduced(f"{report.outcome} as the derivative of the program, and as that of the equation ")
    )


def implicit(check: GradientCheck, equation: Function) -> tuple[CheckedFunction, float]:
    """Return the solution y of F(y, x) = 0 as a function of x, and the relative error of its derivative.

    By the implicit function theorem that is -A ∂F/∂x, where A is the inverse of ∂F/∂y. Here y is the output of the
    program, also if the program stops before F is zero.
    """
    subject, library, pullback = check.subject, check.subject.library, check.pullback
    inputs = subject.arguments_tree.build([x.original for x in subject.inputs[: len(subject.arguments_tree.leaves)]])
    kinds = [replace(kind, strides=None) for kind in pullback.kinds]

    def tensors_of(arrays: Sequence[Array], *, requires_grad: bool = False) -> list[Any]:
        return [library.make(x, kind, requires_grad=requires_grad) for x, kind in zip(arrays, kinds, strict=True)]

    tensors = tensors_of(pullback.outputs, requires_grad=True)
    whole = CheckedFunction(subject.engine, equation, (*tensors, *inputs), None, subject.deadline)
    whole.random_state = subject.random_state
    inner = GradientCheck(whole, check.choices, 0.0, check.method)
    seeds = [inner.single(k, i, 1.0) for k, residual in enumerate(inner.outputs) for i in range(residual.size)]
    rows = np.array([flattened(tuple(inner.judge.truths(seed)[: len(kinds)])) for seed in seeds])
    if rows.shape != (len(seeds), len(seeds)) or not np.linalg.cond(rows) < 1 / FORMATS[pullback.precision].unit:
        raise UnsupportedError("the equation does not determine the outputs: it must have as many entries as they")
    own, others = ([*np.cumsum([array.size for array in arrays])[:-1]] for arrays in (pullback.outputs, inner.outputs))
    inverse = [tensors_of(np.split(block, own)) for block in np.split(np.linalg.inv(rows), others, 1)]
    fixed, here = tensors_of(pullback.outputs), inner.pullback.tensors

    def solution(*primals: Any) -> Any:
        residuals = equation(*fixed, *primals)
        residuals = residuals if isinstance(residuals, tuple | list) else (residuals,)
        changes = [(now - before).reshape(-1) for now, before in zip(residuals, here, strict=True)]
        steps = [sum(a[k] @ change for a, change in zip(inverse, changes, strict=True)) for k in range(len(fixed))]
        return tuple(y - step.reshape(y.shape) for y, step in zip(fixed, steps, strict=True))

    lost = ALLOWANCE * FORMATS[pullback.precision].unit * float(np.linalg.cond(rows))
    result = FixedFunction(subject.engine, solution, inputs, None, subject.deadline)
    result.random_state = subject.random_state
    return result, lost


def derived(subject: CheckedFunction, choices: np.random.Generator) -> CheckedFunction:
    """Return the gradient as a function of the checked inputs and of the cotangents."""
    pullback = subject.pullback(subject.point)
    library, chosen = subject.library, differentiable(pullback)
    arrays = {k: random_signed(pullback.outputs[k].shape, choices, SEED_WIDTH) for k in chosen}
    seeds = [library.make(array, pullback.kinds[k], requires_grad=True) for k, array in arrays.items()]
    function = library.gradient_function(only_checked(subject, chosen), len(pullback.leaves))
    result = CheckedFunction(subject.engine, function, (*pullback.leaves, *seeds), None, subject.deadline)
    result.random_state = subject.random_state
    return result


def forward_report(subject: CheckedFunction, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report unchanged, or a report that forward mode differs from the backward, which is right."""
    directions = [random_signed(array.shape, choices, SEED_WIDTH) for array in subject.point]
    try:
        pullback = subject.pullback(subject.point)
        tangents = _tangents(pullback, directions)
    except WrongError:
        raise
    except Exception as error:  # noqa: BLE001 (rules of users may raise any exception)
        return unchecked(subject.engine.adapter.name, f"forward mode is not there: {first_line(error)}", raised=error)
    for k, tangent in tangents.items():
        for _ in range(SEEDS):
            seed = random_signed(pullback.outputs[k].shape, choices, SEED_WIDTH)
            gradients = pullback.gradients(_seeds(pullback, {k: seed}))
            pairs = zip(gradients, directions, strict=True)
            terms = np.concatenate([np.zeros(0), *((g * d).ravel() for g, d in pairs if g is not None)])
            forward, backward, size = float(np.sum(tangent * seed)), float(np.sum(terms)), float(np.sum(np.abs(terms)))
            if not abs(forward - backward) <= half_digits(pullback.precision) * (size + abs(forward)):
                message = (
                    f"forward mode is wrong: output {k}, weighted by a seed, changes by {forward:.10g} along a "
                    f"direction, where backward, which is right, says {backward:.10g}"
                )
                return replace(report, outcome="wrong", explanation=Explanation(message))
    return report


def _tangents(pullback: Pullback, directions: Sequence[Array]) -> dict[int, Array]:
    """Return the tangents of the outputs along directions by forward mode, zeros for absent ones."""
    subject, library, chosen = pullback.subject, pullback.library, differentiable(pullback)
    pushed = [library.seed(d, kind) for d, kind in zip(directions, subject.kinds, strict=True)]
    values, tangents = library.jvp(only_checked(subject, chosen), pullback.leaves, pushed)
    for k, value in zip(chosen, values, strict=True):
        refuse_other_value(pullback.outputs[k], library.read(value), k, pullback.precision)
    return {
        k: np.zeros(pullback.outputs[k].shape) if tangent is None else library.read(tangent)
        for k, tangent in zip(chosen, tangents, strict=True)
    }


def batched_report(subject: CheckedFunction, choices: np.random.Generator, report: GradientReport) -> GradientReport:
    """Return the report unchanged, or a report that batched gradients differ from gradients under single cotangents."""
    pullback, library = subject.pullback(subject.point), subject.library
    batches = {
        k: random_signed((BATCH, *pullback.outputs[k].shape), choices, SEED_WIDTH) for k in differentiable(pullback)
    }
    if not batches:
        return report
    try:
        tensors = [pullback.tensors[k] for k in batches]
        seeds = [library.seed(batch, pullback.kinds[k]) for k, batch in batches.items()]
        read = library.gradients(tensors, pullback.leaves, seeds, batched=True)
        batched = [None if each is None else library.read_gradient(each) for each in read]
    except Exception as error:  # noqa: BLE001 (as above)
        message = f"batched gradients raised {type(error).__name__}: {first_line(error)}"
        return unchecked(subject.engine.adapter.name, message, raised=error)
    for row in range(BATCH):
        gradients = pullback.gradients(_seeds(pullback, {k: batch[row] for k, batch in batches.items()}))
        for name, one, many in zip(subject.names, gradients, batched, strict=True):
            if not same(one, None if many is None else many[row], half_digits(pullback.precision)):
                message = f"the gradient of input {name} is another one under a batch of cotangents"
                return replace(report, outcome="wrong", explanation=Explanation(message))
    return report


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message; PyTorch adds others."""
    return str(error).partition("\n")[0]


def differentiable(pullback: Pullback) -> list[int]:
    """Return the numbers of the outputs that can be run backward."""
    return [k for k, active in enumerate(pullback.active) if active]


def _seeds(pullback: Pullback, arrays: dict[int, Array]) -> Seeds:
    """Return cotangents for some outputs, and None for the others."""
    return tuple(arrays[k].astype(o.dtype) if k in arrays else None for k, o in enumerate(pullback.outputs))


def same(one: Array | None, other: Array | None, tolerance: float) -> bool:
    """Return True if two gradients agree relative to the largest entry; an absent one counts as zeros."""
    if one is None or other is None:
        return not any(each is not None and each.any() for each in (one, other))
    allowed = tolerance * float(np.max(np.abs(one), initial=0.0))
    return other.shape == one.shape and bool(np.all(np.abs(other - one) <= allowed))


def only_checked(subject: CheckedFunction, chosen: Sequence[int]) -> Callable[..., Any]:
    """Return the function of the checked inputs alone, with the chosen outputs."""

    def function(*primals: Any) -> tuple[Any, ...]:
        try:
            outputs = subject.applied(*primals)
        except SubjectError as error:  # a checkpoint ends a call with an exception of its own
            raise error.__cause__ or error from error
        return tuple(outputs[k] for k in chosen)

    return function
