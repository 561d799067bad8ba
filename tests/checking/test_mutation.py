"""Are tests run with one fault at a time, in processes of their own of which nothing stays?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refgrad.checking.injection import FAULTS
from refgrad.checking.mutation import GradedSuite, SuiteRun, UngradableError
from tests.effort import sampled
from tests.signals import ignoring

pytestmark = pytest.mark.turns(2)

GRADIENT = """
import numpy as np

def gradient(x):
    return 2 * x

def other(x):
    return 3 * x
"""

TEST = """
import numpy as np
from mine import gradient

def test_gradient():
    assert np.allclose(gradient(np.array([1.5, 0.1])), [3, 0.2], rtol=0.05)

if __name__ == "__main__":
    test_gradient()
"""

PYTHON = sys.executable
PYTEST = (PYTHON, "-m", "pytest", "-q", "test_mine.py")
BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module, its tests, and strict settings of pytest. No temporary files of refgrad may stay."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mine.py").write_text(GRADIENT)
    (folder / "test_mine.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-config -p no:benchmark\nfilterwarnings = error\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # plugins take longer to load than these tests to run
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(folder)
    yield folder
    assert list((tmp_path / "temporary").glob("refgrad-*")) == []


def grades(suite: GradedSuite, *faults: str, limit: float | None = None) -> dict[str, str]:
    chosen = [BY_NAME[name] for name in faults]
    return {grade.name: grade.grade for grade in suite.grades(suite.clean_run(None), chosen, limit)}


GRADES = {
    "scaled-1.01": "let through",
    "scaled-1.1": "seen",
    "dropped": "does not apply",
    "layout": "does not apply",
    "rounded": "let through",
}
TWO = ("scaled-1.01", "scaled-1.1")


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder with their contents."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("module", "command", "faults"),
    [
        ("mine", (PYTHON, "test_mine.py"), tuple(GRADES)),
        ("mine.py", (PYTHON, "test_mine.py"), TWO),
        (
            "mine",
            (PYTHON, "-c", "import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'test_mine.py']))"),
            TWO,
        ),
        ("mine.py", PYTEST, TWO),
    ],
    ids=["script", "script of a file", "process of a process", "pytest"],
)
def test_a_fault_is_seen_where_it_is_larger_than_the_tolerance(
    project: Path, module: str, command: tuple[str, ...], faults: tuple[str, ...]
) -> None:
    before = contents(project)
    assert grades(GradedSuite(f"{module}:gradient", command), *faults) == {name: GRADES[name] for name in faults}
    assert contents(project) == before


@pytest.mark.parametrize(
    "options",
    sampled([(("-p", "xdist", "-n", "1"),), (("--import-mode=importlib",),), (("-p", "no:cacheprovider"),)], 3),
)
def test_pytest_may_have_any_options(project: Path, options: tuple[str, ...]) -> None:
    suite = GradedSuite("mine:gradient", (*PYTEST, "-o", "pythonpath=.", *options))
    assert grades(suite, "zeros") == {"zeros": "seen"}
    assert set(contents(project)) == {"mine.py", "test_mine.py", "pytest.ini"}


def test_a_function_may_be_in_the_file_of_its_tests(project: Path) -> None:
    test = TEST.replace("from mine import gradient", "def gradient(x): return 2 * x")
    (project / "test_mine.py").write_text(test)
    for module in ("test_mine", "test_mine.py"):
        assert grades(GradedSuite(f"{module}:gradient", PYTEST), "sign") == {"sign": "seen"}


def test_examples_that_fail_are_not_stored_in_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    (project / "test_mine.py").write_text("""
import numpy as np
from hypothesis import given, settings, strategies
from mine import gradient

@settings(deadline=None, max_examples=5)
@given(strategies.floats(1, 2))
def test_gradient(x):
    assert gradient(np.array([x]))[0] == 2 * x
