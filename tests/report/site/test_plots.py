"""Measured errors are drawn as bars, the largest first."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from refgrad.report import ITEMS
from refgrad.report.document import ReportError
from refgrad.report.site import write_site
from refgrad.report.site.pictures import ACCURACY, read_accuracy
from tests.report.example import write_example


def document(*ulps: float) -> dict[str, Any]:
    rows = [
        {
            "operator": f"<b>{number}",
            "of": "value",
            "ulps": each,
            "budgets": each,
            "at": {"x": 1.0},
            "seen": 1,
            "truth": 2,
        }
        for number, each in enumerate(ulps)
    ]
    return {"engine": "<script>", "version": "1", "dtype": "float64", "worst": rows}


def written(folder: Path, text: str) -> Path:
    (folder / ACCURACY).mkdir(exist_ok=True)
    (folder / ACCURACY / "a.json").write_text(text, encoding="utf-8")
    return folder


def test_the_largest_errors_are_the_longest_bars(tmp_path: Path) -> None:
    (read,) = read_accuracy(written(tmp_path, json.dumps([document(2.0, 1e300, 0.0, 1e4)])))
    rows = read["worst"]
    assert [row["ulps"] for row in rows] == [1e300, 1e4, 2.0, 0.0]
    assert [row["bar"] for row in rows] == [1.0, pytest.approx(4 / 16), pytest.approx(math.log10(2) / 16), 0.0]
    (many,) = read_accuracy(written(tmp_path, json.dumps([document(*range(100))])))
    assert len(many["worst"]) == ITEMS["bars"]


def test_the_page_is_there_where_there_is_data(tmp_path: Path) -> None:
    write_example(tmp_path)
    assert read_accuracy(tmp_path) == []
    write_site(written(tmp_path, json.dumps([document(2.0, 1e4)])), tmp_path / "site")
    text = (tmp_path / "site" / "accuracy.html").read_text(encoding="utf-8")
    assert "&lt;script&gt; 1, float64" in text
    assert "<b>" not in text
    assert ('<td class="number">2</td>' in text, "<strong>1e+04</strong>" in text) == (True, True)


@pytest.mark.parametrize("text", ["{", "[1]", '[{"worst": []}]', '[{"worst": [{"ulps": "x"}]}]'])
def test_what_was_not_measured_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReportError, match=r"a\.json: "):
        read_accuracy(written(tmp_path, text))
