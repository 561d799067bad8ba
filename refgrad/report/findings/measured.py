"""Assertions at the end of programs that measure: time, memory, and the numbers of exercises.

These programs are code of measurements, and not yet statements: their lines are read here, and nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from refgrad.grading.judging.evidence import Measured
from refgrad.grading.measurements.exercises import EXERCISES
from refgrad.grading.measurements.growth import STEEPEST
from refgrad.grading.measurements.release import RESIDENT, SHARE, TRACED
from refgrad.report.findings.assertion import quoted


def measured(fact: Measured, code: Sequence[str]) -> str:
    """Return a program that asserts how its time or memory grows, or what is released. Raises LookupError."""
    if fact.quantity == "time":
        return _linear(code)
    number = max((number for number, line in enumerate(code) if line.startswith("print(")), default=0)
    shown = ast.unparse(_printed(code[number])[0])
    if fact.quantity == "tensor":
        end = [f"got = {shown}", 'assert got is None, "the tensor is still held"']
    elif fact.quantity == "growth":
        end = _steady(shown, traced="tracemalloc.start()" in code)
    else:
        said = "of the {graph} bytes of the graph, {got} are still held"
        end = [f"graph, got = {shown}", f"assert got * {SHARE} <= graph, f{quoted(said)}"]
    return "\n".join([*code[:number], *end]) + "\n"


def _printed(line: str) -> list[ast.expr]:
    """Return what a line prints. Raises LookupError where it is no call of ``print``."""
    match ast.parse(line.strip()).body if line.strip().startswith("print(") else []:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[*shown]))]:
            return shown
    raise LookupError(f"{line!r} prints nothing")


def _steady(shown: str, *, traced: bool) -> list[str]:
    """Return lines that assert that memory stays the same in some of the rounds of a repetition."""
    iterations = int(shown.removeprefix("attempt(").removesuffix(")"))
    noise = (TRACED if traced else RESIDENT).noise
    said = "each of {n} iterations leaves {got / n:.0f} bytes behind"
    return [
        f"n = {iterations}",
        "readings = attempt(n)",
        "got = min(after - before for before, after in zip(readings, readings[1:]))",
        f"assert got <= {noise} * n, f{quoted(said)}",
    ]


def _linear(code: Sequence[str]) -> str:
    """Return a program whose loop over sizes collects times, and whose end asserts that they grow linearly."""
    number = [line.strip().startswith("print(n, ") for line in code].index(True)
    said = "the time grows by a factor of {got:.0f} where the size grows by one of {last / first:.0f}"
    lines = [
        f"    seconds[n] = {ast.unparse(_printed(code[number])[1])}",
        "",
        "_, first, *_, last = seconds  # the first size also pays for what happens once",
        "got = seconds[last] / seconds[first]",
        f"assert got < (last / first) ** {STEEPEST}, f{quoted(said)}",
    ]
    head = list(code[:number])
    loop = max(number for number, text in enumerate(head) if text.startswith("for "))
    return "\n".join([*head[:loop], "seconds = {}", *head[loop:], *lines]) + "\n"


def noted(lines: Sequence[str]) -> str | None:
    """Return a program of an exercise that asserts the numbers that are due."""
    loop = "for label, counts in attempt():"
    text = "\n".join(lines)
    labels = [each.expected for each in EXERCISES.values() if all(repr(label) in text for label in each.expected)]
    if loop not in lines or not labels:
        return None
    due = {label: number or 0.0 for label, number in max(labels, key=len).items()}
    end = [
        f"due = {due}",
        loop,
        "    for got, _ in counts:",
        '        assert (got or 0.0) == due[label], f"{label} is {got}, but it should be {due[label]}"',
    ]
    return "\n".join([*lines[: lines.index(loop)], *end]) + "\n"
