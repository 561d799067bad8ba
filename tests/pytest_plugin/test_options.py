"""The options of a session are those of its command line, and then those of the project."""

from __future__ import annotations

from dataclasses import fields

import pytest

from refgrad.pytest_plugin import GradeOptions
from tests.pytest_plugin.conftest import Folder

pytestmark = pytest.mark.turns(2)


def test_pytest_takes_the_defaults_and_the_command_line_wins(folder: Folder) -> None:
    (folder.path / "pyproject.toml").write_text('[tool.refgrad]\nseed = 3\nselect = ["operators/add"]\n')
    folder.grade("RIGHT").assert_outcomes(passed=1)
    assert folder.report("right").seed == 3
    folder.grade("RIGHT", "--grade-seed=0", "--grade-select=operators/multiply").assert_outcomes(passed=1)
    assert folder.report("right").seed == 0
    assert folder.verdicts("right") == {"operators/multiply": "passed"}


def test_invalid_defaults_are_an_error_only_in_sessions_that_grade(folder: Folder) -> None:
    (folder.path / "pyproject.toml").write_text("[tool.refgrad]\nsede = 3\n")
    result = folder.grade("RIGHT")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*tool.refgrad.sede: there is no such key, did you mean 'seed'?*"])
    folder.pytester.makepyfile("def test_it(): pass")
    folder.pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_each_option_has_one_prefix_and_none_is_that_of_another_plugin(folder: Folder) -> None:
    output = folder.pytester.runpytest_inprocess("-p", "no:cacheprovider", "--help").stdout.str()
    ours = output.partition("grading an automatic differentiation engine")[2].split("\n\n")[0]
    options = [line.split()[0].rstrip(",=") for line in ours.splitlines() if line.startswith("  --")]
    assert len(options) == len(fields(GradeOptions))
    assert all(option.startswith("--refgrad-") for option in options), options
    assert "--profile" not in ours.replace("--refgrad-profile", "")


@pytest.mark.parametrize("prefix", ["--refgrad", "--grade"])
def test_options_of_earlier_versions_still_work(folder: Folder, prefix: str) -> None:
    folder.grade("RIGHT", f"{prefix}-seed=7", f"{prefix}-select=operators/add").assert_outcomes(passed=1)
    assert folder.report("right").seed == 7


def test_an_engine_is_named_in_its_report_and_file(folder: Folder) -> None:
    folder.grade("RIGHT", "--refgrad-name=other", "--refgrad-select=operators/add").assert_outcomes(passed=1)
    assert folder.report("other").engine["name"] == "other"


def test_a_plugin_may_have_an_option_named_profile(folder: Folder) -> None:
    folder.pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--profile', action='store_true')")
    folder.grade("RIGHT", "--profile", "--refgrad-select=operators/add").assert_outcomes(passed=1)
