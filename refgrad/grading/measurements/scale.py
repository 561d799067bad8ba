"""Measurement of large graphs: right numbers, no recursion, and time in proportion to the size.

The values and gradients of the graphs are known in closed form. Every number is a multiple of a half, so that nothing
is rounded unless the library computes in less than float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from refgrad.facts import Error, Measured
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.growth import GROWTH, measure
from refgrad.grading.measurements.programs import PROGRAMS, MeasuredProgram, Reading, filled
from refgrad.grading.settings import Settings
from refgrad.native.adapter import TapeAdapter
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

    def measured(self, library: Library, parameters: Mapping[str, Any], settings: Settings) -> Reading:
        """Measure the graphs over growing ``sizes``, or those of ``smoke`` in that profile."""
        if self.swept and library.forward_only:
            return Reading("unsupported", "the engine carries tangents forward, of one leaf at a time")
        smoke = settings.profile == "smoke"
        graphs = _Sizes(self, library, self.text(library), GROWTH["enlarged"] if smoke else 1)
        return graphs.judged(parameters["smoke" if smoke else "sizes"], settings.effort["seconds_of_a_program"])

    def script(self, library: Library, parameters: Mapping[str, Any]) -> str:
        """Return the program that times all sizes."""
        return _Sizes(self, library, self.text(library)).program(parameters["sizes"])

    def text(self, library: Library) -> str:
        """Return the text of ``attempt(n)``, which builds and differentiates a graph, and returns its results."""
        forward = function("function(*leaves)", [*self.lines(library), "return y"])
        lines = [*filled(f"leaves = [{{leaf:number}} for number in {self.leaves}]", library), "", forward]
        lines += filled(_tape_text(self, library.tape) if library.tape else _functional_text(self), library)
        return function("attempt(n)", "\n".join(lines).splitlines())


def evaluated(expression: str, n: int) -> Any:
    """Return the value of an expression of a row for a size, by integer arithmetic."""
    return eval(expression, {"n": n, "fibonacci": fibonacci})


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number: 0, 1, 1, 2, 3, 5."""
    first, second = 0, 1
    for _ in range(n):
        first, second = second, first + second
    return first


LARGE_GRAPHS: Final = LargeGraph.rows("graphs")
"""Large graphs by the name that rows of behaviours use."""

SMALLEST: Final = 2
"""Size of a graph that is not large."""


