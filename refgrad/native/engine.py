"""An engine that programs are run on: in a process of its own, or in this one."""

from __future__ import annotations

import atexit
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from refgrad.native import calls
from refgrad.native.adapter import AnyAdapter, EngineStartError, chosen, is_reference_engine, spellings
from refgrad.native.languages import language_of
from refgrad.native.observation import REFUSAL, Array, Ending, Observation, ProtocolError, Raised, read_answer
from refgrad.native.printing import failing_steps, printed
from refgrad.native.process import EndedError, Limits, RunnerProcess
from refgrad.native.program import Program, program_of
from refgrad.native.runners import python_runner
from refgrad.native.runners.python_runner import PROTOCOL, Session
from refgrad.native.statements import Call, call_wire
from refgrad.native.text import plain_line, plain_text
from refgrad.operators import Operator
from refgrad.scenario import Apply, Backward, Constant, Grad, Read, Scenario, Step

RUNNERS: Final = Path(python_runner.__file__).parent

QUICK_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""What halves the time until Java answers."""

HURRIED: Final = 0.25
"""Share of the time limit that a program has where a hang is expected."""

KILLS: Final = 3
"""How often a process must be killed by a signal that may come from outside before that is the engine's doing."""

RUNS_ALONE: Final = 3
"""How often a program is run in a process of its own, where one that had run others ended in it."""

Shown = tuple[Observation, ...] | Ending
"""What each step of a program showed, or how the runner ended in it."""


