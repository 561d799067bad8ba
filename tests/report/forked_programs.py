"""A stand-in for the interpreters that programs are confirmed in: one process forks for each program.

It loads an engine once, which takes longer than any of the programs. What :func:`refgrad.report.confirmation.confirm`
asks of each program is answered from what was run ahead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any, Final

from refgrad.report.confirmation import WRAPPER

FORKING: Final = """
import json, os, sys, tempfile, traceback
setup, wrapper, programs = json.load(sys.stdin)
exec(setup, {"__name__": "setup"})
ended = []
for program in programs:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(program.encode())
        given.seek(0)
        child = os.fork()
        if not child:
            os.dup2(given.fileno(), 0)
            os.dup2(told.fileno(), 1)
            sys.stdin = open(0, encoding="utf-8", closefd=False)
            status = 1
            try:
                exec(compile(wrapper, "alone", "exec"), {"__name__": "__main__"})
                status = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.seek(0)
        ended.append([status, told.read().decode("utf-8", "replace")])
print(json.dumps(ended))
"""


class ForkedPrograms:
    """Stands for the module :mod:`subprocess` where programs are confirmed."""

    TimeoutExpired = TimeoutExpired

    def __init__(self, setup: str, programs: Sequence[str]) -> None:
        """Run all programs, each in a process that has run the setup of their engine."""
        command = [sys.executable, "-W", "ignore", "-c", FORKING]
        given = json.dumps([setup, WRAPPER, programs])
        done = subprocess.run(command, input=given, check=True, capture_output=True, text=True, timeout=300)
        self.ended = dict(zip(programs, json.loads(done.stdout), strict=True))

    def run(self, command: Sequence[str], *, input: str, **_options: Any) -> CompletedProcess[str]:  # noqa: A002 (subprocess's word)
        """Return how a program has ended."""
        assert command[1:] == ["-c", WRAPPER]
        status, printed = self.ended[input]
        return CompletedProcess(command, status, printed)
