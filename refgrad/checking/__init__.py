"""Checks of the gradients of users' own functions, whichever engine computes them, or another function does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from refgrad.checking import explanation
from refgrad.checking.check import GradientCheck, Method
from refgrad.checking.contexts import Contexts, contexts_of, report_in_contexts
from refgrad.checking.deadline import Deadline
from refgrad.checking.explanation import Search, is_strategy
from refgrad.checking.libraries import SubjectError, UnsupportedError, WrongError, library_of
from refgrad.checking.libraries.trees import Array, tree_of
from refgrad.checking.modes import batched_report, first_line, forward_report, higher_orders, of_equation
from refgrad.checking.report import (
    CAUSES,
    OUT_OF_TIME,
    GradientError,
    GradientReport,
    InconclusiveError,
    unchecked,
)
from refgrad.checking.subject import CheckedFunction, Gradients, Pullback, Seeds, quiet
from refgrad.checking.tracing.inner_edges import Watched, watched
from refgrad.native.adapter import FunctionalAdapter, find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.engine_names import registered_engines
from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.directions import OutOfTime
from refgrad.scenario.formats import FORMATS

__all__ = ["CAUSES", "Discrepancy", "GradientError", "GradientReport", "InconclusiveError", "check_gradients"]

GradientFunction = Callable[..., Any]
"""Function that takes the cotangent, or a tuple of several, and the inputs, and returns the gradient or several."""

BUDGET = 10.0
"""Default number of seconds that a check may take. A call of the function is not interrupted.

Waiting for a processor does not count, nor does compilation by the library.
"""

FAILED = "the check itself failed; please report it with what traceback.print_exception(report.raised) prints: "
"""Beginning of the message about an exception that the check itself raised."""


def check_gradients(  # noqa: PLR0913 (keyword arguments, as the checkers of other libraries have)
    function: Callable[..., Any],
    inputs: Any,
    engine: str | None = None,
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
    equation: Callable[..., Any] | None = None,
) -> GradientReport:
    """Check that backward through ``function`` gives the derivative of ``function`` at ``inputs``.

    ``function`` takes tensors of the engine and returns tensors; both may be nested in tuples, lists, dictionaries or
    dataclasses. A module is checked with its parameters. ``inputs`` is a tensor, or a tuple of tensors, NumPy arrays or
    other arguments; floating-point inputs are differentiated by, unless they say that they require no gradient. If
    ``inputs`` is a hypothesis strategy, such as one of :mod:`refgrad.strategies`, the smallest inputs with a wrong
    gradient are searched for. ``engine`` is a registered engine or ``module:object``; by default that of the inputs.

    If the function consists of operators of the table, the gradient is compared with certified intervals and the
    rounding error that each entry may have; otherwise, or with ``method="differences"``, with finite differences and
    their error estimates. Random choices follow from ``seed``. A relative error below ``tolerance`` passes. ``budget``
    is the number of seconds that the check may take; the report says what was checked in that time. ``order=2`` checks
    the gradient of the gradient, too, and so on; ``forward`` checks forward mode, and ``batched`` gradients under vmap.
    A right gradient is compared with those of calls in other ``contexts``: the cheap ones, ``"all"``, or some by name.
    ``reference`` is a slow implementation, with which outputs and gradients are compared. ``gradient`` is checked in
    place of the library's backward: a function of the cotangent (or a tuple of several) and the inputs, which returns
    the gradient (or a tuple). In 16 bits all entries are also compared at once, with sums in the dtype ``accumulate``.
    ``equation`` is a function of outputs and inputs that is zero at the solution; its derivative is accepted, too.

    Raises :class:`GradientError` with the wrong entry and a program that shows it, unless ``raise_exception`` is False:
    then the report finds this message when it is read. Raises :class:`InconclusiveError` if the check is inconclusive,
    unless ``strict`` is False or ``allow`` has the ``cause``, and AdapterError or EngineStartError without the engine.
    """
    if unknown := set(allow) - CAUSES:
        raise ValueError(f"allow has {sorted(unknown)}, but causes are {sorted(CAUSES)}")
    options = _Options(
        seed, tolerance, method, order, forward, batched, contexts, reference, gradient, accumulate, equation
    )
    started = _started(engine or _engine_of(inputs)) if gradient is None or engine else _without_library(inputs)
    deadline = Deadline(budget, library_of(started).compiled)
    check = partial(_report, started, function, options, deadline)
    watch = partial(_watched, started, function, deadline)
    report = Search(check, watch, deadline).run(inputs, seed) if is_strategy(inputs) else check(inputs)
    report = report.allowing(allow)
    if raise_exception and not report and (strict or report.outcome == "wrong"):
        raise GradientError.of(report)
    if report.outcome == "wrong":
        deadline.pause()
    return report


def _engine_of(inputs: Any) -> str:
    """Return the engine whose tensors are among the inputs, PyTorch if there is none."""
    roots = [type(leaf).__module__.partition(".")[0] for leaf in tree_of(inputs, lambda _: False).leaves]
    names = ["jax" if root == "jaxlib" else root for root in roots if root not in {"torch", "numpy", "builtins"}]
    return next((name for name in names if name in registered_engines()), "torch")


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
    equation: Callable[..., Any] | None

    def __post_init__(self) -> None:
        """Raise ValueError for unknown dtypes and contexts, and for options that exclude each other."""
        if self.accumulate not in FORMATS:
            raise ValueError(f"accumulate is {self.accumulate!r}, but it may be {sorted(FORMATS)}")
        contexts_of("", self.contexts)
        if (self.reference or self.gradient or self.equation) and (self.order > 1 or self.forward or self.batched):
            raise ValueError(
                "reference, gradient and equation are for the first order in reverse mode: leave out other modes"
            )


def _report(
    engine: Engine, function: Callable[..., Any], options: _Options, deadline: Deadline, inputs: Any
) -> GradientReport:
    """Return the report on a function at some inputs."""
    arguments = _arguments(inputs)
    name = engine.adapter.name
    try:
        with quiet():
            pullback = None if options.gradient is None else partial(SuppliedPullback, options.gradient)
            subject = CheckedFunction(engine, function, arguments, pullback, deadline)
            slow = options.reference and CheckedFunction(engine, options.reference, arguments, None, deadline)
            with subject.random_state.kept():
                return _checked(subject, options, slow)
    except SubjectError as error:
        return unchecked(name, str(error), error.outcome, cause=error.cause, raised=error.__cause__)
    except OutOfTime:
        return unchecked(name, OUT_OF_TIME, cause="time")
    except Exception as error:  # noqa: BLE001 (an error of the check is no fault of the gradient)
        return unchecked(name, f"{FAILED}{type(error).__name__}: {first_line(error)}", raised=error)


def _arguments(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if type(inputs) in (tuple, list) else (inputs,)


class SuppliedPullback(Pullback):
    """Pullback by a function of cotangents and inputs."""

    runs_by_itself = True

    def __init__(self, gradient: GradientFunction, *arguments: Any) -> None:
        """Run the function forward, and store what returns its gradient."""
        super().__init__(*arguments)
        self.gradient = gradient

    def make(self, position: int, array: Array) -> Any:
        """Return an input that requires no gradient."""
        return self.library.make(array, self.subject.inputs[position].kind, requires_grad=False)

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return what the supplied gradient returns; the cotangent of an output without a seed is zeros."""
        arrays = [np.zeros_like(o) if seed is None else seed for o, seed in zip(self.outputs, seeds, strict=True)]
        cotangents = [self.library.seed(a, kind) for a, kind in zip(arrays, self.kinds, strict=True)]
        cotangent = cotangents[0] if len(cotangents) == 1 else tuple(cotangents)
        with self.backward_from(0):
            results = self.gradient(cotangent, *self.subject.tree.build(self.arguments))
        for k, (tensor, array) in enumerate(zip(cotangents, arrays, strict=True)):
            self.refuse_written_seed(tensor, array, k)
        self.refuse_writes("the gradient")
        return tuple(None if each is None else self.library.read_gradient(each) for each in self.chosen(results))

    def chosen(self, results: Any) -> Sequence[Any]:
        """Return the gradients of the checked inputs, from a sequence of these or of the gradients of all inputs."""
        count = len(self.leaves)
        gradients = list(results) if isinstance(results, tuple | list) else [results]
        if len(gradients) == len(self.arguments):
            return [gradients[i] for i in self.subject.positions]
        if len(gradients) != count:
            raise WrongError(f"the gradient has {len(gradients)} parts, but there are {count} inputs")
        return gradients


