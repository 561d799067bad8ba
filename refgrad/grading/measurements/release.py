"""Release of memory after a backward, and of what nobody holds.

NumPy reports its arrays to :mod:`tracemalloc`, so that engines which use NumPy are measured to the byte. Others are
measured by the resident set of the process, after the C library has returned free memory to the system.

The graph is a chain of ``steps`` products with an array of ones, and its sum: every step saves an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Measured
from refgrad.grading.checks.settings import Settings
from refgrad.grading.measurements.programs import MeasuredProgram, Reading, filled, rows
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function
from refgrad.native.observation import Observation

SCALAR_STEPS: Final = 200
"""Number of nodes of a graph of scalars, which is large enough to be noticed."""

NODE: Final = 16
"""Least size in bytes of a Python object: its type and its reference count."""

RUNS: Final = 16
"""Number of times that a graph of scalars is built. Reused wrappers of untraced objects may hide a single graph."""


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
        forward, line, runs, least = forward_text(library, operator, SCALAR_STEPS), "{built}", RUNS, SCALAR_STEPS * NODE
    else:
        forward, line, runs, least = "", f"loss = {{{operator}:x; x}}", 1, MEGABYTE // 2
    text = [f"x = {{ones:{MEGABYTE // 8}}}", "before = held()", line, "grown = held() - before"]
    attempt = function("attempt(_)", filled("\n".join([*text, "return grown, loss is not None"]), library))
    results = measured(library, TRACED, f"{forward}\n\n{attempt}", *range(runs))
    return bool(min(grown for grown, _ in results) > least)


def program_of(library: Library, meter: Meter, text: str, call: str) -> str:
    """Return the program that evaluates ``call`` and prints what it measured."""
    return library.shown(measuring(meter, text), "", f"print({call})")


MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Meter:
    """A way to measure memory: ``imports`` and ``text`` define the function ``held()``, which returns bytes.

    ``array`` is the size in bytes of arrays that are large enough to be noticed. Memory leaks if every iteration leaves
    more than ``noise`` bytes behind, and all of them together more than ``least``.
    """

    name: str
    imports: str
    text: str
    array: int
    noise: int
    least: int


TRACED: Final = Meter(
    "traced",
    "import gc\nimport tracemalloc",
    function("held()", ["gc.collect()", "return tracemalloc.get_traced_memory()[0]"]),
    array=MEGABYTE,
    noise=8,
    least=2_000,
)
"""Meter of memory that Python and NumPy have allocated. Even a pointer in a list counts."""

RESIDENT: Final = Meter(
    "resident",
    "import ctypes\nimport gc\nimport resource",
    function(
        "held()",
        [
            "gc.collect()",
            'getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # give back what is free',
            'with open("/proc/self/statm") as file:',
            "    return int(file.read().split()[1]) * resource.getpagesize()",
        ],
    ),
    array=4 * MEGABYTE,
    noise=64,
    least=128_000,
)
"""Meter of the resident pages of the process, as Linux counts them."""


def measuring(meter: Meter, text: str) -> str:
    """Return the code that measures: what a meter needs, the functions in ``text``, and the start of tracing."""
    start = "\n\ntracemalloc.start()\n" if meter.name == "traced" else ""
    return f"{meter.imports}\n\n\n{meter.text}\n\n{text}{start}"


def measured(library: Library, meter: Meter, text: str, *sizes: int) -> list[Any]:
    """Run code that measures, and return the result of each call of its function ``attempt``."""
    return [seen.data for seen in run_measuring(library, meter, text, *sizes)]


def run_measuring(library: Library, meter: Meter, text: str, *sizes: int) -> list[Observation]:
    """Run code that measures, and return the observation of each call of its function ``attempt``, with its time."""
    after = "tracemalloc.stop()" if meter.name == "traced" else ""
    return library.run(measuring(meter, text), *sizes, after=after)


def with_garbage(meter: Meter) -> Meter:
    """Return a meter that also counts memory that the garbage collector would free."""
    imports, text = f"{meter.imports}\n\ngc.disable()", meter.text.replace("    gc.collect()\n", "")
    return replace(meter, imports=imports, text=text)


STEPS: Final = 16
"""Number of arrays that a graph saves."""

SHARE: Final = 4
"""Divisor of the graph's memory that gives how much may be left: four of sixteen arrays.

One array, the gradient, may be left in any case.
"""


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


RELEASES: Final = MappingProxyType({name: Release(**row) for name, row in rows("releases").items()})
"""Releases by the name that rows of behaviours use."""


def measure_release(engine: Engine, parameters: Mapping[str, Any], _: Settings) -> Reading:
    """Measure how much of a graph's memory is left after the actions that the row names."""
    release, library = RELEASES[parameters["after"]], Library(engine)
    operators = (release.operator,) if engine.adapter.scalars_only else (release.operator, "sum")
    lacking = library.lacks(operators, release.features) or _lacking(release, library)
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    trial = _trial(release, library)
    if trial.scalars and trial.meter.name != "traced":
        return Reading("inconclusive", "Python does not know of the graph, which is too small to be seen otherwise")
    return trial.judged()


