"""``refgrad report`` turns results into pages."""

from __future__ import annotations

from tests.cli.conftest import Terminal
from tests.report.example import write_example


def test_a_folder_of_results_gets_pages_and_scripts(terminal: Terminal) -> None:
    graded = terminal.grade("toy:WRONG", "--profile", "smoke", "--select", "operators/multiply")
    assert graded.status == 1
    result = terminal.invoke("report", "out")
    assert result.exit_code == 0
    assert result.output == "out: 3 pages and 1 scripts of findings; begin with out/README.md\n"
    out = terminal.folder / "out"
    assert sorted(path.name for path in out.glob("*.md")) == ["README.md", "matrix.md", "wrong.md"]
    assert [path.name for path in (out / "findings").iterdir()] == ["wrong-operators-multiply.py"]


def test_grading_writes_the_pages_too_if_it_is_told_to_whatever_it_finds(terminal: Terminal) -> None:
    graded = terminal.grade("toy:WRONG", "--profile", "smoke", "--select", "operators/multiply", "--pages")
    assert graded.status == 1
    assert sorted(path.name for path in (terminal.folder / "out").glob("*.md")) == [
        "README.md",
        "matrix.md",
        "wrong.md",
    ]


def test_a_folder_without_results_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("report", ".")
    assert result.exit_code == 2
    assert result.stderr == "Error: . holds no report (*.json with the schema refgrad/report/3)\n"


def test_a_file_that_is_no_report_is_named(terminal: Terminal) -> None:
    (terminal.folder / "other.json").write_text("{}")
    result = terminal.invoke("report", ".")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: other.json: 'schema' is missing")


def test_a_page_that_cannot_be_written_is_exit_status_4(terminal: Terminal) -> None:
    write_example(terminal.folder)
    (terminal.folder / "README.md").mkdir()
    result = terminal.invoke("report", ".")
    assert result.exit_code == 4
    assert result.stderr == "Error: [Errno 21] Is a directory: 'README.md'\n"


def test_a_site_is_written_apart_from_the_reports(terminal: Terminal) -> None:
    write_example(terminal.folder)
    result = terminal.invoke("report", ".", "--html", "site")
    assert result.exit_code == 0
    pages = len(list((terminal.folder / "site").glob("*.html")))
    assert result.output == f"site: {pages} pages; begin with site/index.html\n"
    assert sorted(path.name for path in terminal.folder.glob("*.md")) == []


def test_a_site_of_several_folders_has_the_history_of_its_engines(terminal: Terminal) -> None:
    for name in ("old", "new"):
        (terminal.folder / name).mkdir()
        write_example(terminal.folder / name)
    assert terminal.invoke("report", "old", "new", "--html", "site").exit_code == 0
    assert (terminal.folder / "site" / "history.html").exists()
    (terminal.folder / "empty").mkdir()
    refused = terminal.invoke("report", "empty", "new", "--html", "site")
    assert (refused.exit_code, refused.stderr.startswith("Error: empty holds no report")) == (2, True)


def test_documents_become_pages_of_a_site_and_of_nothing_else(terminal: Terminal) -> None:
    write_example(terminal.folder)
    (terminal.folder / "docs").mkdir()
    (terminal.folder / "docs" / "a.md").write_text("# A document\n\nThat says something.\n")
    assert terminal.invoke("report", ".", "--html", "site", "--docs", "docs").exit_code == 0
    assert '<h1 id="a-document">' in (terminal.folder / "site" / "document-docs-a.md.html").read_text(encoding="utf-8")
    refused = terminal.invoke("report", ".", "--docs", "docs")
    assert refused.exit_code == 2
    assert "--docs needs --html" in refused.stderr
