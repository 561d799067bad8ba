"""Does every file follow the rules on size, names and place that keep the code readable?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.sources import PACKAGE, TESTS, layers, name_of, python_files, syntax_tree

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
NAMES_THAT_SAY_NOTHING = frozenset({"utils", "util", "helpers", "helper", "misc", "common", "core", "base"})

package_files = pytest.mark.parametrize("path", python_files(PACKAGE), ids=name_of)


@package_files
def test_a_module_begins_with_the_question_that_it_answers(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith(('"""', 'r"""'))
    assert ast.get_docstring(syntax_tree(path))


@package_files
def test_a_file_is_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{name_of(path)} has {lines} lines: split it by the questions that it answers"


@package_files
def test_a_function_is_short(path: Path) -> None:
    long = [f"{name} ({lines} lines)" for name, lines in function_lengths(path) if lines > LONGEST_FUNCTION]
    assert not long, f"{name_of(path)}: split {', '.join(long)}"


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", python_files(PACKAGE) + python_files(TESTS), ids=name_of)
def test_a_name_says_what_is_inside(path: Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    assert not NAMES_THAT_SAY_NOTHING.intersection(parts)


@pytest.mark.parametrize("layer", [layer for layer in layers() if (PACKAGE / layer).is_dir()])
def test_the_tests_mirror_the_package(layer: str) -> None:
    assert list((TESTS / layer).rglob("test_*.py")), f"refgrad/{layer}/ has no tests in tests/{layer}/"
