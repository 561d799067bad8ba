"""The page of what is covered of each engine, from ``refgrad coverage``.

    python -m tests.report.coverage_page [FILE...] > reports/coverage.md

The page is about all installed engines, and about those of which ``refgrad coverage --json`` wrote a file, in an
environment of theirs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from refgrad.documents import read_json, read_text
from refgrad.errors import EngineStartError
from refgrad.native.engine_names import registered_engines
from refgrad.report.coverage import Document, coverage
from refgrad.report.document import ReportError
from refgrad.report.pages import markdown_templates


def coverage_page(documents: Sequence[Document]) -> str:
    """Return what is covered of several engines, as Markdown."""
    families = {family: len(found["has"]) + len(found["lacks"]) for family, found in documents[0]["families"].items()}
    page = markdown_templates().from_string(read_text(Path(__file__).with_name("coverage.md.jinja")))
    return page.render(documents=documents, families=families, total=sum(families.values())).lstrip("\n")


def read_coverage(path: Path) -> list[Document]:
    """Read what ``refgrad coverage --json`` wrote. Raises ReportError where the file is something else."""
    documents: list[Document] = read_json(path, "coverage", ReportError)
    return documents


def _installed() -> Iterator[Document]:
    """Yield the coverage of the engines that can be started here."""
    for name in registered_engines():
        try:
            yield coverage(name)
        except EngineStartError as error:
            print(error, file=sys.stderr)  # noqa: T201 (standard output is the page)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description="Print the page of what is covered of each engine.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="written by `refgrad coverage --json`")
    options = parser.parse_args()
    read = [document for path in options.files for document in read_coverage(path)]
    known = {document["engine"] for document in read}
    here = [document for document in _installed() if document["engine"] not in known]
    sys.stdout.write(coverage_page([*here, *read]))


if __name__ == "__main__":
    main()
