"""Which pages of the documentation are tables of the specifications?

``python -m refgrad.report.reference docs/reference`` writes them; with ``--check`` it says which of them are not up to
date.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.harness import all_behaviours
from refgrad.operators import operator_table
from refgrad.operators.signature import domain, edge, signature
from refgrad.report.markdown import markdown_templates


def operators_page() -> str:
    """Return the operator table as Markdown."""
    rows = operator_table().values()
    families = _grouped(rows, "family")
    return _render("operators", total=len(rows), families=families, signature=signature, domain=domain, edge=edge)


def behaviours_page() -> str:
    """Return the behaviours as Markdown."""
    rows = all_behaviours()
    return _render("behaviours", total=len(rows), chapters=_grouped(rows, "chapter"))


PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType({
    "operators.md": operators_page,
    "behaviours.md": behaviours_page,
})


def stale_pages(directory: Path) -> list[str]:
    """Return the names of pages that are missing from a directory, or not what they would be if written now."""
    paths = {name: directory / name for name in PAGES}
    return [
        name for name, path in paths.items() if not path.exists() or path.read_text(encoding="utf-8") != PAGES[name]()
    ]


def _grouped(rows: Iterable[Any], attribute: str) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        groups[getattr(row, attribute)].append(row)
    return dict(groups)


def _render(template: str, **fields: Any) -> str:
    return markdown_templates().get_template(f"{template}.md.jinja").render(**fields).lstrip("\n")


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the reference pages that are tables of the specifications.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")
    options = parser.parse_args()
    if options.check:
        stale = stale_pages(options.directory)
        if stale:
            sys.exit(
                f"not up to date: {', '.join(stale)}; run `python -m refgrad.report.reference {options.directory}`"
            )
        return
    for name, page in PAGES.items():
        (options.directory / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
