"""Memory that is released after a backward and of what nobody holds, and memory that grows with every iteration.

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
from refgrad.grading.checks.settings import EFFORTS, NUMBERS, Settings
from refgrad.grading.measurements.programs import PROGRAMS, MeasuredProgram, Reading, filled
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

    def measuring(self, text: str) -> str:
        """Return code that measures: what the meter needs, the functions in ``text``, and the start of tracing."""
        start = "\n\ntracemalloc.start()\n" if self.is_traced else ""
        return f"{self.imports}\n\n\n{self.text}\n\n{text}{start}"

    def run(self, library: Library, text: str, *sizes: int) -> list[Observation]:
        """Run code that measures, and return the observation of each call of ``attempt``, with its time."""
        return library.run(self.measuring(text), *sizes, after="tracemalloc.stop()" if self.is_traced else "")

    def results(self, library: Library, text: str, *sizes: int) -> list[Any]:
        """Run code that measures, and return the result of each call of its function ``attempt``."""
        return [seen.data for seen in self.run(library, text, *sizes)]

    def program(self, library: Library, text: str, call: str) -> str:
        """Return the program that evaluates ``call`` and prints what it measured."""
        return library.shown(self.measuring(text), "", f"print({call})")

    @property
    def with_garbage(self) -> Meter:
        """The meter that also counts memory that the garbage collector would free."""
        imports, text = f"{self.imports}\n\ngc.disable()", self.text.replace("    gc.collect()\n", "")
        return replace(self, imports=imports, text=text)


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
    results = TRACED.results(library, f"{forward}\n\n{attempt}", *range(runs))
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
        """Measure how much of a graph's memory is left after the actions."""
        graph = self._graph(library)
        if graph.scalars and not graph.meter.is_traced:
            return Reading("inconclusive", "Python does not know of the graph, which is too small to be seen otherwise")
        return graph.judged()

    def script(self, library: Library, _: Mapping[str, Any]) -> str:
        """Return the program that measures the release."""
        return self._graph(library).program

    def _graph(self, library: Library) -> _ReleasedGraph:
        meter = TRACED if is_traced(library, self.operator) else RESIDENT
        steps = SIZES["scalar_steps" if library.engine.adapter.scalars_only else "steps"]
        return _ReleasedGraph(self, library, meter if self.collected else meter.with_garbage, steps)


RELEASES: Final = Release.rows("releases")
"""Releases by the name that rows of behaviours use."""


@dataclass(frozen=True, slots=True)
class _ReleasedGraph:
    """A graph of ``steps`` nodes, the actions on it, and the meter of memory."""

    release: Release
    library: Library
    meter: Meter
    steps: int

    @property
    def scalars(self) -> bool:
        """Return True if the engine has scalars only."""
        return self.library.engine.adapter.scalars_only

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        library, release = self.library, self.release
        size = [] if self.scalars else [f"size = {self.meter.array // 8}"]
        lines = [
            *size,
            *filled(PROGRAMS["before_release"], library),
            *release.lines(library),
            "return graph, held() - before",
        ]
        return forward_text(library, release.operator, self.steps) + "\n\n" + function("attempt(_=0)", lines)

    @property
    def program(self) -> str:
        """The program in a form that runs without refgrad."""
        return self.meter.program(self.library, self.text, "attempt()")

    def judged(self) -> Reading:
        """Run the program, and return whether too much memory is left.

        Memory that Python knows of is either held or not, once the collector has run. Otherwise Python or the process
        may keep freed memory for reuse: the program then runs once before, and too much must be left each time. A graph
        of scalars may be small compared with what holds its gradient: memory that is left of it counts only if a longer
        graph leaves more.
        """
        what, longer = self.release.what, SIZES["longer"]
        graph, left = self.held()
        if self.scalars and not self.released(graph, left):
            _, more = replace(self, steps=longer * self.steps).held()
            left = left if 2 * more > (1 + longer) * left else 0
        if self.released(graph, left):
            return Reading("passed", f"{what}, nothing of a graph is held any longer")
        kept = f"{100 * left / graph:.0f} %" if self.scalars else f"{left / self.meter.array:.0f} arrays"
        total = "scalars" if self.scalars else f"{SIZES['steps']} arrays"
        message = f"{what}, {kept} of a graph of {total} are still held"
        return Reading("wrong", message, self.program, fact=Measured(quantity="memory"))

    def held(self) -> tuple[int, int]:
        """Return the bytes that a graph held, and the bytes that are left of it after confirmation."""
        if self.meter.is_traced and self.release.collected:  # a meter that never counts freed memory
            (first,) = self.meter.results(self.library, self.text, 0)
            return tuple(first)
        _, (graph, left) = self.meter.results(self.library, self.text, *range(2))
        if self.released(graph, left):
            return graph, left
        _, *confirmed = self.meter.results(self.library, self.text, *range(1 + SIZES["confirmations"]))
        return tuple(next((each for each in confirmed if self.released(*each)), confirmed[-1]))

    def released(self, graph: int, left: int) -> bool:
        """Return True if little is left, relative to what the graph held or might have held."""
        return bool(left * SIZES["share"] <= max(graph, 0 if self.scalars else SIZES["steps"] * self.meter.array))


