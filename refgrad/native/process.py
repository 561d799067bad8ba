"""A runner's process: started, asked, limited in time and memory, and ended with all that it has started."""

from __future__ import annotations

import json
import mmap
import os
import selectors
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from refgrad.native.text import repeatable_text
from refgrad.native.unwritten import FILLED

STDERR_KEPT: Final = 4_000
"""Bytes of standard error that are kept: its end says why a process died."""

LONGEST_LINE: Final = 1 << 28
"""Bytes of an answer beyond which a runner is taken to be flooding its pipe."""

MOST_WAITED: Final = 3
"""So many times the seconds that a program may take are added to them, at most, if other processes kept it waiting."""

FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals by which somebody else may end a process: a user, or a system without memory."""

ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType({"OMP_WAIT_POLICY": "passive", **FILLED})
"""What is set for a runner, unless the user's environment says otherwise.

Threads wait for work asleep: those of OpenMP keep a core busy by default, which another process of the run needs. What
they compute does not depend on it. Memory that nothing was written to is filled, which shows where an engine reads it.
"""

MARKS: Final = struct.Struct("<II")
"""The program of a batch and its step that a runner leaves word of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds for a start and for one program, and bytes of memory beyond what the started engine holds."""

    start: float = 300.0
    program: float = 60.0
    memory: int = 8 << 30


class EndedError(Exception):
    """A runner ended, or was ended, before it answered."""

    def __init__(
        self, outcome: Literal["crashed", "hung"], detail: str, place: int = 0, step: int = 0, stderr: str = ""
    ) -> None:
        super().__init__(detail)
        self.outcome: Literal["crashed", "hung"] = outcome
        self.detail = detail
        self.place = place
        self.step = step
        self.stderr = stderr
        self.from_outside = False
        """Whether something else than this request may have been the reason."""


def cannot_be_run(command: Sequence[str], error: OSError) -> str:
    """Say that there is no such program."""
    return f"{command[0]!r} cannot be run: {error.strerror}"


@dataclass(slots=True)
class RunnerProcess:
    """One process of a runner, in a process group of its own; ``marks`` tells how far it has come."""

    command: Sequence[str]
    _process: subprocess.Popen[bytes] = field(init=False)
    _marks: mmap.mmap = field(init=False)
    _selector: selectors.BaseSelector = field(init=False)
    _writable: selectors.BaseSelector = field(init=False)
    _stderr: bytearray = field(default_factory=bytearray, init=False)
    _pending: bytearray = field(default_factory=bytearray, init=False)

    def __post_init__(self) -> None:
        """Start the process. Raises EndedError where there is no such program."""
        with tempfile.TemporaryFile(prefix="refgrad-") as file:
            file.write(bytes(MARKS.size))
            file.flush()
            self._marks = mmap.mmap(file.fileno(), MARKS.size)
            self._process = self._started(file.fileno())
        self._selector = selectors.DefaultSelector()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe.fileno(), selectors.EVENT_READ)
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._writable = selectors.DefaultSelector()
        self._writable.register(self._process.stdin.fileno(), selectors.EVENT_WRITE)

    def _started(self, marks: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 (the interpreter that the user named)
                [*self.command, str(marks)],
                pass_fds=(marks,),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**ENVIRONMENT, **os.environ},
                start_new_session=True,
            )
        except OSError as error:
            raise EndedError("crashed", cannot_be_run(self.command, error)) from error

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], seconds: float, count: int = 1) -> dict[str, Any]:
        """Send a request and return its answer.

        Raises EndedError where there is none within so many seconds for each of ``count`` programs: a runner that
        leaves marks is ended as soon as one of them takes longer. What it waits for a processor does not count.
        """
        if not self._read(wait=0.0) or self._pending:
            raise self._stale("said something without being asked")
        self._send(json.dumps(request).encode() + b"\n", time.monotonic() + seconds * count)
        line = self._line(seconds, count)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._end("crashed", f"wrote to the pipe of answers what is no answer: {line[:80]!r}") from error
        told = answer.get("id") if isinstance(answer, dict) else None
        if told != request["id"]:
            detail = f"answered another request than it was sent: {line[:80]!r}"
            earlier = isinstance(told, int) and told < request["id"]
            raise self._stale(detail) if earlier else self._end("crashed", detail)
        found: dict[str, Any] = answer
        return found

    def _stale(self, detail: str) -> EndedError:
        """End a process that still has to do with an earlier request: that says nothing of this one."""
        ended = self._end("crashed", detail)
        ended.from_outside = True
        return ended

    def _send(self, data: bytes, deadline: float) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(pipe.fileno(), view) :]
            except BlockingIOError:
                self._writable.select(0.01)
                self._read(wait=0.0)
            except OSError as error:
                raise self._ended() from error
            if time.monotonic() > deadline:
                raise self._end("hung", "did not take a request")

    def _line(self, seconds: float, count: int) -> bytes:
        marked, deadline, last, waited = None, 0.0, time.monotonic() + seconds * count, self.waited()
        while (end := self._pending.find(b"\n")) < 0:
            now, marks = time.monotonic(), self._marks[:]
            mark = marks[: MARKS.size // 2] if any(marks) else b""  # nothing before the first step of the first program
            if mark != marked:
                marked, deadline, waited = mark, min(last, now + seconds) if mark else last, self.waited()
            late = min(self.waited() - waited, MOST_WAITED * seconds) if now >= deadline else 0.0
            if now >= deadline + late:
                raise self._end("hung", f"gave no answer within {seconds:g} s")
            if not self._read(wait=min(1.0, seconds / 4, max(deadline + late - now, 0.001))):
                raise self._ended()
            if len(self._pending) > LONGEST_LINE:
                raise self._end("crashed", "flooded the pipe of answers")
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        return line

    def waited(self) -> float:
        """Return the seconds in which the process could have run, and others did; 0 where the system does not tell."""
        try:
            return int(Path(f"/proc/{self.pid}/schedstat").read_text(encoding="ascii").split()[1]) * 1e-9
        except (OSError, ValueError, IndexError):
            return 0.0

    def _read(self, *, wait: float) -> bool:
        """Read what there is of answers and standard error; False once the pipe of answers is closed."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for key, _mask in self._selector.select(wait):
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if key.fd == self._process.stdout.fileno():
                if not data:
                    return False
                self._pending += data
            elif data:
                self._stderr += data
                del self._stderr[:-STDERR_KEPT]
            else:
                self._selector.unregister(key.fd)
        return True

    def _ended(self) -> EndedError:
        """Return how the process ended by itself."""
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return self._end("crashed", "closed its pipe of answers")
        ended = self._end("crashed", ending_of(self._process.returncode))
        ended.from_outside = -self._process.returncode in FROM_OUTSIDE
        return ended

    def _end(self, outcome: Literal["crashed", "hung"], detail: str) -> EndedError:
        """End the process and its group, and return what is known of it."""
        place, step = MARKS.unpack(self._marks[:])
        with suppress(OSError, ValueError):
            self._read(wait=0.0)
        self.kill()
        return EndedError(outcome, detail, place, step, repeatable_text(self._stderr.decode("utf-8", "replace")))

    def kill(self) -> None:
        """End the process and all that it has started."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        self._selector.close()
        self._writable.close()

    def stop(self) -> None:
        """Ask the process to end, and end it if it does not."""
        with suppress(OSError):
            assert self._process.stdin is not None
            os.write(self._process.stdin.fileno(), b'{"stop": true}\n')
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1.0)
        self.kill()


def ending_of(status: int) -> str:
    """Say how a process ended: by a signal, or by an exit status of its own."""
    if status >= 0:
        return f"the process ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    return f"the process was ended by signal {-status} ({name})"
