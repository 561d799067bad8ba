"""An engine whose every word is an attack: its pages, scripts and reports are ugly, and nothing in them is active."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from refgrad.native.text import UNSAFE
from refgrad.report.comparison import comparison_text, differences
from refgrad.report.document import read_report
from refgrad.report.findings import MARKER, scripts
from refgrad.report.pages import write_pages
from tests.report.example import write_example
from tests.report.site.hostile import write_hostile

FENCED = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
IN_LINE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of a plain engine and of a hostile one, with their pages and scripts."""
    folder = tmp_path_factory.mktemp("reports")
    write_example(folder)
    write_hostile(folder)
    write_pages(folder)
    return folder


class Tags(HTMLParser):
    """Collects the tags of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs), attrs


def test_a_report_is_json_that_is_read_back(folder: Path) -> None:
    data = (folder / "hostile.json").read_bytes()
    assert json.loads(data.decode("utf-8"))["engine"]["name"] == read_report(folder / "hostile.json").engine["name"]


def test_files_have_safe_names_and_lie_where_they_should(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {folder, folder / "findings"}
    assert [path.name for path in files if not re.fullmatch(r"[\w.+-]{1,110}", path.name, re.ASCII)] == []


def test_a_page_of_markdown_has_no_tag_link_or_control_character_of_the_engine(folder: Path) -> None:
    plain, hostile = (
        FENCED.sub("", (folder / name).read_text(encoding="utf-8")) for name in ("example.md", "hostile.md")
    )
    assert UNSAFE.search((folder / "hostile.md").read_text(encoding="utf-8")) is None
    for text in (hostile, FENCED.sub("", (folder / "README.md").read_text(encoding="utf-8"))):
        assert Tags(text).seen <= Tags(plain).seen
        assert "](javascript" not in IN_LINE.sub("", text)
    assert len(hostile) < 1_000_000


def test_what_an_engine_says_stays_a_remark_in_its_scripts(folder: Path) -> None:
    found = scripts(read_report(folder / "hostile.json"))
    assert len({script.file_name for script in found}) == len(found) == 3
    for script in found:
        text = (folder / "findings" / script.file_name).read_bytes().decode("utf-8")
        head, _, rest = text.partition("\n\n")
        assert head.startswith(MARKER)
        assert [line for line in head.split("\n") if not line.startswith("# ")] == []
        assert UNSAFE.search(head) is None
        assert rest.endswith(script.program.encode("utf-8", "backslashreplace").decode("utf-8"))


def test_a_comparison_is_plain_text_of_bounded_length(folder: Path) -> None:
    old, new = (read_report(folder / name) for name in ("example.json", "hostile.json"))
    told = comparison_text(old, new, differences(old, new))
    assert len(told) < 100_000
