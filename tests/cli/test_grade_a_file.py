"""``refgrad grade ./mine.py`` makes the adapter of a file or module, and grades by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.report.document import read_report
from tests.cli.conftest import Terminal
from tests.grading import scalar_tape

pytestmark = pytest.mark.turns(2)

MADE = Path("out") / "mine.adapter.toml"

BESIDE = "from numbers_of_mine import ZERO\n" + scalar_tape.SOURCE.replace("self.grad, 0.0", "self.grad, ZERO")


def write(folder: Path, source: str = scalar_tape.SOURCE, name: str = "mine.py") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source, encoding="utf-8")


@pytest.mark.parametrize("engine", ["./mine.py", "mine"])
def test_a_file_or_module_is_graded_in_one_go_at_first_sight(terminal: Terminal, engine: str) -> None:
    write(terminal.folder, scalar_tape.PRODUCT_ASSIGNS)
    done = terminal.grade(engine, "--select", "operators/add")
    first, made, *_ = done.output.splitlines()
    assert first.startswith("suspected fault in multiply: backward from `(x * y) * x` at x = 1.5, y = 2.25: ")
    assert made.startswith(f"{MADE}: ")
    assert "mine, profile smoke, seed 0" in done.output
    report = read_report(terminal.folder / "out" / "mine.json")
    assert report.engine["name"] == "mine"
    assert {verdict.id: verdict.verdict for verdict in report.verdicts}["operators/add"] == "passed"


def test_what_is_printed_runs_a_finding_again(terminal: Terminal) -> None:
    write(terminal.folder, scalar_tape.WRONG_PRODUCT)
    done = terminal.grade("./mine.py", "--select", "operators/multiply")
    assert done.status == 1
    (line,) = (line for line in done.output.splitlines() if "# runs one of them again" in line)
    words = line.partition("#")[0].split()
    assert words[:2] == ["refgrad", "replay"]
    again = terminal.invoke(*words[1:])
    assert "wrong: operators/multiply (MUST)" in again.output


def test_an_adapter_is_kept_where_the_user_says_and_never_in_place_of_another(terminal: Terminal) -> None:
    write(terminal.folder)
    options = ("--select", "operators/add", "--profile", "standard", "--save", "kept.toml")
    done = terminal.grade("./mine.py", *options)
    assert done.status == 0
    assert "mine, profile standard, seed 0" in done.output
    assert 'setup = "import mine"' in (terminal.folder / "kept.toml").read_text(encoding="utf-8")
    assert not (terminal.folder / MADE).exists()
    again = terminal.grade("./mine.py", *options)
    assert (again.status, again.errors) == (
        2,
        "Error: kept.toml is there already; name another file with --save\n",
    )


def test_an_adapter_is_kept_of_one_engine_without_one_alone(terminal: Terminal) -> None:
    done = terminal.grade("refgrad", "--save", "kept.toml")
    assert (done.status, done.errors) == (2, "Error: --save takes the adapter of one file or module that has none\n")


def test_modules_beside_a_file_are_found_from_another_folder(terminal: Terminal) -> None:
    write(terminal.folder, BESIDE, "homework/mine.py")
    write(terminal.folder, "ZERO = 0.0\n", "homework/numbers_of_mine.py")
    done = terminal.grade("homework/mine.py", "--select", "operators/add")
    assert (done.status, done.errors) == (0, "")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("class Value:\n    def __init__(self\n", "SyntaxError: '(' was never closed (mine.py, line 2)"),
        ("import math\nx = 1 / 0\n", "ZeroDivisionError: division by zero (mine.py, line 2)"),
        ("\nimport nothing_like_it\n", "ModuleNotFoundError: No module named 'nothing_like_it' (mine.py, line 2)"),
        ("raise SystemExit\n", "SystemExit: (mine.py, line 1)"),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_line_with_its_position(
    terminal: Terminal, source: str, said: str
) -> None:
    write(terminal.folder, source)
    done = terminal.grade("./mine.py")
    assert (done.status, done.output) == (3, "")
    assert done.errors == f"Error: engine 'mine' cannot be started: {said}\n"


def test_a_file_without_a_class_of_tensors_leads_to_the_call_that_names_one(
    terminal: Terminal, snapshot: SnapshotAssertion
) -> None:
    write(terminal.folder, "import math\n\n\nclass Reader:\n    pass\n")
    done = terminal.grade("./mine.py")
    assert (done.status, done.output) == (2, "")
    assert done.errors == snapshot


def test_a_class_of_tensors_may_have_any_name(terminal: Terminal) -> None:
    write(terminal.folder, scalar_tape.SOURCE.replace("Value", "Dial"))
    done = terminal.grade("./mine.py", "--select", "operators/add")
    assert done.status == 0
    assert 'leaf = "mine.Dial({scalar})"' in (terminal.folder / MADE).read_text(encoding="utf-8")


def test_a_name_of_nothing_is_refused_with_what_may_be_meant(terminal: Terminal) -> None:
    done = terminal.grade("refgard")
    assert done.status == 2
    assert done.errors.startswith("Error: there is no engine 'refgard', did you mean 'refgrad'?")
