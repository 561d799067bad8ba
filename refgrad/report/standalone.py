"""The program by which ``confirm`` runs another one, in any interpreter, with only the standard library.

The other program is read from standard input. Each call of its ``print`` is followed by a line of data. If an exception
ends the program, it is written as a line of data too. If that is an AssertionError, the value of the program's variable
``got`` is written before it. The program cannot import refgrad, whose entry in ``sys.modules`` is None.

A program in C++, Java or R is run by its tool, whose name is the only argument. A line ``// g++ OPTIONS`` or ``// java
OPTIONS`` in the program holds options for the tool. Each line that the program prints is followed by a line of data.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MARK = "\x1erefgrad "
FILES = {"g++": "finding.cpp", "java": "finding.java", "Rscript": "finding.R"}
ENDS = re.compile(
    r"(?:Error: )?(AssertionError): "
    r"|terminate called after throwing an instance of '?([^']*)"
    r'|Exception in thread "main" (?:\w+[.$])*(\w+)'
    r"|Error\b.*:"
)
"""Beginning of the line that names the error that ended a program. R does not name the class of an error."""


def data(value: Any) -> Any:
    """Return a value as JSON data: arrays with their dtypes, numbers as text, since JSON has no infinities."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [data(each) for each in value]
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return {"array": data(value.tolist()), "dtype": str(value.dtype)}
    return number(value)


def number(value: Any) -> dict[str, str]:
    """Return a value as data: a number, or the text of anything else."""
    try:
        return {"number": repr(float(value))}
    except (TypeError, ValueError):
        return {"text": str(value)}


def write_row(row: Any) -> None:
    """Write a row of data to standard output."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")
    sys.stdout.flush()


def failed(kind: str, message: str, *bases: str) -> int:
    """Write the error that ended a program as a row of data, and return the exit status."""
    write_row({"type": kind, "message": message, "bases": bases})
    return 1


def printing(*values: Any, **options: Any) -> None:
    """Print values, and write them as a row of data."""
    print(*values, **options)  # noqa: T201 (that is what it is for)
    write_row([data(value) for value in values])


def run(program: str) -> None:
    """Run a program of Python. An exception that ends it is written as a row of data, and raised again."""
    names = {"__name__": "__main__", "print": printing}
    try:
        exec(compile(program, "finding", "exec", dont_inherit=True), names)
    except Exception as error:
        if isinstance(error, AssertionError) and "got" in names:
            write_row([data(names["got"])])
        failed(type(error).__name__, str(error), *(each.__name__ for each in type(error).__mro__))
        raise


def built(program: str, tool: str, folder: Path) -> tuple[list[str], str]:
    """Return the command that runs a program, and the errors of the compiler if it does not compile."""
    source = folder / FILES[tool]
    source.write_text(program, encoding="utf-8")
    head = f"// {tool} "
    options = next((line[len(head) :].split() for line in program.splitlines() if line.startswith(head)), [])
    if tool != "g++":
        return [tool, *options, str(source)], ""
    command = [tool, "-std=c++17", "-O0", str(source), "-o", str(folder / "finding"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (what is asked for)
    return [str(folder / "finding")], done.stderr if done.returncode else ""


def run_by_tool(program: str, tool: str, folder: Path) -> int:
    """Compile and run a program, and return its exit status. A signal that ended it also ends this process."""
    command, refused = built(program, tool, folder)
    if refused:
        return failed("SyntaxError", refused[-1000:])
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (as above)
    for line in done.stdout.splitlines():
        sys.stdout.write(line + "\n")
        write_row([number(line)])
    if done.returncode > 0 and done.stderr.endswith("error: compilation failed\n"):
        return failed("SyntaxError", done.stderr[-1000:])
    if "there is no package called" in done.stderr:  # R
        return failed("ModuleNotFoundError", done.stderr[-1000:])
    for line in done.stderr.splitlines():
        if match := ENDS.match(line):
            return failed(next((kind for kind in match.groups() if kind), "simpleError"), line)
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory(prefix="refgrad-") as folder:
            sys.exit(run_by_tool(sys.stdin.read(), sys.argv[1], Path(folder)))
    sys.modules["refgrad"] = None  # type: ignore[assignment]
    run(sys.stdin.read())
