"""Tests of ``refgrad diff``: two grades with one seed are equal, and a planted fault is named alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refgrad.cli import main
from refgrad.grading.judging.verdict import Outcome
from refgrad.report.document import write_report
from tests.report.example import VERDICTS, example_report, verdict


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with a report each, in the second of which the last check fails, which passed."""
    outcomes: dict[str, Outcome] = {"old": "passed", "new": "wrong"}
    for name, outcome in outcomes.items():
        report = example_report(*VERDICTS[:-1], replace(VERDICTS[-1], verdict=outcome))
        write_report(tmp_path / name / "engine.json", report)
    return tmp_path / "old", tmp_path / "new"


def test_what_broke_is_shown_and_fails_on_request(folders: tuple[Path, Path]) -> None:
    old, new = folders
    name = VERDICTS[-1].id
    shown = run(old, new)
    assert shown.exit_code == 0
    assert f"broken: {name} (" in shown.output
    assert run(old, new, "--fail-on", "regression").exit_code == 1
    assert run(new, old, "--fail-on", "regression").exit_code == 0
    assert run(new, old, "--fail-on", "any").exit_code == 1
    assert run(old, old, "--fail-on", "any").exit_code == 0


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("passed", "unsupported", 1),
        ("convention", "unsupported", 1),
        ("passed", "convention", 0),
        ("passed", "inconclusive", 0),
        ("wrong", "unsupported", 0),
        ("unsupported", "passed", 0),
    ],
)
def test_a_check_that_held_and_is_not_offered_now_is_a_regression(
    tmp_path: Path, before: Outcome, after: Outcome, status: int
) -> None:
    for name, outcome in (("old", before), ("new", after)):
        write_report(tmp_path / f"{name}.json", example_report(verdict("graphs/one", outcome)))
    assert run(tmp_path / "old.json", tmp_path / "new.json", "--fail-on", "regression").exit_code == status


@pytest.mark.parametrize(("outcome", "status"), [("passed", 1), ("wrong", 0)])
def test_a_check_that_held_and_is_gone_is_a_regression(tmp_path: Path, outcome: Outcome, status: int) -> None:
    rows = [verdict("graphs/kept", "passed"), verdict("graphs/gone", outcome)]
    for name, kept in (("old", rows), ("new", rows[:1])):
        write_report(tmp_path / f"{name}.json", example_report(*kept))
    assert run(tmp_path / "old.json", tmp_path / "new.json", "--fail-on", "regression").exit_code == status


def test_a_report_that_is_gone_is_a_regression(folders: tuple[Path, Path]) -> None:
    old, _ = folders
    new = old.parent / "same"
    write_report(old / "other.json", example_report())
    write_report(new / "other.json", example_report())
    told = run(old, new, "--fail-on", "regression")
    assert told.exit_code == 1
    assert "engine.json is in " in told.output
    assert run(old, new).exit_code == 0


def test_differences_are_told_as_json(folders: tuple[Path, Path]) -> None:
    old, new = folders
    (document,) = json.loads(run(old / "engine.json", new / "engine.json", "--json").output)
    assert document["old"]["engine"] == document["new"]["engine"]
    (difference,) = document["differences"]
    assert (difference["kind"], difference["old"], difference["new"]) == ("broken", "passed", "wrong")


def test_what_cannot_be_compared_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = folders
    (tmp_path / "empty").mkdir()
    assert "have no report of the same name" in run(old, tmp_path / "empty").output
    assert "give two reports, or two folders" in run(old, new / "engine.json").output
    assert "there is no such file or folder" in run(old, tmp_path / "nowhere").output
    (tmp_path / "note.json").write_text("{}", encoding="utf-8")
    refused = run(old / "engine.json", tmp_path / "note.json")
    assert "note.json: 'schema' is missing" in refused.output
    assert refused.exit_code == 2


def test_however_many_differences_there_are_none_is_left_out(tmp_path: Path) -> None:
    outcomes: dict[str, Outcome] = {"old": "passed", "new": "crashed"}
    for name, outcome in outcomes.items():
        rows = [verdict(f"graphs/number_{number}", outcome, "m" * 50) for number in range(200)]
        write_report(tmp_path / name / "engine.json", example_report(*rows))
    told = run(tmp_path / "old", tmp_path / "new").output
    assert all(f"broken: graphs/number_{number} (MUST)" in told for number in range(200))
