"""The site of some reports: complete, linked, and with nothing active that comes from an engine."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from refgrad.report.document import ReportError
from refgrad.report.pages import write_pages
from refgrad.report.site import write_site
from tests.report.example import write_example
from tests.report.site.hostile import write_hostile
from tests.repository.sources import ROOT

KNOWN = ROOT / "reports" / "upstream.toml"


class Page(HTMLParser):
    """What a page consists of: tags, attributes, links, and the text of scripts and styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.sources: list[tuple[str, str]] = []
        self.identifiers: list[str] = []
        self.texts: dict[str, str] = {}
        self.policy = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes |= given.keys()
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.sources += [(tag, given["src"])] if "src" in given else []
        self.identifiers += [given["id"]] if "id" in given else []
        self.policy = given["content"] if given.get("http-equiv") == "Content-Security-Policy" else self.policy

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in {"style", "script"}:
            self.texts.setdefault(self.tags[-1], data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a plain engine and a hostile one."""
    folder = tmp_path_factory.mktemp("reports")
    write_example(folder)
    write_hostile(folder)
    write_site(folder, folder / "site")
    return folder / "site"


def test_every_link_of_every_page_leads_to_a_page(site: Path) -> None:
    files = {path.name for path in site.iterdir()}
    for path in site.iterdir():
        page = Page(path)
        inner = {f"#{each}" for each in page.identifiers}
        assert set(page.links) <= files | inner, path.name
        assert len(page.identifiers) == len(set(page.identifiers))


def test_there_is_a_page_for_each_engine_finding_and_operator(site: Path) -> None:
    names = sorted(path.name for path in site.iterdir())
    assert {"index.html", "operators.html", "conventions.html", "engine-example.html", "engine-hostile.html"} <= set(
        names
    )
    assert "finding-example-operators-exp.html" in names
    assert "operator-relu.html" in names
    assert "accuracy.html" not in names


def test_names_of_files_are_safe(site: Path) -> None:
    assert all(re.fullmatch(r"[a-z0-9][\w+.-]{0,120}\.html", path.name, re.ASCII) for path in site.iterdir())


def test_nothing_of_an_engine_is_active(site: Path) -> None:
    for path in site.iterdir():
        page = Page(path)
        assert page.tags.count("script") == page.tags.count("style") == 1, path.name
        assert not {"img", "iframe", "object", "embed", "base", "b", "link"} & set(page.tags), path.name
        assert not any(name.startswith("on") or name == "style" for name in page.attributes), path.name


def test_the_policy_of_a_page_allows_its_own_script_and_style_alone(site: Path) -> None:
    page = Page(site / "index.html")
    hashes = {
        tag: "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for tag, text in page.texts.items()
    }
    assert page.policy == (
        f"default-src 'none'; style-src '{hashes['style']}'; script-src '{hashes['script']}'; base-uri 'none'; "
        "form-action 'none'"
    )


def test_what_is_shown_of_an_engine_is_plain_and_bounded(site: Path) -> None:
    for path in site.iterdir():
        text = path.read_text(encoding="utf-8")
        assert len(text) < 500_000, path.name
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text), path.name
        assert "49" not in re.findall(r"\{\{ 7 \* 7 \}\}|>\s*49\s*<", text)


def test_the_pages_of_markdown_hold_no_markup_of_an_engine_either(tmp_path: Path) -> None:
    write_hostile(tmp_path)
    for path in write_pages(tmp_path):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
            assert not re.search(r"<(script|img|b)\b", outside), path.name
            assert "](javascript:" not in outside, path.name
            assert text.count("\n```") % 2 == 0, path.name


def test_what_is_known_upstream_stands_with_its_cause(tmp_path: Path) -> None:
    write_example(tmp_path)
    known = KNOWN.read_text(encoding="utf-8").replace('"torch"', '"example"').replace("operators/det", "operators/exp")
    (tmp_path / "upstream.toml").write_text(known, encoding="utf-8")
    write_site(tmp_path, tmp_path / "site")
    for name in ("engine-example.html", "finding-example-operators-exp.html"):
        assert "https://github.com/pytorch/pytorch/issues/104675" in Page(tmp_path / "site" / name).links


def test_a_finding_has_its_sentence_its_program_and_an_issue(site: Path) -> None:
    text = (site / "finding-example-operators-exp.html").read_text(encoding="utf-8")
    assert "<h1>The gradient of <code>exp(x)</code> with respect to <code>x</code> at x = 1.5 is 4.48;" in text
    assert 'data-copy="program"' in text
    assert 'data-copy="issue"' in text
    assert '<svg class="graph"' in text


def test_a_site_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="holds no report"):
        write_site(tmp_path, tmp_path / "site")


def test_a_site_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    write_example(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"file cannot be written: "):
        write_site(tmp_path, tmp_path / "file")
