"""``refgrad replay`` runs one check again, by any id that refgrad has printed of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Terminal

pytestmark = pytest.mark.turns(2)

SMOKE = ("--profile", "smoke")


@pytest.fixture
def report(terminal: Terminal) -> Path:
    chosen = ("--select", "operators/add", "--select", "operators/multiply")
    terminal.grade("toy:WRONG", *SMOKE, *chosen)
    return terminal.folder / "out" / "wrong.json"


@pytest.mark.parametrize("name", ["operators/multiply", "refgrad::operators/multiply"])
def test_a_check_is_run_again_by_its_id(terminal: Terminal, name: str) -> None:
    result = terminal.invoke("replay", name, "--engine", "toy:WRONG", *SMOKE)
    assert result.exit_code == 1
    head, first, *_ = result.stdout.splitlines()
    assert (head, first) == ("wrong, profile smoke, seed 0", "wrong: operators/multiply (MUST)")
    assert terminal.invoke("replay", name, "--engine", "toy:RIGHT", *SMOKE).exit_code == 0


def test_the_command_in_a_summary_finds_what_the_run_found(terminal: Terminal) -> None:
    summary = terminal.grade("toy:WRONG", *SMOKE, "--seed", "3", "--select", "operators/multiply").output
    match = re.search(r"^refgrad (replay .*?)  #", summary, re.MULTILINE)
    scenario = re.search(r"scenario (\w{16}):", summary)
    assert match is not None
    assert scenario is not None
    assert f"scenario {scenario[1]}:" in terminal.invoke(*shlex.split(match[1])).stdout


def test_the_scenario_of_a_report_is_run_step_by_step_on_any_engine(terminal: Terminal, report: Path) -> None:
    told = terminal.invoke("replay", "operators/multiply", "--engine", "toy:WRONG", "--report", str(report))
    assert told.exit_code == 1
    match = re.fullmatch(r"operators/multiply, scenario (\w{16}):", told.stdout.splitlines()[0])
    assert match is not None
    assert "verdict: wrong: " in told.stdout
    again = terminal.invoke("replay", match[1], "--engine", "toy:RIGHT", "--report", str(report), "--program")
    assert again.exit_code == 0
    assert "The same with right alone:" in again.stdout


def test_a_check_whose_report_shows_no_scenario_is_graded_as_the_report_was(terminal: Terminal, report: Path) -> None:
    told = terminal.invoke("replay", "operators/add", "--engine", "toy:RIGHT", "--report", str(report))
    assert (told.exit_code, told.stdout.splitlines()[:2]) == (
        0,
        ["right, profile smoke, seed 0", "passed: operators/add (MUST)"],
    )


def test_what_is_not_there_is_wrong_usage_with_what_may_be_meant(terminal: Terminal, report: Path) -> None:
    unknown = terminal.invoke("replay", "operators/multipyl", "--engine", "toy:RIGHT")
    assert unknown.exit_code == 2
    assert "no check 'operators/multipyl', did you mean 'operators/multiply'?" in unknown.stderr
    lacking = terminal.invoke("replay", "operators/ad", "--engine", "toy:RIGHT", "--report", str(report))
    assert lacking.exit_code == 2
    assert "has no check and no scenario 'operators/ad', did you mean 'operators/add'?" in lacking.stderr


def test_an_engine_that_is_not_there_gives_status_3_and_says_how_it_is_installed(terminal: Terminal) -> None:
    result = terminal.invoke("replay", "operators/add", "--engine", "toy:ABSENT", *SMOKE)
    assert result.exit_code == 3
    assert "No module named 'no_such_library'" in result.stderr