class _UnexpectedNumbersError(Exception):
    """Raised if the numbers that a graph gives are not the expected ones."""

    def __init__(self, outcome: Outcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A graph of adjustable size on an engine.

    ``reached`` lists the sizes with right numbers so far. The printed program runs a size ``enlarged`` times as large.
    """

    graph: LargeGraph
    library: Library
    text: str
    enlarged: int = 1
    reached: list[int] = field(default_factory=list, init=False)

    def judged(self, sizes: Sequence[int], limit: float) -> Reading:
        """Run all sizes within a limit of seconds each, and return whether numbers and times are right."""
        try:
            self.run(sizes[0])  # warm up: the first run loads and compiles
            growth = measure(self.run, sizes, limit)
        except (RaisedError, _UnexpectedNumbersError) as error:
            return self.failed(sizes, error)
        what = f"{self.graph.what}, up to n = {max(growth.times):,}"
        result = Reading("passed", f"{what}: {growth.described}", examples=len(self.reached), growth=growth)
        if growth.steep:
            program = self.program([self.enlarged * size for size in growth.fitted])
            return replace(result, outcome="wrong", program=program, fact=Measured(quantity="time"))
        if growth.left_out is not None:
            known = result.message if growth.exponent is not None else f"{what}: right"
            message = f"{known}; n = {growth.left_out:,} would take too long"
            return replace(result, outcome="inconclusive", message=message)
        return result

    def failed(self, sizes: Sequence[int], error: RaisedError | _UnexpectedNumbersError) -> Reading:
        """Return the result of a size that failed; inconclusive if the smallest graph fails, too."""
        if isinstance(error, RaisedError) and "NotImplementedError" in error.raised.bases:
            raise error
        if fault := self.fault_in_the_small():
            return Reading("inconclusive", f"cannot be judged: {self.graph.what}, n = {SMALLEST}: {fault}")
        reached = max(self.reached, default=None)
        size = next(each for each in sizes if reached is None or each > reached)
        where = f"{self.graph.what}, n = {size:,}: "
        before = "" if reached is None else f"; {reached:,} went well"
        program, examples = self.program([size]), len(self.reached) + 1
        if isinstance(error, _UnexpectedNumbersError):
            return Reading(error.outcome, f"{where}{error}{before}", program, examples=examples)
        deep = {"RecursionError", "MemoryError"} & set(error.raised.bases)
        problem = error.raised.type if deep else f"raised {error}"
        outcome: Outcome = "crashed" if deep else "unexpected-error"
        return Reading(outcome, f"{where}{problem}{before}", program, examples=examples, fact=Error(error=error.raised))

    def fault_in_the_small(self) -> str:
        """Return what is wrong with the smallest graph, or an empty string: the size does not cause such a failure."""
        try:
            self.run(SMALLEST)
        except _UnexpectedNumbersError as error:
            return str(error)
        except RaisedError as error:
            return f"raised {error.raised.type}"
        return ""

    def run(self, size: int) -> float:
        """Run one size, compare its numbers, and return the seconds that it took.

        Raises _UnexpectedNumbersError if the numbers are wrong, RaisedError if the engine raises an exception, and
        EndingError if its runner ends.
        """
        (seen,) = self.library.run(self.text, size)
        value, gradients = seen.data
        right, expected = evaluated(self.graph.output, size), evaluated(self.graph.slopes, size)
        allowed = _allowed((right, *expected), size, self.library.engine.adapter.dtype)
        _compare("the value", value, right, allowed)
        if gradients is None or len(gradients) != len(expected):
            raise _UnexpectedNumbersError("missing", "the gradients are missing")
        for number, pair in enumerate(zip(gradients, expected, strict=True), 1):
            _compare(f"the gradient of leaf {number}", *pair, allowed)
        self.reached.append(size)
        return seen.seconds

    def program(self, sizes: Sequence[int]) -> str:
        """Return a program that times several sizes, or prints the numbers of a single one."""
        if len(sizes) == 1:
            return self.library.program(self.text, "", f"print(attempt({sizes[0]}))")
        lines = filled(PROGRAMS["timed_sizes"], self.library, sizes=str(tuple(sizes)))
        return self.library.program("import time", "\n", self.text, "", *lines)


def _tape_text(graph: LargeGraph, tape: TapeAdapter) -> str:
    """Return the text of a backward; recording a gradient may leave others in the leaves, which are reset."""
    text = "y = function(*leaves)\n"
    if graph.order > 1:
        text += "y = {recorded_gradient:y; leaves[0]}\n"
        text += "for leaf in leaves:\n    {zero_grad:leaf}\n" if tape.zero_grad else ""
    text += "for _ in range(n):\n    {retaining_backward:y}\n" if graph.calls else "{backward:y}\n"
    return text + "return {value:y}, [{gradient:leaf} for leaf in leaves]"


def _functional_text(graph: LargeGraph) -> str:
    text = "y, pullback = {vjp:function; leaves}\n" if graph.order == 1 else PROGRAMS["slope"]
    text += PROGRAMS["several_pulls"] if graph.calls else "cotangents = pullback({one})\n"
    return text + "return {value:y}, [{value:c} for c in cotangents]"


def _allowed(expected: Iterable[float], size: int, dtype: str) -> float:
    """Return the relative error that rounding may cause.

    It is zero while the format holds all numbers, which are multiples of a half, exactly. Otherwise it is half an ulp
    for each of the n additions on a path, whose terms have the same sign.
    """
    bits = FORMATS[dtype].bits
    largest = max(map(abs, expected))
    return 0.0 if 2 * largest <= 2.0**bits else size * 2.0**-bits


def _compare(what: str, array: Any, expected: float, allowed: float) -> None:
    if array is None:
        raise _UnexpectedNumbersError("missing", f"{what} is missing")
    number = float(np.asarray(array, dtype=np.float64).reshape(()))
    if not abs(number - expected) <= allowed * abs(expected):
        raise _UnexpectedNumbersError("wrong", f"{what} is {number!r}, but it should be {float(expected)!r}")
