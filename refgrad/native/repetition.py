"""Scenarios of one backward as a program that repeats them in turn, and counts what each of them shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from refgrad.interpreter import Float64, evaluate
from refgrad.native import calls
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.library import LANGUAGE, EndingError, Library, function
from refgrad.native.observation import Observation, Raised
from refgrad.native.program import Program
from refgrad.native.statements import Argument, Call, Code, Name, Names, Show, Value
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario

ATTEMPT: Final = """\
def attempt(rounds, seconds):  # run each in turn, and count what it shows
    runs = [prepared() for prepared in programs]
    found = [{} for _ in runs]
    started = time.process_time()
    for _ in range(rounds):
        for run, counts in zip(runs, found):
            try:
                arrays = [None if each is None else np.asarray(each) for each in run()]
                bits = tuple([None if each is None else (each.shape, each.tobytes()) for each in arrays])
                if bits not in counts:
                    counts[bits] = [0, [None if each is None else np.array(each) for each in arrays]]
            except Exception as error:
                bits = type(error).__name__, str(error)
                counts.setdefault(bits, [0, [*bits, [base.__name__ for base in type(error).__mro__]]])
            counts[bits][0] += 1
        if time.process_time() - started > seconds:
            break
    return [list(counts.values()) for counts in found]
"""

SHOWN: Final = 2000
"""How often the program that is printed runs a scenario."""

REPEATABLE: Final = frozenset({Leaf, Apply, Backward, Read})
"""The steps of a scenario that can be repeated."""

PATIENCE: Final = 60
"""Seconds of processor time that a program which is printed may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """What the steps of a scenario showed in ``seen`` of its runs, to the last bit; or the error that ended these."""

    seen: int
    observations: tuple[Observation, ...] = ()
    error: Raised | None = None


@dataclass(frozen=True, slots=True)
class Repetition:
    """Scenarios that are run in turn on an engine.

    Each has leaves, applications, one backward, and reads of gradients and values of float64, in this order. Leaves and
    seeds are made once, or with ``afresh`` in every run, for engines that cannot reset gradients or write to seeds.
    """

    engine: Engine
    scenarios: Sequence[Scenario]
    afresh: bool = False

    def run(self, rounds: int, seconds: float) -> list[tuple[Repeated, ...]]:
        """Run them so many times, or for so many seconds of processor time, and return what each showed.

        That is nothing where the engine refuses a leaf or a seed. Raises EndingError where the runner ends.
        """
        fields: dict[str, Argument] = {"attempt": Name("attempt"), "rounds": Value(rounds), "seconds": Value(seconds)}
        look = Show("attempt", Call("{attempt}({rounds}, {seconds})", fields), "data")
        around = self.engine.program(self.scenarios[0]).around
        *_, counted = self.engine.run(Program(((Code(self.text),), (look,)), around))
        if counted.ending is not None:
            raise EndingError(counted.ending)
        if counted.error is not None:
            return [() for _ in self.scenarios]
        pairs = zip(self.scenarios, counted.data, strict=True)
        return [tuple(self._repeated(scenario, *each) for each in found) for scenario, found in pairs]

    def _repeated(self, scenario: Scenario, seen: int, shown: list[Any]) -> Repeated:
        if shown and isinstance(shown[0], str):
            kind, message, bases = shown
            return Repeated(seen, error=self.engine.told(Raised(kind, message, tuple(bases))))
        arrays = iter(shown)
        observed = (_observed(next(arrays)) if isinstance(step, Read) else Observation() for step in scenario.steps)
        return Repeated(seen, tuple(observed))

    def printed(self, rounds: int) -> str:
        """Return a program that runs them so many times and prints how often each showed what."""
        lines = [
            f"for counts in attempt({rounds}, {PATIENCE}):",
            "    for count, shown in counts:",
            '        print(count, "times", *shown)',
        ]
        return Library(self.engine).shown(self.text, "\n", *lines)

    @property
    def text(self) -> str:
        """The functions that the program consists of."""
        heads = [f"program_{number}" for number in range(1, len(self.scenarios) + 1)]
        functions = [self._function(head, scenario) for head, scenario in zip(heads, self.scenarios, strict=True)]
        return "\n\n".join(["import time\n", *functions, ATTEMPT, f"programs = [{', '.join(heads)}]\n"])

    def _function(self, head: str, scenario: Scenario) -> str:
        writer = _Writer(self.engine, scenario)
        made, repeated = list(writer.made()), list(writer.repeated())
        lines = ["def run():", *(f"    {line}" for line in [*(made if self.afresh else []), *repeated])]
        return function(f"{head}()", [*([] if self.afresh else [*made, ""]), *lines, "", "return run"])


