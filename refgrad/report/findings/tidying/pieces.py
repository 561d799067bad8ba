"""Statements of a printed program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_TEXT: Final = 200_000
"""Longer programs are left as they are."""

IMPORTS: Final = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement at the top of a program, as it was printed, and what stands behind it on its last line."""

    node: ast.stmt
    text: str
    remark: str = ""

    @classmethod
    def new(cls, node: ast.stmt, remark: str = "") -> Piece:
        """Return a statement that is printed again."""
        text = ast.unparse(ast.fix_missing_locations(node))
        return cls(ast.parse(text).body[0], text, remark)


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


def mentions(program: Iterable[Piece], name: str) -> bool:
    """Whether a name, or one with dots, stands anywhere in some statements other than imports."""
    last = name.rpartition(".")[2]
    return any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == last and ast.unparse(each) == name)
        for piece in program
        if not isinstance(piece.node, IMPORTS)
        for each in ast.walk(piece.node)
    )
