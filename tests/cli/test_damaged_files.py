"""Whatever a file holds that a user gives, it is read, or refused in one line: in bounded time, in bounded memory."""

from __future__ import annotations

import json
import math
import resource
import time
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refgrad.cli import main
from refgrad.errors import UserError
from refgrad.grading.checks.behaviours import read_behaviours
from refgrad.grading.checks.check import _chapter
from refgrad.grading.settings import read_defaults
from refgrad.interpreter import bounded_values
from refgrad.native.adapter import read_adapter
from refgrad.operators import load_operators
from refgrad.pytest_plugin.known_failures import read_known_failures
from refgrad.report.course import read_points
from refgrad.report.pages import UPSTREAM_FILE, read_upstream
from refgrad.report.site.documents import read_documents
from refgrad.report.site.pictures import drawn, read_accuracy, read_growth
from refgrad.scenario import parse
from refgrad.specification import specs_directory
from tests.effort import USUAL
from tests.report.example import write_example

SPECS = specs_directory()
ROOT = SPECS.parent
EXAMPLES = settings().max_examples * (5 if settings().max_examples > USUAL else 2)
"""2,000 with the profile `thorough`."""

SECONDS = 10.0
KIBIBYTES = 1 << 20
NUMBERS = count()


def _written(folder: Path, content: bytes, name: str = "file.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _command(*arguments: str) -> None:
    """Run a command, and raise what it ended by unless that is one line on standard error."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        raise UserError(result.stderr.removeprefix("Error: ").removesuffix("\n"))
    assert result.exit_code in {0, 1}, result.output


def _regressions(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFGRAD_SPECS", str(path.parent.parent))
        (path.parent.parent / "operators").mkdir(exist_ok=True)
        _chapter.__wrapped__("edges")


def _report(path: Path) -> None:
    _command("report", str(path.parent))


def _scenario(path: Path) -> None:
    bounded_values(parse(path.read_text(encoding="utf-8", errors="replace")))


def _operators(path: Path) -> None:
    load_operators(path.parent)


def _document(path: Path) -> None:
    read_documents(path.parent, lambda name: f"page-{name}", path.parent)


def _growth(path: Path) -> None:
    for plot in read_growth(path.parent.parent):
        drawn(plot)


def _accuracy(path: Path) -> None:
    read_accuracy(path.parent.parent)


EXPECTED = '[[known_failure]]\nid = "edges/relu"\nreason = "x"\nversion = "<2.6"\nexpires = 2027-01-31\n'
UPSTREAM = '[[known]]\nengine = "e"\nchecks = ["a/b"]\nlink = "https://example.org"\ndate = 2026-01-02\nnote = "n"\n'
POINTS = (
    'required = ["exp"]\nrecursion = 5\n\n[[points]]\nname = "All"\nselect = "operators/*"\npoints = 40.5\n\n'
    '[[points]]\nselect = "sharing/*"\npoints = 30\n'
)
PROJECT = '[tool.refgrad]\nprofile = "smoke"\nseed = 3\nselect = ["edges/*"]\ntime-limit = 1.5\n'
SCENARIO = (
    "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\na = tile x reps=(2, 3)\nb = sum a axis=(0,)\nbackward b\n"
)
DOCUMENT = "# Title\n\nA paragraph with a [link](file.md#title) and `code`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
GROWTH = [{"engine": "e", "version": "1", "curves": [
    {"check": "scale/a", "of": "time", "verdict": "passed", "points": [[10, 0.1], [20, 0.2]], "exponent": 1.0},
    {"check": "release/b", "of": "memory", "verdict": "passed", "points": [[10, 100], [20, 200]]}]}]  # fmt: skip
ACCURACY = [{"engine": "e", "version": "1", "dtype": "float64", "worst": [
    {"operator": "exp", "of": "value", "points": 4, "ulps": 2.5, "budgets": 0.5, "at": {"x": 1.5}, "seen": 1.0,
     "truth": 2.0}]}]  # fmt: skip

Kind = tuple[str, Callable[[Path], object], Callable[[], bytes]]
KINDS: Mapping[str, Kind] = {
    "engine": ("engine.toml", read_adapter, (SPECS / "engines" / "micrograd.toml").read_bytes),
    "project": ("pyproject.toml", lambda path: read_defaults(path.parent), PROJECT.encode),
    "expectations": ("known.toml", read_known_failures, EXPECTED.encode),
    "points": ("points.toml", read_points, POINTS.encode),
    "upstream": (UPSTREAM_FILE, lambda path: read_upstream(path.parent), UPSTREAM.encode),
    "report": ("example.json", _report, bytes),
    "growth": ("growth/file.json", _growth, json.dumps(GROWTH).encode),
    "accuracy": ("accuracy/file.json", _accuracy, json.dumps(ACCURACY).encode),
    "scenario": ("scenario.txt", _scenario, SCENARIO.encode),
    "operators": ("operators/x.toml", _operators, (SPECS / "operators" / "scans.toml").read_bytes),
    "behaviours": ("behaviours/x.toml", read_behaviours, (SPECS / "behaviours" / "release.toml").read_bytes),
    "regressions": ("regressions/edges.toml", _regressions, (SPECS / "regressions" / "edges.toml").read_bytes),
    "document": ("docs/file.md", _document, DOCUMENT.encode),
}  # fmt: skip
"""The kinds of files that a user can give: a name, what reads one, and what a sound one holds."""

JUNK = (
    "", "null", "3", "-1", "1e400", "9" * 400, "true", '"q"', "[]", "{}", "[[[", "[" * 100_000, "2020-01-01", "\x00",
    "\ufeff", "\u202e", '"\\u0000"', '"x\\nimport os"', "\n[tool]\nrefgrad = 3\n", "900000000", "nan", "a%00b",
    "(" * 3000, "'''", '"""', "=", ",", "\r", "\\", "[x](a%00b)", "tile a reps=(900000000,)",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, 3, -1, 0, 0.5, 1e300, 10**400, math.inf, math.nan, True, "", "q", "x\nimport os", "../../x", "\x00", "\u202e",
    "{x!r:>9999999999}", "{x:{y}}", "{x}" + "+0" * 50_000, "(" * 3000, "[" * 3000, "-" * 3000 + "x",
    "a.shape * 200000000",     "print(tuple(range(x.shape[0] * 100000000000)))", "a{99999999999}",
    "x = leaf float64[1] {1}\na = tile x reps=(900000000,)",
    date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), [], {}, [[]], [None], {"a": {}}, ["x"],
    [0, 0], {"kind": "entry"},
)  # fmt: skip


