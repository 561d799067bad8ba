"""Every file follows the rules on size, names and place that keep the code readable."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.sources import PACKAGE, TESTS, layers, name_of, python_files, syntax_tree

LONGEST_FILE = 500
LONGER_FILES = {"refgrad/native/runners/python_runner.py"}
"""Any interpreter runs this file alone, without refgrad, so that it cannot be split."""
LONGEST_FUNCTION = 60
LARGEST_FOLDER = 14
NAMES_THAT_SAY_NOTHING = frozenset({"utils", "util", "helpers", "helper", "misc", "common", "core", "base"})


def test_a_module_begins_with_a_statement_of_what_it_holds() -> None:
    sources = {name_of(path): path.read_text(encoding="utf-8") for path in python_files(PACKAGE)}
    assert [name for name, source in sources.items() if not begins_with_a_statement(source)] == []


def begins_with_a_statement(source: str) -> bool:
    docstring = ast.get_docstring(ast.parse(source)) or ""
    first, _, _ = docstring.partition("\n")
    return source.startswith(('"""', 'r"""')) and bool(first) and "?" not in first


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ('"""Rows of numbers."""', True),
        ('"""Rows of numbers.\n\nAre there any?\n"""', True),
        ('"""What is a row?"""', False),
        ('"""What is a row? Numbers."""', False),
        ("import ast", False),
        ('# a comment\n"""Rows of numbers."""', False),
    ],
)
def test_this_very_check_tells_a_statement(source: str, *, begins: bool) -> None:
    assert begins_with_a_statement(source) is begins


def test_a_file_is_short() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(PACKAGE)}
    assert {name for name, count in lines.items() if count > LONGEST_FILE} == LONGER_FILES


def test_a_function_is_short() -> None:
    long = {
        f"{name_of(path)}: {name}": lines
        for path in python_files(PACKAGE)
        for name, lines in function_lengths(syntax_tree(path))
        if lines > LONGEST_FUNCTION
    }
    assert long == {}


def function_lengths(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_a_folder_has_few_modules() -> None:
    sizes = Counter(path.parent for path in python_files(PACKAGE))
    assert {name_of(folder): size for folder, size in sizes.items() if size > LARGEST_FOLDER} == {}


def test_a_name_says_what_is_inside() -> None:
    files = python_files(PACKAGE) + python_files(TESTS)
    assert [name_of(path) for path in files if not NAMES_THAT_SAY_NOTHING.isdisjoint(words_of(path))] == []


def words_of(path: Path) -> tuple[str, ...]:
    return path.relative_to(PACKAGE.parent).with_suffix("").parts


def test_the_tests_mirror_the_package() -> None:
    packages = [layer for layer in layers() if (PACKAGE / layer).is_dir()]
    assert [layer for layer in packages if not list((TESTS / layer).rglob("test_*.py"))] == []
