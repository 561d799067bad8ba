"""A file that cannot be used ends a command in one line and status 2, and one of somebody else never takes it over."""

from __future__ import annotations

import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Terminal
from tests.cli.test_damaged_files import GROWTH, KIBIBYTES, SCENARIO, SECONDS, SPECS
from tests.report.example import example_document, write_example


def _written(folder: Path, content: bytes, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


ENGINE = (SPECS / "engines" / "micrograd.toml").read_text(encoding="utf-8")


def _engine(old: str, new: str) -> str:
    assert old in ENGINE
    return ENGINE.replace(old, new, 1)


def _of_report(change: Callable[[dict[str, Any]], object]) -> str:
    """Return a report of which the first finding that has a program is changed."""
    document = example_document()
    change(next(row for row in document["verdicts"] if "reproduction" in row))
    return json.dumps(document)


NAMED = "must be letters and digits, behind the first also any of _ . + -, at most 100 characters"
NUMBER = r'does not match "^-?(inf|nan|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)$"'
LEAF = "adapter 'micrograd': leaf: template"
DATED = "a date is not allowed here; write a text in quotes"
SHALLOW = "it is nested too deep"
DEEP = "a = " + "[" * 100_000
RUN = ("run", "scenario.txt", "--engine", "./file.toml")
SITE = ("report", ".", "--html", "site")
REFUSED: Sequence[tuple[str, str, tuple[str, ...], str]] = [
    (
        "file.toml",
        _engine('"micrograd"', "2020-01-01"),
        RUN,
        "name: a date is not allowed here; write a text in quotes",
    ),
    ("file.toml", _engine('"micrograd"', '"x\\nimport os"'), RUN, f"its name 'x\\nimport os' {NAMED}"),
    ("file.toml", _engine('"micrograd"', '"../../x"'), RUN, f"its name '../../x' {NAMED}"),
    ("file.toml", _engine('"micrograd"', '""'), RUN, f"its name '' {NAMED}"),
    (
        "file.toml",
        _engine('"Value({scalar})"', '"Value({scalar!r:>9999999999})"'),
        RUN,
        f"{LEAF} 'Value({{scalar!r:>9999999999}})': the placeholder {{scalar!r:>9999999999}} is not a name",
    ),
    (
        "file.toml",
        _engine('"Value({scalar})"', '"Value({scalar:{array}})"'),
        RUN,
        f"{LEAF} 'Value({{scalar:{{array}}}})': the placeholder {{scalar:{{array}}}} is not a name",
    ),
    (
        "file.toml",
        _engine('"Value({scalar})"', f'"1{"+0" * 2000}"'),
        RUN,
        f"adapter 'micrograd': leaf: template '1{'+0' * 99}+'...: it has more than 2,000 characters",
    ),
    ("file.toml", "+0" * 2_000_000, RUN, "cannot be read: it has more than 2,097,152 bytes"),
    ("pyproject.toml", "tool = 3", ("grade", "refgrad"), 'tool: 3 is not of type "object"'),
    ("pyproject.toml", "[tool]\nrefgrad = 3", ("grade", "refgrad"), 'tool.refgrad: 3 is not of type "object"'),
    ("pyproject.toml", "[[tool.refgrad]]", ("grade", "refgrad"), 'tool.refgrad: [{}] is not of type "object"'),
    ("pyproject.toml", DEEP, ("grade", "refgrad"), f"cannot be read as TOML: {SHALLOW}"),
    ("known.toml", DEEP, ("grade", "refgrad", "--expect", "known.toml"), f"cannot be read as TOML: {SHALLOW}"),
    ("points.toml", DEEP, ("course", ".", "--points", "points.toml"), f"cannot be read as TOML: {SHALLOW}"),
    ("upstream.toml", DEEP, ("report", "."), f"cannot be read as TOML: {SHALLOW}"),
    ("upstream.toml", "known = 3", ("report", "."), 'known: 3 is not of type "array"'),
    ("upstream.toml", 'known = ["x"]', ("report", "."), 'known[0]: "x" is not of type "object"'),
    ("upstream.toml", "[known]", ("report", "."), 'known: {} is not of type "array"'),
    ("growth/a.json", json.dumps(GROWTH).replace('"e"', "null"), SITE, '[0].engine: null is not of type "string"'),
    (
        "growth/a.json",
        json.dumps(GROWTH).replace("[10, 0.1]", "[0, 0]"),
        SITE,
        "[0].curves[0].points[0][0]: 0 is less than or equal to the minimum of 0",
    ),
    (
        "growth/a.json",
        json.dumps(GROWTH).replace("0.2", "9" * 400),
        SITE,
        "[0].curves[0].points[1][1]: the number is too large",
    ),
    ("docs/a.md", "[x](a%00b)", (*SITE, "--docs", "docs"), "links to a%00b, which is not there"),
    (
        "example.json",
        _of_report(lambda row: row["evidence"]["fact"].update(lower="q")),
        ("diff", "example.json", "example.json"),
        f'verdicts[4].evidence.fact.lower: "q" {NUMBER}',
    ),
    (
        "example.json",
        _of_report(lambda row: row["evidence"]["fact"].update(relative_error="x")),
        ("confirm", "example.json"),
        f'verdicts[4].evidence.fact.relative_error: "x" {NUMBER}',
    ),
]


@pytest.mark.parametrize(("name", "text", "command", "message"), REFUSED, ids=[each[-1][:40] for each in REFUSED])
def test_a_file_that_cannot_be_used_is_one_line_and_status_2(
    terminal: Terminal, name: str, text: str, command: tuple[str, ...], message: str
) -> None:
    write_example(terminal.folder)
    (terminal.folder / "scenario.txt").write_text(SCENARIO)
    path = _written(terminal.folder, text.encode(), name)
    result = terminal.invoke(*command)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.replace(f"{terminal.folder}/", "").replace(": links", " links") in {
        f"Error: {path.relative_to(terminal.folder)}: {message}\n",
        f"Error: {path.relative_to(terminal.folder)} {message}\n",
    }


@pytest.mark.parametrize("make", [lambda path: path.symlink_to(path), os.mkfifo, Path.mkdir])
def test_what_is_no_regular_file_is_one_line_and_status_2(terminal: Terminal, make: Callable[[Path], object]) -> None:
    (terminal.folder / "scenario.txt").write_text(SCENARIO)
    make(terminal.folder / "file.toml")
    result = terminal.invoke(*RUN)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.removeprefix(f"Error: {terminal.folder}/file.toml: ") in {
        "there is no such file",
        "cannot be read: it is not a regular file",
    }


HOSTILE: Sequence[Callable[[dict[str, Any]], object]] = [
    lambda row: row.update(reproduction=[{"code": "import numpy as np\n\nprint(x.shape * 200000000)\n"}]),
    lambda row: row.update(reproduction=[{"code": "print(tuple(range(x.shape[0] * 100000000000)))\n"}]),
    lambda row: row.update(reproduction=[{"code": f"print(x{' + 0' * 20_000})\n"}]),
    lambda row: row.update(scenario="a = leaf float64[1] {0x1p+0}\nb = tile a reps=(900000000,)\nread value b\n"),
]


@pytest.mark.parametrize("change", HOSTILE)
@pytest.mark.parametrize(
    "command", [("report", "."), ("report", ".", "--html", "site"), ("diff", "example.json", ".json")]
)
def test_a_program_and_a_scenario_of_a_report_are_not_evaluated_beyond_a_bound(
    terminal: Terminal, change: Callable[[dict[str, Any]], object], command: tuple[str, ...]
) -> None:
    for name in ("example.json", ".json"):
        _written(terminal.folder, _of_report(change).encode(), name)
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = terminal.invoke(*command)
    assert (result.exit_code, result.exception) == (0, None)
    assert time.perf_counter() - started < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KIBIBYTES


def test_a_scenario_of_a_report_is_replayed_in_bounds(terminal: Terminal) -> None:
    _written(terminal.folder, _of_report(HOSTILE[-1]).encode(), "example.json")
    name = next(row["id"] for row in example_document()["verdicts"] if "reproduction" in row)
    result = terminal.invoke("replay", name, "--engine", "toy:RIGHT", "--report", "example.json")
    assert result.exit_code == 2
    assert (
        result.stderr
        == "Error: step 2: tile of shapes (1,): 900,000,000 entries are too many; there may be 16,777,216\n"
    )


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("operators/scans.toml", ('summary = "', "summary = 3 # "), 'cumsum.summary: 3 is not of type "string"'),
        ("behaviours/seeds.toml", ('level = "MUST"', "level = []"), 'level: [] is not one of "MUST", "SHOULD", "MAY"'),
        ("claims/dtypes.toml", ("scenarios = [", "scenarios = [3, "), '[0]: 3 is not of type "string"'),
    ],
)
def test_a_damaged_table_of_refgrad_specs_is_one_line_and_status_2(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, table: str, change: tuple[str, str], message: str
) -> None:
    specs = shutil.copytree(SPECS, terminal.folder / "specs")
    text = (specs / table).read_text(encoding="utf-8")
    (specs / table).write_text(text.replace(*change, 1), encoding="utf-8")
    monkeypatch.setenv("REFGRAD_SPECS", str(specs))
    finished = terminal.run("list", "checks")
    assert finished.status == 2
    (line,) = finished.errors.splitlines()
    assert line.startswith(f"Error: {specs / table}: ")
    assert line.endswith(message)
