"""A supervisor ends like its runner, and leaves no process behind, whoever ends first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from refgrad.native.process import MARKS
from refgrad.native.runners import supervisor

ORPHAN = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, b"%d" % os.getpid())
        time.sleep(60)
    os._exit(0)
os.wait()
print(os.read(reading, 20).decode(), flush=True)
{then}
"""
"""A runner that starts a process in another session, whose parent ends."""


@contextmanager
def supervised(*command: str) -> Iterator[tuple[subprocess.Popen[str], IO[bytes], int]]:
    """Start a command below a supervisor, with its marks and the writing end of its lifeline."""
    reading, writing = os.pipe()
    with TemporaryFile() as marks:
        marks.truncate(MARKS.size)
        arguments = [sys.executable, supervisor.__file__, str(marks.fileno()), str(reading), *command]
        inherited = (marks.fileno(), reading)
        with subprocess.Popen(arguments, pass_fds=inherited, stdout=subprocess.PIPE, text=True) as process:
            os.close(reading)
            try:
                yield process, marks, writing
            finally:
                process.kill()
    os.close(writing)


def ends(pid: int) -> bool:
    """Return True if a process ends within some seconds."""
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("then", "status"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 6)", -6), ("os.kill(os.getpid(), 9)", -9)]
)
def test_a_supervisor_ends_like_its_runner_and_ends_all_that_this_started(then: str, status: int) -> None:
    with supervised(sys.executable, "-c", ORPHAN.format(then=then)) as (process, _, _lifeline):
        assert process.stdout is not None
        orphan = int(process.stdout.readline())
        assert process.wait(timeout=20) == status
        assert ends(orphan)


def test_all_end_with_the_lifeline() -> None:
    with supervised(sys.executable, "-c", ORPHAN.format(then="time.sleep(60)")) as (process, marks, lifeline):
        assert process.stdout is not None
        orphan = int(process.stdout.readline())
        marks.seek(0)
        runner = MARKS.unpack(marks.read())[2]
        assert Path(f"/proc/{runner}").exists()
        os.dup2(process.stdout.fileno(), lifeline)  # which closes it
        process.wait(timeout=20)
        assert ends(orphan)
        assert ends(runner)


def test_a_program_that_is_not_there_is_an_error_with_its_number() -> None:
    with supervised("/no/such/program") as (process, marks, _):
        assert process.wait(timeout=20) == 127
        marks.seek(0)
        assert MARKS.unpack(marks.read())[3] == ENOENT
