"""Runners, which execute programs in a process of their own or in this one."""

from __future__ import annotations

import atexit
import itertools
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from refgrad.errors import EngineStartError
from refgrad.native.adapter import AnyAdapter
from refgrad.native.observation import Observation, ProtocolError, Raised, read_answer
from refgrad.native.process import Ending, EndingError, Limits, RunnerProcess
from refgrad.native.program import Program
from refgrad.native.runners.python_runner import PROTOCOL, Session
from refgrad.native.text import plain_line

PAGE: Final = "docs/reference/runner-protocol.md"
"""Description of what a runner answers."""

HURRIED: Final = 0.25
"""Share of the time limit for a program that is expected to hang."""

TRIES: Final = 3
"""Number of tries after which the engine is held responsible for the end of a process.

A request is repeated if a signal that may come from outside has ended the process. A program is repeated in a process
of its own if one that had run other programs ended in it.
"""

ProgramResult = tuple[Observation, ...] | Ending
"""Observations of the steps of a program, or how the runner ended in it."""


class LocalRunner:
    """Runner in this process: for a debugger, and for functions that exist only here."""

    endings = 0
    """Number of processes that have ended so far."""
    hurried = False
    """True if programs have only a part of the time limit, since a hang is expected."""
    watch: Callable[[int], None] | None = None
    """Function that is called with the number of each step before the step runs."""

    def __init__(self, adapter: AnyAdapter) -> None:
        """Run the adapter's setup, which can import modules of the current folder.

        Raises EngineStartError if it fails.
        """
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        try:
            self.session = Session(adapter.setup, adapter.name, adapter.forget, (Exception, SystemExit))
        except Exception as error:
            raise EngineStartError(adapter.cannot_start(type(error).__name__, str(error))) from error

    def stop(self) -> None:
        """Do nothing: the engine lives as long as this process."""

    def run(self, programs: Sequence[Program]) -> list[ProgramResult]:
        """Run programs and return the observations of each."""
        results: list[ProgramResult] = []
        for program in programs:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                answers = self.session.run(program.wire(), self.watch)
            try:
                results.append(tuple(map(read_answer, answers)))
            except ProtocolError as error:
                results.append(Ending("crashed", plain_line(str(error))))
        return results

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module of the library has, with a number that identifies the named object."""
        return self.session.members(modules, names)

    def renew(self) -> bool:
        """Run the next program in a new process. Return False, as there is only this one."""
        return False


class ProcessRunner:
    """Runner in a process of an interpreter that the user chooses. If the process ends, it is started again."""

    def __init__(self, adapter: AnyAdapter, python: str = sys.executable, limits: Limits | None = None) -> None:
        """Start the engine. Raises EngineStartError if that fails."""
        self.adapter = adapter
        self.command = adapter.command(python)
        self.limits = Limits() if limits is None else limits
        self.endings = 0
        self.hurried = False
        self.forks: bool | None = None
        """True if programs may run in forks of the started engine; None until a program has ended a fork."""
        self._ids = itertools.count(1)
        self._ran = 0
        self._process: RunnerProcess | None = None
        atexit.register(self.stop)
        self._start()

    def run(self, programs: Sequence[Program]) -> list[ProgramResult]:
        """Run programs and return the observations of each, or how the runner ended in it; the others run anyway."""
        results: list[ProgramResult] = []
        while len(results) < len(programs):
            results += self.run_until_ended(programs[len(results) :])
        return results

    def run_until_ended(self, programs: Sequence[Program]) -> list[ProgramResult]:
        """Run programs and return the observations of each, up to the first program in which the runner ended."""
        results: list[ProgramResult] = []
        while len(results) < len(programs):
            rest = programs[len(results) :]
            answers = self._asked(rest)
            if isinstance(answers, tuple):
                return [*results, *self._ended(rest, *answers)]
            results += answers
        return results

    def _asked(self, programs: Sequence[Program]) -> list[ProgramResult] | tuple[int, Ending]:
        """Return the observations of programs, or the index of the one in which the runner ended, and how it ended.

        If one of the programs has changed the language itself, only the observations of the first are returned.
        """
        seconds = self.limits.program * (HURRIED if self.hurried else 1.0)
        try:
            answer = self._ask({"run": [program.wire() for program in programs]}, seconds, len(programs))
            results = _checked(answer, programs)
        except ProtocolError as error:  # an earlier program may be the reason: this one is run in a fresh process
            self.stop()
            if len(programs) > 1 or self._ran:
                return self._asked(programs[:1])
            return 0, Ending("crashed", plain_line(str(error)))
        except EndingError as error:
            return min(error.index, len(programs) - 1), error.ending
        self._ran += len(programs)
        if answer.get("tampered"):
            self.renew()
        return results

    def _ended(self, programs: Sequence[Program], index: int, ending: Ending) -> list[ProgramResult]:
        """Return the results of programs up to one that has ended the runner; those before it run again."""
        self.endings += 1
        ran, self._ran = self._ran + index, 0
        result: ProgramResult = ending
        if ran or self.forks is None:
            hurried, self.hurried = self.hurried, self.hurried or ending.outcome == "hung"
            result = self._isolated(programs[index], ending, is_first=not ran)
            self.hurried = hurried
        before = self.run_until_ended(programs[:index]) if index else []
        ended_before = len(before) < index or any(isinstance(each, Ending) for each in before)
        return before if ended_before else [*before, result]

    def _isolated(self, program: Program, ending: Ending, *, is_first: bool) -> ProgramResult:
        """Return the result of a program in a process of its own, since earlier ones may have damaged the first.

        If forks end again and again, and a process that was not forked answers, the engine does not work in forks, and
        is started anew from then on.
        """
        results = self._asked([program] * TRIES)
        if isinstance(results, list):
            return ending if is_first else results[0]
        if self.forks is not None:
            return ending
        unforked = self._started_anew(program, forks=False)
        if isinstance(unforked, tuple):
            self.forks = True
            return ending
        if isinstance(self._started_anew(program, forks=None), list):  # it does not always end
            return ending
        self.stop()
        self.forks = False
        return unforked[0]

    def _started_anew(self, program: Program, *, forks: bool | None) -> list[ProgramResult] | tuple[int, Ending]:
        """Return the result of a program in an engine that is started for it."""
        self.stop()
        self.forks = forks
        return self._asked([program] * TRIES)

    def members(self, modules: Sequence[str], names: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """Return which of the names each module of the library has. Raises EngineStartError if they cannot be read."""
        try:
            answer = self._ask({"members": {"modules": list(modules), "names": list(names)}}, self.limits.start)
        except EndingError as error:
            raise EngineStartError(f"engine {self.adapter.name!r}: {error} while its names were read") from error
        if "members" not in answer:
            problem = plain_line(read_answer(answer).error_text)
            raise EngineStartError(f"engine {self.adapter.name!r}: `alike` cannot be read: {problem}")
        members: Mapping[str, Mapping[str, int]] = answer["members"]
        return members

    def renew(self) -> bool:
        """Run the next program in another process: a new fork of the started engine, or a process started anew."""
        if self._ran and self._process is not None and self._process.forks:
            self._process.renew()
            self._ran = 0
        elif self._ran:
            self.stop()
        return True

    def stop(self) -> None:
        """Stop the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _ask(self, request: Mapping[str, Any], seconds: float, count: int = 1) -> dict[str, Any]:
        """Send a request; repeat it if the process may have been killed from outside, not by the engine."""
        for _ in range(TRIES):
            if self._process is None or self._process.ended:
                if "hello" in request:
                    self._process = RunnerProcess(self.command)
                else:
                    self._start()
            assert self._process is not None
            try:
                return self._process.ask({**request, "id": next(self._ids)}, seconds, count)
            except EndingError as error:
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
            about = _about(self._ask({"hello": hello}, self.limits.start))
        except EndingError as error:
            last = error.ending.stderr.strip().splitlines()[-1:]
            raise self._cannot_start(": ".join([str(error), *last])) from error
        except ProtocolError as error:
            self.stop()
            raise self._cannot_start(str(error)) from error
        if isinstance(about, Raised):
            self.stop()
            raise EngineStartError(adapter.cannot_start(about.type, plain_line(about.message)))
        assert self._process is not None
        self._process.parent = about["pid"] if isinstance(about.get("pid"), int) else 0
        self._process.forks = bool(about.get("forks"))
        self.forks = self.forks if self._process.forks else False

    def _cannot_start(self, detail: str) -> EngineStartError:
        """Return the error for a runner that does not start. For one from outside, it names what describes a runner."""
        message = plain_line(f"engine {self.adapter.name!r} cannot be started: {detail}")
        if self.adapter.runner is not None:
            command = shlex.join(self.command)
            message += f"; `{command}` is its runner.command, which must answer as {PAGE} describes"
        return EngineStartError(message)


