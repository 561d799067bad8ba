"""The program by which ``confirm`` runs a program in C++, Java or R, as alone.py does for Python.

The other program is read from standard input, and the name of its tool is the only argument. A line
``// g++ OPTIONS`` or ``// java OPTIONS`` in the program holds options for the tool. Each line that the program prints
is followed by a line of data, and so is the error that may end it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = "\x1erefgrad "
FILES = {"g++": "finding.cpp", "java": "finding.java", "Rscript": "finding.R"}
ENDS = re.compile(
    r"(?:Error: )?(AssertionError): "
    r"|terminate called after throwing an instance of '?([^']*)"
    r'|Exception in thread "main" (?:\w+[.$])*(\w+)'
    r"|Error\b.*:"
)
"""Beginning of the line that names the error that ended a program. R does not name the class of an error."""


def told(row: object) -> None:
    """Write a row of data to standard output."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")


def number(line: str) -> dict[str, str]:
    """Return a printed line as data: a number or a text."""
    try:
        return {"number": repr(float(line))}
    except ValueError:
        return {"text": line}


def built(program: str, tool: str, folder: Path) -> tuple[list[str], str]:
    """Return the command that runs a program, and the errors of the compiler if it does not compile."""
    source = folder / FILES[tool]
    source.write_text(program, encoding="utf-8")
    head = f"// {tool} "
    options = next((line.removeprefix(head).split() for line in program.splitlines() if line.startswith(head)), [])
    if tool != "g++":
        return [tool, *options, str(source)], ""
    command = [tool, "-std=c++17", "-O0", str(source), "-o", str(folder / "finding"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (what is asked for)
    return [str(folder / "finding")], done.stderr if done.returncode else ""


def run(program: str, tool: str, folder: Path) -> int:
    """Compile and run a program, and return its exit status. A signal that ended it also ends this process."""
    command, refused = built(program, tool, folder)
    if refused:
        return failed("SyntaxError", refused[-1000:])
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (as above)
    for line in done.stdout.splitlines():
        sys.stdout.write(line + "\n")
        told([number(line)])
    if done.returncode > 0 and done.stderr.endswith("error: compilation failed\n"):
        return failed("SyntaxError", done.stderr[-1000:])
    if "there is no package called" in done.stderr:  # R
        return failed("ModuleNotFoundError", done.stderr[-1000:])
    for line in done.stderr.splitlines():
        if match := ENDS.match(line):
            return failed(next((kind for kind in match.groups() if kind), "simpleError"), line)
    if done.returncode < 0:
        sys.stdout.flush()
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


def failed(kind: str, message: str) -> int:
    """Write the error that ended a program as a row of data, and return the exit status."""
    told({"type": kind, "message": message, "bases": []})
    return 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="refgrad-") as folder:
        sys.exit(run(sys.stdin.read(), sys.argv[1], Path(folder)))
