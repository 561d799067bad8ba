"""``refgrad grade`` gives no status 0 for a run that is not complete, and keeps what was found whatever goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from refgrad.pytest_plugin.plan import Lock
from refgrad.report.document import read_report
from tests.cli.conftest import Terminal

pytestmark = pytest.mark.disturbed

SABOTEUR = """
import pytest
from refgrad.pytest_plugin.conformance import EngineSession, Suite

def skip(): pytest.skip('by foreign code')
def divide(): raise ZeroDivisionError
def interrupt(): raise KeyboardInterrupt
def leave(): raise SystemExit(0)
def leave_pytest(): raise pytest.exit.Exception('bye', 0)
disturbances = {disturbances}
verdict = EngineSession.verdict
def disturbed(self, check):
    if check.id in disturbances:
        disturbances[check.id]()
    return verdict(self, check)
EngineSession.verdict = disturbed
"""
TWO = ("--profile", "smoke", "--select", "operators/add", "--select", "operators/multiply")
QUICK = ("--profile", "smoke", "--select", "sharing/*", "--select", "operators/a[bcd]*")

SMALL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
sys.argv[0] = "refgrad"
from refgrad.cli import main
main()
"""


def rows(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()[1:]]


@pytest.fixture
def sabotage(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what changes sessions in the workers, by a module that Python imports whenever it starts."""
    monkeypatch.setenv("PYTHONPATH", str(terminal.folder))

    def write(disturbances: str, more: str = "") -> None:
        (terminal.folder / "sitecustomize.py").write_text(SABOTEUR.format(disturbances=disturbances) + more)

    return write


def test_a_check_that_ends_without_a_verdict_is_named_and_gives_status_4(
    terminal: Terminal, sabotage: Callable[..., None]
) -> None:
    broken = {"multiply": "skip", "relu": "divide", "exp": "interrupt", "sin": "leave"}
    sabotage("{" + ", ".join(f"'operators/{name}': {how}" for name, how in broken.items()) + "}")
    chosen = [word for name in ("add", *broken) for word in ("--select", f"operators/{name}")]
    finished = terminal.grade("toy:RIGHT", "--profile", "smoke", *chosen, "--workers", "2")
    assert finished.status == 4
    said = finished.errors.splitlines()[-1]
    assert said.startswith("Error: 4 checks have no verdict: operators/")
    assert said.endswith("; go on with --resume")
    assert all(f"operators/{name}" in said for name in broken)
    summary = read_report(terminal.folder / "out" / "right.json").summary
    assert (summary["planned"], summary["run"], summary["not_run"]) == (5, 1, 4)


def test_a_worker_that_ends_in_the_midst_of_a_check_is_no_success(
    terminal: Terminal, sabotage: Callable[..., None]
) -> None:
    sabotage("{'operators/multiply': leave_pytest}")
    finished = terminal.grade("toy:RIGHT", *TWO, "--in-process")
    assert finished.status == 4
    assert finished.errors.splitlines()[-1] == (
        "Error: 1 check has no verdict: operators/multiply; go on with --resume"
    )
    summary = read_report(terminal.folder / "out" / "right.json").summary
    assert (summary["planned"], summary["run"], summary["not_run"]) == (2, 1, 1)


@pytest.mark.parametrize("command", ["grade", "coverage", "run"])
def test_a_module_that_ends_the_process_is_no_success(terminal: Terminal, command: str) -> None:
    (terminal.folder / "leaving.py").write_text("raise SystemExit(0)")
    given = ("run", "-", "--engine") if command == "run" else (command,)
    result = terminal.invoke(*given, "leaving:ADAPTER", standard_input="x = leaf float64[] {0x1p+0}\n")
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert line == "Error: engine 'leaving:ADAPTER' cannot be started: its adapter raised SystemExit: 0"


@pytest.mark.parametrize("setup", ["raise SystemExit(0)", "import os; os._exit(0)", "raise KeyboardInterrupt"])
def test_an_engine_that_ends_its_process_when_it_is_started_is_no_success(terminal: Terminal, setup: str) -> None:
    text = f"from dataclasses import replace\nfrom toy import RIGHT\nADAPTER = replace(RIGHT, setup={setup!r})\n"
    (terminal.folder / "leaving.py").write_text(text)
    finished = terminal.grade("leaving:ADAPTER", *TWO)
    assert finished.status == 3
    assert finished.errors.splitlines()[-1].startswith("Error: engine 'right' cannot be started: ")


READING_NAMES = (
    ("grade", "unread:ADAPTER", *TWO, "--workers", "1"),
    ("grade", "unread:ADAPTER", *TWO, "--workers", "1", "--in-process"),
    ("doctor", "unread:ADAPTER"),
    ("run", "-", "--engine", "unread:ADAPTER"),
    ("replay", "operators/add", "--engine", "unread:ADAPTER"),
    ("coverage", "unread:ADAPTER"),
)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        *((command, "ValueError") for command in READING_NAMES),
        *product(READING_NAMES[:2], ("SystemExit", "GeneratorExit")),  # all commands read names by the same lines
    ],
)
def test_a_library_whose_names_cannot_be_read_is_one_line(
    terminal: Terminal, command: tuple[str, ...], error: str
) -> None:
    (terminal.folder / "unreadable.py").write_text(f"def __getattr__(name):\n    raise {error}('no')\n")
    changes = "setup='import toy, unreadable', alike=('unreadable',)"
    text = f"from dataclasses import replace\nfrom toy import RIGHT\nADAPTER = replace(RIGHT, {changes})\n"
    (terminal.folder / "unread.py").write_text(text)
    result = terminal.invoke(*command, standard_input="x = leaf float64[] {0x1p+0}\n")
    assert result.exit_code == 3
    assert result.stderr == f"Error: engine 'right': `alike` cannot be read: {error}: no\n"


def test_checks_that_cannot_be_collected_give_status_4(terminal: Terminal, sabotage: Callable[..., None]) -> None:
    sabotage("{}", "def collect(self): raise OSError('no')\nSuite.collect = collect\n")
    finished = terminal.grade("toy:RIGHT", *TWO, "--workers", "2")
    assert finished.status == 4
    assert "Error: 2 checks have no verdict: operators/add, operators/multiply" in finished.errors


def test_a_report_that_another_run_writes_is_refused(terminal: Terminal) -> None:
    lock = Lock.take(terminal.folder / "out" / ".right.lock")
    result = terminal.invoke("grade", "toy:RIGHT", *TWO)
    assert result.exit_code == 2
    assert result.stderr == "Error: out/right.json is being written by another run\n"
    assert [path.name for path in (terminal.folder / "out").iterdir()] == [".right.lock"]
    lock.release()


def test_what_a_dead_run_left_behind_is_no_obstacle(terminal: Terminal) -> None:
    out = terminal.folder / "out"
    out.mkdir()
    for name in (".right.lock", ".right.verdicts", ".right.json.unfinished", ".right.journal.jsonl.unfinished"):
        (out / name).write_text("rubbish")
    finished = terminal.grade("toy:RIGHT", *TWO)
    assert (finished.status, finished.errors) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["right.journal.jsonl", "right.json"]


def test_a_folder_with_an_accent_is_written_in_the_locale_c(terminal: Terminal) -> None:
    command = [sys.executable, "-m", "refgrad", "grade", "toy:RIGHT", *TWO, "--workers", "1", "--output", "é"]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=terminal.folder, env=environment, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (terminal.folder / "é" / "right.json").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("a\0b", "'a\\\\x00b' is no name of a file"),
        ("toy.py/below", "toy.py/below/right.json cannot be written: Not a directory"),
        ("x" * 300, f"{'x' * 300!r} is not the name of a folder"),
        ("\udcff", "'\\\\udcff' is not the name of a folder"),
        ("taken", "taken/right.json is a folder, so no report can be written there"),
    ],
)
def test_an_output_that_cannot_be_written_is_one_line_and_status_2(
    terminal: Terminal, output: str, message: str
) -> None:
    (terminal.folder / "taken" / "right.json").mkdir(parents=True)
    result = terminal.invoke("grade", "toy:RIGHT", *TWO, "--output", output)
    assert result.exit_code == 2
    (said,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert message in said


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the report of a run is put that nothing disturbs; the first test that needs it makes it."""
    return tmp_path_factory.mktemp("undisturbed") / "right.json"


@pytest.mark.parametrize("size", [pytest.param(1200, marks=pytest.mark.slow), 2500])
def test_a_full_disk_keeps_what_was_journalled_and_the_run_goes_on_when_there_is_room(
    terminal: Terminal, undisturbed: Path, size: int
) -> None:
    program = SMALL_DISK.format(size=size)
    command = [sys.executable, "-c", program, "grade", "toy:RIGHT", *QUICK, "--workers", "1"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # such a disk would leave truncated modules to others
    done = subprocess.run(
        command, cwd=terminal.folder, env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 4
    assert "Error: out/right.journal.jsonl cannot be written: File too large; go on with --resume" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    out = terminal.folder / "out"
    assert not list(out.glob(".*"))
    text = (out / "right.journal.jsonl").read_text(encoding="utf-8")
    known = [json.loads(line)["id"] for line in text[: text.rfind("\n")].splitlines()[1:]]
    finished = terminal.grade("toy:RIGHT", *QUICK, "--resume")
    assert (finished.status, finished.errors) == (0, "")
    assert rows(out / "right.journal.jsonl")[: len(known)] == known
    if not undisturbed.exists():
        terminal.grade("toy:RIGHT", *QUICK, "--output", str(undisturbed.parent))
    assert (out / "right.json").read_bytes() == undisturbed.read_bytes()


def test_what_an_engine_says_is_bounded_and_plain_wherever_it_is_written(terminal: Terminal) -> None:
    finished = terminal.grade("toy:LOUD", "--profile", "smoke", "--select", "operators/add")
    assert finished.status == 1
    out = terminal.folder / "out"
    for text in (finished.output, *(path.read_text(encoding="utf-8") for path in out.glob("loud.*"))):
        assert "loud loud" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert len(text) < 20_000


@pytest.mark.parametrize("text", ["\xff", "[" * 100_000, '{"schema"', "\0"])
def test_a_journal_that_cannot_be_read_is_one_line(terminal: Terminal, text: str) -> None:
    (terminal.folder / "out").mkdir()
    (terminal.folder / "out" / "right.journal.jsonl").write_text(text + "\n", encoding="latin-1")
    result = terminal.invoke("grade", "toy:RIGHT", *TWO, "--resume")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: out/right.journal.jsonl belongs to another run")


@pytest.mark.parametrize("text", ["\xff", "[" * 100_000, '{"a":' * 50_000, "\0", "1" * 5000])
@pytest.mark.parametrize("command", [("report", "."), ("confirm", "odd.json")])
def test_a_report_that_cannot_be_read_is_one_line(terminal: Terminal, command: tuple[str, ...], text: str) -> None:
    (terminal.folder / "odd.json").write_text(text, encoding="latin-1")
    result = terminal.invoke(*command)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    reason = "cannot be read: it is not a text in UTF-8: " if text == "\xff" else "cannot be read as JSON: "
    assert result.stderr.startswith(f"Error: odd.json: {reason}")


@pytest.mark.parametrize("name", ["3", "None", "''", "'a/b'", "'two words'", "'a\\x1bb'", "'.hidden'", "'x' * 101"])
def test_a_name_of_an_engine_that_names_no_file_is_one_line(terminal: Terminal, name: str) -> None:
    text = f"from dataclasses import replace\nfrom toy import RIGHT\nADAPTER = replace(RIGHT, name={name})\n"
    (terminal.folder / "odd_name.py").write_text(text)
    for command in (("grade", "odd_name:ADAPTER"), ("coverage", "odd_name:ADAPTER")):
        result = terminal.invoke(*command)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("Error: 'odd_name:ADAPTER': its name ")


def test_a_crash_in_the_process_that_grades_is_blamed_on_the_operator_that_ran(terminal: Terminal) -> None:
    chosen = ("--profile", "smoke", "--select", "sharing/same_operand_twice")
    finished = terminal.grade("toy:SUDDEN", *chosen, "--in-process")
    assert finished.status == 1
    verdicts = read_report(terminal.folder / "out" / "sudden.json").verdicts
    assert {each.id: (each.verdict, each.cause) for each in verdicts} == {
        "sharing/same_operand_twice": ("inconclusive", "operators/multiply"),
        "operators/multiply": ("crashed", ""),
    }
