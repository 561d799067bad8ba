"""What became of an engine from version to version is told by reports that keep no more than that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.grading.judging.verdict import Outcome
from refgrad.report.comparison import Difference, differences
from refgrad.report.document import Report, read_report, write_report
from tests.report.example import VERDICTS, example_report
from tests.report.runs.versions import PAGE, Versions, engines_in, page, write
from tests.repository.sources import ROOT

COMMITTED = ROOT / "reports" / "versions"
VERSIONS = ("1.2", "1.9", "1.10")
NAME = example_report().engine["name"]
FIRST = next(verdict.id for verdict in VERDICTS if verdict.verdict == "passed")


def graded(version: str, passed: Outcome = "passed") -> Report:
    """Return the report of a version in which the first check that passed has another outcome."""
    verdicts = [replace(each, verdict=passed) if each.id == FIRST else each for each in VERDICTS]
    return example_report(*verdicts, version=version)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three versions: in the second one something breaks, which is mended in the third."""
    outcomes: tuple[Outcome, ...] = ("passed", "wrong", "passed")
    for version, outcome in zip(VERSIONS, outcomes, strict=True):
        write_report(tmp_path / NAME / version / f"{NAME}.json", graded(version, outcome))
        (tmp_path / NAME / version / "requirements.txt").write_text(f"example=={version}\n", encoding="utf-8")
    return tmp_path


def changes(versions: Versions) -> list[list[tuple[str, str, tuple[str | None, str | None]]]]:
    def told(change: Difference) -> tuple[str, str, tuple[str | None, str | None]]:
        return (change.kind, change.either.id, change.outcomes)

    return [list(map(told, stage.changes)) for stage in versions.stages]


def test_versions_follow_each_other_as_numbers_do(folder: Path) -> None:
    (folder / ".environments" / NAME / "1.2").mkdir(parents=True)
    (versions,) = engines_in(folder)
    assert [stage.report.engine["version"] for stage in versions.stages] == list(VERSIONS)
    assert [[kind for kind, *_ in stage] for stage in changes(versions)] == [[], ["broken"], ["fixed"]]


def test_what_is_written_differs_as_the_whole_reports_do_and_holds_nothing_else(folder: Path) -> None:
    (whole,) = engines_in(folder)
    before = changes(whole)
    write([whole], folder)
    (kept,) = engines_in(folder)
    assert changes(kept) == before
    for stage, version in zip(kept.stages, VERSIONS, strict=True):
        document = stage.report.document
        assert [verdict.id for verdict in document.verdicts] == [FIRST]
        assert not document.complete
        assert document.summary == graded(version).summary


def test_the_page_tells_what_broke_and_what_was_mended(folder: Path) -> None:
    engines = engines_in(folder)
    text = page(engines, folder)
    assert text.index(f"{NAME} 1.2 → 1.9") < text.index("Broken") < text.index("Mended")
    assert text.count(f"- `{FIRST}` (") == 2
    assert text.count("example==1.10") == 1


def test_what_was_written_is_written_again_alike(folder: Path) -> None:
    write(engines_in(folder), folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    write(engines_in(folder), folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert folder / PAGE in before


def test_the_committed_page_is_that_of_the_committed_reports() -> None:
    engines = engines_in(COMMITTED)
    assert page(engines, COMMITTED) == (COMMITTED / PAGE).read_text(encoding="utf-8")
    assert all(len(each.folders) >= 3 for each in engines)


def test_every_committed_report_is_about_the_version_that_its_folder_names() -> None:
    for path in COMMITTED.glob("*/*/*.json"):
        document = read_report(path)
        version = path.parent.name.partition("+")[0]
        assert document.engine["version"] == version
        required = (path.parent / "requirements.txt").read_text(encoding="utf-8")
        assert f"{document.engine['name']}=={version}\n" in required


def test_a_comparison_of_what_is_committed_needs_no_whole_reports() -> None:
    old, new = (read_report(COMMITTED / "mygrad" / version / "mygrad.json") for version in ("2.0.2", "2.1.0"))
    assert "edges/abs" in {change.either.id for change in differences(old, new) if change.kind == "fixed"}
