"""What is said of a failure is for people, and no command to the machine whose log it stands in."""

from __future__ import annotations

import pytest

from refgrad.report.findings import Script
from refgrad.report.narration import failure_text
from tests.report.example import verdict


@pytest.mark.parametrize("line", ["::error::owned", "  ::add-mask::x", "\t##[group]x", "::stop-commands::x"])
def test_no_line_of_an_engine_is_a_command_to_the_runner_of_a_job(line: str) -> None:
    told = failure_text(Script("example", "1", verdict("a/b", "wrong", f"raised\n{line}\nand a::b", shown=True)))
    assert [each for each in told.splitlines() if each.strip().startswith(("::", "##["))] == []
    assert line.replace("::", "\\::", 1).replace("##[", "\\##[") in told.splitlines()
    assert "and a::b" in told.splitlines()
