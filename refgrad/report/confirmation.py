"""Confirmation of findings: each program of a report is run by itself and compared with the report's evidence.

Each program runs in a separate interpreter, in which ``refgrad`` cannot be imported. It asserts the right result, and
is expected to fail. The value that it ``got`` instead, the values that it prints, and the error that ends it are
collected as data and compared with the evidence.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any, Final, Literal

from refgrad.errors import UserError
from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Died,
    Dtype,
    Entry,
    Error,
    Fact,
    Measured,
    Shape,
    Uncoupled,
    Unsent,
)
from refgrad.native.observation import Raised
from refgrad.native.process import cannot_be_run
from refgrad.native.unwritten import FILLED
from refgrad.report.findings import Script

Answer = Literal["confirmed", "not confirmed", "could not be run"]

SECONDS: Final = 120
"""Time limit in seconds: more than any program of a dozen steps takes, including the import of its engine."""

WRAPPER: Final = (Path(__file__).parent / "alone.py").read_text(encoding="utf-8")
"""Source of the program that runs the program on its standard input."""

MARK: Final = "\x1erefgrad "
"""Prefix of a line of data."""

NOT_RUN: Final = frozenset({"ModuleNotFoundError", "ImportError", "SyntaxError"})
"""Errors that end a program before it uses the engine."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result of running a script by itself. ``shown`` is what it printed, and how it ended."""

    script: Script
    answer: Answer
    shown: str


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a program as data: the values of each call of ``print``, and the error that ended it, if any."""

    calls: tuple[list[Any], ...]
    error: Raised | None = None

    @property
    def values(self) -> Iterator[Any]:
        """All values that were printed, including those in lists and arrays."""
        yield from _leaves(self.calls)

    @property
    def numbers(self) -> list[float]:
        """All numbers that were printed."""
        return [float(each["number"]) for each in self.values if isinstance(each, dict) and "number" in each]

    @property
    def dtypes(self) -> set[str]:
        """All dtypes that were printed, and those of printed arrays, without the names of their libraries."""
        named = {str(each["dtype"]) for each in _arrays(self.calls)} | {v for v in self.values if isinstance(v, str)}
        named |= {str(each["text"]) for each in self.values if isinstance(each, dict) and "text" in each}
        return {name.rpartition(".")[2].rstrip("'>") for name in named}


def confirm(script: Script, python: str = sys.executable) -> Confirmation:
    """Run a script by itself, with the interpreter that has its engine. Raises UserError where it cannot be run."""
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
        return Confirmation(script, _confirmed(_is_about_time(script)), f"no answer after {SECONDS} s")
    plain, output = _read(run.stdout)
    if run.returncode < 0:
        shown = f"{plain}the process died of signal {-run.returncode}"
        return Confirmation(script, _confirmed(script.verdict.verdict == "crashed"), shown)
    if run.returncode and output.error is None:
        fact = script.verdict.fact
        ended = isinstance(fact, Died) and fact.detail.endswith(f"exit status {run.returncode}")
        shown = f"{plain}the process ended with the status {run.returncode}"
        return Confirmation(script, _confirmed(ended), shown)
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
    fact = script.verdict.fact
    due = _error(fact)
    if output.error is not None and output.error.type in NOT_RUN and (due is None or due.type != output.error.type):
        return "could not be run"
    if due is not None:
        return _confirmed(output.error is not None and due.type == output.error.type)
    failed = output.error is not None and output.error.type == "AssertionError"
    if output.error is not None and not (failed and script.asserting):
        return "not confirmed"
    shown = None if fact is None else holds(fact, output)
    if script.asserting:  # if no single value shows the fact, it is enough that the assertion fails
        return _confirmed(failed and shown is not False)
    return _confirmed(shown is True)


def _is_about_time(script: Script) -> bool:
    """Return True if a finding is that the engine does not answer, or that its time grows too fast."""
    fact = script.verdict.fact
    return script.verdict.verdict == "hung" or (isinstance(fact, Measured) and fact.quantity == "time")


def _confirmed(holds: bool) -> Answer:  # noqa: FBT001 (a word for a truth value)
    return "confirmed" if holds else "not confirmed"


def _error(fact: Fact | None) -> Raised | None:
    """Return the error that a program must end with."""
    return fact.error if isinstance(fact, Error | Absent) else None


@singledispatch
def holds(fact: Fact, output: Output) -> bool | None:  # noqa: ARG001 (there is one function for each kind of fact)
    """Return True if the output shows a fact, or None if no single value can show it."""
    return None


@holds.register
def _(fact: Entry, output: Output) -> bool:
    return _is_among(fact.observed, output)


@holds.register
def _(fact: Uncoupled, output: Output) -> bool:
    return _is_among(fact.rate, output)


@holds.register
def _(fact: Unsent, output: Output) -> bool:
    return all(_is_among(entry, output) for each in fact.gradients for entry in each.entries)


@holds.register
def _(fact: Calls, output: Output) -> bool:
    return fact.seen in output.numbers


@holds.register
def _(fact: Dtype, output: Output) -> bool:
    return fact.seen in output.dtypes


@holds.register
def _(fact: Absent, output: Output) -> bool:  # noqa: ARG001 (an array that is missing is None, whichever it is)
    return any(each is None for each in output.values)


@holds.register
def _(fact: Shape, output: Output) -> bool:
    return output.numbers == list(fact.seen)


def _is_among(number: str, output: Output) -> bool:
    """Return True if a number was printed, exact to the last bit."""
    wanted = float(number)
    return any(repr(each) == repr(wanted) or (math.isnan(each) and math.isnan(wanted)) for each in output.numbers)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, dict) and "array" in value:
        yield from _leaves(value["array"])
    else:
        yield value


def _arrays(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _arrays(each)
    elif isinstance(value, dict) and "array" in value:
        yield value
