"""Grades of the tests of a gradient: which standard faults they see, each put around it in a run of its own."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

from refgrad.checking import injection
from refgrad.checking.injection import GradFault

Grade = Literal["seen", "let through", "does not apply"]


class UngradableError(RuntimeError):
    """Error for tests that fail without a fault or never call the gradient: a message, and what the tests printed."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A run of tests: its exit status, None at the time limit, what it printed, and the lines of the hook's log."""

    status: int | None
    seconds: float
    output: str
    log: tuple[str, ...]

    def logged(self, start: str) -> list[str]:
        """Return the rest of each line of the log that begins with a word."""
        return [line.removeprefix(start).strip() for line in self.log if line.startswith(start)]


@dataclass(frozen=True, slots=True)
class FaultGrade:
    """The grade of the tests for a fault. If it changed nothing that the tests compute, it is not ``reached``."""

    name: str
    description: str
    grade: Grade
    reached: bool = False
    status: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        """Return a row of a table."""
        unreached = self.grade == "let through" and not self.reached
        return f"{self.name:11}  {self.grade:14}  {self.description}" + " (no test reaches it)" * unreached


@dataclass(frozen=True, slots=True)
class GradedSuite:
    """The command that runs the tests of ``function``: ``module:attribute``, or ``path/to/file.py:attribute``."""

    function: str
    command: Sequence[str]

    def run(self, fault: str = "", limit: float | None = None) -> SuiteRun:
        """Run the tests, with a fault if one is named. However that ends, no process and no file of it stays.

        Raises OSError if the command cannot be started.
        """
        module, _, attribute = self.function.rpartition(":")
        module = os.path.realpath(module) if module.endswith(".py") else module
        with TemporaryDirectory(prefix="refgrad-mutate-", ignore_cleanup_errors=True) as folder:
            log, printed = Path(folder, "log"), Path(folder, "printed")
            shutil.copy(injection.__file__, Path(folder, "sitecustomize.py"))
            log.touch()
            environment = _environment(folder) | {injection.SETTINGS: json.dumps([module, attribute, fault, str(log)])}
            began = time.monotonic()
            with printed.open("wb") as output:
                status = _status(self.command, environment, output, limit)
            seconds, text = time.monotonic() - began, printed.read_text(encoding="utf-8", errors="replace")
            return SuiteRun(status, seconds, text, tuple(log.read_text(encoding="utf-8").splitlines()))

    def clean_run(self, limit: float | None) -> SuiteRun:
        """Run the tests without a fault. Raises UngradableError if they fail, or do not call the backward."""
        run = self.run(limit=limit)
        ending = f"ends with status {run.status}" if run.status is not None else f"takes longer than {limit} s"
        problems = {
            f"the tests fail without any fault: {shlex.join(self.command)} {ending}": run.status != 0,
            "the tests pass, but do not import its module": "imported" not in run.log,
            f"its module has no such {', '.join(injection.KINDS)}": not run.logged("kind"),
            "the tests pass, but never call its backward": not run.logged("called"),
        }
        for problem in (message for message, is_so in problems.items() if is_so):
            raise UngradableError(f"{self.function}: {problem}", run.output)
        return run

    def grades(self, clean: SuiteRun, faults: Iterable[GradFault], limit: float | None) -> Iterator[FaultGrade]:
        """Yield the grade for each fault. By default, a run may take five times as long as the clean one, or 10 s."""
        (kind, *_), most = clean.logged("kind"), max(map(int, clean.logged("called")))
        for fault in faults:
            if kind in fault.unless or not range(most)[fault.which]:
                yield FaultGrade(*fault[:2], "does not apply")
            else:
                run = self.run(fault.name, limit or max(10.0, 5 * clean.seconds))
                grade: Grade = "let through" if run.status == 0 else "seen"
                yield FaultGrade(*fault[:2], grade, "changed" in run.log, run.status, run.seconds)


def _environment(folder: str) -> dict[str, str]:
    """Return environment variables that install the hook, and keep what failing tests store out of the project."""
    paths, options = os.environ.get("PYTHONPATH", ""), os.environ.get("PYTEST_ADDOPTS", "")
    cache = shlex.quote(f"cache_dir={folder}/pytest")
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [folder, paths])),
        "PYTEST_ADDOPTS": f"{options} -x -p sitecustomize -o {cache}",
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{folder}/hypothesis",
    }


def _status(command: Sequence[str], environment: dict[str, str], output: IO[bytes], limit: float | None) -> int | None:
    """Return the exit status of a command, or None if it takes too long. End its processes in any case."""
    options: Any = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "start_new_session": True}
    with subprocess.Popen(command, env=environment, **options) as process:  # noqa: S603 (the user's own command)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
