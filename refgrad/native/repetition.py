"""Programs that repeat scenarios with one backward in turn, and count the different results of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from refgrad.native import calls
from refgrad.native.adapter import AnyAdapter, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.library import LANGUAGE, Library, RaisedError, function
from refgrad.native.observation import Observation, Raised
from refgrad.native.process import Limits
from refgrad.native.program import seed_of
from refgrad.native.statements import Call, Code, Name, Names, Statement, Value
from refgrad.scenario import Apply, Backward, Leaf, Read, Scenario

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

PRINTED_RUNS: Final = 2000
"""Number of times that a printed program runs a scenario."""

REPEATABLE: Final = frozenset({Leaf, Apply, Backward, Read})
"""Kinds of steps of scenarios that can be repeated."""

PATIENCE: Final = round(Limits().program)
"""Seconds of processor time that a printed program may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """Observations of a scenario that are identical in ``seen`` of its runs, or the error that ended these runs."""

    seen: int
    observations: tuple[Observation, ...] = ()
    error: Raised | None = None


@dataclass(frozen=True, slots=True)
class Repetition:
    """Scenarios that are run in turn on an engine.

    Each has leaves, applications, one backward, and reads of gradients and values of float64, in this order. Leaves and
    seeds are made once, or in every run with ``afresh``, for engines that cannot reset gradients or that write to
    seeds.
    """

    engine: Engine
    scenarios: Sequence[Scenario]
    afresh: bool = False

    def run(self, rounds: int, seconds: float) -> list[tuple[Repeated, ...]]:
        """Run the scenarios ``rounds`` times, or for ``seconds`` of processor time, and return the results of each.

        There are none if the engine raises an error for a leaf or a seed. Raises EndingError if the runner ends.
        """
        try:
            (counted,) = Library(self.engine).run(self.text, (rounds, seconds), timed=False)
        except RaisedError:
            return [() for _ in self.scenarios]
        pairs = zip(self.scenarios, counted.data, strict=True)
        return [tuple(self._repeated(scenario, *each) for each in counts) for scenario, counts in pairs]

    def _repeated(self, scenario: Scenario, seen: int, result: list[Any]) -> Repeated:
        if result and isinstance(result[0], str):
            kind, message, bases = result
            return Repeated(seen, error=self.engine.marked(Raised(kind, message, tuple(bases))))
        read = iter(result)
        arrays = [next(read) if isinstance(step, Read) else None for step in scenario.steps]
        return Repeated(seen, tuple(Observation(x, dtype="" if x is None else x.dtype.name) for x in arrays))

    def printed(self, rounds: int) -> str:
        """Return a program that runs the scenarios ``rounds`` times and prints how often each gave which result."""
        lines = [
            f"for counts in attempt({rounds}, {PATIENCE}):",
            "    for count, shown in counts:",
            '        print(count, "times", *shown)',
        ]
        return Library(self.engine).program(self.text, "\n", *lines)

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        heads = [f"program_{number}" for number in range(1, len(self.scenarios) + 1)]
        functions = [self._function(head, scenario) for head, scenario in zip(heads, self.scenarios, strict=True)]
        return "\n\n".join(["import time\n", *functions, ATTEMPT, f"programs = [{', '.join(heads)}]\n"])

    def _function(self, head: str, scenario: Scenario) -> str:
        setup, run = map(_lines, self._statements(scenario))
        outer, inner = ([], [*setup, *run]) if self.afresh else ([*setup, ""], run)
        return function(f"{head}()", [*outer, *function("run()", inner).splitlines(), "", "return run"])

    def _statements(self, scenario: Scenario) -> tuple[list[Statement], list[Statement]]:
        """Return the statements that make leaves and the seed, and those of a run, which returns what is read."""
        adapter, leaves = self.engine.adapter, tuple(leaf.name for leaf in scenario.leaves if leaf.requires_grad)
        backward = next(step for step in scenario.steps if isinstance(step, Backward))
        output, seed = backward.output, backward.seed
        setup: list[Statement] = [
            calls.tensor_of(adapter, leaf.value, leaf.name, requires_grad=leaf.requires_grad)
            for leaf in scenario.leaves
        ]
        run: list[Statement] = [
            calls.application(step, self.engine.spelling(step, scenario)) for step in scenario.applications
        ]
        if isinstance(adapter, TapeAdapter):
            run.append(calls.backward(adapter, output, Value(None) if seed is None else Name("seed")))
            gradients = {leaf: calls.gradient(adapter, leaf) for leaf in leaves}
            run.append(Code(f"shown = {_arrays(scenario, adapter, gradients)}"))
            run += [calls.zero_grad(adapter, leaf) for leaf in leaves if adapter.zero_grad is not None]
            run.append(Code("return shown"))
        else:
            seed = seed_of(scenario, backward)
            forward = function(f"forward({', '.join(leaves)})", [*_lines(run), f"return {output}"])
            pullback = calls.vjp(adapter, "forward", Names(leaves), (output, "pullback"))
            gradients = {leaf: calls.value(adapter, f"gradients[{index}]") for index, leaf in enumerate(leaves)}
            returned = Code(f"return {_arrays(scenario, adapter, gradients)}")
            run = [Code(forward), pullback, Code("gradients = pullback(seed)"), returned]
        if seed is not None:
            setup.append(calls.seed(adapter, seed, seed.dtype, "seed"))
        return setup, run


def _lines(statements: Iterable[Statement]) -> list[str]:
    return [line for statement in statements for line in LANGUAGE.lines(statement)]


def _arrays(scenario: Scenario, adapter: AnyAdapter, gradients: Mapping[str, Call]) -> str:
    """Return the expression of the list of all arrays that a scenario reads."""
    reads = [step for step in scenario.steps if isinstance(step, Read)]
    arrays = (gradients[each.name] if each.what == "grad" else calls.value(adapter, each.name) for each in reads)
    return f"[{', '.join(map(LANGUAGE.called, arrays))}]"


def plain(scenario: Scenario) -> Scenario:
    """Return a scenario of one backward that reads every gradient, and the output."""
    backward = next(step for step in scenario.steps if isinstance(step, Backward))
    reads = [Read("grad", leaf.name) for leaf in scenario.leaves if leaf.requires_grad]
    steps = (*scenario.leaves, *scenario.applications, backward, *reads, Read("value", backward.output))
    return Scenario(steps)


def printed_again_and_again(scenario: Scenario, engine: Engine) -> str | None:
    """Return a program that runs a scenario repeatedly, or None if that is not possible.

    The engine must be in Python, and the scenario must have exactly one backward and no steps but ``REPEATABLE`` ones.
    """
    kinds = [type(step) for step in scenario.steps]
    if not engine.adapter.runs_here or kinds.count(Backward) != 1 or not REPEATABLE.issuperset(kinds):
        return None
    return Repetition(engine, [plain(scenario)], afresh=True).printed(PRINTED_RUNS)