def measure_weak_reference(engine: Engine, _: Mapping[str, Any], __: Settings) -> Reading:
    """Check that an intermediate tensor is freed together with the output that was computed from it."""
    library = Library(engine)
    lacking = library.lacks(("multiply",)) or ("" if library.tape else "graph of its own")
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    text = "import gc\nimport weakref\n\n\n" + function("attempt()", filled(PROGRAMS["weak_reference"], library))
    try:
        (seen,) = library.run(text)
    except RaisedError as error:
        if error.raised.type == "TypeError":
            return Reading("unsupported", "there are no weak references to the engine's tensors")
        raise
    if seen.data is None:
        return Reading("passed")
    program = library.shown(text, "", "print(attempt())")
    return Reading("wrong", "an intermediate tensor outlives its graph", program, fact=Measured(quantity="tensor"))


ITERATIONS: Final = NUMBERS["repeated_action"]

MOST_SECONDS: Final = EFFORTS["standard"]["seconds_of_a_program"]
"""Seconds that iterations which confirm growth may take, unless the profile allows more: a program has a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAction(MeasuredProgram):
    """A repeated action on the leaf ``x`` and ``function``, and the lines ``before`` all iterations."""

    before: str = ""

    def lacking(self, library: Library) -> str:
        """Return what an engine lacks, as a report names it, or an empty string."""
        lacking = library.lacks(with_sum(library, *self.operators), self.features)
        return lacking or ("tape" if library.tape is None and self.functional is None else "")

    def measured(self, library: Library, parameters: Mapping[str, Any], settings: Settings) -> Reading:
        """Repeat the action many times, and check that memory does not keep growing."""
        iterations = parameters["smoke" if settings.profile == "smoke" else "iterations"]
        limit = settings.effort["seconds_of_a_program"]
        meters = [TRACED] if is_traced(library, "multiply") else [TRACED, RESIDENT]
        results = [_Repeated(self, library, iterations, meter).judged(limit) for meter in meters]
        return next((each for each in results if each.outcome != "passed"), results[-1])

    def script(self, library: Library, parameters: Mapping[str, Any]) -> str:
        """Return the program that repeats the action and measures memory."""
        return _Repeated(self, library, parameters["iterations"], TRACED).program


REPETITIONS: Final = RepeatedAction.rows("repetitions")
"""Repetitions by the name that rows of behaviours use."""


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A repeated action, with the number of iterations, and the meter of memory."""

    action: RepeatedAction
    library: Library
    iterations: int
    meter: Meter

    def judged(self, limit: float) -> Reading:
        """Return whether memory keeps growing within a limit of seconds."""
        meter, longer = self.meter, ITERATIONS["longer"]
        seconds = self.seconds()
        each = affordable(self.iterations, limit, seconds)
        readings = self.readings(each)
        growth = least_growth(readings, each)
        more = max(each, affordable(self.iterations * longer, min(limit * longer, MOST_SECONDS), seconds))
        for _ in range(meter.confirmations):
            if not is_leak(growth, meter, each):
                break
            each = more
            readings = self.readings(each)
            growth = min(growth, least_growth(readings, each))
        held = {each * number: held for number, held in enumerate(readings, 1)}
        what, examples = f"{self.action.what}, again and again", self.iterations
        if not is_leak(growth, meter, each):
            return Reading("passed", f"{what}: no more is held than before", examples=examples, held=held)
        fact, message = Measured(quantity="growth"), f"{what}: every iteration leaves memory behind"
        return Reading("wrong", message, self.program, examples=examples, held=held, fact=fact)

    def readings(self, each: int) -> Sequence[int]:
        """Return the bytes that are held after each round, after a few iterations that are not evaluated."""
        return list(self.meter.results(self.library, self.text, ITERATIONS["warm_up"], each)[-1])

    @property
    def program(self) -> str:
        """The program in a form that runs without refgrad."""
        call = f"attempt({self.iterations // ITERATIONS['rounds']})"
        return self.meter.program(self.library, self.text, call)

    def seconds(self) -> float:
        """Return the seconds that one iteration of every round takes while it is measured."""
        (seen,) = self.meter.run(self.library, self.text, ITERATIONS["warm_up"])
        return float(seen.seconds / ITERATIONS["warm_up"])

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        library, action = self.library, self.action
        lines = [
            *filled("x = {ones:500}", library),
            *filled(action.before, library),
            "readings = []",
            f"for _ in range({ITERATIONS['rounds']}):",
            "    for _ in range(n):",
            *(f"        {line}" for line in action.lines(library)),
            "    readings.append(held())",
            "return readings",
        ]
        return forward_text(library, "multiply", 4) + "\n\n" + function("attempt(n)", lines)


def affordable(iterations: int, limit: float, seconds: float) -> int:
    """Return the number of iterations of a round within ``limit``, given the time of one iteration of every round."""
    return int(max(ITERATIONS["warm_up"], min(iterations // ITERATIONS["rounds"], int(limit / max(seconds, 1e-9)))))


def is_leak(growth: float, meter: Meter, each: int) -> bool:
    """Return True if a growth in bytes per iteration is more than the noise of the meter."""
    return growth > meter.noise and growth * each > meter.least


def least_growth(readings: Sequence[int], each: int) -> float:
    """Return the bytes per iteration by which memory grew in the round that grew least."""
    return min((after - before) / each for before, after in itertools.pairwise(readings))
