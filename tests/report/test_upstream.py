"""What is known upstream stands beside the reports, with a link and a date."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.report.document import ReportError
from refgrad.report.pages import UPSTREAM_FILE, Graded, read_upstream
from tests.report.committed import committed_report
from tests.report.example import example_report, verdict
from tests.repository.sources import ROOT

ROW = """\
[[known]]
engine = "example"
checks = ["operators/exp"]
link = "https://example.org/1"
date = 2026-01-02
note = "open"
"""


def test_what_is_known_is_read(tmp_path: Path) -> None:
    assert read_upstream(tmp_path) == []
    (tmp_path / UPSTREAM_FILE).write_text(ROW)
    (known,) = read_upstream(tmp_path)
    assert (known.link, known.looked_up.isoformat()) == ("https://example.org/1", "2026-01-02")
    assert known.explains("example", ["graphs/a", "operators/exp"])
    assert not known.explains("other", ["operators/exp"])
    assert not known.explains("example", ["operators/log"])


def test_what_was_not_found_is_said_unless_something_was(tmp_path: Path) -> None:
    searched = '[[not_found]]\nengine = "example"\nchecks = ["operators/exp", "operators/log"]\ndate = 2026-01-03\n'
    (tmp_path / UPSTREAM_FILE).write_text(ROW + searched)
    graded = Graded("example", example_report(verdict("operators/exp", "wrong")), read_upstream(tmp_path))
    only = replace(graded, upstream=graded.upstream[1:])
    (cause,) = graded.causes
    assert [known.link for known in graded.known(cause)] == ["https://example.org/1"]
    assert [(known.link, known.looked_up.isoformat()) for known in only.known(cause)] == [("", "2026-01-03")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", ": cannot be read as TOML: "),
        (
            ROW.replace("engine", "motor"),
            ": known[0].motor: there is no such key; there are engine, checks, link, date, note",
        ),
        (ROW.replace("2026-01-02", "'today'"), ': known[0].date: "today" is not a "date"'),
        (ROW + "more = 1\n", ": known[0].more: there is no such key; there are engine, checks, link, date, note"),
        (
            ROW.replace("https:", "javascript:"),
            ': known[0].link: "javascript://example.org/1" does not match "^https://"',
        ),
    ],
)
def test_what_is_malformed_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / UPSTREAM_FILE).write_text(text)
    with pytest.raises(ReportError) as caught:
        read_upstream(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / UPSTREAM_FILE}")
    assert told in str(caught.value)


def test_what_is_committed_is_of_engines_and_checks_that_there_are() -> None:
    for known in read_upstream(ROOT / "reports"):
        ids = {verdict.id for verdict in committed_report(known.engine).verdicts}
        assert known.checks <= ids


@pytest.mark.parametrize("engine", ["torch", "torch-func", "jax", "tensorflow", "paddle"])
def test_every_grave_finding_of_a_maintained_engine_was_looked_up(engine: str) -> None:
    looked_up = [known.checks for known in read_upstream(ROOT / "reports") if known.engine == engine]
    grave = {verdict.id for verdict in committed_report(engine).verdicts if verdict.failed and verdict.level == "MUST"}
    assert grave - set().union(*looked_up) == set()
