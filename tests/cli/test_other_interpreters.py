"""An engine is graded in another interpreter, where nothing of refgrad is installed."""

from __future__ import annotations

import re
import shlex
import subprocess
import venv
from pathlib import Path

import numpy as np
import pytest

from refgrad.report.document import read_report
from tests.cli.conftest import Terminal
from tests.native import tiny_tape

pytestmark = pytest.mark.turns(2)

MINE = """
from refgrad import Policy, TapeAdapter

ADAPTER = TapeAdapter(
    name="mine",
    setup="from tiny_tape import Tiny",
    leaf="Tiny({array}, requires_grad={requires_grad})",
    value="{x}.data",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    zero_grad="setattr({leaf}, 'grad', None)",
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}", "negative": "Tiny(-{x}.data, (({x}, lambda g: -g),))"},
    policy=Policy(frees="never", implicit_seed="ones"),
    lacks=frozenset({"error:seed-shape", "error:no-graph"}),
)
"""


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """An interpreter that has numpy, and nothing else."""
    venv.create(tmp_path / "other", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "other").glob("lib/python*/site-packages")
    home = Path(np.__file__).parent
    for folder in (home, home.parent / "numpy.libs"):
        if folder.exists():
            (site / folder.name).symlink_to(folder)
    return tmp_path / "other" / "bin" / "python"


def test_the_interpreter_has_no_refgrad(interpreter: Path) -> None:
    command = [str(interpreter), "-c", "import numpy, refgrad"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False, cwd=interpreter.parent)
    assert "No module named 'refgrad'" in tried.stderr


def test_an_engine_is_graded_there(terminal: Terminal, interpreter: Path) -> None:
    (terminal.folder / "mine.py").write_text(MINE)
    (terminal.folder / "tiny_tape.py").write_text(Path(tiny_tape.__file__).read_text(encoding="utf-8"))
    chosen = ("--select", "accumulation/*", "--select", "operators/negative", "--profile", "smoke")
    finished = terminal.grade("mine:ADAPTER", *chosen, "--python", str(interpreter))
    assert (finished.status, finished.errors) == (0, "")
    verdicts = {row.id: row.verdict for row in read_report(terminal.folder / "out" / "mine.json").verdicts}
    assert verdicts["operators/negative"] == "passed"


RIGHT_ALONE = "x = leaf float64[] {0x1.8p+0} requires_grad\ny = multiply x x\nbackward y\nread grad x\n"


@pytest.fixture
def elsewhere(terminal: Terminal, interpreter: Path) -> str:
    """The interpreter of an engine whose library is nowhere else."""
    (terminal.folder / "mine.py").write_text(MINE)
    (site,) = interpreter.parent.parent.glob("lib/python*/site-packages")
    (site / "tiny_tape.py").write_text(Path(tiny_tape.__file__).read_text(encoding="utf-8"))
    return str(interpreter)


@pytest.mark.parametrize("asked", ["on the command line", "by the project"])
def test_a_check_is_run_again_there(terminal: Terminal, elsewhere: str, asked: str) -> None:
    again = ("replay", "operators/negative", "--engine", "mine:ADAPTER", "--profile", "smoke")
    assert terminal.invoke(*again).exit_code == 3
    if asked == "by the project":
        (terminal.folder / "pyproject.toml").write_text(f"[tool.refgrad]\npython = '{elsewhere}'\n")
    given = () if asked == "by the project" else ("--python", elsewhere)
    result = terminal.invoke(*again, *given)
    assert (result.exit_code, result.output.splitlines()[1:2]) == (0, ["passed: operators/negative (MUST)"])


def test_a_scenario_is_run_there(terminal: Terminal, elsewhere: str) -> None:
    run = ("run", "-", "--engine", "mine:ADAPTER")
    assert terminal.invoke(*run, standard_input=RIGHT_ALONE).exit_code == 3
    result = terminal.invoke(*run, "--python", elsewhere, standard_input=RIGHT_ALONE)
    assert result.exit_code == 0, result.output


def test_operators_are_counted_and_measured_there(terminal: Terminal, elsewhere: str) -> None:
    counted = terminal.invoke("coverage", "mine:ADAPTER", "--python", elsewhere)
    assert counted.output.startswith("mine unknown: has 3 of the ")
    measured = terminal.invoke("accuracy", "mine:ADAPTER", "--select", "negative", "--python", elsewhere)
    assert "## mine unknown, float64" in measured.output


def summary_of_a_wrong_engine(terminal: Terminal, elsewhere: str) -> str:
    wrong = MINE.replace("lambda g: -g", "lambda g: g")
    (terminal.folder / "mine.py").write_text(wrong)
    chosen = ("--select", "operators/negative", "--profile", "smoke")
    return terminal.grade("mine:ADAPTER", *chosen, "--python", elsewhere).output


def test_the_scenario_of_a_report_is_run_there(terminal: Terminal, elsewhere: str) -> None:
    summary_of_a_wrong_engine(terminal, elsewhere)
    again = ("replay", "operators/negative", "--engine", "mine:ADAPTER", "--report", "out/mine.json")
    assert terminal.invoke(*again).exit_code == 3
    assert "verdict: wrong: " in terminal.invoke(*again, "--python", elsewhere).output


def test_the_command_that_a_summary_shows_runs_there(terminal: Terminal, elsewhere: str) -> None:
    summary = summary_of_a_wrong_engine(terminal, elsewhere)
    match = re.search(r"^refgrad (replay .*?)  #", summary, re.MULTILINE)
    assert match is not None
    assert terminal.invoke(*shlex.split(match[1])).output.splitlines()[1] == "wrong: operators/negative (MUST)"


def test_an_interpreter_that_is_none_is_one_line_and_status_3(terminal: Terminal) -> None:
    (terminal.folder / "mine.py").write_text(MINE)
    finished = terminal.grade("mine:ADAPTER", "--select", "operators/negative", "--python", "no/such/python")
    assert finished.status == 3
    assert finished.errors == (
        "Error: engine 'mine' cannot be started: 'no/such/python' cannot be run: No such file or directory\n"
    )


def test_an_engine_is_in_this_process_or_in_another_interpreter(terminal: Terminal) -> None:
    finished = terminal.grade("toy:RIGHT", "--python", "python3", "--in-process")
    assert finished.status == 2
    assert finished.errors == "Error: an engine runs in this process or in another interpreter, not in both\n"
