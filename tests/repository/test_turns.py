"""Long tests take turns where all tests run: each is left out on some days, but not if its file is named."""

from __future__ import annotations

import pytest

from tests.effort import TURN, is_of_all_tests, take_turns

FILE = """
import pytest
pytestmark = pytest.mark.turns(2)
def test_a(): pass
def test_b(): pass
@pytest.mark.turns(1)
def test_on_all_days(): pass
def test_c(): pass
"""


@pytest.mark.filterwarnings("ignore:Unknown pytest.mark")
@pytest.mark.parametrize(("day", "left_out"), [("4", ["test_a"]), ("5", ["test_b", "test_c"])])
def test_each_test_runs_every_second_day(
    day: str, left_out: list[str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv(TURN, day)
    tests = pytester.getitems(FILE)
    take_turns(tests)
    assert [test.name for test in tests if test.get_closest_marker("slow")] == left_out


@pytest.mark.parametrize(("arguments", "all_tests"), [([], True), (["tests/test_a.py"], False), (["-k", "a"], False)])
def test_tests_take_turns_unless_some_are_named(
    arguments: list[str], pytester: pytest.Pytester, *, all_tests: bool
) -> None:
    pytester.makeini("[pytest]\ntestpaths = tests")
    pytester.mkpydir("tests").joinpath("test_a.py").touch()
    assert is_of_all_tests(pytester.parseconfig(*arguments)) is all_tests
