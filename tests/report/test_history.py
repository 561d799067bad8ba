"""The history of an engine tells what changed from each of its reports to the next."""

from __future__ import annotations

from pathlib import Path

from refgrad.grading.judging.verdict import Outcome
from refgrad.report.comparison import histories
from refgrad.report.document import read_report
from refgrad.report.pages import Graded
from refgrad.report.site import write_site
from tests.report.example import verdict, write_example
from tests.report.site.hostile import ATTACK, write_hostile


def report(folder: Path, *outcomes: Outcome, file: str = "example") -> Graded:
    folder.mkdir(exist_ok=True)
    rows = [verdict(f"graphs/number_{number}", outcome).to_json() for number, outcome in enumerate(outcomes)]
    return Graded(file, read_report(write_example(folder, verdicts=rows)))


def test_each_stage_counts_what_changed_since_the_one_before(tmp_path: Path) -> None:
    first, second, third = (
        report(tmp_path / "1", "passed", "wrong"),
        report(tmp_path / "2", "wrong", "passed", "passed"),
        report(tmp_path / "3", "wrong", "passed", "passed"),
    )
    ((name, stages),) = histories([[first], [second], [third]]).items()
    assert name == "example"
    assert [stage.report for stage in stages] == [first, second, third]
    counts = [{kind: count for kind, count in stage.counts.items() if count} for stage in stages]
    assert counts == [{}, {"broken": 1, "fixed": 1, "new": 1}, {}]


def test_only_engines_of_the_last_folder_with_an_earlier_report_have_a_history(tmp_path: Path) -> None:
    old, new = report(tmp_path / "1", "passed", file="gone"), report(tmp_path / "2", "passed", file="fresh")
    assert histories([[old], [new]]) == histories([[new]]) == histories([]) == {}
    assert list(histories([[old, new], [new]])) == ["fresh"]


def test_the_page_is_there_where_there_is_a_history_and_shows_nothing_active(tmp_path: Path) -> None:
    report(tmp_path / "old", "passed")
    report(tmp_path / "new", "wrong")
    write_hostile(tmp_path / "old")
    write_hostile(tmp_path / "new")
    alone = write_site(tmp_path / "new", tmp_path / "alone")
    assert "history.html" not in {path.name for path in alone}
    write_site(tmp_path / "new", tmp_path / "site", [tmp_path / "old"])
    text = (tmp_path / "site" / "history.html").read_text(encoding="utf-8")
    assert "<li>broken: <code>graphs/number_0</code>, passed before, wrong now</li>" in text
    assert ATTACK[:30] not in text
    assert len(text) < 100_000
    assert 'href="history.html"' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
