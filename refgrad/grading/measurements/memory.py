"""Memory that must be released after a backward, or without references, and memory that grows in each iteration.

NumPy reports its arrays to :mod:`tracemalloc`, so that engines which use NumPy are measured to the byte. Others are
measured by the resident set of the process, after the C library has returned free memory to the system.

The graph of a release is a chain of ``steps`` products with an array of ones, and its sum: every step saves an array.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Measured
from refgrad.grading.measurements.programs import PROGRAMS, MeasuredProgram, Reading, filled, unsupported
from refgrad.grading.settings import EFFORTS, NUMBERS, Settings
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function
from refgrad.native.observation import Observation

SIZES: Final = NUMBERS["release"]


@dataclass(frozen=True, slots=True)
class Meter:
    """A way to measure memory, a row of `programs.toml`."""

    name: str
    imports: str
    text: str
    array: int
    noise: int
    least: int
    confirmations: int

    @property
    def is_traced(self) -> bool:
        """Return True if memory is traced by Python, rather than read from the system."""
        return self.name == "traced"

    @property
    def with_garbage(self) -> Meter:
        """The meter that also counts memory that the garbage collector would free."""
        imports, text = f"{self.imports}\n\ngc.disable()", self.text.replace("    gc.collect()\n", "")
        return replace(self, imports=imports, text=text)


@dataclass(frozen=True, slots=True)
class Metered:
    """Code on an engine whose memory a meter measures: the text of a function ``attempt``, with what that calls."""

    library: Library
    meter: Meter
    text: str

    @property
    def code(self) -> str:
        """The code, after the imports and functions of the meter; it ends by starting to trace if the meter traces."""
        start = "\n\ntracemalloc.start()\n" if self.meter.is_traced else ""
        return f"{self.meter.imports}\n\n\n{self.meter.text}\n\n{self.text}{start}"

    def run(self, *sizes: int) -> list[Observation]:
        """Run the code, and return the observation of each call of ``attempt``, with its time."""
        return self.library.run(self.code, *sizes, after="tracemalloc.stop()" if self.meter.is_traced else "")

    def results(self, *sizes: int) -> list[Any]:
        """Run the code, and return the result of each call of ``attempt``."""
        return [seen.data for seen in self.run(*sizes)]

    def program(self, call: str) -> str:
        """Return the program that evaluates ``call`` and prints what it measured, and that runs without refgrad."""
        return self.library.program(self.code, "", f"print({call})")


METERS: Final = MappingProxyType({name: Meter(name, **row) for name, row in PROGRAMS["meters"].items()})
TRACED, RESIDENT = METERS["traced"], METERS["resident"]


def with_sum(library: Library, *operators: str) -> tuple[str, ...]:
    """Return the operators, and the sum that makes a number of arrays if the engine has arrays."""
    return operators if library.engine.adapter.scalars_only else (*operators, "sum")


def forward_text(library: Library, operator: str, steps: int) -> str:
    """Return the text of a function that applies an operator ``steps`` times to its last result and ``x``, and sums up.

    No result is used twice: an engine that follows every path would take a time that says nothing of memory.
    """
    last = "return y" if library.engine.adapter.scalars_only else f"return {library.apply('sum', 'y')}"
    step = f"    y = {library.apply(operator, 'y', 'x')}"
    return function("function(x)", ["y = x", f"for _ in range({steps}):", step, last])


def is_traced(library: Library, operator: str) -> bool:
    """Return True if tracemalloc traces the arrays of an engine, or the nodes of a graph of scalars."""
    if library.engine.adapter.scalars_only:
        steps, runs = SIZES["scalar_steps"], SIZES["scalar_graphs"]
        forward, line, least = forward_text(library, operator, steps), "{built}", steps * SIZES["node"]
    else:
        forward, line, runs, least = "", f"loss = {{{operator}:x; x}}", 1, TRACED.array // 2
    text = [f"x = {{ones:{TRACED.array // 8}}}", "before = held()", line, "grown = held() - before"]
    attempt = function("attempt(_)", filled("\n".join([*text, "return grown, loss is not None"]), library))
    results = Metered(library, TRACED, f"{forward}\n\n{attempt}").results(*range(runs))
    return bool(min(grown for grown, _ in results) > least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(MeasuredProgram):
    """Actions on a graph with the output ``loss``, for tape engines and, if they make sense, for functional ones.

    ``what`` says when the graph's memory must be free. With ``frees`` a tape engine must be one that frees graphs. With
    ``arrays`` scalar engines are left out, as they have nothing that is large enough.
    """

    frees: bool = False
    arrays: bool = False
    collected: bool = True
    operator: str = "multiply"

    def lacking(self, library: Library) -> str:
        """Return what an engine lacks, as a report names it, or an empty string."""
        if lacking := library.lacks(with_sum(library, self.operator), self.features):
            return lacking
        if self.arrays and library.engine.adapter.scalars_only:
            return "arrays"
        if library.tape is None:
            return "" if self.functional is not None and not library.forward_only else "graph of its own"
        return "graphs that are freed" if self.frees and library.tape.policy.frees == "never" else ""

    def measured(self, library: Library, _: Mapping[str, Any], __: Settings) -> Reading:
        """Measure how much of a graph's memory is left after the actions.

        Memory that Python knows of is either held or not, once the collector has run. Otherwise Python or the process
        may keep freed memory for reuse: the program then runs once before, and too much must be left each time. A graph
        of scalars may be small compared with what holds its gradient: memory that is left of it counts only if a longer
        graph leaves more.
        """
        meter, what, longer = self._meter(library), self.what, SIZES["longer"]
        scalars = library.engine.adapter.scalars_only
        if scalars and not meter.is_traced:
            return Reading("inconclusive", "Python does not know of the graph, which is too small to be seen otherwise")
        released = self._released(library, meter)
        graph, left = self._held(released)
        if scalars and not _is_little(released, graph, left):
            more = self._held(self._released(library, meter, longer))[1]
            left = left if 2 * more > (1 + longer) * left else 0
        if _is_little(released, graph, left):
            return Reading("passed", f"{what}, nothing of a graph is held any longer")
        kept = f"{100 * left / graph:.0f} %" if scalars else f"{left / meter.array:.0f} arrays"
        total = "scalars" if scalars else f"{SIZES['steps']} arrays"
        message = f"{what}, {kept} of a graph of {total} are still held"
        return Reading("wrong", message, released.program("attempt()"), fact=Measured(quantity="memory"))

    def script(self, library: Library, _: Mapping[str, Any]) -> str:
        """Return the program that measures the release."""
        return self._released(library, self._meter(library)).program("attempt()")

    def _meter(self, library: Library) -> Meter:
        meter = TRACED if is_traced(library, self.operator) else RESIDENT
        return meter if self.collected else meter.with_garbage

    def _released(self, library: Library, meter: Meter, times: int = 1) -> Metered:
        """Return the actions on a graph, or on one that is ``times`` as long."""
        scalars = library.engine.adapter.scalars_only
        forward = forward_text(library, self.operator, times * SIZES["scalar_steps" if scalars else "steps"])
        lines = [] if scalars else [f"size = {meter.array // 8}"]
        lines += [*filled(PROGRAMS["before_release"], library), *self.lines(library), "return graph, held() - before"]
        return Metered(library, meter, forward + "\n\n" + function("attempt(_=0)", lines))

    def _held(self, released: Metered) -> tuple[int, int]:
        """Return the bytes that a graph held, and the bytes that are left of it after confirmation."""
        if released.meter.is_traced and self.collected:  # a meter that never counts freed memory
            (first,) = released.results(0)
            return tuple(first)
        _, (graph, left) = released.results(*range(2))
        if _is_little(released, graph, left):
            return graph, left
        _, *confirmed = released.results(*range(1 + SIZES["confirmations"]))
        return tuple(next((each for each in confirmed if _is_little(released, *each)), confirmed[-1]))


def _is_little(released: Metered, graph: int, left: int) -> bool:
    """Return True if little is left, relative to what the graph held or might have held."""
    least = 0 if released.library.engine.adapter.scalars_only else SIZES["steps"] * released.meter.array
    return bool(left * SIZES["share"] <= max(graph, least))


RELEASES: Final = Release.rows("releases")
"""Releases by the name that rows of behaviours use."""


def measure_weak_reference(engine: Engine, _: Mapping[str, Any], __: Settings) -> Reading:
    """Check that an intermediate tensor is freed together with the output that was computed from it."""
    library = Library(engine)
    if lacking := library.lacks(("multiply",)) or ("" if library.tape else "graph of its own"):
        return unsupported(lacking)
    text = "import gc\nimport weakref\n\n\n" + function("attempt()", filled(PROGRAMS["weak_reference"], library))
    try:
        (seen,) = library.run(text)
    except RaisedError as error:
        if error.raised.type == "TypeError":
            return Reading("unsupported", "there are no weak references to the engine's tensors")
        raise
    if seen.data is None:
        return Reading("passed")
    program = library.program(text, "", "print(attempt())")
    return Reading("wrong", "an intermediate tensor outlives its graph", program, fact=Measured(quantity="tensor"))


ITERATIONS: Final = NUMBERS["repeated_action"]

MOST_SECONDS: Final = EFFORTS["standard"]["seconds_of_a_program"]
"""Seconds that iterations which confirm growth may take, unless the profile allows more: a program has a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAction(MeasuredProgram):
    """A repeated action on the leaf ``x`` and ``function``, and the lines ``before`` all iterations."""

    before: str = "x = {ones:500}"

    def lacking(self, library: Library) -> str:
        """Return what an engine lacks, as a report names it, or an empty string."""
        lacking = library.lacks(with_sum(library, *self.operators), self.features)
        return lacking or ("tape" if library.tape is None and self.functional is None else "")

    def measured(self, library: Library, parameters: Mapping[str, Any], settings: Settings) -> Reading:
        """Repeat the action many times, and check that memory does not keep growing."""
        iterations = parameters["smoke" if settings.profile == "smoke" else "iterations"]
        limit = settings.effort["seconds_of_a_program"]
        meters = [TRACED] if is_traced(library, "multiply") else [TRACED, RESIDENT]
        results = [self._judged(self._repeated(library, meter), iterations, limit) for meter in meters]
        return next((each for each in results if each.outcome != "passed"), results[-1])

    def script(self, library: Library, parameters: Mapping[str, Any]) -> str:
        """Return the program that repeats the action and measures memory."""
        return self._repeated(library, TRACED).program(_call(parameters["iterations"]))

    def _repeated(self, library: Library, meter: Meter) -> Metered:
        before, action = "\n".join(filled(self.before, library)), "\n".join(self.lines(library))
        lines = filled(PROGRAMS["repeated"], library, before=before, action=action, rounds=str(ITERATIONS["rounds"]))
        return Metered(library, meter, forward_text(library, "multiply", 4) + "\n\n" + function("attempt(n)", lines))

    def _judged(self, repeated: Metered, iterations: int, limit: float) -> Reading:
        """Return whether memory keeps growing within a limit of seconds."""
        meter, longer, warm_up = repeated.meter, ITERATIONS["longer"], ITERATIONS["warm_up"]

        def readings_of(each: int) -> Sequence[int]:
            """Return the number of bytes held after each round. A few iterations run before, as a warm-up."""
            return list(repeated.results(warm_up, each)[-1])

        (seen,) = repeated.run(warm_up)
        seconds = float(seen.seconds / warm_up)  # of one iteration of every round
        each = affordable(iterations, limit, seconds)
        readings = readings_of(each)
        growth = least_growth(readings, each)
        more = max(each, affordable(iterations * longer, min(limit * longer, MOST_SECONDS), seconds))
        for _ in range(meter.confirmations):
            if not is_leak(growth, meter, each):
                break
            each = more
            readings = readings_of(each)
            growth = min(growth, least_growth(readings, each))
        held = {each * number: held for number, held in enumerate(readings, 1)}
        what = f"{self.what}, again and again"
        if not is_leak(growth, meter, each):
            return Reading("passed", f"{what}: no more is held than before", examples=iterations, held=held)
        fact, message = Measured(quantity="growth"), f"{what}: every iteration leaves memory behind"
        return Reading("wrong", message, repeated.program(_call(iterations)), examples=iterations, held=held, fact=fact)


def _call(iterations: int) -> str:
    return f"attempt({iterations // ITERATIONS['rounds']})"


REPETITIONS: Final = RepeatedAction.rows("repetitions")
"""Repetitions by the name that rows of behaviours use."""


def affordable(iterations: int, limit: float, seconds: float) -> int:
    """Return the number of iterations of a round within ``limit``, given the time of one iteration of every round."""
    return int(max(ITERATIONS["warm_up"], min(iterations // ITERATIONS["rounds"], int(limit / max(seconds, 1e-9)))))


def is_leak(growth: float, meter: Meter, each: int) -> bool:
    """Return True if a growth in bytes per iteration is more than the noise of the meter."""
    return growth > meter.noise and growth * each > meter.least


def least_growth(readings: Sequence[int], each: int) -> float:
    """Return the bytes per iteration by which memory grew in the round that grew least."""
    return min((after - before) / each for before, after in itertools.pairwise(readings))
