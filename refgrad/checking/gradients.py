"""``check_gradients``: the check of the gradient of a user's function, or of a function of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import Deadline, GradientCheck, Method
from refgrad.checking.contexts import Contexts, contexts_of, report_in_contexts
from refgrad.checking.explanation import is_strategy, search
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.modes import batched_report, first_line, forward_report, higher_orders
from refgrad.checking.report import CAUSES, GradientError, GradientReport, unsupported
from refgrad.checking.subject import CheckedFunction, SideEffectError, quiet
from refgrad.checking.supplied import (
    FunctionWithGradient,
    GradientFunction,
    numpy_engine,
    reference_of,
    unlike_reference,
)
from refgrad.checking.tracing.inner_edges import Watched, watched
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.scenario.formats import FORMATS

BUDGET = 10.0
"""Default number of seconds that a check may take. A call of the function is not interrupted."""

FAILED = "the check itself failed; please report it with what traceback.print_exception(report.raised) prints: "
"""Start of the message about an exception of the check itself."""


def check_gradients(  # noqa: PLR0913 (keyword arguments, as the checkers of other libraries have)
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
    contexts: Contexts = "cheap",
    reference: Callable[..., Any] | None = None,
    gradient: GradientFunction | None = None,
    accumulate: str = "float32",
) -> GradientReport:
    """Check that backward through ``function`` gives the derivative of ``function`` at ``inputs``.

    ``function`` takes tensors of the engine and returns tensors; both may be nested in tuples, lists, dictionaries or
    dataclasses. A module is checked with its parameters. ``inputs`` is a tensor, or a tuple of tensors, NumPy arrays or
    other arguments; floating-point inputs are differentiated by, unless they say that they require no gradient. If
    ``inputs`` is a hypothesis strategy, inputs with a wrong gradient are searched for and made as small as possible;
    :func:`refgrad.strategies` makes some. ``engine`` is a registered engine, or ``module:object`` for an adapter.

    If the function consists of operators of the table, the gradient is compared with certified intervals and the
    rounding error that each entry may have; otherwise, or with ``method="differences"``, with finite differences and
    their error estimates. Random choices follow from ``seed``. A relative error below ``tolerance`` passes. ``budget``
    is the number of seconds that the check may take; the report says what was checked in that time. ``order=2`` checks
    the gradient of the gradient, too, and so on; ``forward`` checks forward mode, and ``batched`` gradients under vmap.
    A right gradient is compared with those of calls in other ``contexts``: the cheap ones, ``"all"``, or some by name.
    ``reference`` is a slow implementation, with which outputs and gradients are compared. ``gradient`` is checked in
    place of the library's backward: a function of the cotangent (or a tuple of several) and the inputs, which returns
    the gradient (or a tuple). In 16 bits all entries are also compared at once, with sums in the dtype ``accumulate``.

    Raises :class:`GradientError` with the wrong entry and a program that shows it, unless ``raise_exception`` is False;
    the report has the same message. Raises :class:`InconclusiveError` if the check is inconclusive, unless ``strict``
    is False or ``allow`` contains the report's ``cause``, and AdapterError or EngineStartError without the engine.
    """
    unknown = set(allow) - CAUSES
    if unknown:
        raise ValueError(f"allow has {sorted(unknown)}, but causes are {sorted(CAUSES)}")
    if accumulate not in FORMATS:
        raise ValueError(f"accumulate is {accumulate!r}, but it may be {sorted(FORMATS)}")
    options = _Options(seed, tolerance, method, order, forward, batched, contexts, reference, gradient, accumulate)
    started = _started(engine) if gradient is None or engine != "torch" else _without_library(inputs)
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
    return _answered(report.explained(), raise_exception=raise_exception, strict=strict, allow=allow)


@dataclass(frozen=True, slots=True)
class _Options:
    """Options of a check."""

    seed: int
    tolerance: float
    method: Method
    order: int
    forward: bool
    batched: bool
    contexts: Contexts
    reference: Callable[..., Any] | None
    gradient: GradientFunction | None
    accumulate: str

    def __post_init__(self) -> None:
        """Refuse contexts that are unknown, and modes of gradients that are not the library's."""
        contexts_of("", self.contexts)
        if (self.reference or self.gradient) and (self.order > 1 or self.forward or self.batched):
            raise ValueError("reference and gradient are for the first order in reverse mode: leave out other modes")


