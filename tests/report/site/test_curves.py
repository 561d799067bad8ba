"""What was measured of growth is drawn as a curve an engine, a plot a check."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from refgrad.report.document import ReportError
from refgrad.report.site import write_site
from refgrad.report.site.pictures import GROWTH, Plot, drawn, read_growth
from tests.report.example import write_example


def document(engine: str, *curves: tuple[str, str, list[list[float]]]) -> dict[str, Any]:
    rows = [{"check": check, "of": of, "verdict": "passed", "points": points} for check, of, points in curves]
    return {"engine": engine, "version": "1", "curves": rows}


def written(folder: Path, *documents: object) -> Path:
    (folder / GROWTH).mkdir(exist_ok=True)
    (folder / GROWTH / "a.json").write_text(json.dumps(documents), encoding="utf-8")
    return folder


def places(plot: Plot) -> list[list[tuple[float, float]]]:
    """Return the points of each curve of a picture, in pixels, up is more."""
    paths = [path.attrib["d"] for path in ET.fromstring(drawn(plot)).findall("g/path")]  # noqa: S314 (our own)
    numbers = [[float(each) for each in re.findall(r"[\d.]+", path)] for path in paths]
    return [[(x, -y) for x, y in zip(each[::2], each[1::2], strict=True)] for each in numbers]


def test_what_is_linear_climbs_a_decade_up_for_a_decade_across(tmp_path: Path) -> None:
    linear = [[10.0**power, 10.0 ** (power - 5)] for power in range(1, 5)]
    square = [[10.0**power, 10.0 ** (2 * power - 5)] for power in range(1, 5)]
    (plot,) = read_growth(
        written(tmp_path, document("a", ("c/x", "time", linear)), document("b", ("c/x", "time", square)))
    )
    slopes = [(curve[-1][1] - curve[0][1]) / (curve[-1][0] - curve[0][0]) for curve in places(plot)]
    assert slopes[1] / slopes[0] == pytest.approx(2.0, rel=1e-2)
    for curve in places(plot):
        assert len({round(after[0] - before[0]) for before, after in pairwise(curve)}) == 1


def test_memory_is_told_from_the_first_round_on(tmp_path: Path) -> None:
    rounds = [[100 * number, 5e7 + grown] for number, grown in enumerate((0, 1e6, 2e6), 1)]
    flat = [[100 * number, 9e7] for number in range(1, 4)]
    (plot,) = read_growth(
        written(tmp_path, document("a", ("c/x", "memory", rounds)), document("b", ("c/x", "memory", flat)))
    )
    grown, same = places(plot)
    assert grown[0][1] == same[0][1] == same[-1][1]
    assert grown[0][1] < grown[1][1] < grown[2][1]
    assert "2,000 kB" in drawn(plot)


def test_names_at_the_ends_of_curves_do_not_cover_each_other(tmp_path: Path) -> None:
    same = [document(f"engine{number}", ("c/x", "time", [[1, 1], [10, 10]])) for number in range(9)]
    (plot,) = read_growth(written(tmp_path, *same))
    names = [text for text in ET.fromstring(drawn(plot)).iter("text") if text.attrib["class"] == "end"]  # noqa: S314
    heights = sorted(float(text.attrib["y"]) for text in names)
    assert len(heights) == 9
    assert all(after - before > 12 for before, after in pairwise(heights))


@pytest.mark.parametrize("points", [[], [[1, 0.0]], [[5, 1e-12], [6, 1e300]]])
@pytest.mark.parametrize("of", ["time", "memory"])
def test_any_numbers_make_a_picture(tmp_path: Path, points: list[list[float]], of: str) -> None:
    (plot,) = read_growth(written(tmp_path, document("a", ("c/x", of, points))))
    assert "nan" not in drawn(plot)
    ET.fromstring(drawn(plot))  # noqa: S314 (our own)


def test_the_page_is_there_where_there_is_data(tmp_path: Path) -> None:
    write_example(tmp_path)
    assert read_growth(tmp_path) == []
    hostile = document("<script>", ("<b>", "time", [[1, 1.0], [10, 9.0]]))
    site = tmp_path / "new" / "site"
    write_site(written(tmp_path, hostile), site)
    text = (site / "growth.html").read_text(encoding="utf-8")
    assert "&lt;script&gt; 1" in text
    assert "<b>" not in text
    assert 'href="growth.html"' in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "wrong", [1, {"curves": [1]}, document("a", ("x", "time", [[1, math.nan]])), document("a", ("x", "size", []))]
)
def test_what_was_not_measured_is_named(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(ReportError, match=r"a\.json: "):
        read_growth(written(tmp_path, wrong))