class Runner(Protocol):
    """What executes programs: :class:`LocalRunner` in this process, :class:`ProcessRunner` in another."""

    def run(self, programs: Sequence[Program]) -> list[Shown]:
        """Return what each program's steps showed, or how the runner ended in it."""

    @property
    def endings(self) -> int:
        """How many processes have ended so far."""

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module of the library has, a number for each thing that is named."""

    def renew(self) -> bool:
        """Let the next program be the first of its process, and return whether there are processes of that kind."""

    hurried: bool
    """Whether programs have only a part of the time limit, since a hang is expected."""


class LocalRunner:
    """Runs programs in this process: for a debugger, and for functions that live here."""

    endings = 0
    hurried = False
    watch: Callable[[int], None] | None = None
    """What is called with the number of each step before it is run."""

    def __init__(self, adapter: AnyAdapter) -> None:
        """Run the adapter's setup, for which modules of the current folder are found. Raises EngineStartError."""
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        try:
            self.session = Session(adapter.setup, adapter.name, adapter.forget, (Exception, SystemExit))
        except Exception as error:
            raise EngineStartError(adapter.cannot_start(type(error).__name__, str(error))) from error

    def run(self, programs: Sequence[Program]) -> list[Shown]:
        """Return the answers of each program's steps."""
        found: list[Shown] = []
        for program in programs:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                found.append(tuple(map(read_answer, self.session.run(program.wire(), self.watch))))
        return found

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module of the library has."""
        found: Mapping[str, Mapping[str, int]] = self.session.members(modules, names)
        return found

    def renew(self) -> bool:
        """Return False: this process goes on."""
        return False


class ProcessRunner:
    """Runs programs in a process of an interpreter of the user's choice; one that ends is started again."""

    def __init__(self, adapter: AnyAdapter, python: str = sys.executable, limits: Limits | None = None) -> None:
        """Start the engine. Raises EngineStartError where that fails."""
        self.adapter = adapter
        self.command = command_of(adapter.language, python)
        self.limits = Limits() if limits is None else limits
        self.endings = 0
        self.hurried = False
        self.forks: bool | None = None
        """Whether programs may run in forks of the started engine; None until a program has ended one of them."""
        self._hung = False
        self._ids = itertools.count(1)
        self._ran = 0
        self._process: RunnerProcess | None = None
        atexit.register(self.stop)
        self._start()

    def run(self, programs: Sequence[Program]) -> list[Shown]:
        """Return the answers of each program's steps, or how the runner ended in it; the others are run anyway."""
        found: list[Shown] = []
        while len(found) < len(programs):
            found += self.run_until_ended(programs[len(found) :])
        return found

    def run_until_ended(self, programs: Sequence[Program]) -> list[Shown]:
        """Return the answers of each program's steps up to the first program in which the runner ended."""
        found: list[Shown] = []
        while len(found) < len(programs):
            rest = programs[len(found) :]
            answers = self._asked(rest)
            if isinstance(answers, tuple):
                return [*found, *self._ended(rest, *answers)]
            found += answers
        return found

    def _asked(self, programs: Sequence[Program]) -> list[Shown] | tuple[int, Ending]:
        """Return the answers of programs, or which one the runner ended in, and how.

        There are fewer answers than programs where one has changed the language itself; the next process runs the rest.
        """
        seconds = self.limits.program * (HURRIED if self.hurried else 1.0)
        try:
            answer = self._ask({"run": [program.wire() for program in programs]}, seconds, len(programs))
            found = _checked(answer, programs)
        except ProtocolError as error:  # an earlier program may be the reason: this one is run in a fresh process
            self.stop()
            if len(programs) > 1 or self._ran:
                return self._asked(programs[:1])
            return 0, Ending("crashed", plain_line(str(error)))
        except EndedError as error:
            ending = Ending(error.outcome, plain_line(error.detail), error.step, plain_text(error.stderr))
            return min(error.index, len(programs) - 1), ending
        self._ran += len(programs)
        if answer.get("tampered"):
            self.renew()
        return found

    def _ended(self, programs: Sequence[Program], index: int, ending: Ending) -> list[Shown]:
        """Return the answers of programs one of which has ended the runner, by running those before it again."""
        self.endings += 1
        confirmed = ending.outcome == "hung" and (self._hung or self.hurried)  # whoever reports it runs it again
        ran, self._ran = self._ran + index, 0
        shown = ending if confirmed or not (ran or self.forks is None) else self._isolated(programs[index], ending)
        self._hung |= isinstance(shown, Ending) and shown.outcome == "hung"
        before = self.run_until_ended(programs[:index]) if index else []
        ended_before = len(before) < index or any(isinstance(each, Ending) for each in before)
        return before if ended_before else [*before, shown]

    def _isolated(self, program: Program, ending: Ending) -> Shown:
        """Return what a program gives in a process of its own: one that ran others may die of what those have done.

        The first time that process is no fork: where it answers, the engine does not survive forks, and from then on it
        is started anew for each process. A hang is expected again, so that it costs a part of the time limit.
        """
        self.hurried |= ending.outcome == "hung"
        if ending.outcome == "crashed" or self.forks is not None:
            found = self._asked([program] * RUNS_ALONE)
            if isinstance(found, list) or self.forks is not None:
                return found[0] if isinstance(found, list) else found[1]
        self.stop()
        self.forks = False
        found = self._asked([program] * RUNS_ALONE)
        self.forks = isinstance(found, tuple)
        return found[0] if isinstance(found, list) else found[1]

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module of the library has. Raises EngineStartError where it cannot say."""
        try:
            answer = self._ask({"members": {"modules": list(modules), "names": list(names)}}, self.limits.start)
        except EndedError as error:
            raise EngineStartError(f"engine {self.adapter.name!r}: {error.detail} while its names were read") from error
        if "error" in answer:
            raise EngineStartError(f"engine {self.adapter.name!r}: `alike` cannot be read: {_said(answer['error'])}")
        found: Mapping[str, Mapping[str, int]] = answer["members"]
        return found

    def renew(self) -> bool:
        """Let another process run the next program: a new fork of the started engine, or a process started anew."""
        if self._ran and self._process is not None and self._process.forks:
            self._process.renew()
            self._ran = 0
        elif self._ran:
            self.stop()
        return True

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one."""
        return None if self._process is None else self._process.pid or None

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _ask(self, request: Mapping[str, Any], seconds: float, count: int = 1) -> dict[str, Any]:
        """Send a request, once more if somebody else may have killed the process: that says nothing of the engine."""
        for _ in range(KILLS):
            if self._process is None or self._process.ended:
                self._start()
            assert self._process is not None
            try:
                return self._process.ask({**request, "id": next(self._ids)}, seconds, count)
            except EndedError as error:
                ended = error
                if not error.from_outside:
                    raise
        raise ended

    def _greeted(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        """Start a process and return its answer to the first request; once more if somebody else has killed it."""
        for _ in range(KILLS):
            self._process = RunnerProcess(self.command)
            try:
                return self._process.ask({"hello": hello, "id": next(self._ids)}, self.limits.start)
            except EndedError as error:
                ended = error
                if not error.from_outside:
                    raise
        raise ended

    def _start(self) -> None:
        adapter = self.adapter
        self._ran = 0
        hello = {
            "protocol": PROTOCOL,
            "name": adapter.name,
            "setup": adapter.setup,
            "forget": adapter.forget,
            "memory": self.limits.memory,
            "forks": self.forks is not False,
            "path": [path for path in sys.path if path and self.command[0] == sys.executable],
        }
        try:
            answer = self._greeted(hello)
        except EndedError as error:
            last = error.stderr.strip().splitlines()[-1:]
            said = plain_line(": ".join([error.detail, *last]))
            raise EngineStartError(f"engine {adapter.name!r} cannot be started: {said}") from error
        if "error" in answer:
            self.stop()
            raised = answer["error"]
            raise EngineStartError(adapter.cannot_start(plain_line(raised["type"]), plain_line(raised["message"])))
        assert self._process is not None
        self._process.forks, self._process.parent = (
            bool(answer["hello"].get("forks")),
            int(answer["hello"].get("pid", 0)),
        )
        if not self._process.forks:
            self.forks = False


def command_of(language: str, python: str = sys.executable) -> list[str]:
    """Return the command that starts the runner of a language; ``python`` is the interpreter for engines in Python."""
    if language == "javascript":
        return ["node", str(RUNNERS / "node_runner.js")]
    if language == "java":
        return ["java", *QUICK_START, str(RUNNERS / "java_runner.java")]
    if language == "r":
        return ["Rscript", "--vanilla", str(RUNNERS / "r_runner.R")]
    return [python, "-u", str(RUNNERS / ("cpp_runner.py" if language == "cpp" else "python_runner.py"))]


def _said(error: Mapping[str, Any]) -> str:
    return f"{error['type']}: {error['message']}"


def _checked(answer: Mapping[str, Any], programs: Sequence[Program]) -> list[Shown]:
    """Return what programs showed. Raises ProtocolError for an answer that does not say that."""
    if "error" in answer:
        raise ProtocolError(f"the runner failed: {_said(answer['error'])}")
    ran = answer.get("ran")
    if not isinstance(ran, list) or not (len(ran) == len(programs) or (ran and answer.get("tampered"))):
        raise ProtocolError(f"the runner answered {str(answer)[:200]} to {len(programs)} programs")
    for program, each in zip(programs, ran, strict=False):
        if not isinstance(each, list) or len(each) != len(program.groups):
            raise ProtocolError(f"the runner answered {str(each)[:200]} to {len(program.groups)} steps")
    return [tuple(map(read_answer, each)) for each in ran]


class Engine:
    """A started engine: what its adapter says of it, and the runner that executes programs on it."""

    def __init__(self, adapter: AnyAdapter, runner: Runner | None = None) -> None:
        """Use a runner in this process if none is given. Raises EngineStartError where that cannot be started."""
        self.adapter = adapter
        self.runner = LocalRunner(adapter) if runner is None else runner
        self.fatal: dict[str, tuple[Observation, ...]] = {}
        """What scenarios showed in which the engine's process ended, by their ids."""
        self.watch: Callable[[Scenario], Callable[[int], None]] | None = None
        """What is called with each scenario that runs in this process, and returns what its steps are reported to."""
        self.hung: set[frozenset[str]] = set()
        """The operators of scenarios that gave no answer: one where the step is known in which that was."""
        self.prepared: dict[tuple[Scenario, bool], tuple[Observation, ...]] = {}
        """What scenarios showed that were run ahead, each by whether seeds were watched."""

    def has_run(self, scenario: Scenario) -> bool:
        """Whether it is known already what a scenario shows: it ended a process, or was prepared."""
        return scenario.id in self.fatal or any(known == scenario for known, _seeds in self.prepared)

    def forget(self, scenario: Scenario) -> None:
        """Let a scenario be run again that ended a process, for as long as if none like it had."""
        self.fatal.pop(scenario.id, None)
        self.hung = {operators for operators in self.hung if not operators <= scenario.operators}

    def hangs(self, operators: frozenset[str]) -> bool:
        """Return whether a scenario of no other operators than these gave no answer."""
        return any(known <= operators for known in self.hung)

    @property
    def session(self) -> Session:
        """The namespace of an engine in this process."""
        assert isinstance(self.runner, LocalRunner)
        return self.runner.session

    @property
    def namespace(self) -> dict[str, Any]:
        """What the setup of an engine in this process has made."""
        namespace: dict[str, Any] = self.session.namespace
        return namespace

    def evaluate(self, call: Call, /, **names: Any) -> Any:
        """Return what a call gives, in this process, with variables that are bound to tensors of the engine."""
        return self.session.call(call_wire(call), names)

    def make(self, constant: Constant, *, requires_grad: bool) -> Any:
        """Make a tensor of the library in this process."""
        return self.evaluate(calls.tensor_of(self.adapter, constant, "made", requires_grad=requires_grad))

    def apply(self, step: Apply, arguments: Sequence[Any], scenario: Scenario | None = None) -> Any:
        """Apply an operator to tensors in this process, spelled as in a scenario if that is given."""
        spelling = self.operators[step.operator] if scenario is None else self.spelling(step, scenario)
        operands = dict(zip(step.arguments, arguments, strict=True))
        return self.session.call(call_wire(calls.application(step, spelling)), operands)

    @cached_property
    def spellings(self) -> Mapping[str, tuple[str, ...]]:
        """How each operator that the library has can be spelled."""
        return spellings(self.adapter, self.runner.members)

    @cached_property
    def operators(self) -> Mapping[str, str]:
        """How each operator is spelled in the first place."""
        return {name: texts[0] for name, texts in self.spellings.items()}

    def spelling(self, step: Apply, scenario: Scenario) -> str:
        """How one application in a scenario is spelled. Raises AdapterError for an operator that the engine lacks."""
        if step.operator not in self.spellings:
            raise self.adapter.error(f"the engine has no operator {step.operator!r}, which the scenario applies")
        return chosen(self.spellings[step.operator], step, scenario)

    def absent(self, scenario: Scenario) -> list[str]:
        """Return the operators of a scenario that the library lacks."""
        return sorted(scenario.operators - self.operators.keys())

    def offers(self, operator: Operator) -> bool:
        """Whether the library has an operator."""
        return operator.name in self.operators and (operator.elementwise or not self.adapter.scalars_only)

    def program(self, scenario: Scenario, *, watch_seeds: bool = False) -> Program:
        """Return the program that a scenario means."""
        return program_of(scenario, self.adapter, self.spelling, watch_seeds=watch_seeds)

    def run(self, program: Program) -> tuple[Observation, ...]:
        """Return what each step of a program showed; the step in which the runner ended shows how."""
        (seen,) = self.run_all([program])
        return seen

    def run_all(self, programs: Sequence[Program]) -> list[tuple[Observation, ...]]:
        """Return what each step of several programs showed."""
        return [
            self.read(program, answers) for program, answers in zip(programs, self.runner.run(programs), strict=True)
        ]

    def read(self, program: Program, shown: Shown) -> tuple[Observation, ...]:
        """Return what the steps of a program showed, with the refusals that the adapter declares marked as such."""
        seen = _read(program, shown)
        return tuple(map(self._marked, seen)) if self.adapter.refusals else seen

    def _marked(self, seen: Observation) -> Observation:
        return seen if seen.error is None else replace(seen, error=self.told(seen.error))

    def told(self, error: Raised) -> Raised:
        """Return an error, which is a refusal too if the adapter says so."""
        refused = not error.is_refusal and self.adapter.refuses(error.text)
        return replace(error, bases=(*error.bases, REFUSAL)) if refused else error


def _read(program: Program, shown: Shown) -> tuple[Observation, ...]:
    """Return what the steps of a program showed; the step in which the runner ended shows how."""
    if not isinstance(shown, Ending):
        return shown
    seen = [Observation() for _ in program.groups]
    if seen:
        seen[min(max(shown.step, 1), len(seen)) - 1] = Observation(ending=shown)
    return tuple(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How an engine is run: in a process of an interpreter within limits, or in this process."""

    in_process: bool = False
    python: str = sys.executable
    limits: Limits = field(default_factory=Limits)


def launch(adapter: AnyAdapter, isolation: Isolation) -> Engine:
    """Start an engine. What is part of refgrad itself runs in this process, as nothing of a third party is in it.

    Raises EngineStartError where it cannot be started.
    """
    ours = isolation.python == sys.executable and is_reference_engine(adapter)
    if isolation.in_process or ours:
        return Engine(adapter)
    return Engine(adapter, ProcessRunner(adapter, isolation.python, isolation.limits))


@cache
def start(adapter: AnyAdapter, python: str | None = None) -> Engine:
    """Start an engine once: in this process, or in that of another language or of the interpreter that is named."""
    here = python is None and adapter.language == "python"
    return Engine(adapter) if here else launch(adapter, Isolation(python=python or sys.executable))


def observe(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> tuple[Observation, ...]:
    """Run a scenario on an engine, step by step; a step that fails does not keep the others from being tried.

    With ``seeds`` those of a tape engine are looked at again after each backward. A scenario that has ended a runner is
    not run again: it is known what it shows.
    """
    known = engine.fatal.get(scenario.id) if engine.fatal else None
    if known is not None:
        return known
    shown = engine.prepared.pop((scenario, seeds), None) if engine.prepared else None
    if shown is None:
        if engine.watch is not None and isinstance(engine.runner, LocalRunner):
            engine.runner.watch = engine.watch(scenario)
        engine.runner.hurried = engine.hangs(scenario.operators)
        shown = engine.run(engine.program(scenario, watch_seeds=seeds))
        engine.runner.hurried = False
    seen = tuple(map(_completed, scenario.steps, shown))
    for step, each in zip(scenario.steps, seen, strict=True):
        if each.ending is not None:
            engine.fatal[scenario.id] = seen
            if each.ending.outcome == "hung":
                engine.hung.add(frozenset({step.operator}) if isinstance(step, Apply) else scenario.operators)
    return _with_changes(scenario, seen) if seeds else seen


def prepare(scenarios: Sequence[Scenario], engine: Engine, *, seeds: bool = False) -> None:
    """Run scenarios in one batch on an engine in another process; :func:`observe` returns what they showed.

    What was prepared before and not asked for is forgotten.
    """
    engine.prepared.clear()
    if not isinstance(engine.runner, ProcessRunner):
        return
    unknown = [scenario for scenario in scenarios if not engine.fatal or scenario.id not in engine.fatal]
    programs = [engine.program(scenario, watch_seeds=seeds) for scenario in unknown]
    engine.runner.hurried = any(engine.hangs(scenario.operators) for scenario in unknown)
    answers = engine.runner.run_until_ended(programs)  # what ends the process once ends it time and again
    engine.runner.hurried = False
    for scenario, program, each in zip(unknown, programs, answers, strict=False):
        engine.prepared[scenario, seeds] = engine.read(program, each)


def _completed(step: Step, seen: Observation) -> Observation:
    """Return what a hook saw as one array, along a new first axis."""
    if not (isinstance(step, Read) and step.what == "hook") or seen.error is not None or seen.ending is not None:
        return seen
    if not seen.arrays:
        return Observation(np.zeros(0))
    return Observation(np.stack(seen.arrays), dtype=seen.arrays[0].dtype.name)


def _with_changes(scenario: Scenario, seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Say of each backward which seeds so far are no longer what they were: it may read them only."""
    seeds = [step.seed for step in scenario.steps if isinstance(step, Backward | Grad) and step.seed is not None]
    return tuple(
        replace(each, changed=changed)
        if (changed := tuple(_changes(each.arrays, seeds)) if isinstance(step, Backward) else ())
        else each
        for step, each in zip(scenario.steps, seen, strict=True)
    )


def _changes(arrays: Sequence[Array], seeds: Sequence[Constant]) -> Iterator[str]:
    """Yield what has become of those seeds, counted from 1, that have changed."""
    for number, (array, seed) in enumerate(zip(arrays, seeds, strict=False), 1):
        changed = _change(array, seed.to_numpy().astype(array.dtype))
        if changed:
            yield f"seed {number} is {changed}"


def _change(array: Array, before: Array) -> str:
    """Say of the first entry that is another one what it is and was."""
    if array.shape != before.shape:
        return f"of the shape {array.shape}, and was of {before.shape}"
    if np.array_equal(array, before, equal_nan=True):
        return ""
    entry = np.argwhere((array != before) & ~((array != array) & (before != before)))[0]  # noqa: PLR0124 (NaN)
    place = tuple(map(int, entry))
    return f"entry {place}: {array[place]}, and was {before[place]}"


def reproduce(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> str:
    """Return a scenario as a program that imports nothing of refgrad and prints what the scenario reads.

    With ``seeds`` the program of a tape engine prints behind each backward what has become of the seeds, too.
    """
    plain = all(leaf.value.dtype in ("float64", "bool") for leaf in scenario.leaves)
    program = engine.program(scenario, watch_seeds=seeds)
    failing = failing_steps(scenario, engine.adapter.policy)
    language = language_of(engine.adapter.language, dtypes=not plain)
    return printed(program.groups, engine.adapter.setup, language, failing)
