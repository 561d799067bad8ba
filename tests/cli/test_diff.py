"""Tests of ``refgrad diff``: two grades with one seed are equal, and a planted fault is named alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refgrad.cli.commands.reports import diff
from refgrad.grading.judging.verdict import Outcome
from refgrad.report.document import write_document
from tests.report.example import example_document, verdict


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(diff, [str(argument) for argument in arguments])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with a report each, in the second of which the last check fails, which passed."""
    for name, outcome in (("old", "passed"), ("new", "wrong")):
        document = json.loads(json.dumps(example_document()))
        document["verdicts"][-1]["verdict"] = outcome
        write_document(tmp_path / name / "engine.json", document)
    return tmp_path / "old", tmp_path / "new"


def test_what_broke_is_shown_and_fails_on_request(folders: tuple[Path, Path]) -> None:
    old, new = folders
    name = example_document()["verdicts"][-1]["id"]
    shown = run(old, new)
    assert shown.exit_code == 0
    assert f"broken: {name} (" in shown.output
    assert run(old, new, "--fail-on", "regression").exit_code == 1
    assert run(new, old, "--fail-on", "regression").exit_code == 0
    assert run(new, old, "--fail-on", "any").exit_code == 1
    assert run(old, old, "--fail-on", "any").exit_code == 0


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
        rows = [verdict(f"graphs/number_{number}", outcome, "m" * 50).to_json() for number in range(200)]
        write_document(tmp_path / name / "engine.json", example_document() | {"verdicts": rows})
    told = run(tmp_path / "old", tmp_path / "new").output
    assert all(f"broken: graphs/number_{number} (MUST)" in told for number in range(200))
