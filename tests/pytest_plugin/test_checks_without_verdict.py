"""A session says which checks have no verdict, and is in order only if none of those that it chose is among them."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.conftest import Folder

pytestmark = pytest.mark.turns(2)

CHOSEN = ("--grade-select=sharing/*", "--grade-select=operators/[am][du]*")
TWO = ("--grade-select=operators/add", "--grade-select=operators/multiply")

CONFTEST = """
import pytest
from refgrad.pytest_plugin.conformance import EngineSession
verdict = EngineSession.verdict
def disturbed(self, check):
    if check.id == "operators/multiply":
        pytest.skip('by foreign code')
    if check.id == "operators/relu":
        raise ZeroDivisionError('of ours')
    return verdict(self, check)
def pytest_collection_modifyitems(): EngineSession.verdict = disturbed
"""
WAITING = """
from dataclasses import replace
from refgrad.pytest_plugin.conformance import EngineSession
verdict = EngineSession.verdict
def waiting(self, check):
    found = verdict(self, check)
    waits = {"edges/relu": "operators/relu", "operators/relu": "operators/multiply"}
    return replace(found, verdict="inconclusive", cause=waits[check.id]) if check.id in waits else found
def pytest_collection_modifyitems(): EngineSession.verdict = waiting
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_check_that_ends_without_a_verdict_is_named(folder: Folder, workers: str) -> None:
    (folder.path / "conftest.py").write_text(CONFTEST)
    result = folder.grade("RIGHT", "-rs", workers, *TWO, "--grade-select=operators/relu")
    assert result.ret == 4
    named = result.stdout.str().partition("2 checks have no verdict: ")[2].splitlines()[0]
    assert sorted(named.split(", ")) == ["operators/multiply", "operators/relu"]
    assert "by foreign code" in result.stdout.str()
    assert "of ours" in result.stdout.str()
    summary = folder.report("right").summary
    assert (summary["planned"], summary["run"], summary["not_run"]) == (3, 1, 2)


def test_a_check_that_is_left_out_by_another_plugin_is_missed(folder: Folder) -> None:
    (folder.path / "conftest.py").write_text(
        "def pytest_runtest_protocol(item): return True if item.name == 'operators/multiply' else None\n"
    )
    result = folder.grade("RIGHT", *TWO)
    assert result.ret == 4
    result.stdout.fnmatch_lines(["1 check has no verdict: operators/multiply"])


def test_what_is_not_run_by_choice_is_counted_and_no_fault(folder: Folder) -> None:
    result = folder.grade("RIGHT", *TWO, "-k", "add")
    assert result.ret == 0
    summary = folder.report("right").summary
    assert (summary["planned"], summary["run"], summary["not_run"]) == (2, 1, 1)


def test_what_is_not_run_after_the_first_failure_is_counted(folder: Folder) -> None:
    result = folder.grade("WRONG", "-x", *CHOSEN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    summary = folder.report("wrong").summary
    assert summary["run"] + summary["not_run"] == summary["planned"] > summary["run"]


@pytest.mark.parametrize("choice", [("--grade-select=edges/relu",), ("-k", "edges/relu and not edges/relu6")])
def test_a_cause_that_was_not_selected_is_run_and_reported(folder: Folder, choice: tuple[str, ...]) -> None:
    (folder.path / "conftest.py").write_text(WAITING)
    result = folder.grade("WRONG", *choice)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes().get("deselected", 0))
    result.stdout.fnmatch_lines([
        "edges/relu waits for operators/multiply, which was not selected:",
        "wrong: operators/multiply (MUST)",
    ])
    verdicts = folder.verdicts("wrong")
    assert verdicts == {
        "operators/multiply": "wrong",
        "operators/relu": "inconclusive",
        "edges/relu": "inconclusive",
    }
    assert {row.id: row.cause for row in folder.report("wrong").verdicts} == {
        "operators/multiply": "",
        "operators/relu": "operators/multiply",
        "edges/relu": "operators/relu",
    }


def test_a_cause_that_was_selected_is_reported_once(folder: Folder) -> None:
    (folder.path / "conftest.py").write_text(WAITING)
    chosen = ("edges/relu", "operators/relu", "operators/multiply")
    result = folder.grade("WRONG", *(f"--grade-select={name}" for name in chosen))
    assert result.parseoutcomes()["failed"] == 1


def test_a_cause_that_does_not_exist_is_a_fault_of_the_suite(folder: Folder) -> None:
    (folder.path / "conftest.py").write_text(WAITING.replace('"operators/multiply"', '"operators/nothing"'))
    result = folder.grade("WRONG", "--grade-select=operators/relu")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*UserError: there is no check 'operators/nothing'*"])


STRICT = "[pytest]\nfilterwarnings = error\n"


def test_an_engine_that_cannot_be_started_is_one_line_whatever_other_plugins_miss(folder: Folder) -> None:
    (folder.path / "pytest.ini").write_text(STRICT)
    result = folder.grade("ABSENT", "-n1", *TWO, apart=True)
    assert result.ret == 3
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert "syrupy" not in result.stderr.str()
    result.stdout.fnmatch_lines(["!* engine 'absent' cannot be started: *"])
