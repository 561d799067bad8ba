"""Measurements of whether an engine releases graphs and tensors when it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.evidence import Measured
from refgrad.grading.measurements.memory import RESIDENT, TRACED, Meter, measured, with_garbage
from refgrad.grading.measurements.releases import RELEASES, Release
from refgrad.grading.measurements.result import Reading
from refgrad.grading.measurements.subject import SCALAR_STEPS, built, forward_text, is_traced, leaf_lines, program_of
from refgrad.native.engine import Engine
from refgrad.native.library import Library, RaisedError, function

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