def toml(value: Any) -> str:
    """Return a value as TOML, which has no null."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(name)} = {toml(each)}" for name, each in value.items()) + " }"
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case date():
            return value.isoformat()
        case float():
            return repr(value)
    return json.dumps("null" if value is None else value)


def rewritten(draw: st.DrawFn, name: str, content: bytes) -> bytes:
    """Draw a document in which a few values are others, or are not there."""
    as_json = name.endswith(".json")
    document: Any = json.loads(content) if as_json else tomllib.loads(content.decode())
    for _ in range(draw(st.integers(1, 3))):
        if not _keys(document):
            break
        holder: Any = document
        key: Any = draw(st.sampled_from(_keys(document)))
        while _keys(holder[key]) and draw(st.integers(0, 4)) > 0:
            holder = holder[key]
            key = draw(st.sampled_from(_keys(holder)))
        if draw(st.integers(0, 9)):
            new = deepcopy(draw(st.sampled_from(VALUES)))
            if isinstance(holder, dict):
                holder[draw(st.sampled_from([key, key, key, "other", "x\nimport os"]))] = new
            else:
                holder[key] = new
        else:
            del holder[key]
    if as_json:
        return json.dumps(document, default=str).encode()
    return "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items()).encode("utf-8", "replace")


def _keys(holder: Any) -> list[Any]:
    return list(holder) if isinstance(holder, dict) else list(range(len(holder))) if isinstance(holder, list) else []


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a kind of file, and a sound one of it in which values, or a few bytes, are replaced."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    name, content = KINDS[kind][0], _sound(kind)
    if name.endswith((".json", ".toml")) and draw(st.integers(0, 3)):
        return kind, rewritten(draw, name, content)
    for _ in range(draw(st.integers(1, 3))):
        junk = draw(st.sampled_from(JUNK) | st.text(max_size=5)).encode("utf-8", "replace")
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 30, len(content))))
        content = content[:start] + (junk or draw(st.binary(max_size=3))) + content[end:]
    return kind, content


REPORT: list[bytes] = []


def _sound(kind: str) -> bytes:
    """Return what a sound file of a kind holds."""
    return REPORT[0] if kind == "report" else KINDS[kind][2]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module", autouse=True)
def _a_report(folder: Path) -> None:
    REPORT[:] = [write_example(folder).read_bytes()]


def outcome(folder: Path, kind: str, content: bytes) -> str:
    """Read a file of a kind, and return the line by which it is refused, or nothing."""
    name, read, _ = KINDS[kind]
    path = _written(folder / str(next(NUMBERS)), content, name)
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read(path)
        message = ""
    except UserError as error:
        message = str(error)
        assert message
        assert "\n" not in message
    assert time.perf_counter() - started < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KIBIBYTES
    assert path.read_bytes() == content
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_file_is_read(folder: Path, kind: str) -> None:
    assert outcome(folder, kind, _sound(kind)) == ""


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=damaged())
def test_a_damaged_file_is_read_or_refused_in_one_line(folder: Path, drawn: tuple[str, bytes]) -> None:
    outcome(folder, *drawn)
