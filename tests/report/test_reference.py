"""Are the pages of the reference the tables of the specifications?"""

from __future__ import annotations

import re
from pathlib import Path

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.native.adapter import FEATURES
from refgrad.native.adapter.files import file_fields
from refgrad.operators import operator_table
from tests.report.reference import PAGES, operators_page, stale_pages
from tests.repository.sources import ROOT

COLUMNS = 5
FIELD_COLUMNS = 6


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return re.split(r"(?<!\\)\|", line)[1:-1]


def test_the_committed_pages_are_up_to_date() -> None:
    assert stale_pages(ROOT / "docs" / "reference") == []


def test_pages_that_are_missing_or_old_are_named(tmp_path: Path) -> None:
    assert stale_pages(tmp_path) == list(PAGES)
    for name, page in PAGES.items():
        (tmp_path / name).write_text(page(), encoding="utf-8")
    assert stale_pages(tmp_path) == []
    (tmp_path / "operators.md").write_text("old", encoding="utf-8")
    assert stale_pages(tmp_path) == ["operators.md"]


def test_every_row_has_its_line_with_its_domain_its_edges_and_its_source() -> None:
    lines = operators_page().splitlines()
    for row in operator_table().values():
        (line,) = [line for line in lines if line.startswith(f"| `{row.name}`") and len(cells(line)) == COLUMNS]
        assert row.source.replace("|", "\\|") in line
        assert row.domain is None or f"`{row.domain.source}`" in line
        assert sum(line.startswith(f"| `{row.name}` |") for line in lines) >= len(row.edges)


def test_every_behaviour_has_its_line() -> None:
    page = PAGES["behaviours.md"]()
    assert all(f"| `{behaviour.id}` | {behaviour.level} |" in page for behaviour in all_behaviours())
    assert all(f"| {behaviour.tested_by} |" in page for behaviour in all_behaviours())


def test_every_field_of_adapters_has_its_line_and_every_feature_too() -> None:
    lines = PAGES["adapter-fields.md"]().splitlines()
    for name, row in file_fields("family").items():
        (line,) = [line for line in lines if line.startswith(f"| `{name}` |") and len(cells(line)) == FIELD_COLUMNS]
        assert all(f"`{{{placeholder}}}`" in line for placeholder in row.placeholders or ())
        assert all(f"`{feature}`" in line for feature in row.gives)
        assert f"`{name} = " in line
    assert all(f"| `{feature}` | {meaning} |" in lines for feature, meaning in FEATURES.items())


def test_every_placeholder_of_a_spelling_has_its_line() -> None:
    page = PAGES["adapter-fields.md"]()
    for row in operator_table().values():
        assert all(f"`{{{name}}}`" in page for name in (*row.argument_names, *row.attribute_names))
