"""A badge says how many checks fail, in a color that nobody mistakes, whatever the engine is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.report.ci import Badge
from refgrad.report.document import Report, build_report, read_report
from tests.report.example import ADAPTER, VERDICTS, verdict
from tests.report.site.hostile import ATTACK, write_hostile

CHOICES = (verdict("edges/relu", "convention"), verdict("a/b", "inconclusive"))
WISHES = (verdict("a/b", "wrong", level="SHOULD"), verdict("a/c", "passed"))


def document(*verdicts: Verdict, complete: bool = True) -> Report:
    found = {row.id: row for row in verdicts}
    return build_report(ADAPTER, Settings(), found, [*found] if complete else [*found, "graphs/not_run"])


@pytest.mark.parametrize(
    ("verdicts", "complete", "message", "color"),
    [
        (CHOICES, True, "2 checks, none fails", "brightgreen"),
        ((*CHOICES, verdict("a/d", "unsupported")), True, "2 checks, none fails", "brightgreen"),
        ((verdict("a/b", "hung"), verdict("a/d", "unsupported")), True, "1 of 1 checks fail", "orange"),
        ((verdict("edges/relu", "passed"),), False, "1 of 2 checks run", "lightgrey"),
        (WISHES, True, "2 checks, none fails", "brightgreen"),
        ((verdict("a/b", "unexpected-error"), verdict("a/c", "passed")), True, "1 of 2 checks fail", "orange"),
        ((VERDICTS[4], verdict("a/c", "passed")), False, "1 of 2 checks fail", "red"),
    ],
)  # fmt: skip
def test_a_badge_counts_what_fails_on_the_level_must(
    verdicts: tuple[Verdict, ...], message: str, color: str, *, complete: bool
) -> None:
    badge = Badge.of(document(*verdicts, complete=complete))
    assert badge.endpoint() == {
        "schemaVersion": 1,
        "label": "refgrad: example unknown",
        "message": message,
        "color": color,
    }


def test_the_picture_says_the_same() -> None:
    picture = ET.fromstring(Badge.of(document(VERDICTS[4])).picture())  # noqa: S314 (our own)
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["refgrad: example unknown", "1 of 1 checks fail"]
    widths = [float(each.attrib["width"]) for each in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert sum(widths) == float(picture.attrib["width"])
    middles = [float(each.attrib["x"]) for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert middles == [widths[0] / 2, widths[0] + widths[1] / 2]


def test_a_hostile_name_is_text_in_the_picture(tmp_path: Path) -> None:
    badge = Badge.of(read_report(write_hostile(tmp_path)))
    assert len(badge.label) <= 60
    picture = ET.fromstring(replace(badge, label=ATTACK[:60]).picture())  # noqa: S314 (that it can be read is the test)
    tags = {each.tag.rpartition("}")[2] for each in picture.iter()}
    assert tags == {"svg", "title", "rect", "g", "text"}
