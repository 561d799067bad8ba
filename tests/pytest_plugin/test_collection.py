"""A session that names an engine has one item a check; one that names none costs nothing."""

from __future__ import annotations

import pytest

from refgrad.grading.checks.families import all_checks
from tests.pytest_plugin.conftest import Folder
from tests.repository.isolation import HEAVY, run_python

pytestmark = pytest.mark.turns(2)

LIGHT = f"""
import sys

def test_nothing_heavy_is_loaded():
    assert set({HEAVY}) & set(sys.modules) <= {{"pytest", "_pytest", "xdist"}}
    own = {{name for name in sys.modules if name.partition(".")[0] == "refgrad"}}
    assert own == {{"refgrad", "refgrad.pytest_plugin", "refgrad.pytest_plugin"}}
"""


def test_a_session_without_an_engine_loads_nothing_heavy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_light=LIGHT)
    result = pytester.runpytest_subprocess("-p", "refgrad.pytest_plugin")
    result.assert_outcomes(passed=1)


def test_a_process_that_grades_loads_nothing_of_the_command_line_or_of_pages() -> None:
    needless = {"click", "rich", "jinja2", "scipy", "sympy", "refgrad.cli", "refgrad.report.pages"}
    loaded = run_python("import sys, refgrad.pytest_plugin.session; print(*sys.modules)").split()
    assert needless.isdisjoint(loaded)


def test_there_is_one_item_a_check_and_nothing_else_without_paths(folder: Folder) -> None:
    folder.pytester.makepyfile(test_mine="def test_mine(): pass")
    result = folder.grade("ABSENT", "--collect-only", "-q")
    listed = [line for line in result.outlines if "::" in line]
    assert listed == [f"refgrad::{check.id}" for check in all_checks()]
    assert not (folder.path / "out").exists()


def test_explicit_paths_are_collected_too(folder: Folder) -> None:
    folder.pytester.makepyfile(test_mine="def test_mine(): pass")
    result = folder.grade("RIGHT", "test_mine.py", "-k", "mine or same_operand_twice", "-v")
    result.assert_outcomes(passed=2, deselected=len(all_checks()) - 1)
    result.stdout.fnmatch_lines(["test_mine.py::test_mine PASSED*", "refgrad::sharing/same_operand_twice PASSED*"])


def test_checks_are_chosen_by_pattern(folder: Folder) -> None:
    result = folder.grade(
        "ABSENT", "--collect-only", "-q", "--grade-select=operators/add", "--grade-select=operators/reciproc*"
    )
    listed = [line for line in result.outlines if "::" in line]
    assert listed == ["refgrad::operators/add", "refgrad::operators/reciprocal"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine=nope"], "there is no engine 'nope'; there are: *; your own is named as module:object, *"),
        (["--engine=toy:NOT_AN_ADAPTER"], "'toy:NOT_AN_ADAPTER' is int, not a *"),
        (["--engine=toy:"], "'toy:' is not of the form module:object"),
        (
            ["--engine=toy:RIGHT", "--refgrad-profile=much"],
            "there is no profile 'much'; there are: smoke, standard, thorough",
        ),
        (["--engine=toy:RIGHT", "--grade-select=x/*"], "no check matches 'x/[*]'; see `refgrad list checks`"),
        (["--engine=toy:RIGHT", "--grade-resume"], "--refgrad-resume needs --refgrad-output DIR, where the journal is"),
        (
            ["--engine=toy:RIGHT", "--grade-output=toy.py"],
            "toy.py is not a folder, so no report can be written into it",
        ),
        (["--grade-output=out"], "the options --refgrad-... need --refgrad-engine NAME"),
        (["--refgrad-output=out"], "the options --refgrad-... need --refgrad-engine NAME"),
    ],
)
def test_wrong_usage_is_one_line(folder: Folder, arguments: list[str], message: str) -> None:
    result = folder.pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert len([line for line in result.errlines if line]) == 1


def test_the_id_of_an_item_chooses_it_like_the_path_of_a_test(folder: Folder) -> None:
    chosen = ["refgrad::operators/add", "refgrad::operators/reciprocal"]
    result = folder.grade("ABSENT", "--collect-only", "-q", *chosen)
    assert [line for line in result.outlines if "::" in line] == chosen
    assert "no verdict" not in result.stdout.str()
    folder.pytester.makepyfile(test_mine="def test_mine(): pass")
    result = folder.grade("RIGHT", "test_mine.py", "refgrad::operators/add", "-n1")
    result.assert_outcomes(passed=2)
    result = folder.grade("RIGHT", "refgrad::operators/recipocal")
    result.stderr.fnmatch_lines(["ERROR: no check matches 'operators/recipocal', did you mean 'operators/reciprocal'?"])
