"""Confirmation of findings: each program of a report is run by itself and compared with the report's evidence.

Each program runs in a separate interpreter, in which ``refgrad`` cannot be imported. It asserts the right result, and
is expected to fail. The value that it ``got`` instead, the values that it prints, and the error that ends it are
collected as data and compared with the evidence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from refgrad.errors import UserError
from refgrad.facts import Died, Measured
from refgrad.facts.assertion import Output
from refgrad.native.observation import Raised
from refgrad.native.process import FILLED, cannot_be_run
from refgrad.report.findings import Script
from refgrad.report.standalone import MARK

Answer = Literal["confirmed", "not confirmed", "could not be run"]

SECONDS: Final = 120
"""Time limit in seconds: more than any program of a dozen steps takes, including the import of its engine."""

WRAPPER: Final = (Path(__file__).parent / "standalone.py").read_text(encoding="utf-8")
"""Source of the program that runs the program on its standard input."""

NOT_RUN: Final = frozenset({"ModuleNotFoundError", "ImportError", "SyntaxError"})
"""Errors that end a program before it uses the engine."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result of running a script by itself. ``transcript`` is what it printed, and how it ended."""

    script: Script
    answer: Answer
    transcript: str


def confirm(script: Script, python: str = sys.executable) -> Confirmation:
    """Run a script by itself, with the interpreter that has its engine. Raises UserError where it cannot be run."""
    outcome, fact = script.verdict.verdict, script.verdict.fact
    try:
        run = subprocess.run(  # noqa: S603 (a program that the report gives, which is what is asked for)
            _command(script, python),
            input=script.text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            env={**FILLED, **os.environ},
            check=False,
        )
    except OSError as error:
        raise UserError(cannot_be_run(_command(script, python), str(error.strerror))) from error
    except subprocess.TimeoutExpired:
        slow = outcome == "hung" or (isinstance(fact, Measured) and fact.quantity == "time")
        return Confirmation(script, _confirmed(slow), f"no answer after {SECONDS} s")
    plain, output = _read(run.stdout)
    if run.returncode < 0:
        died = f"{plain}the process died of signal {-run.returncode}"
        return Confirmation(script, _confirmed(outcome == "crashed"), died)
    if run.returncode and output.error is None:
        ended = isinstance(fact, Died) and fact.detail.endswith(f"exit status {run.returncode}")
        return Confirmation(script, _confirmed(ended), f"{plain}the process ended with the status {run.returncode}")
    ending = "" if output.error is None else output.error.text
    return Confirmation(script, _answer(script, output), "\n".join(filter(None, [plain.strip(), ending])))


def _command(script: Script, python: str) -> list[str]:
    """Return the command that runs a program from standard input. Raises UserError if programs cannot be run."""
    if not script.syntax.standalone:
        raise UserError(f"{script.engine}: its programs only list templates, since its runner.printer is none")
    fields = {"python": python, "own": sys.executable, "text": WRAPPER, "folder": str(Path(__file__).parent)}
    return [part.format(**fields) for part in script.syntax.standalone]


def _read(printed: str) -> tuple[str, Output]:
    """Separate the text that a program printed from the data that was written."""
    head, *chunks = printed.split(MARK)
    rows = [json.loads(chunk.partition("\n")[0]) for chunk in chunks]
    errors = [Raised(row["type"], row["message"], tuple(row["bases"])) for row in rows if isinstance(row, dict)]
    plain = head + "".join(chunk.partition("\n")[2] for chunk in chunks)
    return plain, Output(tuple(row for row in rows if isinstance(row, list)), errors[-1] if errors else None)


def _answer(script: Script, output: Output) -> Answer:
    """Compare the output of a program with the evidence."""
    fact, error = script.verdict.fact, output.error
    raised = None if fact is None else fact.raised
    if error is not None and error.type in NOT_RUN and (raised is None or raised.type != error.type):
        return "could not be run"
    if raised is not None:
        return _confirmed(error is not None and raised.type == error.type)
    failed = error is not None and error.type == "AssertionError"
    if error is not None and not (failed and script.printed.fails):
        return "not confirmed"
    is_printed = None if fact is None else fact.is_printed(output)
    if script.printed.fails:  # a failed assertion suffices if no single value shows the fact
        return _confirmed(failed and is_printed is not False)
    return _confirmed(is_printed is True)


def _confirmed(holds: bool) -> Answer:  # noqa: FBT001 (a private function of one argument)
    return "confirmed" if holds else "not confirmed"
