"""The program that ``confirm`` compiles another one of C++ by, and runs it: as alone.py does in Python.

The other program comes on the standard input; its first line ``// g++ OPTIONS`` says what the compiler is told. Each
line that it prints is followed by a line of data, and so is the error that it may end with.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = "\x1erefgrad "
FAILED = "AssertionError: "
THROWN = "terminate called after throwing an instance of"


def told(row: object) -> None:
    """Hand over a row of data."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")


def number(line: str) -> dict[str, str]:
    """Return what a line says."""
    try:
        return {"number": repr(float(line))}
    except ValueError:
        return {"text": line}


def run(program: str, folder: Path) -> int:
    """Compile and run a program, and return the status that it ends with."""
    (folder / "finding.cpp").write_text(program, encoding="utf-8")
    options = next((line.split()[2:] for line in program.splitlines() if line.startswith("// g++")), [])
    command = ["g++", "-std=c++17", "-O0", str(folder / "finding.cpp"), "-o", str(folder / "finding"), *options]
    built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (what is asked for)
    if built.returncode:
        told({"type": "SyntaxError", "message": built.stderr[-1000:], "bases": []})
        return 1
    done = subprocess.run([str(folder / "finding")], capture_output=True, text=True, check=False)  # noqa: S603 (as above)
    for line in done.stdout.splitlines():
        sys.stdout.write(line + "\n")
        told([number(line)])
    for line in done.stderr.splitlines():
        if line.startswith((FAILED, THROWN)):
            kind = "AssertionError" if line.startswith(FAILED) else line.removeprefix(THROWN).strip(" '")
            told({"type": kind, "message": line, "bases": []})
            return 1
    if done.returncode < 0:
        sys.stdout.flush()
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="refgrad-") as folder:
        sys.exit(run(sys.stdin.read(), Path(folder)))
