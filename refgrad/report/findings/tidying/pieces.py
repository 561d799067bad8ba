"""Statements of a printed program."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

MOST_TEXT: Final = 200_000
"""Longer programs are left as they are."""

IMPORTS: Final = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement outside of functions, its text, and the comment on its last line.

    ``needs`` are names that its text uses.
    """

    node: ast.stmt
    text: str
    remark: str = ""
    needs: tuple[str, ...] = ()

    @classmethod
    def new(cls, node: ast.stmt, remark: str = "") -> Piece:
        """Return a statement that is printed again."""
        return cls(ast.fix_missing_locations(node), ast.unparse(node), remark)


def pieces(program: str) -> list[Piece]:
    """Return the statements of a program. Raises ValueError for what is no program of Python."""
    if len(program) > MOST_TEXT:
        raise ValueError("the program is too long to be looked at")
    try:
        tree = ast.parse(program)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error
    lines = program.splitlines()
    return [_piece(node, lines) for node in tree.body]


def _piece(node: ast.stmt, lines: Sequence[str]) -> Piece:
    end = node.end_lineno or node.lineno
    last = lines[end - 1].encode()
    text, behind = (
        part.decode("utf-8", "replace") for part in (last[: node.end_col_offset], last[node.end_col_offset :])
    )
    return Piece(node, "\n".join([*lines[node.lineno - 1 : end - 1], text]), behind.strip().removeprefix("#").strip())


def mentions(program: Sequence[Piece], name: str) -> bool:
    """Whether a name, or one with dots, stands anywhere in some statements other than imports."""
    last = name.rpartition(".")[2]
    return any(name in piece.needs for piece in program) or any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == last and ast.unparse(each) == name)
        for piece in program
        if not isinstance(piece.node, IMPORTS)
        for each in ast.walk(piece.node)
    )


def names_in(node: ast.AST) -> set[str]:
    """Return all variables."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def assigned_in(body: Sequence[ast.stmt]) -> set[str]:
    """Return the variables that statements assign, but not those within them."""
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def fresh_name(name: str, taken: set[str]) -> str:
    """Return a name that stands for nothing else, from now on for this."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    taken.add(found := next(each for each in names if each not in taken))
    return found


class Filling(ast.NodeTransformer):
    """Replaces names by expressions, and bound names by other names."""

    def __init__(self, filled: Mapping[str, ast.expr]) -> None:
        self.filled = filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands for a name."""
        new = self.filled.get(node.id, node)
        return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else copy.deepcopy(new)
