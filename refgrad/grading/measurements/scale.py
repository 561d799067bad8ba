"""Measurement of large graphs: right numbers, no recursion, and time in proportion to the size.

The values and gradients of the graphs are known in closed form. Every number is a multiple of a half, so that nothing
is rounded unless the library computes in less than float64.
"""

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
from refgrad.grading.measurements.programs import LIMITS, MeasuredProgram, Reading, filled, rows
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function
from refgrad.scenario.formats import FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeGraph(MeasuredProgram):
    """A family of graphs with a size ``n``, and Python expressions of its leaves, value and gradients.

    With ``calls`` there are n backward calls on one graph; with ``order`` 2 the gradient with respect to the first leaf
    is differentiated again. A graph is ``swept`` if only reverse mode computes its many gradients at once.
    """

    leaves: str
    output: str
    slopes: str
    order: int = 1
    calls: bool = False
    swept: bool = False

    def value(self, n: int) -> float:
        """Return the expected value for a size, by integer arithmetic."""
        value: float = evaluated(self.output, n)
        return value

    def gradients(self, n: int) -> Sequence[float]:
        """Return the expected gradients for a size, by integer arithmetic."""
        gradients: Sequence[float] = evaluated(self.slopes, n)
        return gradients


def evaluated(expression: str, n: int) -> Any:
    """Return the value of an expression of a row for a size."""
    return eval(expression, {"n": n, "fibonacci": fibonacci})


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number: 0, 1, 1, 2, 3, 5."""
    first, second = 0, 1
    for _ in range(n):
        first, second = second, first + second
    return first


LARGE_GRAPHS: Final = MappingProxyType({name: LargeGraph(**row) for name, row in rows("graphs").items()})
"""Large graphs by the name that rows of behaviours use."""

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

        Raises _UnexpectedNumbersError if the numbers are wrong, RaisedError if the engine raises an exception, and
        EndingError if its runner ends.
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
    forward = function("function(*leaves)", [*graph.lines(library), "return y"])
    lines = [*filled(f"leaves = [{{leaf:number}} for number in {graph.leaves}]", library), "", forward]
    lines += filled(_tape_text(graph, library.tape) if library.tape else _functional_text(graph), library)
    return function("attempt(n)", "\n".join(lines).splitlines())


def _tape_text(graph: LargeGraph, tape: TapeAdapter) -> str:
    """Return the text of a backward; recording a gradient may leave others in the leaves, which are reset."""
    text = "y = function(*leaves)\n"
    if graph.order > 1:
        text += "y = {recorded_gradient:y; leaves[0]}\n"
        text += "for leaf in leaves:\n    {zero_grad:leaf}\n" if tape.zero_grad else ""
    text += "for _ in range(n):\n    {retaining_backward:y}\n" if graph.calls else "{backward:y}\n"
    return text + "return {value:y}, [{gradient:leaf} for leaf in leaves]"


def _functional_text(graph: LargeGraph) -> str:
    text = "y, pullback = {vjp:function; leaves}\n" if graph.order == 1 else SLOPE
    text += SEVERAL_PULLS if graph.calls else "cotangents = pullback({one})\n"
    return text + "return {value:y}, [{value:c} for c in cotangents]"


SLOPE: Final = """\
def slope(first, *others):
    output, pullback = {vjp:lambda first: function(first, *others); [first]}
    return pullback({one})[0]

y, pullback = {vjp:slope; leaves}
"""

SEVERAL_PULLS: Final = """\
cotangents = [0.0 for _ in leaves]
for _ in range(n):
    cotangents = [t + c for t, c in zip(cotangents, pullback({one}))]
"""


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
    if lacking := graph.lacking(Library(engine)):
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
        return f"raised {error.raised.type}"
    return ""


def _failed(trial: _Trial, sizes: Sequence[int], error: RaisedError | _UnexpectedNumbersError) -> Reading:
    if isinstance(error, RaisedError) and "NotImplementedError" in error.raised.bases:
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
    outcome: Outcome = "crashed" if {"RecursionError", "MemoryError"} & set(error.raised.bases) else "unexpected-error"
    problem = error.raised.type if outcome == "crashed" else f"raised {error}"
    fact = Error(error=error.raised)
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
