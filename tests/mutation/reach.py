"""Which test reaches which functions of the core: found by a run of the tests on a copy that notes each call."""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mutation.faults import Lines
from tests.mutation.overlay import compile_package, copied_to
from tests.mutation.planter import core, functions
from tests.mutation.trial import run_forked
from tests.repository.sources import ROOT, TESTS, name_of

FOLDERS = ("oracles", "interpreter", "lifecycle", "checking", "facts", "grading", "engine", "native", "generation")
"""Whose tests may kill a fault of the core."""

LONGEST = 7200.0
HEAD = "\n__reached__ = __import__('builtins').__dict__.setdefault('__reached__', set())\n"


@dataclass(frozen=True, slots=True)
class Reach:
    """What a test reaches, and how many seconds it takes."""

    seconds: float
    functions: frozenset[str]


@dataclass(slots=True)
class Calls:
    """A plugin of pytest that writes down, for each test that passes, what was called."""

    note: Path
    started: float = 0.0
    passed: dict[str, bool] = field(default_factory=dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note one test."""
        reached: set[str] = builtins.__dict__.setdefault("__reached__", set())
        reached.clear()
        start = time.process_time()
        result = yield
        if self.passed.get(item.nodeid, False):
            line = {"test": item.nodeid, "seconds": time.process_time() - start, "functions": sorted(reached)}
            with self.note.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how a test ended."""
        before = self.passed.get(report.nodeid, True)
        self.passed[report.nodeid] = before and (report.passed or report.when != "call") and not report.failed


def noting(module: str, source: str) -> str:
    """Return the source of a module in which each function notes that it was called."""
    tree, lines = ast.parse(source), Lines(source)
    places = []
    for name, function in functions(tree):
        for inner in ast.walk(function):
            if isinstance(inner, ast.FunctionDef):
                first = inner.body[1 if ast.get_docstring(inner) is not None and len(inner.body) > 1 else 0]
                note = f"__reached__.add({f'{module}::{name}'!r})\n{' ' * first.col_offset}"
                places.append((_beginning(lines, first), note))
    data = source.encode()
    for place, note in sorted(places, reverse=True):
        data = data[:place] + note.encode() + data[place:]
    return _with_head(data.decode())


def _beginning(lines: Lines, node: ast.stmt) -> int:
    """Return where a statement begins, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return lines.span(decorators[0])[0] - 1 if decorators else lines.span(node)[0]


def _with_head(source: str) -> str:
    future = "from __future__ import annotations\n"
    return source.replace(future, future + HEAD, 1) if future in source else HEAD.lstrip() + source


def recorded(state: Path, folders: Sequence[str] = FOLDERS) -> dict[str, Reach]:
    """Return what each test of some folders reaches; files that have changed since the last time are run again."""
    kept = state / "reach.jsonl"
    digests = {name_of(path): _digest(path) for path in _test_files(folders)}
    known = _known(kept)
    old = [name for name in digests if known.get(name, ("", {}))[0] != digests[name]]
    if old:
        sys.stderr.write(f"finding out what the tests of {len(old)} files reach\n")
        fresh = _recorded(state, old)
        for name in old:
            tests = {test: reach for test, reach in fresh.items() if test.partition("::")[0] == name}
            known[name] = (digests[name], tests)
        _keep(kept, known)
    return {test: reach for name in digests for test, reach in known[name][1].items()}


def _test_files(folders: Sequence[str]) -> list[Path]:
    return sorted(path for folder in folders for path in (TESTS / folder).rglob("test_*.py"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _recorded(state: Path, files: Sequence[str]) -> dict[str, Reach]:
    overlay = copied_to(state / "noting")
    for module in core():
        source = (ROOT / module).read_text(encoding="utf-8")
        (overlay / module).write_text(noting(module, source), encoding="utf-8")
    compile_package(overlay)
    note = state / "calls.jsonl"
    note.unlink(missing_ok=True)
    run_forked(overlay, files, Calls(note), LONGEST)
    rows = map(json.loads, note.read_text(encoding="utf-8").splitlines())
    return {row["test"]: Reach(row["seconds"], frozenset(row["functions"])) for row in rows}


def _known(kept: Path) -> dict[str, tuple[str, dict[str, Reach]]]:
    if not kept.exists():
        return {}
    rows = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    return {
        row["file"]: (
            row["digest"],
            {test: Reach(seconds, frozenset(reached)) for test, (seconds, reached) in row["tests"].items()},
        )
        for row in rows
    }


def _keep(kept: Path, known: dict[str, tuple[str, dict[str, Reach]]]) -> None:
    rows = (
        {"file": name, "digest": digest, "tests": {t: (r.seconds, sorted(r.functions)) for t, r in tests.items()}}
        for name, (digest, tests) in known.items()
    )
    kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