Runner: TypeAlias = LocalRunner | ProcessRunner


def _about(answer: Mapping[str, Any]) -> Mapping[str, Any] | Raised:
    """Return the runner's description in its first answer, or the error in it. Raises ProtocolError without either."""
    about = read_answer(answer).error if "error" in answer else answer.get("hello")
    if isinstance(about, Raised) or (isinstance(about, dict) and about.get("protocol") == PROTOCOL):
        return about
    raise ProtocolError(f"the runner answered {str(answer)[:200]} to hello")


def _checked(answer: Mapping[str, Any], programs: Sequence[Program]) -> list[ProgramResult]:
    """Return the observations of programs in an answer. Raises ProtocolError if the answer is malformed."""
    if "error" in answer:
        raise ProtocolError(f"the runner failed: {read_answer(answer).error_text}")
    ran = answer.get("ran")
    if not isinstance(ran, list) or not (len(ran) == len(programs) or (ran and answer.get("tampered"))):
        raise ProtocolError(f"the runner answered {str(answer)[:200]} to {len(programs)} programs")
    for program, each in zip(programs, ran, strict=False):
        if not isinstance(each, list) or len(each) != len(program.groups):
            raise ProtocolError(f"the runner answered {str(each)[:200]} to {len(program.groups)} steps")
    return [tuple(map(read_answer, each)) for each in ran]
