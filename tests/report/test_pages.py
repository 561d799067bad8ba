"""The pages say what the reports hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.grading.judging.verdict import OUTCOMES, Outcome
from refgrad.report.document import ReportError, read_report
from refgrad.report.pages import MEANINGS, SYMBOLS, Graded, write_pages
from tests.report.example import verdict, write_example
from tests.snapshots.placement import PlainText


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


def test_an_engine_has_a_page_of_everything_that_was_found(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write_example(tmp_path)
    write_pages(tmp_path)
    assert (tmp_path / "example.md").read_text(encoding="utf-8") == snapshot


def test_the_engines_stand_beside_each_other(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    write_example(tmp_path)
    shutil.copy(tmp_path / "example.json", tmp_path / "other.json")
    write_pages(tmp_path)
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("README.md", "matrix.md")]
    assert "\n".join(pages) == snapshot


def test_every_outcome_has_a_symbol_of_its_own_and_a_meaning() -> None:
    assert set(SYMBOLS) == set(MEANINGS) == set(OUTCOMES)
    assert len(set(SYMBOLS.values())) == len(OUTCOMES)


def chapter(tmp_path: Path, *outcomes: Outcome) -> str:
    rows = [verdict(f"graphs/number_{number}", outcome).to_json() for number, outcome in enumerate(outcomes)]
    return Graded("example", read_report(write_example(tmp_path, verdicts=rows))).chapter("graphs")


@pytest.mark.parametrize(
    ("outcomes", "cell"),
    [
        (("passed", "convention", "passed"), "✓ 3"),
        (("passed", "inconclusive", "inconclusive"), "✓ 1, ? 2"),
        (("inconclusive",), "? 1"),
        (("wrong", "passed", "inconclusive"), "✗ 1 of 2, ? 1"),
        (("unsupported", "inconclusive"), "? 1"),
        (("unsupported", "passed"), "✓ 1"),
        (("unsupported",), "-"),
        ((), ""),
    ],
)
def test_what_is_inconclusive_is_counted_neither_as_passed_nor_as_failed(
    tmp_path: Path, outcomes: tuple[Outcome, ...], cell: str
) -> None:
    assert chapter(tmp_path, *outcomes) == cell


def test_pages_need_a_report(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="holds no report"):
        write_pages(tmp_path)