@dataclass(frozen=True, slots=True)
class _Writer:
    """The lines of one scenario."""

    engine: Engine
    scenario: Scenario

    @property
    def backward(self) -> Backward:
        return next(step for step in self.scenario.steps if isinstance(step, Backward))

    @property
    def wanted(self) -> tuple[str, ...]:
        return tuple(leaf.name for leaf in self.scenario.leaves if leaf.requires_grad)

    @property
    def seed(self) -> Constant | None:
        """The seed; a functional engine must always have one."""
        given = self.backward.seed
        if given is not None or isinstance(self.engine.adapter, TapeAdapter):
            return given
        return Constant.of(np.ones(evaluate(self.scenario, Float64())[self.backward.output].shape))

    def made(self) -> Iterator[str]:
        """Yield the lines that make leaves and the seed."""
        adapter = self.engine.adapter
        for leaf in self.scenario.leaves:
            yield LANGUAGE.assigned(calls.tensor_of(adapter, leaf.value, leaf.name, requires_grad=leaf.requires_grad))
        if self.seed is not None:
            yield LANGUAGE.assigned(calls.seed(adapter, self.seed, self.seed.dtype, "seed"))

    def repeated(self) -> Iterator[str]:
        """Yield the lines that go forward and back, read, and reset."""
        adapter = self.engine.adapter
        return self._on_tape(adapter) if isinstance(adapter, TapeAdapter) else self._by_pullback(adapter)

    def _on_tape(self, tape: TapeAdapter) -> Iterator[str]:
        yield from self._applications()
        yield LANGUAGE.assigned(
            calls.backward(tape, self.backward.output, Value(None) if self.seed is None else Name("seed"))
        )
        looks = {leaf: calls.gradient(tape, leaf) for leaf in self.wanted}
        yield f"shown = {self._shown(looks)}"
        if tape.zero_grad is not None:
            yield from (LANGUAGE.assigned(calls.zero_grad(tape, leaf)) for leaf in self.wanted)
        yield "return shown"

    def _by_pullback(self, functional: FunctionalAdapter) -> Iterator[str]:
        output = self.backward.output
        yield from function(
            f"forward({', '.join(self.wanted)})", [*self._applications(), f"return {output}"]
        ).splitlines()
        yield LANGUAGE.assigned(calls.vjp(functional, "forward", Names(self.wanted), (output, "pullback")))
        yield "gradients = pullback(seed)"
        looks = {leaf: calls.value(functional, f"gradients[{place}]") for place, leaf in enumerate(self.wanted)}
        yield f"return {self._shown(looks)}"

    def _applications(self) -> Iterator[str]:
        for step in self.scenario.applications:
            yield LANGUAGE.assigned(calls.application(step, self.engine.spelling(step, self.scenario)))

    def _shown(self, gradients: Mapping[str, Call]) -> str:
        """Return the list of what is read."""
        adapter = self.engine.adapter
        reads = [step for step in self.scenario.steps if isinstance(step, Read)]
        looks = (gradients[each.name] if each.what == "grad" else calls.value(adapter, each.name) for each in reads)
        return f"[{', '.join(map(LANGUAGE.called, looks))}]"


def _observed(array: Any) -> Observation:
    return Observation() if array is None else Observation(array, dtype=array.dtype.name)


def plain(scenario: Scenario) -> Scenario:
    """Return a scenario of one backward that reads every gradient, and the output."""
    backward = next(step for step in scenario.steps if isinstance(step, Backward))
    reads = [Read("grad", leaf.name) for leaf in scenario.leaves if leaf.requires_grad]
    steps = (*scenario.leaves, *scenario.applications, backward, *reads, Read("value", backward.output))
    return Scenario(steps)


def printed_again_and_again(scenario: Scenario, engine: Engine) -> str | None:
    """Return a program that runs a scenario again and again, None where it is more than one backward, or no Python."""
    kinds = [type(step) for step in scenario.steps]
    if engine.adapter.language != "python" or kinds.count(Backward) != 1 or not REPEATABLE.issuperset(kinds):
        return None
    return Repetition(engine, [plain(scenario)], afresh=True).printed(SHOWN)
