"""Processes of runners: started below a supervisor, limited in time, and ended with all their descendants.

Memory to which nothing was written, or that was freed, is filled with bytes that form unlikely numbers. Unfilled, it
mostly holds zeros, and an engine that reads it looks right in most runs.
"""

from __future__ import annotations

import json
import mmap
import os
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from refgrad.native.runners import supervisor
from refgrad.native.text import MOST_CHARACTERS, plain_line, plain_text, repeatable_text

STDERR_KEPT: Final = MOST_CHARACTERS
"""Number of bytes kept of the end of standard error, which usually has the reason why a process died."""

LONGEST_LINE: Final = 1 << 28
"""Number of bytes in an answer above which a runner is considered to flood its pipe."""

MOST_WAITED: Final = 3
"""Largest extension of a program's time limit, as a multiple of it, if other processes kept the program waiting."""

FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""Signals by which someone else may end a process: a user, or a system that is out of memory."""

UNWRITTEN: Final = 0x44
"""Byte with which memory is filled to which nothing was written. Such bytes form a number far from 0 and 1."""

FREED: Final = int(~np.uint8(UNWRITTEN))
"""Byte with which the memory is filled that was freed: the complement."""

FILLED: Final[Mapping[str, str]] = MappingProxyType({"MALLOC_PERTURB_": str(FREED)})
"""Environment variable by which glibc fills memory. Other C libraries ignore it."""

ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType({"OMP_WAIT_POLICY": "passive", **FILLED})
"""Environment variables that are set for a runner unless the user's environment sets them.

OpenMP threads sleep while they wait for work: by default they keep a core busy that another process of the run needs.
Their results do not depend on it. Memory that nothing was written to is filled, which reveals an engine that reads it.
"""

MARKS: Final = struct.Struct("<IIII")
"""Layout of the memory shared with a runner: index of the program in its batch, number of the step, process that runs
it, and error number if the runner could not be started."""

STEPS: Final = slice(supervisor.PID)
"""Slice of the marks with the program and the step."""

SECONDS_TO_END: Final = 2 * supervisor.SECONDS_TO_END
"""Number of seconds to wait for a supervisor to end all processes below it."""

BUSY: Final = 0.5
"""Share of the time limit that a process without an answer must have spent on a processor to be called busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits: seconds for a start and for one program, and bytes of memory beyond those of the started engine."""

    start: float = 300.0
    program: float = 60.0
    memory: int = 1 << 33


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a runner while it ran a program: ``crashed`` or ``hung``, and in which step.

    ``detail`` describes it, such as ``the process was ended by signal 11 (SIGSEGV)``; ``stderr`` is the last part of
    its standard error. Step 0 is before the first one.
    """

    outcome: Literal["crashed", "hung"]
    detail: str
    step: int = 0
    stderr: str = ""


@dataclass(eq=False)
class EndingError(Exception):
    """Raised if a runner exits, or is killed, before it answers.

    ``ending`` describes the end, and ``index`` is the position in the batch of the program that was running.
    ``from_outside`` is True if something other than this request may have ended the runner.
    """

    ending: Ending
    index: int = 0
    from_outside: bool = False

    def __str__(self) -> str:
        """Return the detail."""
        return self.ending.detail


def cannot_be_run(command: Sequence[str], reason: str) -> str:
    """Return the message for a program that cannot be started."""
    return f"{command[0]!r} cannot be run: {reason}"


def ending_signals() -> list[signal.Signals]:
    """Return the signals that end a run in order: SIGHUP only if it is not ignored already, as it is under nohup."""
    hangup = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [*hangup, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM]


def processor_time(process: int | str) -> tuple[float, float]:
    """Return the seconds for which a process has run, and those for which it has waited for a processor.

    ``process`` is an ID, or ``thread-self`` for the calling thread. Both are 0 if the system does not have them.
    """
    try:
        with open(f"/proc/{process}/schedstat", "rb", buffering=0) as file:  # noqa: PTH123 (three times as fast)
            used, waited, _ = file.read().split()
        return int(used) * 1e-9, int(waited) * 1e-9
    except (OSError, ValueError):
        return 0.0, 0.0


