"""The tests that may kill a fault, and their order: those beside the module first, quick ones before slow."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

from tests.mutation.faults import Fault
from tests.mutation.planter import TABLES, core, functions
from tests.mutation.reach import Reach
from tests.repository.sources import ROOT, syntax_tree

FIRST_SECONDS = 4.0
"""Of tests that are run first, since most faults are found by few."""

ALL_SECONDS = 20.0
"""Of tests that a fault may survive."""

FEW = 10
"""Where fewer tests reach a function (what it returns may be kept, by a fixture of their file, too), the others of
their files and those that reach its module are asked as well, or all where there are none: then what it returned was
kept while tests were collected."""


def rounds(fault: Fault, reach: Mapping[str, Reach]) -> Iterator[dict[str, float]]:
    """Yield the tests to run, by id with the seconds that each takes: the nearest, then the quickest of the others."""
    order = _candidates(fault, reach)
    first, others = _within(order, reach, FIRST_SECONDS)
    yield first
    yield _within(sorted(others, key=lambda name: reach[name].seconds), reach, ALL_SECONDS)[0]


def _within(order: Sequence[str], reach: Mapping[str, Reach], seconds: float) -> tuple[dict[str, float], list[str]]:
    """Return the first tests that take no longer than this together, the first of all in any case, and the others."""
    chosen: dict[str, float] = {}
    for name in order:
        if chosen and sum(chosen.values()) + reach[name].seconds > seconds:
            break
        chosen[name] = reach[name].seconds
    return chosen, [name for name in order if name not in chosen]


def _candidates(fault: Fault, reach: Mapping[str, Reach]) -> list[str]:
    wanted = touched(fault)
    found = [name for name, of in reach.items() if wanted & of.functions]
    if len(found) < FEW:
        module = f"{fault.module}::"
        files = {_file(name) for name in found}
        more = [
            name
            for name, of in reach.items()
            if _file(name) in files or any(function.startswith(module) for function in of.functions)
        ]
        found += [name for name in more or reach if name not in set(found)]
    return sorted(found, key=lambda name: (_distance(name, fault.module), reach[name].seconds))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _distance(test: str, module: str) -> int:
    """Return how far a test is from what it mirrors: 0 for its file, 1 for its folder, 2 for its package, else 3."""
    file, source = PurePosixPath(_file(test)), PurePosixPath(module)
    if module in TABLES:
        return 0 if source.stem in file.parts else 3
    beside = "/".join(file.parts[1:-1]) == "/".join(source.parts[1:-1])
    if beside and file.stem == f"test_{source.stem}":
        return 0
    if beside:
        return 1
    return 2 if file.parts[1] == source.parts[1] else 3


def touched(fault: Fault) -> frozenset[str]:
    """Return the functions that a fault changes: the one that it is in, or those that read the number."""
    if fault.module in TABLES:
        key = fault.function.rpartition(".")[2]
        return frozenset(_readers({f"[{key}]", f".{key}"}))
    if not _is_constant(fault):
        return frozenset({f"{fault.module}::{fault.function}"})
    return frozenset(_users(fault.module, fault.function))


def _is_constant(fault: Fault) -> bool:
    return fault.kind == "tolerance" or fault.function.lstrip("_").isupper()


def _users(module: str, constant: str) -> Iterator[str]:
    """Yield the functions that name a constant of a module, or another constant that is made of it."""
    dotted = module.removesuffix(".py").replace("/", ".")
    for other in core():
        tree = syntax_tree(ROOT / other)
        names = _made_of(tree, {constant}) if other == module else _imported(tree, dotted, constant)
        if names:
            yield from (f"{other}::{name}" for name, node in functions(tree) if _names(node) & names)


def _readers(keys: set[str]) -> Iterator[str]:
    """Yield the functions that read a number of a table, or a constant of their module that is made of it."""
    for module in core():
        tree = syntax_tree(ROOT / module)
        yield from (f"{module}::{name}" for name, node in functions(tree) if _names(node) & keys)
        for constant in _made_of(tree, keys) - keys:
            yield from _users(module, constant)


def _imported(tree: ast.Module, module: str, constant: str) -> set[str]:
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == module)
    named = {alias.name for node in imports for alias in node.names}
    return _made_of(tree, {constant}) if constant in named else set()


def _made_of(tree: ast.Module, names: set[str]) -> set[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _names(node.value) & names:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = names | {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@cache
def _names(node: ast.AST) -> frozenset[str]:
    """Return the names in a node, with its attributes as ``.name`` and its keys as ``[name]``."""
    return frozenset(filter(None, map(_name, ast.walk(node))))


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return f"[{name}]"
    return ""
