"""Everything that is skipped, or expected to fail, says why."""

import ast
from collections.abc import Callable, Iterator

import pytest

from refgrad.native.engine_names import registered_engines
from tests.repository.sources import TESTS, dotted, name_of, nodes, python_files, syntax_tree

MARKS = frozenset({"pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"})
CALLS = frozenset({"pytest.skip", "pytest.xfail", "pytest.importorskip"})
REASONS = frozenset({"reason", "msg"})
MARKS_OF_ENGINES = ("mark.engines", "mark.benchmark_run")


def unexplained(tree: ast.Module) -> Iterator[str]:
    """Every mark and call without a reason, as `line 3: pytest.skip`."""
    called = {id(node.func): node for node in nodes(tree) if isinstance(node, ast.Call)}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node)) in MARKS | CALLS:
            call = called.get(id(node))
            if (name in MARKS or call is not None) and not explained(name, call):
                yield f"line {node.lineno}: {name}"


def explained(name: str, call: ast.Call | None) -> bool:
    if call is None:
        return False
    by_position = call.args[:1] if name in {"pytest.skip", "pytest.xfail", "pytest.mark.skip"} else []
    given = by_position + [keyword.value for keyword in call.keywords if keyword.arg in REASONS]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in given)


def unmarked(tree: ast.Module) -> Iterator[str]:
    """Every test that needs an engine which may not be installed, and does not say so by its mark."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    named = {dotted(node.targets[0]): node.value for node in assigned}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and needs_an_engine(node):
            marks = [named.get("pytestmark"), *(named.get(dotted(each), each) for each in node.decorator_list)]
            texts = [ast.unparse(mark) for mark in marks if mark is not None]
            if not any(mark in text for text in texts for mark in MARKS_OF_ENGINES):
                yield f"line {node.lineno}: {node.name}"


def needs_an_engine(test: ast.FunctionDef) -> bool:
    """Whether a test asks for an engine by its name, or by that of a parameter."""
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    asked = [call.args[0] for call in calls if dotted(call.func) == "pytest.importorskip"]
    return any(not isinstance(name, ast.Constant) or name.value in registered_engines() for name in asked)


def test_a_test_that_needs_an_engine_is_marked() -> None:
    assert found_in_tests(unmarked) == []


def found_in_tests(search: Callable[[ast.Module], Iterator[str]]) -> list[str]:
    """What a search finds in all files of tests, as `FILE, line 3: ...`."""
    return [f"{name_of(path)}, {found}" for path in python_files(TESTS) for found in search(syntax_tree(path))]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def test_a(): pytest.importorskip('torch')", 1),
        ("@pytest.mark.slow\ndef test_a(): pytest.importorskip('torch')", 1),
        ("@pytest.mark.engines\ndef test_a(): pytest.importorskip('torch')", 0),
        ("each = pytest.mark.engines\n@each\ndef test_a(): pytest.importorskip('torch')", 0),
        ("pytestmark = pytest.mark.engines\ndef test_a(): pytest.importorskip('torch')", 0),
    ],
)
def test_this_very_check_sees_what_lacks_a_mark(source: str, count: int) -> None:
    assert len(list(unmarked(ast.parse(source)))) == count


def test_a_skip_or_an_expected_failure_has_a_reason() -> None:
    assert found_in_tests(unexplained) == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("@pytest.mark.skip\ndef test_a(): ...", 1),
        ("@pytest.mark.skipif(True)\ndef test_a(): ...", 1),
        ("@pytest.mark.xfail(raises=ValueError)\ndef test_a(): ...", 1),
        ("pytest.skip()", 1),
        ("pytest.skip('')", 1),
        ("@pytest.mark.skip('because')\ndef test_a(): ...", 0),
        ("@pytest.mark.skipif(True, reason='because')\ndef test_a(): ...", 0),
        ("pytest.skip(f'because of {x}')", 0),
        ("pytest.importorskip('torch')", 1),
        ("pytest.importorskip('torch', reason='needs torch')", 0),
        ("with pytest.raises(pytest.skip.Exception): ...", 0),
    ],
)
def test_this_very_check_sees_what_lacks_a_reason(source: str, count: int) -> None:
    assert len(list(unexplained(ast.parse(source)))) == count
