"""The oracles and the engines that they judge know nothing of each other's rules."""

import ast

from tests.repository.sources import PACKAGE, TESTS, name_of, nodes, python_files, syntax_tree

CROSS_CHECKS = tuple(
    path for path in python_files(TESTS / "oracles" / "cross_checks") if not path.name.startswith("test_")
)

# The rounding budget models how engines compute, so it alone may read the rules that engines use.
BUDGET = {
    "refgrad/oracles/certified/series.py: rule",
    "refgrad/oracles/certified/series.py: usual_series",
}


def test_of_the_oracles_only_the_rounding_budget_reads_the_partials_of_a_row() -> None:
    readers = {
        f"{name_of(path)}: {function.name}"
        for path in python_files(PACKAGE / "oracles") + CROSS_CHECKS
        for function in nodes(syntax_tree(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "partials"
    }
    assert readers == BUDGET


def test_the_cross_checks_do_not_import_the_reference_engine() -> None:
    """An import contract of `pyproject.toml` says the same of the oracles in the package."""
    importers = {
        name_of(path)
        for path in CROSS_CHECKS
        for node in nodes(syntax_tree(path))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("refgrad.engine.")
    }
    assert len(CROSS_CHECKS) > len(importers) == 0


def test_the_reference_engine_does_not_read_the_derivatives_of_functions() -> None:
    """They are the oracles' own; the engine's rules are the rows' partials."""
    readers = {
        name_of(path)
        for path in python_files(PACKAGE / "engine")
        for node in nodes(syntax_tree(path))
        if isinstance(node, ast.Attribute) and node.attr in {"derivatives", "definition"}
    }
    assert readers == set()
