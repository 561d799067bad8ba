"""Release of memory after a backward, and of what nobody holds.

NumPy reports its arrays to :mod:`tracemalloc`, so that engines which use NumPy are measured to the byte. Others are
measured by the resident set of the process, after the C library has returned free memory to the system.

The graph is a chain of ``steps`` products with an array of ones, and its sum: every step saves an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Measured
from refgrad.grading.checks.settings import Settings
from refgrad.grading.measurements.result import Reading
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function
from refgrad.native.observation import Observation

SCALAR_STEPS: Final = 200
"""Number of nodes of a graph of scalars, which is large enough to be noticed."""

NODE: Final = 16
"""Least size in bytes of a Python object: its type and its reference count."""

RUNS: Final = 16
"""Number of times that a graph of scalars is built. Reused wrappers of untraced objects may hide a single graph."""


def leaf_lines(library: Library, size: str) -> list[str]:
    """Return the line that makes the leaf ``x``: an array of ``size`` ones, or the number one."""
    scalars = library.engine.adapter.scalars_only
    return [f"x = {library.leaf('np.array(1.0)', '1.0') if scalars else library.leaf(f'np.ones({size})')}"]


def forward_text(library: Library, operator: str, steps: int) -> str:
    """Return the text of a function that applies an operator ``steps`` times to its last result and ``x``, and sums up.

    No result is used twice: an engine that follows every path would take a time that says nothing of memory.
    """
    last = "return y" if library.engine.adapter.scalars_only else f"return {library.apply('sum', 'y')}"
    step = f"    y = {library.apply(operator, 'y', 'x')}"
    return function("function(x)", ["y = x", f"for _ in range({steps}):", step, last])


def built(library: Library) -> str:
    """Return the line that applies ``function`` to the leaf and records the graph."""
    return "loss = function(x)" if library.tape else f"loss, pullback = {library.vjp('function', '[x]')}"


def is_traced(library: Library, operator: str) -> bool:
    """Return True if tracemalloc traces the arrays of an engine, or the nodes of a graph of scalars."""
    if library.engine.adapter.scalars_only:
        forward, line, leaf = forward_text(library, operator, SCALAR_STEPS), built(library), leaf_lines(library, "")
        runs, least = RUNS, SCALAR_STEPS * NODE
    else:
        forward, line, leaf = "", f"loss = {library.apply(operator, 'x', 'x')}", leaf_lines(library, f"{MEGABYTE // 8}")
        runs, least = 1, MEGABYTE // 2
    lines = [*leaf, "before = held()", line, "grown = held() - before", "return grown, loss is not None"]
    results = measured(library, TRACED, f"{forward}\n\n{function('attempt(_)', lines)}", *range(runs))
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
        return "" if release.functional and not library.forward_only else "graph of its own"
    return "graphs that are freed" if release.frees and library.tape.policy.frees == "never" else ""


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
    def exact(self) -> bool:
        """Return True if the meter never counts freed memory."""
        return self.meter.name == "traced" and self.release.collected

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        library, release = self.library, self.release
        action = release.tape if library.tape else release.functional
        assert action is not None
        lines = [
            *([] if self.scalars else [f"size = {self.meter.array // 8}"]),
            *leaf_lines(library, "size"),
            "before = held()",
            built(library),
            f"{library.value('loss')}  # wait for it",
            "graph = held() - before",
            *action(library),
            "return graph, held() - before",
        ]
        forward = forward_text(library, release.operator, self.steps)
        return forward + "\n\n" + function("attempt(_=0)", lines)

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
        if self.exact:
            return self._pair(self.attempts(1)[0])
        _, first = self.attempts(2)
        if self.released(*first):
            return self._pair(first)
        _, *confirmed = self.attempts(1 + CONFIRMATIONS)
        return self._pair(next((each for each in confirmed if self.released(*each)), confirmed[-1]))

    @staticmethod
    def _pair(measured: Sequence[int]) -> tuple[int, int]:
        graph, left = measured
        return graph, left

    def attempts(self, count: int) -> list[Any]:
        """Return the bytes that a graph held and that were left of it, for ``count`` runs in one process."""
        return measured(self.library, self.meter, self.text, *range(count))

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


def measure_weak_reference(engine: Engine, _: Mapping[str, Any], __: Settings) -> Reading:
    """Check that an intermediate tensor is freed together with the output that was computed from it."""
    library = Library(engine)
    lacking = library.lacks(("multiply",)) or ("" if library.tape else "graph of its own")
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    lines = [
        f"x = {library.leaf('np.array(1.0)', '1.0')}",
        f"y = {library.apply('multiply', 'x', 'x')}",
        f"z = {library.apply('multiply', 'y', 'y')}",
        "watched = weakref.ref(y)",
        "del y, z",
        "gc.collect()",
        "return watched()",
    ]
    text = "import gc\nimport weakref\n\n\n" + function("attempt()", lines)
    try:
        (seen,) = library.run(text)
    except RaisedError as error:
        if error.type == "TypeError":
            return Reading("unsupported", "there are no weak references to the engine's tensors")
        raise
    if seen.data is None:
        return Reading("passed")
    program = library.shown(text, "", "print(attempt())")
    return Reading("wrong", "an intermediate tensor outlives its graph", program, fact=Measured(quantity="tensor"))


Lines = Callable[[Library], list[str]]


@dataclass(frozen=True, slots=True)
class Release:
    """Actions on a graph with the output ``loss``, for tape engines and, if they make sense, for functional ones.

    ``what`` says when the graph's memory must be free. An engine must offer ``features``; with ``frees`` a tape engine
    must be one that frees graphs. With ``arrays`` scalar engines are left out, as they have nothing that is large
    enough.
    """

    what: str
    tape: Lines
    functional: Lines | None = None
    features: tuple[str, ...] = ()
    frees: bool = False
    arrays: bool = False
    collected: bool = True
    operator: str = "multiply"


def _drop(library: Library) -> list[str]:
    return ["del loss"] if library.tape else ["del loss, pullback"]


def _pulled(library: Library) -> list[str]:
    return [f"gradients = pullback({library.one})", *_drop(library)]


def _differentiate(library: Library) -> list[str]:
    return [library.backward("loss")]


def _differentiate_twice(library: Library) -> list[str]:
    return [library.backward("loss", retain_graph=True), library.backward("loss")]


def _keep_and_drop(library: Library) -> list[str]:
    return [library.backward("loss", retain_graph=True), *_drop(library)]


def _without_recording(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.no_grad is not None
    return ["del loss", f"with {library.template(library.tape.no_grad)}:", "    loss = function(x)"]


def _of_constants(library: Library) -> list[str]:
    array, scalar = ("None", "1.0") if library.engine.adapter.scalars_only else ("np.ones(size)", "None")
    leaf = library.leaf(array, scalar, requires_grad=False)
    return ["del loss", f"constant = {leaf}", "loss = function(constant)", "del constant"]


def _cut_off(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.detach is not None
    return [f"number = {library.template(library.tape.detach, x='loss')}", "del loss"]


def _record_and_drop(library: Library) -> list[str]:
    gradient = library.recorded_gradient("loss", "x")
    return [f"gradient = {gradient}", "del loss", "del gradient"]


RELEASES: Final[Mapping[str, Release]] = MappingProxyType({
    "backward": Release("after backward", _differentiate, frees=True, arrays=True),
    "last_backward": Release(
        "after a backward that kept the graph and one that did not",
        _differentiate_twice,
        features=("retain_graph",),
        frees=True,
        arrays=True,
    ),
    "kept": Release("once the output of a kept graph is dropped", _keep_and_drop, _pulled, features=("retain_graph",)),
    "dropped": Release("once its output is dropped", _drop, _drop),
    "dropped_alone": Release(
        "once its output is dropped, before the garbage collector has run", _drop, _drop, collected=False
    ),
    "no_grad": Release("of what is computed without recording", _without_recording, features=("no_grad",)),
    "constants": Release("of what is computed from constants", _of_constants),
    "detached": Release("once only a detached output is left", _cut_off, features=("detach",)),
    "additions": Release(
        "of a chain of additions, the rule of which needs no operand",
        lambda _: [],
        lambda _: [],
        arrays=True,
        operator="add",
    ),
    "recorded_gradient": Release(
        "once its output and a recorded gradient are dropped", _record_and_drop, features=("double_backward",)
    ),
})
"""Releases by the name that rows use."""