def _watched(engine: Engine, function: Callable[..., Any], deadline: Deadline, inputs: Any) -> Watched | None:
    """Return the trace of a function at some inputs, up to the first step that cannot be traced."""
    try:
        with quiet():
            subject = CheckedFunction(engine, function, _arguments(inputs), None, deadline)
            with subject.random_state.kept():
                return watched(subject)
    except UnsupportedError:
        return None


def _without_library(inputs: Any) -> Engine:
    """Return the NumPy engine for arrays, numbers and strategies, else the engine of the inputs."""
    plain = (np.ndarray, np.generic, int, float)
    is_plain = is_strategy(inputs) or all(isinstance(each, plain) for each in _arguments(inputs))
    return _numpy_engine() if is_plain else _started(_engine_of(inputs))


@cache
def _numpy_engine() -> Engine:
    """Return an engine for functions of NumPy arrays. It has no gradients of its own: its vjp names no function."""
    vjp = "no_gradient({function}, {primals})"
    return start(FunctionalAdapter(name="numpy", setup="import numpy as np", leaf="{array}", vjp=vjp))


def _checked(subject: CheckedFunction, options: _Options, reference: CheckedFunction | None) -> GradientReport:
    """Run the checks that the options select. Return the first report that is not right, or the last one."""
    if reference is not None and reference.positions != subject.positions:
        raise UnsupportedError("the reference has other inputs to differentiate by than the function")
    choices = np.random.Generator(np.random.PCG64(_sequence(options.seed)))
    check = GradientCheck(subject, choices, options.tolerance, options.method, reference, options.accumulate)
    report = explanation.report(check)
    if options.equation is not None and report.method != "none":
        report = of_equation(check, report, options.equation)
    if report.outcome == "right" and options.gradient is None:
        report = report_in_contexts(check, report, options.contexts)
    if report.outcome == "right" and options.order > 1:
        report = higher_orders(check, report, options.order)
    if report.outcome == "right" and options.forward:
        report = forward_report(subject, choices, report)
    if report.outcome == "right" and options.batched:
        report = batched_report(subject, choices, report)
    return report


@cache
def _sequence(seed: int) -> np.random.SeedSequence:
    """Return the seed sequence for the random choices of all checks with this seed."""
    return np.random.SeedSequence(seed)


@cache
def _started(engine: str) -> Engine:
    """Return the started engine. It is cached, since finding it takes longer than a check."""
    return start(find_adapter(engine))
