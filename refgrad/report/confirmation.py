"""Programs of a report, run alone, beside the evidence that the report has of them.

Each program runs in an interpreter of its own, in which ``refgrad`` cannot be imported. What it prints is handed over
as data by the ``print`` that it is given, and so is the error that it ends with; both are held against the evidence.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Died,
    Dtype,
    Entry,
    Error,
    Fact,
    Measured,
    Parents,
    Silence,
    Uncoupled,
    Unsent,
    Written,
)
from refgrad.grading.measurements.growth import STEEPEST, slope
from refgrad.grading.measurements.release import SHARE
from refgrad.native.observation import Raised
from refgrad.report.findings import Script

Answer = Literal["confirmed", "nothing to compare", "refuted"]

SECONDS: Final = 120
"""More than any program of a dozen steps takes, the import of its engine included."""

WRAPPER: Final = (Path(__file__).parent / "alone.py").read_text(encoding="utf-8")
"""The program that runs the one that is piped in."""

MARK: Final = "\x1erefgrad "
"""What stands before a line of data."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What became of a script when it ran alone; ``shown`` is the end of what it said."""

    script: Script
    answer: Answer
    shown: str


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed, call by call, as data, and the error that it ended with, if any."""

    calls: tuple[list[Any], ...]
    error: Raised | None = None

    @property
    def values(self) -> Iterator[Any]:
        """What was printed, whatever it was part of."""
        yield from _leaves(self.calls)

    @property
    def numbers(self) -> list[float]:
        """All numbers that were printed."""
        return [float(each["number"]) for each in self.values if isinstance(each, dict) and "number" in each]

    @property
    def dtypes(self) -> set[str]:
        """All dtypes that were printed, or that arrays had that were, without the names of their libraries."""
        named = {str(each["dtype"]) for each in _arrays(self.calls)} | {v for v in self.values if isinstance(v, str)}
        return {name.rpartition(".")[2].rstrip("'>") for name in named}


def confirm(script: Script, python: str = sys.executable) -> Confirmation:
    """Run a script by itself, with the interpreter that has its engine."""
    try:
        run = subprocess.run(  # noqa: S603 (a program that the report gives, which is what is asked for)
            [python, "-c", WRAPPER],
            input=script.text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Confirmation(script, "refuted", f"no answer after {SECONDS} s")
    plain, output = _read(run.stdout)
    if run.returncode < 0:
        died = script.verdict.evidence is not None and isinstance(script.verdict.evidence.fact, Died)
        shown = f"{plain}the process died of signal {-run.returncode}"
        return Confirmation(script, "confirmed" if died else "refuted", shown)
    if run.returncode and output.error is None:
        return Confirmation(script, "refuted", f"{plain}the process ended with the status {run.returncode}")
    ending = "" if output.error is None else output.error.text
    return Confirmation(script, _answer(script, output), "\n".join(filter(None, [plain.strip(), ending])))


def _read(printed: str) -> tuple[str, Output]:
    """Tell what a program printed from the data that it handed over."""
    head, *chunks = printed.split(MARK)
    rows = [json.loads(chunk.partition("\n")[0]) for chunk in chunks]
    errors = [Raised(row["type"], row["message"], tuple(row["bases"])) for row in rows if isinstance(row, dict)]
    plain = head + "".join(chunk.partition("\n")[2] for chunk in chunks)
    return plain, Output(tuple(row for row in rows if isinstance(row, list)), errors[-1] if errors else None)


def _answer(script: Script, output: Output) -> Answer:
    """Compare what a program showed with the evidence."""
    evidence = script.verdict.evidence
    due = _error(None if evidence is None else evidence.fact)
    if output.error is not None:
        return "confirmed" if due is not None and due.type == output.error.type else "refuted"
    if due is not None:
        return "refuted"
    shown = None if evidence is None else holds(evidence.fact, output)
    if shown is None:
        return "confirmed" if script.ends_silently else "nothing to compare"
    return "confirmed" if shown else "refuted"


def _error(fact: Fact | None) -> Raised | None:
    """Return the error that a program must end with."""
    return fact.error if isinstance(fact, Error | Absent) else None


@singledispatch
def holds(fact: Fact, output: Output) -> bool | None:  # noqa: ARG001 (there is one function for each kind of fact)
    """Whether what was printed shows a fact; None where nothing printed could."""
    return None


@holds.register
def _(fact: Entry, output: Output) -> bool:
    return _is_among(fact.observed, output)


@holds.register
def _(fact: Uncoupled, output: Output) -> bool:
    return all(_is_among(entry, output) for each in fact.gradients for entry in each.entries)


@holds.register
def _(fact: Unsent, output: Output) -> bool:
    return all(_is_among(entry, output) for each in fact.gradients for entry in each.entries)


@holds.register
def _(fact: Calls, output: Output) -> bool:
    return any(len(call) == 1 and isinstance(call[0], list) and len(call[0]) == fact.seen for call in output.calls)


@holds.register
def _(fact: Dtype, output: Output) -> bool:
    return fact.seen in output.dtypes


@holds.register
def _(fact: Absent, output: Output) -> bool:  # noqa: ARG001 (an array that is missing is None, whichever it is)
    return any(each is None for each in output.values)


@holds.register
def _(fact: Silence, output: Output) -> bool:  # noqa: ARG001 (the program has come to its end)
    return True


@holds.register
def _(fact: Parents, output: Output) -> bool:
    """Whether a line ``NAME [...]`` names these parents, in any order: libraries that keep a set have none."""
    led = [call[1] for call in output.calls if len(call) == 2 and call[0] == fact.node]  # noqa: PLR2004 (name, parents)
    seen = sorted(name for name in fact.seen if name)
    return any(sorted(name for name in names if isinstance(name, str)) == seen for names in led)


@holds.register
def _(fact: Measured, output: Output) -> bool:
    if fact.quantity == "tensor":
        return any(each is not None for each in output.values)
    numbers = output.numbers
    if fact.quantity == "memory":  # of the bytes that a graph held, printed first, too many are left
        return len(numbers) == 2 and numbers[1] * SHARE > numbers[0]  # noqa: PLR2004
    times = {int(size): seconds for size, seconds in zip(numbers[::2], numbers[1::2], strict=False)}
    return len(times) > 1 and slope(times) > STEEPEST


@holds.register
def _(fact: Written, output: Output) -> bool | None:  # noqa: ARG001 (any seed that changes shows it)
    """Whether a seed that was printed behind one backward is another one behind the next; of one print, nothing."""
    seeds = [call[0] for call in output.calls if len(call) == 1 and isinstance(call[0], list)]
    if len(seeds) <= 1:
        return None
    pairs = [pair for one, other in pairwise(seeds) for pair in zip(one, other, strict=False)]
    return any(list(_leaves(one)) != list(_leaves(other)) for one, other in pairs)


def _is_among(number: str, output: Output) -> bool:
    """Whether a number was printed, to the last bit."""
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
