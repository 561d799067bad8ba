"""A run that is stopped, killed or broken off loses nothing, and goes on where it was."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.native.engine import Engine, launch
from refgrad.native.runner import ProcessRunner
from refgrad.pytest_plugin.conformance import EngineSession
from tests.pytest_plugin.conftest import Folder

pytestmark = pytest.mark.turns(2)

STOP_AT_MULTIPLY = """
def pytest_runtest_setup(item):
    if item.name == "operators/multiply":
        raise KeyboardInterrupt
"""
CHOSEN = ("--grade-select=sharing/*", "--grade-select=operators/[am][du]*")


def test_a_run_stopped_at_the_first_failure_leaves_a_partial_report(folder: Folder) -> None:
    result = folder.grade("WRONG", "--maxfail=1", "--grade-select=operators/[am]*")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    document = folder.report("wrong")
    assert not document.complete
    assert document.summary["failed"] == 1
    assert document.verdicts[-1].id == "operators/multiply"


def test_an_interrupted_run_leaves_a_partial_report(folder: Folder) -> None:
    (folder.path / "conftest.py").write_text(STOP_AT_MULTIPLY)
    result = folder.grade("RIGHT", *CHOSEN)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    verdicts = folder.verdicts("right")
    assert verdicts["operators/add"] == "passed"
    assert "operators/multiply" not in verdicts


def test_a_run_resumed_from_a_torn_journal_ends_like_one_that_was_never_interrupted(folder: Folder) -> None:
    folder.grade("WRONG", *CHOSEN)
    complete = (folder.path / "out" / "wrong.json").read_bytes()
    journal = folder.path / "out" / "wrong.journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:4]) + lines[4][:20], encoding="utf-8")
    result = folder.grade("WRONG", "--grade-resume", *CHOSEN)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (folder.path / "out" / "wrong.json").read_bytes() == complete
    assert journal.read_text(encoding="utf-8").splitlines(keepends=True) == lines


def test_what_is_known_is_not_run_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.grade("RIGHT", "--grade-select=operators/add")
    before = folder.report("right")
    monkeypatch.delattr(EngineSession, "start")
    result = folder.grade("RIGHT", "--grade-resume", "--grade-select=operators/add")
    result.assert_outcomes(passed=1)
    assert folder.report("right") == before


def test_the_process_of_the_engine_ends_with_the_session(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    runners: list[object] = []

    def launched(*arguments: Any) -> Engine:
        engine = launch(*arguments)
        runners.append(engine.runner)
        return engine

    monkeypatch.setattr("refgrad.pytest_plugin.conformance.launch", launched)
    folder.grade("RIGHT", "--grade-select=operators/add")
    assert [runner._process for runner in runners if isinstance(runner, ProcessRunner)] == [None]  # noqa: SLF001


def test_the_journal_of_another_run_is_refused(folder: Folder) -> None:
    folder.grade("RIGHT", "--grade-select=operators/add")
    result = folder.grade("RIGHT", "--grade-resume", "--grade-seed=7")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: out/right.journal.jsonl belongs to another run; grade without --resume, *"])


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_an_engine_that_cannot_be_started_ends_the_session_in_one_line(folder: Folder, workers: str) -> None:
    result = folder.grade("ABSENT", workers, "--grade-select=operators/add")
    message = "engine 'absent' cannot be started: ModuleNotFoundError: No module named 'no_such_library'"
    assert result.ret == 3
    result.stdout.fnmatch_lines([f"!* _pytest.outcomes.Exit: {message} !*"])
    assert not (folder.path / "out" / "absent.json").exists()


def test_an_engine_that_takes_its_process_down_when_started_is_never_graded(folder: Folder) -> None:
    result = folder.grade("STILLBORN", "--grade-select=operators/add")
    assert result.ret == 3
    message = "engine 'stillborn' cannot be started: the process ended with exit status 1"
    result.stdout.fnmatch_lines([f"!* _pytest.outcomes.Exit: {message} !*"])
    assert not (folder.path / "out" / "stillborn.json").exists()


def test_a_check_in_which_the_process_dies_is_a_verdict_and_the_others_go_on(folder: Folder) -> None:
    chosen = ("--grade-select=operators/tan", "--grade-select=operators/add")
    result = folder.grade("DEADLY", "-n1", *chosen)
    result.assert_outcomes(passed=1, failed=1)
    assert folder.verdicts("deadly") == {"operators/add": "passed", "operators/tan": "crashed"}
    crashed = folder.report("deadly").verdicts[-1]
    step = crashed.scenario.splitlines()[1]
    assert crashed.message == f"step 2, `{step}`: the process ended with exit status 3"
    assert "= tan " in crashed.scenario
    assert "toy.die(" in str(crashed.reproduction)


def test_a_process_that_dies_in_a_measurement_is_a_verdict_too(folder: Folder) -> None:
    folder.grade("FRAIL", "--grade-select=scale/long_chain").assert_outcomes(failed=1)
    (crashed,) = folder.report("frail").verdicts
    assert (crashed.id, crashed.verdict) == ("scale/long_chain", "crashed")
    assert crashed.message == "the process ended with exit status 3"
    assert not crashed.scenario
    assert "y = toy.die(y)" in str(crashed.reproduction)
