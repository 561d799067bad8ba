"""Each engine that has a report has a row that says how it is had, in the version that was graded."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.effort import each
from tests.repository.sources import ROOT

ROWS: dict[str, Any] = tomllib.loads((ROOT / "reports" / "engines.toml").read_text(encoding="utf-8"))
REPORTS = sorted(path.stem for path in (ROOT / "reports").glob("*.json") if path.stem != "refgrad")


def test_every_third_party_engine_with_a_report_has_a_row_and_no_other_has() -> None:
    assert sorted(ROWS) == REPORTS


@each("name", REPORTS)
def test_a_row_gives_the_version_the_language_and_the_profile_of_the_report(name: str) -> None:
    row, report = ROWS[name], json.loads(Path(ROOT / "reports" / f"{name}.json").read_text(encoding="utf-8"))
    version = report["engine"]["version"].partition("+")[0]
    pins = [argument for call in row.get("pip", ()) for argument in call if "==" in argument]
    pins += [package for package in row.get("npm", ()) if "@" in package[1:]]
    assert row["language"] == report["engine"].get("language", "python")
    assert row.get("profile", "smoke") == report["profile"]
    assert any(pin.endswith((f"=={version}", f"@{version}")) for pin in pins) or "apt" in row


RELEASES = sorted((ROOT / "reports" / "versions").glob("*/*/"))


@pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_release_has_a_report_and_what_pins_its_version(folder: Path) -> None:
    engine, version = folder.parent.name, folder.name.partition("+")[0]
    assert f"{engine}=={version}" in (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    report = json.loads((folder / f"{engine}.json").read_text(encoding="utf-8"))
    assert report["engine"]["version"] == version
