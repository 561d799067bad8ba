"""The options of a session are those of its command line, and then those of the project."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.conftest import Folder


def test_pytest_takes_the_defaults_and_the_command_line_wins(folder: Folder) -> None:
    (folder.path / "pyproject.toml").write_text('[tool.refgrad]\nseed = 3\nselect = ["operators/add"]\n')
    folder.grade("RIGHT").assert_outcomes(passed=1)
    assert folder.document("right")["seed"] == 3
    folder.grade("RIGHT", "--grade-seed=0", "--grade-select=operators/multiply").assert_outcomes(passed=1)
    assert folder.document("right")["seed"] == 0
    assert folder.verdicts("right") == {"operators/multiply": "passed"}


def test_pytest_refuses_odd_defaults_where_an_engine_is_graded_and_nowhere_else(folder: Folder) -> None:
    (folder.path / "pyproject.toml").write_text("[tool.refgrad]\nsede = 3\n")
    result = folder.grade("RIGHT")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tool.refgrad.sede: there is no such key, did you mean 'seed'?*"])
    folder.pytester.makepyfile("def test_it(): pass")
    folder.pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
