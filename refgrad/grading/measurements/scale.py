"""Measurement of large graphs: right numbers, no recursion, and time in proportion to the size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.facts import Error, Measured
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.growth import Growth, measure
from refgrad.grading.measurements.large_graphs import LARGE_GRAPHS, LargeGraph
from refgrad.grading.measurements.result import Reading
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function
from refgrad.native.observation import Raised
from refgrad.scenario.formats import FORMATS

LIMITS: Final[Mapping[str, float]] = MappingProxyType({"smoke": 0.5, "standard": 8.0, "thorough": 60.0})
"""Seconds of processor time that one size may take, by profile; larger sizes are not tried."""

ENLARGED: Final = 4
"""Factor of the sizes in the printed program if the smoke profile found the growth; it is obvious at these sizes."""

SMALLEST: Final = 2
"""Size of a graph that is not large."""


class _UnexpectedNumbersError(Exception):
    """Raised if the numbers that a graph gives are not the expected ones."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Trial:
    """A graph on an engine.

    ``reached`` holds the sizes at which it was right. The printed program multiplies sizes by ``enlarged``.
    """

    engine: Engine
    graph: LargeGraph
    text: str
    reached: list[int]
    enlarged: int = 1

    def run(self, size: int) -> float:
        """Run one size, compare its numbers, and return the seconds that it took.

        Raises _OddNumbersError if the numbers are wrong, RaisedError if the engine raises an exception, and EndingError
        if its runner ends.
        """
        (seen,) = Library(self.engine).run(self.text, size)
        value, gradients = seen.data
        allowed = _allowed(self.graph, size, self.engine.adapter.dtype)
        _compare("the value", value, self.graph.value(size), allowed)
        expected = self.graph.gradients(size)
        if gradients is None or len(gradients) != len(expected):
            raise _UnexpectedNumbersError("missing", "the gradients are missing")
        for number, (gradient, right) in enumerate(zip(gradients, expected, strict=True), 1):
            _compare(f"the gradient of leaf {number}", gradient, right, allowed)
        self.reached.append(size)
        return seen.seconds

    def program(self, sizes: Sequence[int]) -> str:
        """Return a program that times several sizes, or prints the numbers of a single one."""
        if len(sizes) == 1:
            return Library(self.engine).shown(self.text, "", f"print(attempt({sizes[0]}))")
        lines = [
            f"for n in {tuple(sizes)}:",
            "    started = time.process_time()",
            "    attempt(n)",
            "    print(n, time.process_time() - started, flush=True)",
        ]
        return Library(self.engine).shown("import time", "\n", self.text, "", *lines)


def program_text(graph: LargeGraph, engine: Engine) -> str:
    """Return the text of ``attempt(n)``, which builds and differentiates a graph and returns value and gradients."""
    library = Library(engine)
    forward = function("function(*leaves)", [*graph.body(library), "return y"])
    lines = [f"leaves = [{library.leaf('np.array(number)', 'number')} for number in {graph.leaves}]", "", forward]
    lines += _tape_lines(graph, library) if library.tape else _functional_lines(graph, library)
    return function("attempt(n)", "\n".join(lines).splitlines())


def _tape_lines(graph: LargeGraph, library: Library) -> list[str]:
    lines = ["y = function(*leaves)"]
    if graph.order > 1:
        lines += [f"y = {library.recorded_gradient('y', 'leaves[0]')}"]
        lines += _reset(library)
    if graph.calls:
        lines += ["for _ in range(n):", f"    {library.backward('y', retain_graph=True)}"]
    else:
        lines += [library.backward("y")]
    return [*lines, f"return {library.value('y')}, [{library.gradient('leaf')} for leaf in leaves]"]


def _reset(library: Library) -> list[str]:
    """Return the lines that reset gradients which recording a gradient may have left in the leaves."""
    return (
        ["for leaf in leaves:", f"    {library.zero_grad('leaf')}"] if library.tape and library.tape.zero_grad else []
    )


def _functional_lines(graph: LargeGraph, library: Library) -> list[str]:
    gradients = [f"cotangents = pullback({library.one})"]
    if graph.order > 1:
        inner = ["output, pullback = " + library.vjp("lambda first: function(first, *others)", "[first]")]
        inner += [f"return pullback({library.one})[0]"]
        lines = [function("slope(first, *others)", inner), f"y, pullback = {library.vjp('slope', 'leaves')}"]
    else:
        lines = [f"y, pullback = {library.vjp('function', 'leaves')}"]
    if graph.calls:
        gradients = ["cotangents = [0.0 for _ in leaves]", "for _ in range(n):"]
        gradients += [f"    cotangents = [t + c for t, c in zip(cotangents, pullback({library.one}))]"]
    return [*lines, *gradients, f"return {library.value('y')}, [{library.value('c')} for c in cotangents]"]