class RunnerProcess:
    """One process of a runner, below a supervisor. Marks in shared memory show its progress.

    A runner that ``forks`` runs programs in forked processes, one after another: if one ends, the next takes over.
    """

    forks = ended = False
    parent = 0
    """ID of the process from which the runner forks, 0 if unknown."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the process."""
        self.command = command
        self._stderr, self._pending = bytearray(), bytearray()
        lifeline, self._lifeline = os.pipe()
        with tempfile.TemporaryFile(prefix="refgrad-") as file:
            file.write(bytes(MARKS.size))
            file.flush()
            self._marks = mmap.mmap(file.fileno(), MARKS.size)
            marks = file.fileno()
            self._process = subprocess.Popen(  # noqa: S603 (the interpreter that the user named)
                [sys.executable, "-ISE", supervisor.__file__, str(marks), str(lifeline), *self.command, str(marks)],
                pass_fds=(marks, lifeline),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**ENVIRONMENT, **os.environ},
                start_new_session=True,
            )
        os.close(lifeline)
        self._pipes = [pipe for pipe in (self._process.stdin, self._process.stdout, self._process.stderr) if pipe]
        self._input, self._output, errors = self._pipes
        self._selector, self._writable = selectors.DefaultSelector(), selectors.DefaultSelector()
        self._writable.register(self._input, selectors.EVENT_WRITE)
        for pipe in (self._output, errors):
            self._selector.register(pipe, selectors.EVENT_READ)
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def pid(self) -> int:
        """ID of the process that runs programs; 0 while none does."""
        return int(MARKS.unpack(self._marks[:])[2])

    def ask(self, request: Mapping[str, Any], seconds: float, count: int = 1) -> dict[str, Any]:
        """Send a request and return its answer.

        Raises EndingError if there is none within ``seconds`` for each of ``count`` programs. A runner that leaves
        marks is ended as soon as one of the programs takes longer. Time in which it waits for a processor does not
        count.
        """
        if not self._read(wait=0.0) or self._pending.strip():
            raise self._end("crashed", "said something without being asked", from_outside=True)
        self._marks[STEPS] = bytes(STEPS.stop)
        self._send(json.dumps(request).encode() + b"\n", time.monotonic() + seconds * count)
        line = self._line(seconds, count)
        try:
            decoded = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._end("crashed", f"wrote to the pipe of answers what is no answer: {line[:80]!r}") from error
        answer: dict[str, Any] = decoded if isinstance(decoded, dict) else {}
        if self.forks and isinstance(answer.get("ended"), int):
            status = answer["ended"]  # another fork answers from now on
            raise self._error("crashed", ending_of(status), from_outside=-status in FROM_OUTSIDE)
        answered = answer.get("id")
        if answered != request["id"]:
            detail = f"answered another request than it was sent: {line[:80]!r}"
            earlier = isinstance(answered, int) and answered < request["id"]  # the end was not caused by this request
            raise self._end("crashed", detail, from_outside=earlier)
        return answer

    def renew(self) -> None:
        """Replace the forked process, so that one that has run nothing answers next. Only for a runner that forks."""
        with suppress(OSError):
            os.kill(self.parent, signal.SIGCONT)  # an engine may have stopped the process that started it
        with suppress(EndingError):
            self._send(b'{"renew": true}\n', time.monotonic() + SECONDS_TO_END)
            if not self._forked_again():
                self.kill()

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._input.fileno(), view) :]
            except BlockingIOError:
                self._writable.select(0.01)
                self._read(wait=0.0)
            except OSError as error:
                raise self._ended() from error
            if view and self._pending.strip():  # a fork ended before it had read all: the next must not read the rest
                raise self._end("crashed", "answered before it had the whole request", from_outside=True)
            if time.monotonic() > deadline:
                raise self._end("hung", "did not take a request")

    def _line(self, seconds: float, count: int) -> bytes:
        """Return the next nonempty line of the pipe of answers."""
        marked, deadline, last, searched = None, 0.0, time.monotonic() + seconds * count, 0
        used = waited = 0.0
        while (end := self._pending.find(b"\n", searched)) <= 0:
            if end == 0:
                del self._pending[:1]
                continue
            searched = len(self._pending)
            now, marks = time.monotonic(), self._marks[STEPS]
            mark = marks[: STEPS.stop // 2] if any(marks) else b""  # no step has begun, so there is no mark yet
            if mark != marked:
                marked, deadline = mark, min(last, now + seconds) if mark else last
                used, waited = processor_time(self.pid)
            extra = min(processor_time(self.pid)[1] - waited, MOST_WAITED * seconds) if now >= deadline else 0.0
            if now >= deadline + extra:
                how = "busy" if processor_time(self.pid)[0] - used > BUSY * seconds else "waiting"
                raise self._end_of_program("hung", f"gave no answer within {seconds:g} s, and was {how}")
            if not self._read(wait=min(1.0, seconds / 4, max(deadline + extra - now, 0.001))):
                raise self._ended()
            if len(self._pending) > LONGEST_LINE:
                raise self._end("crashed", "flooded the pipe of answers")
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return line

    def _read(self, *, wait: float) -> bool:
        """Read available answers and standard error. Return False once the pipe of answers is closed."""
        for key, _mask in self._selector.select(wait):
            try:
                data = os.read(key.fd, 1 << 20)
            except BlockingIOError:
                continue
            if key.fd == self._output.fileno():
                if not data:
                    return False
                self._pending += data
            elif data:
                self._stderr += data
                del self._stderr[:-STDERR_KEPT]
            else:
                self._selector.unregister(key.fd)
        return True

    def _ended(self) -> EndingError:
        """Return the error for a process that ended by itself."""
        try:
            status = self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return self._end("crashed", "closed its pipe of answers")
        error = MARKS.unpack(self._marks[:])[3]
        detail = cannot_be_run(self.command, os.strerror(error)) if error else ending_of(status)
        return self._end("crashed", detail, from_outside=-status in FROM_OUTSIDE)

    def _end_of_program(self, outcome: Literal["crashed", "hung"], detail: str) -> EndingError:
        """End the process that runs a program: a forked one, whose end the runner reports, or the whole runner."""
        error = self._error(outcome, detail)
        pid = self.pid
        if self.forks and pid:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            if self._forked_again():
                return error
        self.kill()
        return error

    def _forked_again(self) -> bool:
        """Wait for the runner to report the end of its fork. Return False if it does not within SECONDS_TO_END."""
        deadline = time.monotonic() + SECONDS_TO_END
        while not (b'"ended"' in self._pending and self._pending.endswith(b"\n")):
            if time.monotonic() > deadline or not self._read(wait=0.1):
                return False
        self._pending.clear()
        self._stderr.clear()
        return True

    def _end(self, outcome: Literal["crashed", "hung"], detail: str, *, from_outside: bool = False) -> EndingError:
        """End the process and all that it has started, and return the error."""
        error = self._error(outcome, detail, from_outside=from_outside)
        self.kill()
        return error

    def _error(self, outcome: Literal["crashed", "hung"], detail: str, *, from_outside: bool = False) -> EndingError:
        """Return an error with the current program and step, and the end of standard error."""
        index, step, *_ = MARKS.unpack(self._marks[:])
        with suppress(OSError, ValueError):
            self._read(wait=0.0)
        stderr = plain_text(repeatable_text(self._stderr.decode("utf-8", "replace")))
        self._stderr.clear()
        return EndingError(Ending(outcome, plain_line(detail), step, stderr), index, from_outside)

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self.ended:
            return
        self.ended = True
        os.close(self._lifeline)
        with suppress(OSError):
            os.kill(self._process.pid, signal.SIGCONT)  # an engine may have stopped its supervisor
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        self._selector.close()
        self._writable.close()

    def stop(self) -> None:
        """Ask the process to end, and end it if it does not."""
        if self.ended:
            return
        with suppress(OSError):
            os.write(self._input.fileno(), b'{"stop": true}\n')
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1.0)
        self.kill()


def ending_of(status: int) -> str:
    """Describe how a process ended: by a signal, or with an exit status."""
    if status >= 0:
        return f"the process ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    return f"the process was ended by signal {-status} ({name})"
