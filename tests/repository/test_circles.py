"""No module of refgrad imports what imports it, not even for the sake of types."""

import ast
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.repository.sources import PACKAGE, ROOT, python_files, syntax_tree

FOR_TYPES = {
    ("refgrad.grading.checks.check", "refgrad.grading.bench"): "a check is run on a bench, which grades checks",
    ("refgrad.grading.search", "refgrad.grading.bench"): "a bench makes its searches, which run scenarios on it",
}
"""Imports for the sake of types alone, within one package, that would close a circle, and why they are needed."""


def modules() -> Mapping[str, ast.Module]:
    """The parsed modules of the package, by their dotted names."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): syntax_tree(path)
        for path in python_files(PACKAGE)
    }


def imports(trees: Mapping[str, ast.Module], *, runtime_only: bool = False) -> Mapping[str, set[str]]:
    """What each module imports of the others where it is loaded; functions that import later are left out."""
    return {
        module: {
            found
            for statement in loaded_statements(tree, runtime_only=runtime_only)
            for found in imported(statement, trees.keys())
            if found != module
        }
        for module, tree in trees.items()
    }


def loaded_statements(node: ast.AST, *, runtime_only: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and runtime_only and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from loaded_statements(child, runtime_only=runtime_only)


def imported(statement: ast.Import | ast.ImportFrom, known: AbstractSet[str]) -> Iterator[str]:
    """The modules that a statement names: of ``from a import b`` it is ``a.b`` if that is one, else ``a``."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names if alias.name in known)
    elif statement.module:
        whole = {f"{statement.module}.{alias.name}" for alias in statement.names}
        yield from whole & known
        if statement.module in known and not whole <= known:
            yield statement.module


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """One circle of imports, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_what_imports_it() -> None:
    graph = {
        module: {other for other in others if (module, other) not in FOR_TYPES}
        for module, others in imports(modules()).items()
    }
    assert circle(graph) == []


def test_what_is_imported_for_types_alone_is_just_that_and_in_one_package() -> None:
    trees = modules()
    every, loaded = imports(trees), imports(trees, runtime_only=True)
    for module, other in FOR_TYPES:
        assert module.split(".")[:2] == other.split(".")[:2]
        assert other in every[module] - loaded[module], f"{module} does not import {other} for types alone"


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"a": "import b", "b": "import a"}, True),
        ({"a": "from b import x", "b": "from a import y"}, True),
        ({"a": "from b import c", "b": "", "b.c": "import a"}, True),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": "import a"}, True),
        ({"a": "import b", "b": "import c", "c": "import a"}, True),
        ({"a": "import b", "b": "def f():\n    import a"}, False),
        ({"a": "from b import c", "b": "import a.d", "b.c": "", "a.d": ""}, False),
        ({"a": "import b", "b": "import c", "c": ""}, False),
    ],
)
def test_this_very_check_sees_a_circle(sources: Mapping[str, str], *, found: bool) -> None:
    assert bool(circle(imports({name: ast.parse(source) for name, source in sources.items()}))) is found
