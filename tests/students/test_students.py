"""Engines as students write them: 30 with one classic bug each, and 10 that are right."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

from refgrad.cli import main
from refgrad.grading.checks.families import all_checks
from refgrad.report.document import read_report
from tests.effort import each, in_turns

FOLDER: Final = Path(__file__).parent
ENGINES: Final = {path.stem: path for path in sorted((FOLDER / "engines").glob("*.py"))}
TABLE: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads((FOLDER / "table.toml").read_text(encoding="utf-8"))
FAULTY: Final = TABLE["faulty"]
RIGHT: Final = TABLE["right"]
MAY_IMPORT: Final = frozenset({*sys.stdlib_module_names, "numpy"})
STEP: Final = 1e-5
"""Distance of the points of a central difference from the point itself."""

ORDINARY: Final = ("unbroadcast_drops_axes", "right_functions")
"""The engines that CI grades at smoke, in turns. All are graded as by default under the marker ``slow``."""

FINDING: Final = re.compile(r"^[a-z-]+: (?P<id>[a-z_/0-9]+) \((?P<level>MUST|SHOULD)\)$", re.MULTILINE)
"""The line that begins a finding."""


def test_every_engine_stands_in_the_table_once() -> None:
    assert sorted([*FAULTY, *RIGHT]) == list(ENGINES)
    assert (len(FAULTY), len(RIGHT)) == (30, 10)


@each("name", ENGINES)
def test_an_engine_is_one_file_that_needs_numpy_alone(name: str) -> None:
    source = ENGINES[name].read_text(encoding="utf-8")
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= MAY_IMPORT
    assert 40 <= len(source.splitlines()) <= 200


@each("name", FAULTY)
def test_a_faulty_engine_has_another_gradient_than_the_true_one(name: str) -> None:
    row = FAULTY[name]
    expected = np.asarray(eval(row["gradient"], {"np": np}), np.float64)
    assert not _agree(_result(name, row["program"]), expected)


@each("name", FAULTY)
def test_a_first_finding_that_is_accepted_exists(name: str) -> None:
    ids = [check.id for check in all_checks()]
    assert [pattern for pattern in FAULTY[name]["first"] if not any(fnmatch(each, pattern) for each in ids)] == []


@each(("name", "program"), [(name, program) for name in RIGHT for program in RIGHT[name]["programs"]])
def test_a_right_engine_agrees_with_central_differences(name: str, program: Mapping[str, str]) -> None:
    at = np.asarray(eval(program["at"], {"np": np}), np.float64)
    gradient = _result(name, program["run"], at if at.ndim else float(at))
    assert np.shape(gradient) == at.shape
    np.testing.assert_allclose(gradient, _central_difference(program["function"], at), rtol=1e-8, atol=1e-8)


def test_central_differences_are_those_of_a_sum_over_all_entries() -> None:
    np.testing.assert_allclose(_central_difference("x * x", np.array([1.0, 3.0])), [2.0, 6.0], rtol=1e-8)
    np.testing.assert_allclose(_central_difference("x * np.ones(4)", np.array(1.0)), 4.0, rtol=1e-8)


def _graded(names: Mapping[str, Any]) -> list[Any]:
    """Return the names and profiles as parameters: all checks are run on each, which is slow at standard."""
    smoke = in_turns([(name, "smoke") for name in ORDINARY], 3, pytest.mark.whole)
    standard = [pytest.param(name, "standard", marks=pytest.mark.slow) for name in names]
    return [*(case for case in smoke if case.values[0] in names), *standard]


@pytest.mark.parametrize(("name", "profile"), _graded(FAULTY))
def test_the_first_finding_names_what_is_guilty(name: str, profile: str, tmp_path: Path) -> None:
    status, findings, output = _grade(name, profile, tmp_path)
    assert status == 1, output
    first, _ = findings[0]
    assert any(fnmatch(first, pattern) for pattern in FAULTY[name]["first"]), output


@pytest.mark.parametrize(("name", "profile"), _graded(RIGHT))
def test_a_right_engine_fails_no_check_of_the_level_must(name: str, profile: str, tmp_path: Path) -> None:
    status, findings, output = _grade(name, profile, tmp_path)
    assert [found for found, level in findings if level == "MUST"] == [], output
    assert status == 0, output
    report = read_report(tmp_path / "out" / f"{name}.json")
    assert report.complete
    assert [verdict.id for verdict in report.verdicts] == [check.id for check in all_checks()]
    assert report.summary["must_failed"] == 0
    assert f"of {sum(verdict.verdict != 'unsupported' for verdict in report.verdicts):,} checks that apply" in output


def _grade(name: str, profile: str, folder: Path) -> tuple[int, list[tuple[str, str]], str]:
    """Grade a copy of an engine as its author would; return the status, the findings in order, and what was printed."""
    shutil.copy(ENGINES[name], folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(main, ["grade", f"./{name}.py", "--profile", profile, "--workers", "1"])
    findings = [(finding["id"], finding["level"]) for finding in FINDING.finditer(result.stdout)]
    return result.exit_code, findings, result.stdout + result.stderr


def _result(name: str, program: str, x: Any = None) -> Any:
    """Run a program in the namespace of a fresh copy of the engine; return the value of its last expression."""
    specification = importlib.util.spec_from_file_location(name, ENGINES[name])
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    names = {**vars(module), "np": np, "x": x}
    *statements, last = ast.parse(program).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(statements, []), "program", "exec"), names)
    return eval(compile(ast.Expression(last.value), "program", "eval"), names)


def _agree(gradient: Any, expected: npt.NDArray[np.float64]) -> bool:
    """Return True if a gradient has the shape of the expected one, and the same numbers."""
    return gradient is not None and np.shape(gradient) == expected.shape and np.allclose(gradient, expected)


def _central_difference(function: str, at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the gradient of the sum of a function's entries."""

    def total(x: npt.NDArray[np.float64]) -> float:
        return float(np.sum(eval(function, {"np": np, "x": x})))

    slopes = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        shift = np.zeros(at.shape)
        shift[index] = STEP
        slopes[index] = (total(at + shift) - total(at - shift)) / (2 * STEP)
    return slopes
