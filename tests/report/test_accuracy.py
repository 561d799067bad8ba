"""Tests of the page of the results of ``refgrad accuracy``."""

import json
from pathlib import Path
from typing import Any

import pytest

from refgrad.report.accuracy import accuracy_page
from tests.report.accuracy_page import main


@pytest.fixture
def document() -> dict[str, Any]:
    entry = {"of": "value", "points": 1, "at": {"x": 2.0}, "seen": 1.0, "truth": 1.5}
    worst = [
        entry | {"operator": "forgiven", "ulps": 1e9, "budgets": 4.0},
        entry | {"operator": "wrong", "ulps": 4.1, "budgets": 4.1},
        entry | {"operator": "worse", "ulps": 1e3, "budgets": 1e2},
        entry | {"operator": "right", "ulps": 4.0, "budgets": 0.25},
    ]
    return {"engine": "tape", "version": "1.2", "dtype": "float32", "worst": worst}


def test_the_page_begins_with_what_rounding_does_not_explain(document: dict[str, Any]) -> None:
    page = accuracy_page([document])
    assert "## tape 1.2, float32" in page
    assert "1 of 4 values and slopes are within 4 ulps" in page
    rows = [line for line in page.splitlines() if "| value |" in line]
    assert rows[0].startswith("| worse | value | 1e+03 (1e+02) | x = 2.0 | 1.0 | 1.5 |")
    assert [row.split()[1] for row in rows] == ["worse", "wrong", "forgiven"]


def test_the_page_of_files_is_printed(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "engines.json"
    path.write_text(json.dumps([document]))
    monkeypatch.setattr("sys.argv", ["accuracy", str(path), str(path)])
    main()
    assert capsys.readouterr().out == accuracy_page([document, document])
