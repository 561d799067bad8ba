"""Makes a printed program one that a user of the library would write: with nothing in it that it does not use."""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final

from refgrad.report.findings.tidying.folding import Folding, last_name
from refgrad.report.findings.tidying.functions import natural
from refgrad.report.findings.tidying.inlining import inlined
from refgrad.report.findings.tidying.known import Shapes, with_shapes
from refgrad.report.findings.tidying.pieces import IMPORTS, Piece, mentions
from refgrad.report.findings.tidying.statements import free_names

PROGRAMS: Final = re.compile(r"(program|function_of)_")
"""What functions are called that a program consists of, where its engine has no tape."""

MOVABLE: Final = (*IMPORTS, ast.FunctionDef, ast.ClassDef)
"""Statements that do nothing by themselves."""


def tidied(program: Sequence[Piece], shapes: Shapes = MappingProxyType({})) -> str:
    """Return the text of a program: folded, with its helpers in place, and with what it uses alone.

    ``shapes`` are those of the names at the top of the program, as far as they are known.
    """
    folded = [_folded(piece) for piece in _without_dead(program)]
    asserts = any(isinstance(piece.node, ast.Assert) for piece in program)
    decided = [_decided(piece, shapes) for piece in inlined(folded)]
    needed = _needed(natural(_without_unread(decided, asserts=asserts)))
    return _laid_out(list(_imports_first(needed)))


def _decided(piece: Piece, shapes: Shapes) -> Piece:
    """Return a statement with what the shapes decide; functions of their own are left as they are."""
    if isinstance(piece.node, ast.FunctionDef) and not PROGRAMS.match(piece.node.name):
        return piece
    new = Piece.new(with_shapes(copy.deepcopy(piece.node), shapes), piece.remark)
    return piece if new.text == ast.unparse(piece.node) else new


def _imports_first(program: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the imports before functions and classes, but behind what else is done before: they may need it.

    Those of the standard library come first.
    """
    for _, group in groupby(program, key=lambda piece: isinstance(piece.node, MOVABLE)):
        yield from sorted(group, key=lambda piece: (not isinstance(piece.node, IMPORTS), not _is_standard(piece.node)))


def _is_standard(node: ast.stmt) -> bool:
    match node:
        case ast.Import(names=[ast.alias(name=name), *_]) | ast.ImportFrom(module=str(name)):
            return name.partition(".")[0] in sys.stdlib_module_names
    return False


def _folded(piece: Piece) -> Piece:
    if isinstance(piece.node, IMPORTS):
        return piece
    new = Piece.new(Folding().visit(copy.deepcopy(piece.node)), piece.remark)
    return piece if new.text == ast.unparse(piece.node) else new


def _without_dead(program: Sequence[Piece]) -> list[Piece]:
    """Return the program without results that only a function of the same name uses: functional engines have those."""
    inner = {
        target.id
        for piece in program
        if isinstance(piece.node, ast.FunctionDef)
        for statement in piece.node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    kept: list[Piece] = []
    for piece in reversed(program):
        match piece.node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in inner and not _reads(kept, name):
                continue
        kept.insert(0, piece)
    return kept


def _without_unread(program: Sequence[Piece], *, within: bool = False, asserts: bool = False) -> list[Piece]:
    """Return the program without functions that nothing calls, and names that nothing reads.

    Of a program that ``asserts`` what is right, pullbacks that nothing calls go, too, but not ``within`` functions.
    """
    kept: list[Piece] = []
    for piece in reversed(program):
        if not _is_idle(piece.node, kept, within=within, asserts=asserts):
            kept.insert(0, _unnamed(_opened(piece, asserts=asserts), kept))
    return kept


def _is_idle(node: ast.stmt, behind: Sequence[Piece], *, within: bool, asserts: bool) -> bool:
    """Whether nothing behind a statement needs what it does."""
    match node:
        case ast.FunctionDef(name=name):
            return not mentions(behind, name)
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List() as target], value=value):
            names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
            if not behind or any(_reads(behind, name) for name in names):
                return False
            if within:  # what is traced may depend on what is computed there for nothing
                return isinstance(value, ast.Lambda)
            called = last_name(value.func) if isinstance(value, ast.Call) else ""
            repeated = bool(PROGRAMS.match(called)) and (asserts or mentions(behind, called))
            return repeated or isinstance(value, ast.Lambda) or (asserts and isinstance(target, ast.Tuple))
    return False


def _opened(piece: Piece, *, asserts: bool) -> Piece:
    """Return a function of the program itself without what it computes for nothing, anything else as it is."""
    if not isinstance(piece.node, ast.FunctionDef) or not PROGRAMS.match(piece.node.name):
        return piece
    node = copy.deepcopy(piece.node)
    body = _without_unread([Piece.new(each) for each in node.body], within=True, asserts=asserts)
    node.body = [each.node for each in body]
    new = Piece.new(Folding().visit(node), piece.remark)
    return piece if new.text == ast.unparse(piece.node) else new


def _unnamed(piece: Piece, behind: Sequence[Piece]) -> Piece:
    """Return an assignment without the names of several results that nothing reads, a last one without any."""
    match piece.node:
        case ast.Assign(targets=[ast.Tuple() | ast.List() | ast.Name() as target], value=value):
            names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        case _:
            return piece
    unread = {name for name in names if not _reads(behind, name)}
    if unread == names and isinstance(value, ast.Call) and (not behind or isinstance(target, ast.Tuple)):
        return Piece.new(ast.Expr(value), piece.remark)
    if not unread or not isinstance(target, ast.Tuple):
        return piece
    node = copy.deepcopy(piece.node)
    for each in ast.walk(node.targets[0]):
        if isinstance(each, ast.Name) and each.id in unread:
            each.id = "_"
    return Piece.new(node, piece.remark)


def _reads(program: Iterable[Piece], name: str) -> bool:
    """Whether a name that stands at the top of a program is read further on."""
    return any(name in free_names(piece.node) for piece in program)


def _needed(program: Sequence[Piece]) -> list[Piece]:
    """Return the program without imports that nothing uses."""
    kept: list[Piece] = []
    for piece in reversed(program):
        new = _used(piece, kept) if isinstance(piece.node, IMPORTS) else piece
        if new is not None:
            kept.insert(0, new)
    return kept


def _used(piece: Piece, behind: Sequence[Piece]) -> Piece | None:
    """Return an import of those names that the statements behind it use, None where they use none."""
    assert isinstance(piece.node, IMPORTS)
    names = [each for each in piece.node.names if mentions(behind, each.asname or each.name)]
    if len(names) == len(piece.node.names):
        return piece
    node = copy.deepcopy(piece.node)
    node.names = names
    return Piece(node, ast.unparse(node)) if names else None


def _laid_out(program: Sequence[Piece]) -> str:
    """Return the text, with the imports apart and two blank lines around functions."""
    parts: list[str] = []
    for number, piece in enumerate(program):
        before = program[number - 1].node if number else None
        if before is not None:
            parts.append("\n" * _blanks(before, piece.node))
        parts.append(piece.text + (f"  # {piece.remark}" if piece.remark else "") + "\n")
    return "".join(parts)


def _blanks(before: ast.stmt, behind: ast.stmt) -> int:
    if isinstance(before, ast.FunctionDef) or isinstance(behind, ast.FunctionDef):
        return 2
    return int(isinstance(before, IMPORTS) and not isinstance(behind, IMPORTS))
