"""What statements of a program bind and read, and changed copies of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

Body = Sequence[ast.stmt]


def calls_in(program: Body) -> Iterator[ast.Call]:
    """Yield all calls."""
    return (each for node in program for each in ast.walk(node) if isinstance(each, ast.Call))


def names_in(node: ast.AST) -> set[str]:
    """Return all variables."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def stored(program: Body) -> set[str]:
    """Return the names that statements bind."""
    return {name for node in program for name in (targets(node) or ())}


def targets(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement binds, or None for one that does anything else."""
    match node:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List() as target]):
            return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
    return None


def free_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads from outside of it."""
    if not isinstance(node, ast.FunctionDef):
        return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    own = stored(node.body) | {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    return {name for each in node.body for name in free_names(each)} - own


def changed(node: ast.stmt, transformer: ast.NodeTransformer) -> ast.stmt:
    """Return a changed copy of a statement, or the statement itself if nothing changes."""
    new: ast.stmt = transformer.visit(copy.deepcopy(node))
    return node if ast.dump(new) == ast.dump(node) else new


def with_body(function: ast.FunctionDef, body: Body) -> ast.FunctionDef:
    """Return a function with another body."""
    new = copy.copy(function)
    new.body = list(body)
    return new
