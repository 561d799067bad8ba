"""What is said of a failure is for people, and no command to the machine whose log it stands in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.facts import Evidence
from refgrad.report.ci import failure_text
from refgrad.report.findings import Script
from tests.report.example import entry, verdict


@pytest.mark.parametrize("line", ["::error::owned", "  ::add-mask::x", "\t##[group]x", "::stop-commands::x"])
def test_no_line_of_an_engine_is_a_command_to_the_runner_of_a_job(line: str) -> None:
    told = failure_text(Script("example", "1", verdict("a/b", "wrong", f"raised\n{line}\nand a::b", shown=True)))
    assert [each for each in told.splitlines() if each.strip().startswith(("::", "##["))] == []
    assert line.replace("::", "\\::", 1).replace("##[", "\\##[") in told.splitlines()
    assert "and a::b" in told.splitlines()


def test_a_program_that_needs_its_environment_says_so() -> None:
    found = verdict("a/b", "wrong", "the gradient of x is 0.1", shown=True)
    unwritten = replace(found, evidence=Evidence(replace(entry("0.1"), qualifier="unwritten"), 4))
    assert "MALLOC_PERTURB_" not in failure_text(Script("example", "1", found))
    assert "Run it with MALLOC_PERTURB_=" in failure_text(Script("example", "1", unwritten))


def test_what_was_found_without_a_scenario_is_its_message() -> None:
    told = failure_text(Script("example", "1", verdict("a/b", "crashed", "the process died")))
    assert told == "crashed: a/b (MUST)\nthe process died\nviolated: b is as it must be."


def test_what_did_not_fail_violates_nothing() -> None:
    told = failure_text(Script("example", "1", verdict("a/b", "passed", "2 inconclusive")))
    assert told == "passed: a/b (MUST)\n2 inconclusive\nb is as it must be."
