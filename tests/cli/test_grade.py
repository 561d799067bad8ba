"""``refgrad grade`` says what it found, in words, in a file, and by its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.report.document import read_report
from tests.cli.conftest import Terminal
from tests.grading import scalar_tape

pytestmark = pytest.mark.turns(2)

QUICK = ("--profile", "smoke", "--select", "sharing/*", "--select", "operators/[am][du]*", "--select", "edges/relu")


def outcomes(path: Path) -> dict[str, str]:
    return {verdict.id: verdict.verdict for verdict in read_report(path).verdicts}


def test_an_engine_that_is_wrong_gives_a_summary_and_status_1(terminal: Terminal, snapshot: SnapshotAssertion) -> None:
    chosen = ("operators/add", "operators/multiply", "operators/exp", "operators/relu", "edges/relu")
    selected = [word for check in chosen for word in ("--select", check)]
    finished = terminal.run("grade", "toy:WRONG", "--profile", "smoke", *selected, "--workers", "1")
    assert finished.status == 1
    assert finished.errors == ""
    assert "\x1b" not in finished.output
    assert finished.output == snapshot
    assert outcomes(terminal.folder / "out" / "wrong.json")["operators/multiply"] == "wrong"


def test_two_runs_with_one_seed_write_the_same_bytes_however_many_workers_there_are(terminal: Terminal) -> None:
    terminal.grade("toy:WRONG", *QUICK, "--output", "one")
    terminal.grade("toy:WRONG", *QUICK, "--workers", "2", "--output", "two")
    one, two = (terminal.folder / name / "wrong.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert str(terminal.folder) not in one.read_text()


def test_an_engine_that_cannot_be_started_gives_status_3_and_the_others_are_graded(terminal: Terminal) -> None:
    finished = terminal.grade("toy:ABSENT", "toy:WRONG", "--profile", "smoke", "--select", "operators/multiply")
    assert finished.status == 3
    message = "engine 'absent' cannot be started: ModuleNotFoundError: No module named 'no_such_library'"
    assert finished.errors == f"Error: {message}\n"
    assert "of 1 check that applies 1 fails" in finished.output
    assert sorted(path.name for path in (terminal.folder / "out").glob("*.json")) == ["wrong.json"]


def test_a_run_is_resumed_from_its_journal(terminal: Terminal) -> None:
    terminal.grade("toy:RIGHT", *QUICK)
    report = terminal.folder / "out" / "right.json"
    before = report.read_bytes()
    report.unlink()
    finished = terminal.grade("toy:RIGHT", *QUICK, "--resume")
    assert finished.status == 0
    assert report.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("nope",),
            "there is no engine 'nope'; there are: adolc, algopy, autograd, ",
        ),
        (("no_such_module:ADAPTER",), "'no_such_module:ADAPTER': the module cannot be imported: No module named"),
        (("toy:MISSING",), "'toy:MISSING': module 'toy' has no 'MISSING'"),
        (("toy:NOT_AN_ADAPTER",), "'toy:NOT_AN_ADAPTER' is int, not a"),
        (("toy:RIGHT", "toy:RIGHT"), "'toy:RIGHT' is given 2 times: grade each engine once"),
        (("toy:RIGHT", "toy:WRONG", "--name", "one"), "--name names one engine"),
        (("toy:RIGHT", "--name", " "), "the name of an engine is not empty"),
        (("toy:RIGHT", "--select", "nothing/*"), "no check matches 'nothing/*'; see `refgrad list checks`"),
        (("toy:RIGHT", "--output", "toy.py"), "toy.py is not a folder, so no report can be written into it"),
        (("toy:RIGHT", "--profile", "much"), "Invalid value for '--profile': 'much' is not one of"),
        (("toy:RIGHT", "--seed", "x"), "Invalid value for '--seed': 'x' is not a valid integer."),
        (("toy:RIGHT", "--workers", "0"), "Invalid value for '--workers': 0 is not in the range x>=1."),
        ((), "Missing argument 'ENGINE...'."),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(terminal: Terminal, arguments: tuple[str, ...], message: str) -> None:
    result = terminal.invoke("grade", *arguments)
    assert result.exit_code == 2
    said = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(said) == 1
    assert said[0].startswith(f"Error: {message}")
    assert "Traceback" not in result.output
    assert not (terminal.folder / "out").exists()


def test_the_journal_of_another_run_is_wrong_usage(terminal: Terminal) -> None:
    (terminal.folder / "out").mkdir()
    (terminal.folder / "out" / "right.journal.jsonl").write_text(json.dumps({"schema": "another"}) + "\n")
    result = terminal.invoke("grade", "toy:RIGHT", "--resume")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: out/right.journal.jsonl belongs to another run")


@pytest.mark.parametrize("broken", ["raise ValueError('no')", "def", "from refgrad import TapeAdapter\nTapeAdapter()"])
def test_a_module_that_cannot_be_imported_is_wrong_usage(terminal: Terminal, broken: str) -> None:
    (terminal.folder / "broken_adapter.py").write_text(broken)
    result = terminal.invoke("grade", "broken_adapter:ADAPTER")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: 'broken_adapter:ADAPTER': the module cannot be imported: ")
    assert len(result.stderr.splitlines()) == 1


def test_known_failures_are_accepted_written_and_refused_where_they_hold(terminal: Terminal) -> None:
    (terminal.folder / "pyproject.toml").write_text('[tool.refgrad]\nprofile = "smoke"\nexpect = "known.toml"\n')
    command = ("toy:WRONG", "--select", "operators/add", "--select", "operators/multiply")
    missing = terminal.grade(*command)
    assert missing.status == 2
    assert missing.errors.startswith("Error: known.toml: there is no such file")
    updated = terminal.grade(*command, "--update")
    assert (updated.status, updated.errors) == (0, "")
    assert "of 2 checks that apply 1 fails; 1 on the level MUST; 1 known" in updated.output
    known = terminal.folder / "known.toml"
    assert 'id = "operators/multiply"' in known.read_text()
    assert terminal.grade(*command).status == 0
    known.write_text('[[known_failure]]\nid = "operators/add"\nreason = "once"\n')
    stale = terminal.grade(*command)
    assert stale.status == 1
    assert stale.errors.startswith("the known failure operators/add is passed now: once; delete its entry from known")


def test_a_mistake_in_the_defaults_of_a_project_is_told_by_grade_alone(terminal: Terminal) -> None:
    (terminal.folder / "pyproject.toml").write_text("[tool.refgrad]\nprofil = 3\n")
    refused = terminal.grade("toy:RIGHT")
    assert refused.status == 2
    assert "pyproject.toml: tool.refgrad.profil: there is no such key, did you mean 'profile'?" in refused.errors
    assert terminal.invoke("list", "features").exit_code == 0


def test_engines_of_one_name_keep_their_own_files(terminal: Terminal) -> None:
    for folder in ("one", "two"):
        (terminal.folder / folder).mkdir()
        (terminal.folder / folder / "tape.py").write_text(scalar_tape.SOURCE, encoding="utf-8")
    options = ("--select", "operators/add", "--profile", "smoke")
    done = terminal.grade("./one/tape.py", "./two/tape.py", *options)
    assert (done.status, done.errors) == (0, "")
    out = terminal.folder / "out"
    assert sorted(path.name for path in out.glob("*.json")) == ["tape-2.json", "tape.json"]
    assert read_report(out / "tape-2.json").engine["name"] == "tape-2"
    assert terminal.grade("out/tape.adapter.toml", "--name", "first", *options).status == 0
    assert read_report(out / "first.json").engine["name"] == "first"
