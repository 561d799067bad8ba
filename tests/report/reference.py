"""The pages of the documentation that are tables of the specifications and of the code.

``python -m tests.report.reference docs/reference`` writes them; with ``--check`` it says which of them are not up to
date.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import read_text
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.native.adapter import FEATURES, FunctionalAdapter, TapeAdapter
from refgrad.native.adapter.fields import ROWS, AdapterField, required, rows
from refgrad.native.adapter.files import FILE_FIELDS
from refgrad.operators import operator_table
from refgrad.operators.table import edge, signature
from refgrad.report.pages import markdown_templates
from tests.report.placeholders import ATTRIBUTE_FORMATS, PLACEHOLDERS, argument_format


def operators_page() -> str:
    """Return the operator table as Markdown."""
    rows = operator_table().values()
    families = _grouped(rows, "family")
    return _render("operators", total=len(rows), families=families, signature=signature, edge=edge)


def behaviours_page() -> str:
    """Return the behaviours as Markdown."""
    rows = all_behaviours()
    return _render("behaviours", total=len(rows), chapters=_grouped(rows, "chapter"))


def adapter_fields_page() -> str:
    """Return the fields of adapters, their placeholders and the features that they give as Markdown."""
    tape, functional = rows(TapeAdapter), rows(FunctionalAdapter)
    groups = {
        "Fields of every adapter": {name: row for name, row in tape.items() if name in functional},
        "Fields of engines that record a tape": {n: row for n, row in tape.items() if n not in functional},
        "Fields of engines that differentiate functions": {n: row for n, row in functional.items() if n not in tape},
        "Fields of engine files alone": {name: ROWS[name] for name in FILE_FIELDS},
    }
    return _render(
        "adapter-fields",
        groups=groups,
        defaults={**_defaults(TapeAdapter), **_defaults(FunctionalAdapter), "kind": "required"},
        placeholders=PLACEHOLDERS,
        used_by=_users({**tape, **functional}),
        arguments=_placeholders_of_arguments(),
        attributes=_placeholders_of_attributes(),
        formats=ATTRIBUTE_FORMATS,
        features=FEATURES,
    )


def _defaults(kind: type) -> Mapping[str, str]:
    """Return what a field is if it is not given, for those where it is a text or has to be given."""
    texts = {
        found.name: f"`{found.default}`" for found in fields(kind) if found.default and isinstance(found.default, str)
    }
    return texts | dict.fromkeys(required(kind), "required")


def _users(table: Mapping[str, AdapterField]) -> Mapping[str, list[str]]:
    """Return the fields whose templates may use a placeholder."""
    return {name: [f for f, row in table.items() if name in (row.placeholders or ())] for name in PLACEHOLDERS}


def _placeholders_of_arguments() -> Mapping[str, list[str]]:
    """Return the names of operators' arguments by what their placeholders are filled with."""
    found: dict[str, set[str]] = defaultdict(set)
    for argument in (argument for operator in operator_table().values() for argument in operator.arguments):
        found[argument_format(argument)].add(argument.name)
    return {text: sorted(names) for text, names in found.items()}


def _placeholders_of_attributes() -> Mapping[str, tuple[list[str], list[str]]]:
    """Return the names of attributes of each type, and the operators that have one, in the order of the formats."""
    operators = operator_table().values()
    pairs = {
        kind: [(a.name, o.name) for o in operators for a in o.attributes if a.type == kind]
        for kind in ATTRIBUTE_FORMATS
    }
    return {kind: (sorted({name for name, _ in found}), [name for _, name in found]) for kind, found in pairs.items()}


PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType({
    "operators.md": operators_page,
    "behaviours.md": behaviours_page,
    "adapter-fields.md": adapter_fields_page,
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
    page = markdown_templates().from_string(read_text(Path(__file__).with_name(f"{template}.md.jinja")))
    return page.render(**fields).lstrip("\n")


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the reference pages that are tables of the specifications.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")
    options = parser.parse_args()
    if options.check:
        stale = stale_pages(options.directory)
        if stale:
            sys.exit(f"not up to date: {', '.join(stale)}; run `python -m tests.report.reference {options.directory}`")
        return
    for name, page in PAGES.items():
        (options.directory / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