""")
    assert grades(GradedSuite("mine:gradient", PYTEST), "scaled-1.01") == {"scaled-1.01": "seen"}
    assert set(contents(project)) == {"mine.py", "test_mine.py", "pytest.ini"}


@pytest.mark.usefixtures("project")
def test_a_fault_that_changes_nothing_is_not_reached() -> None:
    suite = GradedSuite("mine:gradient", (PYTHON, "-c", "import mine, numpy; mine.gradient(numpy.zeros((2, 2)))"))
    (sign,) = suite.grades(suite.clean_run(None), [BY_NAME["sign"]], None)
    assert (sign.grade, sign.reached, sign.status) == ("let through", False, 0)
    suite = GradedSuite("mine:gradient", (PYTHON, "-c", "import mine, numpy; mine.gradient(numpy.ones((2, 2)))"))
    (sign,) = suite.grades(suite.clean_run(None), [BY_NAME["sign"]], None)
    assert (sign.grade, sign.reached, sign.status) == ("let through", True, 0)


@pytest.mark.usefixtures("project")
def test_a_run_that_does_not_end_is_seen() -> None:
    program = "import mine, numpy, time; time.sleep(60 * (mine.gradient(numpy.ones(1)) < 0).item())"
    suite = GradedSuite("mine:gradient", (PYTHON, "-c", program))
    clean = suite.clean_run(None)
    began = time.monotonic()
    (sign,) = suite.grades(clean, [BY_NAME["sign"]], 1 + 3 * clean.seconds)
    assert (sign.grade, sign.status) == ("seen", None)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("function", "program", "message"),
    [
        (
            "mine:gradient",
            "print('oh'); raise SystemExit(7)",
            r"the tests fail without any fault: .* ends with status 7",
        ),
        ("mine:gradient", "print('oh')", "the tests pass, but do not import its module"),
        ("mine:absent", "print('oh'); import mine", "its module has no such"),
        ("mine:gradient", "print('oh'); import mine", "the tests pass, but never call its backward"),
    ],
)
@pytest.mark.usefixtures("project")
def test_tests_that_cannot_be_graded_are_an_error(function: str, program: str, message: str) -> None:
    with pytest.raises(UngradableError, match=message) as raised:
        GradedSuite(function, (PYTHON, "-c", program)).clean_run(None)
    assert raised.value.args[1] == "oh\n"


@pytest.mark.usefixtures("project")
def test_a_clean_run_may_take_no_longer_than_the_limit() -> None:
    with pytest.raises(UngradableError, match=r"takes longer than 0.1 s"):
        GradedSuite("mine:gradient", (PYTHON, "-c", "import time; time.sleep(60)")).clean_run(0.1)


@pytest.mark.parametrize(("seconds", "limit", "most"), [(1.0, None, 10.0), (3.0, None, 15.0), (3.0, 0.5, 0.5)])
def test_a_run_may_take_five_times_as_long_as_the_clean_one(
    seconds: float, limit: float | None, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float | None] = []
    clean = SuiteRun(0, seconds, "", ("kind jax", "called 1"))

    def run(_suite: GradedSuite, _fault: str, limit: float | None) -> SuiteRun:
        limits.append(limit)
        return clean

    monkeypatch.setattr(GradedSuite, "run", run)
    assert [grade.grade for grade in GradedSuite("mine:gradient", ()).grades(clean, [FAULTS[0]], limit)] == [
        "let through"
    ]
    assert limits == [most]


@pytest.mark.usefixtures("project")
def test_a_command_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="no_such_command"):
        GradedSuite("mine:gradient", ("no_such_command",)).clean_run(None)


def waiting(project: Path, *ignored: int) -> tuple[subprocess.Popen[str], int]:
    """Start the grade of tests that wait, and return its process and the ID of that of the tests."""
    waits = "import os, time, pathlib; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
    command = [PYTHON, "-m", "refgrad", "mutate", "mine:gradient", "--", PYTHON, "-c", waits]
    process = subprocess.Popen(ignoring(ignored, command), stderr=subprocess.PIPE, text=True)
    started = project / "pid"
    for _ in range(600):
        if started.exists() and started.read_text():
            break
        time.sleep(0.1)
    return process, int(started.read_text())


INTERRUPTIONS = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a shell ignores for what it runs in the background."""


@pytest.mark.parametrize(
    ("number", "ignored"),
    sampled(
        [
            *((number, ()) for number in (*INTERRUPTIONS, signal.SIGTERM, signal.SIGHUP)),
            *((number, INTERRUPTIONS) for number in INTERRUPTIONS),
        ],
        2,
    ),
)
def test_a_signal_leaves_nothing_of_the_tests(project: Path, number: int, ignored: tuple[int, ...]) -> None:
    process, tests = waiting(project, *ignored)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(tests, 0)


def test_a_hangup_that_nohup_has_ignored_stays_ignored(project: Path) -> None:
    process, tests = waiting(project, signal.SIGHUP)
    os.kill(process.pid, signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.0)
    os.kill(tests, 0)
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
