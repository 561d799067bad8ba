"""``refgrad run`` shows, step by step, what an engine does with a scenario beside what must happen."""

from __future__ import annotations

import cProfile
import pstats
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


KINK = """
x = leaf float64[] {0x0p+0} requires_grad
a = relu x
backward a
read grad x
"""
COUPLED = """
x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p+0} requires_grad
a = maximum x y
backward a
read grad x
read grad y
"""
LOPSIDED = """
from dataclasses import replace
import toy
def larger(x, y): return toy.Value(max(x.data, y.data), [(x, 0.25), (y, 0.25)])
ADAPTER = replace(toy.RIGHT, setup="import toy, larger", operators={"maximum": "larger.larger({x}, {y})"})
"""


def test_the_choice_of_an_engine_at_a_kink_is_a_convention(terminal: Terminal) -> None:
    result = terminal.invoke("run", "-", "--engine", "toy:RIGHT", standard_input=KINK)
    assert result.exit_code == 0
    last = result.stdout.splitlines()[-1]
    assert last.startswith("     verdict: convention: a legal subgradient was chosen: the gradient of x is 0.0, of the")


def test_choices_that_are_legal_one_by_one_and_not_together_are_told(terminal: Terminal) -> None:
    (terminal.folder / "larger.py").write_text(LOPSIDED)
    result = terminal.invoke("run", "-", "--engine", "larger:ADAPTER", standard_input=COUPLED)
    assert result.exit_code == 1
    assert result.stdout.count("verdict: convention") == 2
    assert "\nEach number is legal, but not all together: wrong: the gradient of x and y is " in result.stdout


LEAF = "x = leaf float64[2] {0x0p+0 0x1p+0} requires_grad\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LEAF}a = sum x axis=5\nbackward a\n", "step 2: sum of shapes (2,): axis 5 is out of bounds"),
        (f"{LEAF}a = reshape x shape=(3,)\nread value a\n", "step 2: reshape of shapes (2,): cannot reshape"),
        ("x = leaf bool[2] {true false}\na = exp x\nread value a\n", "step 2: exp takes numbers for 'x'"),
        (
            "x = leaf float64[] {0x0p+0}\na = broadcast_to x shape=(100000, 100000, 1000)\n",
            "step 2: broadcast_to of shapes (): 10,000,000,000,000 entries are too many",
        ),
        (
            "x = leaf float64[] {0x0p+0}\na = broadcast_to x shape=(100000, 100000, 100000000000000000)\n",
            "step 2: broadcast_to of shapes (): ",
        ),
        ("[" * 100_000, "line 1: "),
        ("x = leaf float64[] {" + "0x1p+0 " * 3 + "}", "line 1: "),
    ],
)
def test_a_scenario_that_cannot_be_evaluated_is_one_line(terminal: Terminal, text: str, message: str) -> None:
    result = terminal.invoke("run", "-", "--engine", "refgrad", standard_input=text)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_a_file_that_is_not_utf_8_is_one_line(terminal: Terminal) -> None:
    (terminal.folder / "scenario.txt").write_bytes(b"\xff\xfe")
    result = terminal.invoke("run", "scenario.txt", "--engine", "toy:RIGHT")
    assert result.exit_code == 2
    assert result.stderr == "Error: scenario.txt is not a text in UTF-8: invalid start byte\n"


def test_what_an_engine_raises_is_shown_bounded_and_plain(terminal: Terminal) -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\na = add x x\n"
    result = terminal.invoke("run", "-", "--engine", "toy:LOUD", standard_input=text)
    assert result.exit_code == 1
    assert "ValueError: \\x1b[31m\\ud800\\u202eloud loud" in result.stdout
    assert "\x1b" not in result.stdout
    assert len(result.stdout) < 20_000


def test_a_file_that_is_not_there_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("run", "nothing.txt", "--engine", "toy:RIGHT")
    assert result.exit_code == 2
    assert "nothing.txt" in result.stderr


def calls_of_a_run(terminal: Terminal, reads: int) -> int:
    """Return the number of function calls that a run with this many reads of a gradient takes."""
    text = SCENARIO + "read grad x\n" * reads
    with cProfile.Profile() as profile:
        assert terminal.invoke("run", "-", "--engine", "toy:RIGHT", standard_input=text).exit_code == 0
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined,no-any-return]


def test_four_times_the_steps_take_at_most_five_times_the_work(terminal: Terminal) -> None:
    calls_of_a_run(terminal, 1)  # imports modules and fills caches
    assert calls_of_a_run(terminal, 800) < 5 * calls_of_a_run(terminal, 200)