def _allowed(graph: LargeGraph, size: int, dtype: str) -> float:
    """Return the relative error that rounding may cause.

    It is zero while the format holds all numbers, which are multiples of a half, exactly. Otherwise it is half an ulp
    for each of the n additions on a path, whose terms have the same sign.
    """
    bits = FORMATS[dtype].bits
    largest = max(abs(number) for number in (graph.value(size), *graph.gradients(size)))
    return 0.0 if 2 * largest <= 2.0**bits else size * 2.0**-bits


def _compare(what: str, array: Any, expected: float, allowed: float) -> None:
    if array is None:
        raise _UnexpectedNumbersError("missing", f"{what} is missing")
    number = float(np.asarray(array, dtype=np.float64).reshape(()))
    if not abs(number - expected) <= allowed * abs(expected):
        raise _UnexpectedNumbersError("wrong", f"{what} is {number!r}, but it should be {float(expected)!r}")


def measure_scale(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Reading:
    """Measure a family of graphs over growing ``sizes``, or those of ``smoke`` in that profile."""
    graph = LARGE_GRAPHS[parameters["graph"]]
    sizes = parameters["smoke" if settings.profile == "smoke" else "sizes"]
    lacking = Library(engine).lacks(graph.operators, graph.features)
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    if graph.swept and Library(engine).forward_only:
        return Reading("unsupported", "the engine carries tangents forward, of one leaf at a time")
    text = program_text(graph, engine)
    trial = _Trial(engine, graph, text, [], ENLARGED if settings.profile == "smoke" else 1)
    return _result_of(trial, sizes, LIMITS[settings.profile])


def scale_script(engine: Engine, parameters: Mapping[str, Any]) -> str:
    """Return the program that times all sizes."""
    graph = LARGE_GRAPHS[parameters["graph"]]
    text = program_text(graph, engine)
    return _Trial(engine, graph, text, []).program(parameters["sizes"])


def _result_of(trial: _Trial, sizes: Sequence[int], limit: float) -> Reading:
    try:
        trial.run(sizes[0])  # warm up: the first run loads and compiles
        growth = measure(trial.run, sizes, limit)
    except (RaisedError, _UnexpectedNumbersError) as error:
        return _failed(trial, sizes, error)
    return _grown(trial, growth)


def _fault_in_the_small(trial: _Trial) -> str:
    """Return what is wrong with the smallest graph, or an empty string: such a failure is not caused by its size."""
    try:
        trial.run(SMALLEST)
    except _UnexpectedNumbersError as error:
        return str(error)
    except RaisedError as error:
        return f"raised {error.type}"
    return ""


def _failed(trial: _Trial, sizes: Sequence[int], error: RaisedError | _UnexpectedNumbersError) -> Reading:
    if isinstance(error, RaisedError) and "NotImplementedError" in error.bases:
        raise error
    fault = _fault_in_the_small(trial)
    if fault:
        return Reading("inconclusive", f"cannot be judged: {trial.graph.what}, n = {SMALLEST}: {fault}")
    reached = max(trial.reached, default=None)
    size = next(each for each in sizes if reached is None or each > reached)
    where = f"{trial.graph.what}, n = {size:,}: "
    before = "" if reached is None else f"; {reached:,} went well"
    program, examples = trial.program([size]), len(trial.reached) + 1
    if isinstance(error, _UnexpectedNumbersError):
        return Reading(error.outcome, f"{where}{error}{before}", program, examples=examples)
    outcome: Outcome = "crashed" if {"RecursionError", "MemoryError"} & set(error.bases) else "unexpected-error"
    problem = error.type if outcome == "crashed" else f"raised {error}"
    fact = Error(error=Raised(error.type, str(error).removeprefix(f"{error.type}: "), tuple(error.bases)))
    return Reading(outcome, f"{where}{problem}{before}", program, examples=examples, fact=fact)


def _grown(trial: _Trial, growth: Growth) -> Reading:
    largest = max(growth.times)
    message = f"{trial.graph.what}, up to n = {largest:,}: {growth.described}"
    result = Reading("passed", message, examples=len(trial.reached), figures=growth.figures, growth=growth)
    if growth.steep:
        program = trial.program([trial.enlarged * size for size in growth.fitted])
        return replace(result, outcome="wrong", program=program, fact=Measured(quantity="time"))
    if growth.left_out is not None:
        known = message if growth.exponent is not None else f"{trial.graph.what}, up to n = {largest:,}: right"
        return replace(result, outcome="inconclusive", message=f"{known}; n = {growth.left_out:,} would take too long")
    return result
