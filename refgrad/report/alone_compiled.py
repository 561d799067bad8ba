"""The program that ``confirm`` compiles another one of C++ or Java by, and runs it: as alone.py does in Python.

The other program comes on the standard input; its first line ``// g++ OPTIONS``, or ``// java OPTIONS``, says what the
compiler is told. Each line that it prints is followed by a line of data, and so is the error that it may end with.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = "\x1erefgrad "
TOOLS = re.compile(r"^// (g\+\+|java)\b(.*)$", re.MULTILINE)
ENDS = re.compile(
    r"(?P<type>AssertionError): "  # what a program of C++ says that asserts
    r"|terminate called after throwing an instance of '?(?P<thrown>[^']*)"
    r'|Exception in thread "main" (?:\w+[.$])*(?P<raised>\w+)'
)


def told(row: object) -> None:
    """Hand over a row of data."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")


def number(line: str) -> dict[str, str]:
    """Return what a line says."""
    try:
        return {"number": repr(float(line))}
    except ValueError:
        return {"text": line}


def built(program: str, folder: Path) -> tuple[list[str], str]:
    """Return the command that runs a program, and what the compiler has against it; Java compiles when it is run."""
    tool, options = next((match.groups() for match in TOOLS.finditer(program)), ("g++", ""))
    source = folder / ("finding.java" if tool == "java" else "finding.cpp")
    source.write_text(program, encoding="utf-8")
    if tool == "java":
        return ["java", *options.split(), str(source)], ""
    command = ["g++", "-std=c++17", "-O0", str(source), "-o", str(folder / "finding"), *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (what is asked for)
    return [str(folder / "finding")], done.stderr if done.returncode else ""


def run(program: str, folder: Path) -> int:
    """Compile and run a program, and return the status that it ends with."""
    command, refused = built(program, folder)
    if refused:
        return failed("SyntaxError", refused[-1000:])
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (as above)
    for line in done.stdout.splitlines():
        sys.stdout.write(line + "\n")
        told([number(line)])
    if done.returncode > 0 and done.stderr.endswith("error: compilation failed\n"):
        return failed("SyntaxError", done.stderr[-1000:])
    for line in done.stderr.splitlines():
        if match := ENDS.match(line):
            return failed(next(kind for kind in match.groups() if kind), line)
    if done.returncode < 0:
        sys.stdout.flush()
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


def failed(kind: str, message: str) -> int:
    """Hand over what a program ends with, and return its status."""
    told({"type": kind, "message": message, "bases": []})
    return 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="refgrad-") as folder:
        sys.exit(run(sys.stdin.read(), Path(folder)))