def _report(
    engine: Engine, function: Callable[..., Any], inputs: Any, options: _Options, budget: float
) -> GradientReport:
    """Return the report on a function at some inputs."""
    arguments = _arguments(inputs)
    name = engine.adapter.name
    deadline = Deadline(budget)
    try:
        with quiet():
            if options.gradient is None:
                subject = CheckedFunction(engine, function, arguments)
            else:
                subject = FunctionWithGradient(engine, function, arguments, options.gradient)
            slow = None if options.reference is None else reference_of(subject, options.reference, arguments)
            with subject.chance.kept():
                report = _checked(subject, options, deadline, slow)
    except SideEffectError as error:
        return GradientReport(name, "wrong", "none", 0, 0, message=str(error))
    except SubjectError as error:
        raised = error.__cause__
        return GradientReport(name, error.outcome, "none", 0, 0, message=str(error), cause=error.cause, raised=raised)
    except UnsupportedError as error:
        return unsupported(name, str(error), error.__cause__)
    except Exception as error:  # noqa: BLE001 (an error of the check is no fault of the gradient)
        return unsupported(name, f"{FAILED}{type(error).__name__}: {first_line(error)}", error)
    return report


def _arguments(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if type(inputs) in (tuple, list) else (inputs,)


def _watched(engine: Engine, function: Callable[..., Any], inputs: Any) -> Watched | None:
    """Return the trace of a function at some inputs, as far as it can be traced."""
    try:
        with quiet():
            subject = CheckedFunction(engine, function, _arguments(inputs))
            with subject.chance.kept():
                return watched(subject)
    except UnsupportedError:
        return None


def _without_library(inputs: Any) -> Engine:
    """Return the engine of NumPy if the inputs are arrays, numbers or drawn by a strategy, and PyTorch otherwise."""
    plain = (np.ndarray, np.generic, int, float)
    is_plain = is_strategy(inputs) or all(isinstance(each, plain) for each in _arguments(inputs))
    return numpy_engine() if is_plain else _started("torch")


def _checked(
    subject: CheckedFunction, options: _Options, deadline: Deadline, reference: CheckedFunction | None
) -> GradientReport:
    """Return the report on all that the options ask for, up to the first that is not right."""
    choices, tolerance = np.random.Generator(np.random.PCG64(_sequence(options.seed))), options.tolerance
    check = GradientCheck(subject, choices, tolerance, options.method, deadline, reference)
    check.accumulate = options.accumulate
    if reference is not None:
        unlike = unlike_reference(check.outputs, check.expected_outputs, check.judge, check.pullback.precision)
        if unlike:
            return check.report("wrong", message=unlike)
    report = explanation.report(check)
    if report.outcome == "right" and options.gradient is None:
        report = report_in_contexts(check, report, options.contexts)
    if report.outcome == "right" and options.order > 1:
        report = higher_orders(subject, report, choices, tolerance=tolerance, deadline=deadline, order=options.order)
    if report.outcome == "right" and options.forward:
        report = forward_report(subject, choices, report)
    if report.outcome == "right" and options.batched:
        report = batched_report(subject, choices, report)
    return report


def _answered(report: GradientReport, *, raise_exception: bool, strict: bool, allow: Collection[str]) -> GradientReport:
    """Return a report, or raise its error."""
    report = report.allowing(allow)
    if raise_exception and not report and (strict or report.outcome == "wrong"):
        raise GradientError.of(report)
    return report


@cache
def _sequence(seed: int) -> np.random.SeedSequence:
    """Return the seed sequence of the random choices of every check with a seed."""
    return np.random.SeedSequence(seed)


@cache
def _started(engine: str) -> Engine:
    """Return the started engine. Finding it takes longer than a check, so it is cached."""
    return start(find_adapter(engine))
