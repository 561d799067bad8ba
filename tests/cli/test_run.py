"""Does ``refgrad run`` show, step by step, what an engine does with a scenario beside what must happen?"""

from __future__ import annotations

import subprocess
import sys

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Terminal

SCENARIO = """
x = leaf float64[] {0x1.8p+0} requires_grad
y = leaf float64[] {0x1p+1} requires_grad
a = multiply x y
backward a
read value a
read grad x
read grad y
"""


@pytest.mark.parametrize(("engine", "status"), [("RIGHT", 0), ("WRONG", 1)])
def test_each_step_is_shown(terminal: Terminal, snapshot: SnapshotAssertion, engine: str, status: int) -> None:
    (terminal.folder / "scenario.txt").write_text(SCENARIO)
    result = terminal.invoke("run", "scenario.txt", "--engine", f"toy:{engine}")
    assert result.exit_code == status
    assert result.stdout == snapshot


def test_the_program_that_is_printed_runs_by_itself(terminal: Terminal) -> None:
    result = terminal.invoke("run", "-", "--engine", "toy:WRONG", "--program", standard_input=SCENARIO)
    program = result.stdout.partition("The same with wrong alone:\n\n")[2]
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, cwd=terminal.folder, check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["3.0", "2.0", "3.0"]


def test_what_follows_an_unexpected_error_is_not_judged(terminal: Terminal) -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\na = square x\nread value a\n"
    result = terminal.invoke("run", "-", "--engine", "toy:WRONG", standard_input=text)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "     verdict: unexpected-error: raised SystemExit: bye"


@pytest.mark.parametrize(
    ("text", "engine", "status", "message"),
    [
        ("x = laf", "toy:RIGHT", 2, "line 1: unknown operator 'laf'"),
        ("read grad x", "toy:RIGHT", 2, "line 1: "),
        (
            "x = leaf float64[] {0x1p+0}\na = exp x\n",
            "toy:RIGHT",
            2,
            "engine 'right' lacks what the scenario needs: operator exp",
        ),
        ("x = leaf float64[1] {0x1p+0}\n", "toy:RIGHT", 2, "engine 'right' lacks what the scenario needs: arrays"),
        ("x = leaf float64[] {0x1p+0}\n", "nope", 2, "there is no engine 'nope'"),
        ("x = leaf float64[] {0x1p+0}\n", "toy:ABSENT", 3, "engine 'absent' cannot be started: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_run_is_one_line(terminal: Terminal, text: str, engine: str, status: int, message: str) -> None:
    result = terminal.invoke("run", "-", "--engine", engine, standard_input=text)
    assert result.exit_code == status
    assert result.stderr.startswith(f"Error: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_a_file_that_is_not_there_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("run", "nothing.txt", "--engine", "toy:RIGHT")
    assert result.exit_code == 2
    assert "nothing.txt" in result.stderr
