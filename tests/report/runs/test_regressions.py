"""The scenarios of reports that are kept, and the files that keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.grading.checks.check import regressions
from refgrad.report.document import Report, read_report
from refgrad.specification import specs_directory
from tests.report.runs.regressions import Regression, main, read, regressions_in, write

FIRST = Regression("operators/exp", "a = leaf float64[] {0x1p+0}\nb = exp a\n", "torch 2.13.0")
SECOND = Regression("operators/exp", "a = leaf float64[] {0x1p+1}\nb = exp a\n", "jax 0.10.2")
EDGE = Regression("edges/abs", "a = leaf float64[] {0x0p+0}\nb = abs a\n", "jax 0.10.2")


def document(name: str) -> Report:
    """A report of this repository."""
    return read_report(Path(__file__).parents[3] / "reports" / f"{name}.json")


def test_what_is_written_is_read_again_once_and_in_order(tmp_path: Path) -> None:
    write(tmp_path, [SECOND, EDGE, FIRST, Regression(SECOND.check, SECOND.scenario, "later 1.0")])
    assert read(tmp_path) == [EDGE, SECOND, FIRST]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write(tmp_path, read(tmp_path))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_failing_scenarios_of_checks_that_draw_are_taken() -> None:
    taken = list(regressions_in(document("mygrad")))
    failed = {verdict.id for verdict in document("mygrad").verdicts if verdict.scenario}
    assert {each.check for each in taken} <= failed
    assert {each.check.partition("/")[0] for each in taken} >= {"operators", "graphs"}
    assert not [each for each in taken if each.check.startswith(("sharing/", "leaves/", "claims/"))]
    assert {each.found for each in taken} == {"mygrad 2.5.0"}


def test_files_that_are_shipped_are_as_they_would_be_written(tmp_path: Path) -> None:
    folder = specs_directory() / "regressions"
    write(tmp_path, read(folder))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        path.name: path.read_text() for path in folder.iterdir()
    }


def test_the_command_adds_what_reports_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in specs_directory().iterdir():
        if path.name != "regressions":
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.setenv("REFGRAD_SPECS", str(tmp_path))
    main([str(Path(__file__).parents[3] / "reports" / "mygrad.json")])
    (first, *_) = read(tmp_path / "regressions")
    assert first.scenario in [each.text for each in regressions(first.check)]
