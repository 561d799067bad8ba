"""Runners: what executes programs, in a process of its own or in this one."""

from __future__ import annotations

import atexit
import itertools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from refgrad.native.adapter import AnyAdapter, EngineStartError
from refgrad.native.observation import Ending, Observation, ProtocolError, read_answer
from refgrad.native.process import EndedError, Limits, RunnerProcess
from refgrad.native.program import Program
from refgrad.native.runners import python_runner
from refgrad.native.runners.python_runner import PROTOCOL, Session
from refgrad.native.text import plain_line, plain_text

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
        """Return what each program's steps showed."""
        found: list[Shown] = []
        for program in programs:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                answers = self.session.run(program.wire(), self.watch)
            try:
                found.append(tuple(map(read_answer, answers)))
            except ProtocolError as error:
                found.append(Ending("crashed", plain_line(str(error))))
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
        self._ids = itertools.count(1)
        self._ran = 0
        self._process: RunnerProcess | None = None
        atexit.register(self.stop)
        self._start()

    def run(self, programs: Sequence[Program]) -> list[Shown]:
        """Return what each program's steps showed, or how the runner ended in it; the others are run anyway."""
        found: list[Shown] = []
        while len(found) < len(programs):
            found += self.run_until_ended(programs[len(found) :])
        return found

    def run_until_ended(self, programs: Sequence[Program]) -> list[Shown]:
        """Return what each program's steps showed, up to the first program in which the runner ended."""
        found: list[Shown] = []
        while len(found) < len(programs):
            rest = programs[len(found) :]
            answers = self._asked(rest)
            if isinstance(answers, tuple):
                return [*found, *self._ended(rest, *answers)]
            found += answers
        return found

    def _asked(self, programs: Sequence[Program]) -> list[Shown] | tuple[int, Ending]:
        """Return what programs showed, or the index of the one in which the runner ended, and how it did.

        If one of the programs has changed the language itself, only what the first showed is returned.
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
        """Return what programs showed one of which has ended the runner, by running those before it again."""
        self.endings += 1
        ran, self._ran = self._ran + index, 0
        shown: Shown = ending
        if ran or self.forks is None:
            hurried, self.hurried = self.hurried, self.hurried or ending.outcome == "hung"
            shown = self._isolated(programs[index], ending, is_first=not ran)
            self.hurried = hurried
        before = self.run_until_ended(programs[:index]) if index else []
        ended_before = len(before) < index or any(isinstance(each, Ending) for each in before)
        return before if ended_before else [*before, shown]

    def _isolated(self, program: Program, ending: Ending, *, is_first: bool) -> Shown:
        """Return what a program shows in a process of its own, since earlier programs may have spoiled the first one.

        If forks end time and again, and a process that was not forked answers, the engine does not survive forks, and
        is started anew from then on.
        """
        found = self._asked([program] * RUNS_ALONE)
        if isinstance(found, list):
            return ending if is_first else found[0]
        if self.forks is not None:
            return ending
        unforked = self._started_anew(program, forks=False)
        if isinstance(unforked, tuple):
            self.forks = True
            return ending
        if isinstance(self._started_anew(program, forks=None), list):  # it ended by chance
            return ending
        self.stop()
        self.forks = False
        return unforked[0]

    def _started_anew(self, program: Program, *, forks: bool | None) -> list[Shown] | tuple[int, Ending]:
        """Return what a program shows in an engine that was started for it."""
        self.stop()
        self.forks = forks
        return self._asked([program] * RUNS_ALONE)

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
        """Send a request, again if the process may have been killed from outside, which is not the engine's fault."""
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
            "preload": list(adapter.preload),
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
        self._process.parent = int(answer["hello"].get("pid", 0))
        self._process.forks = bool(answer["hello"].get("forks"))
        self.forks = self.forks if self._process.forks else False


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
    """Return what programs showed. Raises ProtocolError for any other answer."""
    if "error" in answer:
        raise ProtocolError(f"the runner failed: {_said(answer['error'])}")
    ran = answer.get("ran")
    if not isinstance(ran, list) or not (len(ran) == len(programs) or (ran and answer.get("tampered"))):
        raise ProtocolError(f"the runner answered {str(answer)[:200]} to {len(programs)} programs")
    for program, each in zip(programs, ran, strict=False):
        if not isinstance(each, list) or len(each) != len(program.groups):
            raise ProtocolError(f"the runner answered {str(each)[:200]} to {len(program.groups)} steps")
    return [tuple(map(read_answer, each)) for each in ran]
