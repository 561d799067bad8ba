"""``check_gradients``: the check of the gradient of a user's function, or of a function of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import Check, Method
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.modes.forward_and_batched import batched_report, first_line, forward_report
from refgrad.checking.modes.orders import higher_orders
from refgrad.checking.pullbacks import SideEffectError
from refgrad.checking.report import CAUSES, GradientError, GradientReport, Text, unsupported
from refgrad.checking.search import is_strategy, search
from refgrad.checking.slopes.deadline import Deadline
from refgrad.checking.subject import Subject, quiet
from refgrad.checking.tracing.inner_edges import Watched, watched
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start

BUDGET = 10.0
"""Seconds that a check may take, unless told otherwise; the function's own calls come to an end first."""

FAILED = "the check itself failed; please report it with what traceback.print_exception(report.raised) prints: "
"""Before what is told of a mistake of ours."""


def check_gradients(  # noqa: PLR0913 (what the checkers of other libraries let people say, by keyword)
    function: Callable[..., Any],
    inputs: Any,
    engine: str = "torch",
    *,
    seed: int = 0,
    tolerance: float = 0.0,
    method: Method = "auto",
    raise_exception: bool = True,
    strict: bool = True,
    allow: Collection[str] = (),
    budget: float = BUDGET,
    order: int = 1,
    forward: bool = False,
    batched: bool = False,
) -> GradientReport:
    """Check that backward through ``function`` gives the derivative of ``function`` at ``inputs``.

    ``function`` takes tensors of the engine and returns them, both in tuples, lists, dictionaries or dataclasses if it
    likes; a module is checked with its parameters. ``inputs`` is a tensor or a tuple of tensors, numpy arrays or
    anything else that the function takes; what is of floating point and does not say that it needs no gradient is
    differentiated by. A hypothesis strategy of inputs is searched for some at which the gradient is wrong, and for the
    smallest; :func:`refgrad.strategies.points` makes one of shapes. ``engine`` is a registered engine, or
    ``module:object`` for an adapter of one's own.

    Where the function is made of operators of the table, the gradient is held against certified intervals and the
    rounding that each entry is entitled to; elsewhere, or with ``method="differences"``, against finite differences
    with an error estimate. Random choices follow from ``seed``. A relative error below ``tolerance`` is let pass.
    ``budget`` is how many seconds it may take: what was looked at in that time is in the report. With ``order=2`` the
    gradient's own gradient is checked too, and so on; with ``forward`` forward mode is, with ``batched`` gradients
    under vmap.

    Raises :class:`GradientError` with the wrong entry and a program that shows it, unless ``raise_exception`` is False;
    the report says the same. Raises :class:`InconclusiveError` where nothing can be said and ``strict`` is not False,
    unless ``allow`` has the report's ``cause``. Raises AdapterError or EngineStartError where the engine cannot be had.
    """
    unknown = set(allow) - CAUSES
    if unknown:
        raise ValueError(f"allow has {sorted(unknown)}, but causes are {sorted(CAUSES)}")
    started = _started(engine)
    options = _Options(seed, tolerance, method, order, forward, batched)
    if is_strategy(inputs):
        report = search(
            inputs,
            lambda drawn, left: _report(started, function, drawn, options, left),
            lambda drawn: _watched(started, function, drawn),
            seed,
            budget,
        )
    else:
        report = _report(started, function, inputs, options, budget)
    return _answered(report, raise_exception=raise_exception, strict=strict, allow=allow)


@dataclass(frozen=True, slots=True)
class _Options:
    """What is asked of a gradient."""

    seed: int
    tolerance: float
    method: Method
    order: int
    forward: bool
    batched: bool


def _report(
    engine: Engine, function: Callable[..., Any], inputs: Any, options: _Options, budget: float
) -> GradientReport:
    """Return the report on a function at some inputs."""
    arguments = _arguments(inputs)
    name = engine.adapter.name
    deadline = Deadline(budget)
    try:
        with quiet():
            subject = Subject(engine, function, arguments)
            with subject.chance.kept():
                report = _asked(subject, options, deadline)
        deadline.stop()
    except SideEffectError as error:
        return GradientReport(name, "wrong", "none", 0, 0, told=Text(str(error)))
    except SubjectError as error:
        told, raised = Text(str(error)), error.__cause__
        return GradientReport(name, error.outcome, "none", 0, 0, told=told, cause=error.cause, raised=raised)
    except UnsupportedError as error:
        return unsupported(name, str(error), error.__cause__)
    except Exception as error:  # noqa: BLE001 (a mistake of ours says nothing of the gradient)
        return unsupported(name, f"{FAILED}{type(error).__name__}: {first_line(error)}", error)
    return report


def _arguments(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if type(inputs) in (tuple, list) else (inputs,)


def _watched(engine: Engine, function: Callable[..., Any], inputs: Any) -> Watched | None:
    """Return what a function does at some inputs, as far as it can be watched."""
    try:
        with quiet():
            subject = Subject(engine, function, _arguments(inputs))
            with subject.chance.kept():
                return watched(subject)
    except UnsupportedError:
        return None


def _asked(subject: Subject, options: _Options, deadline: Deadline) -> GradientReport:
    """Return the report on all that is asked, up to the first that is not right."""
    choices, tolerance = np.random.Generator(np.random.PCG64(_sequence(options.seed))), options.tolerance
    report = explanation.report(Check(subject, choices, tolerance, options.method, deadline))
    if report.outcome == "right" and options.order > 1:
        report = higher_orders(subject, report, choices, tolerance=tolerance, deadline=deadline, order=options.order)
    if report.outcome == "right" and options.forward:
        report = forward_report(subject, choices, report)
    if report.outcome == "right" and options.batched:
        report = batched_report(subject, choices, report)
    return report


def _answered(report: GradientReport, *, raise_exception: bool, strict: bool, allow: Collection[str]) -> GradientReport:
    """Return a report, or raise what it calls for."""
    report = report.allowing(allow)
    if raise_exception and not report and (strict or report.outcome == "wrong"):
        raise GradientError.of(report)
    return report


@cache
def _sequence(seed: int) -> np.random.SeedSequence:
    """Return what the random choices of every check with a seed start from."""
    return np.random.SeedSequence(seed)


@cache
def _started(engine: str) -> Engine:
    """Find an engine once: the search through the installed packages takes longer than a check."""
    return start(find_adapter(engine))
