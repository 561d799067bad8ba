"""The size of the package: code lines by package, modules, chosen numbers, shared class names and repeated lines.

The limits are what there is. A commit that raises one says why beside it; one that needs less lowers it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.repository.sources import PACKAGE, name_of, nodes, python_files, syntax_tree

CODE_LINES = {
    "grading": 4872, "report": 2525, "facts": 777, "checking": 4916, "generation": 3560, "native": 3766,
    "operators": 2477, "engine": 2472, "oracles": 2227, "scenario": 1537, "cli": 1221, "pytest_plugin": 1003,
    "lifecycle": 838, "adapters": 372, "interpreter": 352, ".": 418,
}  # fmt: skip
"""Largest number of code lines of each package and of the modules beside them (`.`)."""

MODULES = 275  # functions that scenarios call, and those of the reference engine
CHOSEN_NUMBERS = 251  # the weight of calls in lifecycles, the repetitions of a loop, and when JAX is certified at once
SHARED_CLASS_NAMES = 0
REPEATED_STRETCHES = 0

STRETCH = 6
"""Number of code lines in a row that must not stand twice."""


@cache
def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a source."""
    return ast.parse(source)


def lines_of(node: ast.stmt | ast.expr) -> range:
    """Return the numbers of the lines of a node."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


@cache
def code_lines(source: str) -> list[int]:
    """Return the numbers of the lines that hold code: not those of comments, and of statements that are a string."""
    held = {n for n, line in enumerate(source.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in nodes(parsed(source)):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            held.update(lines_of(node))
    statements = (node.value for node in nodes(parsed(source)) if isinstance(node, ast.Expr))
    texts = (each for each in statements if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return sorted(held.difference(*map(lines_of, texts)))


def package_of(path: Path) -> str:
    """Return the package of a module, ``.`` for one right below `refgrad`."""
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else "."


def chosen_numbers(tree: ast.Module) -> Iterator[float]:
    """Yield the literal numbers in constants, class fields and default arguments, but 0, 1 and 2."""
    values: list[ast.expr | None] = []
    for node in nodes(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            values += [each.value for each in node.body if isinstance(each, ast.Assign | ast.AnnAssign)]
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            values += [*node.args.defaults, *node.args.kw_defaults]
    for value in values:
        for node in ast.walk(value) if value is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value not in {0, 1, 2}:
                yield node.value


def import_lines(source: str) -> set[int]:
    """Return the numbers of the lines of imports."""
    imports = [node for node in nodes(parsed(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {number for node in imports for number in lines_of(node)}


def repeated_stretches(sources: list[str]) -> int:
    """Return how many stretches of code lines stand in a second place, imports left out."""
    seen = Counter[tuple[str, ...]]()
    for source in sources:
        lines, imports = source.splitlines(), import_lines(source)
        code = [lines[number - 1].strip() for number in code_lines(source) if number not in imports]
        seen.update(tuple(code[start : start + STRETCH]) for start in range(len(code) - STRETCH + 1))
    return sum(count - 1 for count in seen.values())


def test_the_package_keeps_within_its_lines() -> None:
    found = Counter[str]()
    for path in python_files(PACKAGE):
        found[package_of(path)] += len(code_lines(path.read_text(encoding="utf-8")))
    rows = [f"{package:16}{lines:7,} of {CODE_LINES.get(package, 0):7,}" for package, lines in found.most_common()]
    sys.stdout.write("\n".join([*rows, f"{'refgrad':16}{found.total():7,} of {sum(CODE_LINES.values()):7,}\n"]))
    assert {package: lines for package, lines in found.items() if lines > CODE_LINES.get(package, 0)} == {}


def test_there_are_no_more_modules() -> None:
    assert len(python_files(PACKAGE)) <= MODULES


def test_no_more_numbers_are_chosen() -> None:
    assert sum(len(list(chosen_numbers(syntax_tree(path)))) for path in python_files(PACKAGE)) <= CHOSEN_NUMBERS


def test_no_more_public_classes_share_a_name() -> None:
    places = defaultdict[str, list[str]](list)
    for path in python_files(PACKAGE):
        for node in nodes(syntax_tree(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    assert sum(len(each) > 1 for each in places.values()) <= SHARED_CLASS_NAMES, places


def test_no_more_lines_are_repeated() -> None:
    assert (
        repeated_stretches([path.read_text(encoding="utf-8") for path in python_files(PACKAGE)]) <= REPEATED_STRETCHES
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""A module."""\n\nx = 1  # one\n', [3]),
        ("# a comment\nx = [\n    1,\n\n]\n", [2, 3, 5]),
        ('x = """a\nb"""\n', [1, 2]),
        ('def f():\n    """Return."""\n    return 1\n', [1, 3]),
    ],
)
def test_lines_of_code_are_counted(source: str, lines: list[int]) -> None:
    assert code_lines(source) == lines


def test_numbers_and_stretches_are_counted() -> None:
    tree = ast.parse("A = 3\nB: int = 1\n\nclass C:\n    d: float = 0.5\n\ndef f(x=7, *, y=8.0):\n    return 9\n")
    assert sorted(chosen_numbers(tree)) == [0.5, 3.0, 7.0, 8.0]
    six = "".join(f"x = f({number})\n" for number in range(6))
    assert repeated_stretches([f"import a\n{six}", f"{six}y = 1\n"]) == 1
    assert repeated_stretches([six, six.replace("f(0)", "g(0)")]) == 0
    assert repeated_stretches(["from a import (\n    b,\n    c,\n    d,\n    e,\n    f,\n)\n"] * 2) == 0
