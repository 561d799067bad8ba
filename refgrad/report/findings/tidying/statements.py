"""What statements of a program bind and read, names that are free, and changed copies of statements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from refgrad.report.findings.tidying.folding import Folding

Body = Sequence[ast.stmt]

PLAIN: Final = (ast.Name, ast.Attribute, ast.Constant, ast.List, ast.Load)


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


def bound_in(node: ast.AST) -> set[str]:
    """Return all names that are bound somewhere within."""
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return stored | {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}


def stands_there(node: ast.expr) -> bool:
    """Whether an expression computes nothing, so that it may stand anywhere, and more than once."""
    return all(isinstance(each, PLAIN) for each in ast.walk(node))


def fresh_name(name: str, taken: set[str]) -> str:
    """Return a name that stands for nothing else, from now on for this."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    taken.add(found := next(each for each in names if each not in taken))
    return found


class Filling(ast.NodeTransformer):
    """Puts expressions in the places of names, and names in the places of those that are bound."""

    def __init__(self, filled: Mapping[str, ast.expr]) -> None:
        self.filled = filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands for a name."""
        new = self.filled.get(node.id, node)
        return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else copy.deepcopy(new)


def filled(body: Body, filling: Mapping[str, ast.expr]) -> list[ast.stmt]:
    """Return copies of statements with expressions in the places of names."""
    return [ast.fix_missing_locations(Folding().visit(Filling(filling).visit(copy.deepcopy(node)))) for node in body]
