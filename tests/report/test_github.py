"""GitHub shows what failed, and nothing that an engine says becomes a command, a tag, a link or a mention."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.grading.judging.verdict import Verdict
from refgrad.report.ci import annotation_lines, step_summary
from refgrad.report.findings import Script
from tests.report.example import VERDICTS, verdict
from tests.report.site import hostile
from tests.snapshots.placement import PlainText

HOSTILE = [each for each in hostile.verdicts() if each.failed]
MENTION = "::error::owned %0A @someone #12 [a](javascript:owned) ![b](c) https://example.org `code` | *x* _y_\r\n::set"


def script(found: Verdict) -> Script:
    return Script("example", "1.0", found)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


def test_a_failure_is_an_error_of_one_line(snapshot: SnapshotAssertion) -> None:
    failed = [script(VERDICTS[1]), script(VERDICTS[4])]
    lines = list(annotation_lines("example 1.0, seed 3", failed, ["the known failure a/b is passed now: why"]))
    assert "\n".join(lines) + "\n" == snapshot


def test_what_does_not_fail_the_run_is_a_warning_behind_all_errors() -> None:
    failed = [script(verdict("a/b", "wrong", level="SHOULD")), script(verdict("a/c", "wrong"))]
    lines = list(annotation_lines("t", failed, ["o"]))
    assert [line.partition("::")[2].partition("::")[0] for line in lines] == [
        "error title=t%3A wrong%3A a/c (MUST)",
        "error title=t%3A known failures",
        "warning title=t%3A wrong%3A a/b (SHOULD)",
    ]


def test_a_summary_counts_and_shows_what_is_not_known(snapshot: SnapshotAssertion) -> None:
    told = step_summary(
        "example 1.0, seed 3", VERDICTS, [script(VERDICTS[4])], ["the known failure a/b is passed now: why"]
    )
    assert told == snapshot


def test_there_are_no_more_annotations_than_github_shows_and_no_more_findings_than_can_be_read() -> None:
    many = [verdict(f"a/{number}", "wrong", "m", shown=True) for number in range(30)]
    assert len(list(annotation_lines("t", list(map(script, many)), ["o"]))) == 10
    told = step_summary("t", many, list(map(script, many)), [])
    assert told.count("<details>") == 20
    assert "... and 10 more." in told


@pytest.mark.parametrize("text", [MENTION, hostile.ATTACK])
def test_an_annotation_is_one_command_whatever_is_in_it(text: str) -> None:
    [line] = annotation_lines(text, [script(verdict("a/b", "wrong", text))], [])
    assert "\n" not in line
    assert "\r" not in line
    match = re.fullmatch(r"::error title=([^:,]*)::(.*)", line)
    assert match is not None
    told = match[2].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    assert told == verdict("a/b", "wrong", text).message


class Tags(HTMLParser):
    """Collects the tags of a page and its text outside of blocks of code."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize("text", [MENTION, hostile.ATTACK])
def test_a_summary_is_text_whatever_is_in_it(text: str) -> None:
    shown = [verdict("a/b", "wrong", text, shown=True), *HOSTILE]
    told = step_summary(text, shown, list(map(script, shown)), [text])
    tags = Tags()
    tags.feed(told)
    assert (tags.seen, tags.attributes) == ({"details", "summary", "pre"}, [])
    told.encode("utf-8")
    assert "\x1b" not in told
    markdown = re.sub(r"<pre>.*?</pre>", "", told, flags=re.DOTALL)
    assert re.search(r"[@`\[\]]|https?:|\n::", markdown) is None
    assert len(told) < 1 << 20