def release_script(engine: Engine, parameters: Mapping[str, Any]) -> str:
    """Return the program that measures the release."""
    return _trial(RELEASES[parameters["after"]], Library(engine)).program


def _trial(release: Release, library: Library) -> _Trial:
    meter = TRACED if is_traced(library, release.operator) else RESIDENT
    steps = SCALAR_STEPS if library.engine.adapter.scalars_only else STEPS
    return _Trial(release, library, meter if release.collected else with_garbage(meter), steps)


def _lacking(release: Release, library: Library) -> str:
    """Return what an engine lacks besides features and operators, or an empty string."""
    if release.arrays and library.engine.adapter.scalars_only:
        return "arrays"
    if library.tape is None:
        return "" if release.functional is not None and not library.forward_only else "graph of its own"
    return "graphs that are freed" if release.frees and library.tape.policy.frees == "never" else ""


BEFORE: Final = """\
x = {ones:size}
before = held()
{built}
{value:loss}  # wait for it
graph = held() - before
"""
"""Text of the lines that build a graph and measure it."""

LONGER: Final = 2
"""Factor by which the longer graph of scalars is longer than the one that it is compared with."""

CONFIRMATIONS: Final = 3
"""Number of times that a process must show that too much is left."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """A graph, the actions on it, and the meter of memory."""

    release: Release
    library: Library
    meter: Meter
    steps: int = STEPS

    @property
    def scalars(self) -> bool:
        """Return True if the engine has scalars only."""
        return self.library.engine.adapter.scalars_only

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        library, release = self.library, self.release
        size = [] if self.scalars else [f"size = {self.meter.array // 8}"]
        lines = [*size, *filled(BEFORE, library), *release.lines(library), "return graph, held() - before"]
        return forward_text(library, release.operator, self.steps) + "\n\n" + function("attempt(_=0)", lines)

    @property
    def program(self) -> str:
        """The program in a form that runs without refgrad."""
        return program_of(self.library, self.meter, self.text, "attempt()")

    def judged(self) -> Reading:
        """Run the program, and return whether too much memory is left.

        Memory that Python knows of is either held or not, once the collector has run. Otherwise Python or the process
        may keep freed memory for reuse: the program then runs once before, and too much must be left each time. A graph
        of scalars may be small compared with what holds its gradient: memory that is left of it counts only if a longer
        graph leaves more.
        """
        graph, left = self.held()
        if self.scalars and not self.released(graph, left):
            _, more = replace(self, steps=LONGER * self.steps).held()
            left = left if 2 * more > (1 + LONGER) * left else 0
        return self.result_for(graph, left)

    def held(self) -> tuple[int, int]:
        """Return the bytes that a graph held, and the bytes that are left of it after confirmation."""
        if self.meter.name == "traced" and self.release.collected:  # a meter that never counts freed memory
            (first,) = measured(self.library, self.meter, self.text, 0)
            return tuple(first)
        _, (graph, left) = measured(self.library, self.meter, self.text, *range(2))
        if self.released(graph, left):
            return graph, left
        _, *confirmed = measured(self.library, self.meter, self.text, *range(1 + CONFIRMATIONS))
        return tuple(next((each for each in confirmed if self.released(*each)), confirmed[-1]))

    def released(self, graph: int, left: int) -> bool:
        """Return True if little is left, relative to what the graph held or might have held."""
        return left * SHARE <= max(graph, 0 if self.scalars else STEPS * self.meter.array)

    def result_for(self, graph: int, left: int) -> Reading:
        """Return the result for the memory that is still held."""
        figures = f"{self.meter.name}: the graph held {graph:,} bytes, {left:,} are left"
        if self.released(graph, left):
            return Reading("passed", f"{self.release.what}, nothing of a graph is held any longer", figures=figures)
        kept = f"{100 * left / graph:.0f} %" if self.scalars else f"{left / self.meter.array:.0f} arrays"
        total = "scalars" if self.scalars else f"{STEPS} arrays"
        message = f"{self.release.what}, {kept} of a graph of {total} are still held"
        return Reading("wrong", message, self.program, figures=figures, fact=Measured(quantity="memory"))


WATCHED: Final = """\
x = {leaf:1.0}
y = {multiply:x; x}
z = {multiply:y; y}
watched = weakref.ref(y)
del y, z
gc.collect()
return watched()
"""
"""Text of the lines that watch an intermediate tensor by a weak reference."""


def measure_weak_reference(engine: Engine, _: Mapping[str, Any], __: Settings) -> Reading:
    """Check that an intermediate tensor is freed together with the output that was computed from it."""
    library = Library(engine)
    lacking = library.lacks(("multiply",)) or ("" if library.tape else "graph of its own")
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    text = "import gc\nimport weakref\n\n\n" + function("attempt()", filled(WATCHED, library))
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
