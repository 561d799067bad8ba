"""What is measured of growth is the seconds and bytes of the measurements, and the page tells them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from tests.report.measured import growth

MEASURED = ("scale/sixty_diamonds", "release/abandoned_graphs_do_not_add_up", "accumulation/five_calls")


def test_an_engine_has_seconds_by_size_and_bytes_by_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "all_behaviours", lambda: [each for each in all_behaviours() if each.id in MEASURED])
    found = growth.growth_of(start(find_adapter("refgrad")), Settings("smoke"))
    curves = {curve["check"]: curve for curve in found["curves"]}
    assert curves.keys() == set(MEASURED[:2])
    time, memory = curves[MEASURED[0]], curves[MEASURED[1]]
    assert (time["of"], time["verdict"], time["points"][-1][0]) == ("time", "passed", 60)
    assert all(0 < seconds < 10 for _, seconds in time["points"])
    assert (memory["of"], [size for size, _ in memory["points"]]) == ("memory", [200, 400, 600, 800])
    assert all(held > 0 for _, held in memory["points"])
    assert json.loads(json.dumps(found)) == found


def curve(of: str, *points: tuple[float, float], **others: object) -> dict[str, object]:
    return {
        "check": f"chapter/{of}",
        "of": of,
        "verdict": "passed",
        "points": [list(each) for each in points],
        **others,
    }


def document(*curves: dict[str, object]) -> dict[str, object]:
    around = {"version": "1", "python": "3.0", "machine": "m", "profile": "smoke"}
    return {"engine": "toy", **around, "curves": list(curves)}


def test_the_page_tells_the_exponent_and_what_a_round_leaves_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    shown = document(
        curve("time", (10, 0.5), (2000, 1.5), exponent=1.046),
        curve("memory", (100, 5000), (200, 9000), (300, 9200)),
    )
    path.write_text(json.dumps([shown, document(curve("time"))]))
    monkeypatch.setattr(sys, "argv", ["growth", "--page", str(path)])
    growth.main()
    page = capsys.readouterr().out
    assert "| `chapter/time` | passed: 1.05 (2,000: 1.5 s) | passed |\n" in page
    assert "| `chapter/memory` | passed: 2.0 bytes (300 iterations) |  |\n" in page
    assert page.endswith("\nPython 3.0 on m, one thread, profile `smoke`.\n")
