"""Documents are pages of the site: rendered, linked, and with no markup but that of Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refgrad.report.document import ReportError
from refgrad.report.site import write_site
from refgrad.report.site.documents import Document, read_documents, shelves
from tests.report.example import write_example
from tests.report.site.test_writing import Page
from tests.repository.sources import ROOT


def document(folder: Path, text: str, name: str = "docs/a.md", **others: str) -> Document:
    """Return a document of this text, beside others by their names."""
    for path, content in {
        name: text,
        **{key.replace("__", "/") + ".md": value for key, value in others.items()},
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    return next(each for each in read(folder) if each.path == name)


def read(folder: Path) -> list[Document]:
    return read_documents(folder / "docs", lambda path: f"page-{path}", folder / "reports")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """The site of an example with the documentation of the project."""
    folder = tmp_path_factory.mktemp("reports")
    write_example(folder)
    return {path.name: Page(path) for path in write_site(folder, folder / "site", (), ROOT / "docs")}


def test_every_link_of_the_documentation_leads_to_a_page_and_a_heading_of_it(pages: dict[str, Page]) -> None:
    links = [(name, link) for name, page in pages.items() for link in page.links if not link.startswith("data:")]
    inner = [(name, link) for name, link in links if not re.match(r"https?://", link)]
    dead = []
    for name, link in inner:
        file, _, heading = link.partition("#")
        target = pages.get(file or name)
        if target is None or (heading and heading not in target.identifiers):
            dead.append((name, link))
    assert dead == []
    assert sum(name.startswith("document-") for name, _ in inner) > 500


def test_no_page_has_an_identifier_twice(pages: dict[str, Page]) -> None:
    twice = [name for name, page in pages.items() if len(page.identifiers) != len(set(page.identifiers))]
    assert twice == []


def test_all_markdown_of_the_documentation_is_on_the_site_and_listed(pages: dict[str, Page]) -> None:
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    named = {"document-" + path.lower().replace("/", "-") + ".html" for path in files}
    assert named <= pages.keys()
    assert named <= set(pages["documents.html"].links)
    assert "document-architecture.md.html" in pages


def test_documents_are_as_inactive_as_all_pages_and_hold_their_pictures(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert page.tags.count("script") == page.tags.count("style") == 1, name
        assert not any(each.startswith("on") or each == "style" for each in page.attributes), name
        held = name.startswith("document-")
        assert ("img-src data:" in page.policy) == held, name
        assert all(link.startswith("data:image/") for tag, link in page.sources if tag == "img"), name
    assert any("img" in page.tags for page in pages.values())


def test_markup_of_html_is_text_and_a_comment_is_nothing(tmp_path: Path) -> None:
    text = "# A <b>title</b>\n\n<!-- generated\nby x -->\n\n<script>alert(1)</script>\n\nAnd <i>so</i> on <!-- c -->.\n"
    body = document(tmp_path, text).body
    assert "&lt;b&gt;title&lt;/b&gt;" in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "And &lt;i&gt;so&lt;/i&gt; on ." in body
    assert not re.search(r"<(script|b|i)\b|generated|-->", body)


@pytest.mark.parametrize("link", ["javascript:alert(1)", "vbscript:x", "data:text/html,x"])
def test_a_link_that_would_run_something_is_text(tmp_path: Path, link: str) -> None:
    assert "<a" not in document(tmp_path, f"[x]({link})\n").body


def test_links_lead_to_pages_of_documents_and_sources_and_to_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "README.md").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "run.py").write_text("print('<b>')\n")
    (tmp_path / "docs" / "notes.bin").write_text("x")
    links = ["b.md#Two", "run.py", "../reports/README.md", "notes.bin", "../reports", "#here", "https://x.org/y.md"]
    text = " ".join(f"[at{number}]({link})" for number, link in enumerate(links))
    body = document(tmp_path, text, docs__b="# B\n").body
    assert re.findall(r'<a href="(.*?)"[^>]*>at(\d)</a>', body) == [
        ("page-docs/b.md#Two", "0"),
        ("page-docs/run.py", "1"),
        ("index.html", "2"),
        ("#here", "5"),
        ("https://x.org/y.md", "6"),
    ]
    assert "at3" in body
    assert "at4" in body
    (source,) = [each.body for each in read(tmp_path) if each.path == "docs/run.py"]
    assert "print(&#39;&lt;b&gt;&#39;)" in source


def test_a_file_outside_of_the_checkout_gets_no_page(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    found = document(tmp_path / "checkout", "[x](../../secret.md)\n")
    assert "<a" not in found.body
    assert [each.path for each in read(tmp_path / "checkout")] == ["docs/a.md"]


@pytest.mark.parametrize("text", ["[x](gone.md)\n", "![x](gone.svg)\n"])
def test_what_links_to_nothing_is_an_error_that_names_the_link(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReportError, match=r"a\.md links to gone\.\w+, which is not there"):
        document(tmp_path, text)


def test_headings_are_called_as_on_github_and_never_alike(tmp_path: Path) -> None:
    found = document(tmp_path, "# The `a_b`, twice\n\n## Main\n\n## Same: it\n\n## Same it\n")
    assert re.findall(r'<h\d id="(.*?)"', found.body) == ["the-a_b-twice", "main-1", "same-it", "same-it-1"]
    assert found.title == "The a_b, twice"
    assert found.sections == [("main-1", "Main"), ("same-it", "Same: it"), ("same-it-1", "Same it")]


def test_columns_of_numbers_are_marked_by_a_class(tmp_path: Path) -> None:
    body = document(tmp_path, "| a | b |\n|---|---:|\n| x | 1 |\n").body
    assert '<td class="number">1</td>' in body
    assert "<td>x</td>" in body
    assert "style=" not in body


def test_a_document_is_told_in_its_first_sentence(tmp_path: Path) -> None:
    found = document(tmp_path, "# T\n\n**Question.** Who asks\nthis? Me. And you.\n")
    assert found.summary == "Who asks this? Me"


def test_tutorials_come_first_and_folders_that_nobody_knows_last(tmp_path: Path) -> None:
    document(
        tmp_path,
        "# T\n\nx\n",
        docs__zoo__a="# T\n\nx\n",
        docs__tutorial__a="# T\n\nx\n",
        docs__decisions__a="# D\n\nx\n",
    )
    assert list(shelves(read(tmp_path))) == ["tutorial", "decisions", "docs", "zoo"]


@pytest.mark.parametrize(("name", "content"), [("a.md", b"\xff"), ("a.txt", b"x")])
def test_a_folder_that_holds_no_text_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes(content)
    with pytest.raises(ReportError, match=r"a\.md: cannot be read: it is not a text in UTF-8|holds no document"):
        read(tmp_path)
