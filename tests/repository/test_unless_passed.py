"""CI runs a test again in an environment with PyTorch unless it has passed without it, and leaves out no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.repository.sources import ROOT, TESTS, dotted, name_of, nodes, python_files, syntax_tree

FILE = """
import pytest

def test_of_what_is_there(): pass
def test_of_what_is_missing(): pytest.importorskip("library_of_this_test", reason="needs it")
def test_that_fails(): assert False

@pytest.fixture
def closing():
    yield
    raise OSError

def test_that_fails_at_its_end(closing): pass

@pytest.mark.xfail(reason="a known failure")
def test_that_is_expected_to_fail(): assert False
"""

ASKING = ("find_spec", "importlib.util.find_spec")
MISSING = frozenset({"ImportError", "ModuleNotFoundError", "PackageNotFoundError"})
SKIPS = frozenset({"pytest.skip", "pytest.mark.skip"})

OTHER_TESTS = {"tests/checking/test_what_people_write.py: cases_of"}
"""Functions that offer other tests, with other ids, where a library is installed."""


def test_all_but_what_has_passed_is_run_again(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest((TESTS / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(FILE)
    first = pytester.runpytest_subprocess("-p", "xdist", "-n", "1")
    first.assert_outcomes(passed=2, failed=1, errors=1, skipped=1, xfailed=1)
    pytester.makepyfile(library_of_this_test="")
    again = pytester.runpytest_subprocess("--unless-passed")
    again.assert_outcomes(passed=2, failed=1, errors=1, xfailed=1, deselected=1)


def test_ci_runs_what_has_not_passed_without_pytorch() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    before, _, after = script.partition('step "README\'s command: tests" readme_command tests\n')
    assert after.count("test_what_was_left_out") == 1
    command = before.partition("test_what_was_left_out() {\n")[2].partition("}")[0]
    assert "--unless-passed" in command


def unskipped(tree: ast.Module) -> Iterator[str]:
    """Yield the functions that do without a library where it is not installed, and skip nothing then.

    A test in one of them would pass without the library, and not be run where it is installed.
    """
    for function in (node for node in nodes(tree) if isinstance(node, ast.FunctionDef)):
        called = {dotted(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        caught = {
            dotted(node.type)
            for node in ast.walk(function)
            if isinstance(node, ast.ExceptHandler) and node.type is not None
        }
        if (called.intersection(ASKING) or caught & MISSING) and not called & SKIPS:
            yield function.name


def test_a_test_without_its_library_is_skipped() -> None:
    files = [path for path in python_files(TESTS) if path.name.startswith(("test_", "conftest"))]
    found = {f"{name_of(path)}: {name}" for path in files for name in unskipped(syntax_tree(path))}
    assert found == OTHER_TESTS


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def test_a():\n if find_spec('torch'): assert torch()", 1),
        ("def test_a():\n if importlib.util.find_spec('torch') is None: pytest.skip('needs torch')", 0),
        ("def test_a():\n try: import torch\n except ImportError: return", 1),
        ("def test_a():\n try: import torch\n except ImportError: pytest.skip('needs torch')", 0),
    ],
)
def test_this_very_check_sees_what_is_not_skipped(source: str, count: int) -> None:
    assert len(list(unskipped(ast.parse(source)))) == count
