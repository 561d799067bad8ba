"""Makes a printed program one that a user of the library would write: with nothing in it that it does not use."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from refgrad.report.findings.folding import Folding

MOST_TEXT: Final = 200_000
"""Longer programs are left as they are."""

IMPORTS: Final = (ast.Import, ast.ImportFrom)

MOVABLE: Final = (*IMPORTS, ast.FunctionDef, ast.ClassDef)
"""Statements that do nothing by themselves."""

LITERALS: Final = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.Load)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement at the top of a program, as it was printed, and what stands behind it on its last line."""

    node: ast.stmt
    text: str
    remark: str = ""

    @classmethod
    def new(cls, text: str) -> Piece:
        """Return a statement that is given as text."""
        return cls(ast.parse(text).body[0], text)


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


def tidied(program: Sequence[Piece]) -> str:
    """Return the text of a program: folded, with its helpers in place, and with what it uses alone."""
    folded = [_folded(piece) for piece in _without_dead(program)]
    needed = _needed(_inlined(folded))
    return _laid_out(list(_imports_first(needed)))


def _imports_first(program: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the imports before functions and classes, but behind what else is done before: they may need it."""
    for _, group in groupby(program, key=lambda piece: isinstance(piece.node, MOVABLE)):
        yield from sorted(group, key=lambda piece: not isinstance(piece.node, IMPORTS))


def _folded(piece: Piece) -> Piece:
    if isinstance(piece.node, IMPORTS):
        return piece
    before = ast.unparse(piece.node)
    node = ast.fix_missing_locations(Folding().visit(copy.deepcopy(piece.node)))
    after = ast.unparse(node)
    return piece if after == before else Piece(node, after, piece.remark)


def _inlined(program: Sequence[Piece]) -> list[Piece]:
    """Return the program with what a helper of one line does in place of each call of it.

    A helper is a function that comes before everything else that is done; the functions of the program itself stay.
    """
    helpers: dict[str, ast.FunctionDef] = {}
    for piece in program:
        if isinstance(piece.node, ast.FunctionDef):
            if _short(piece.node):
                helpers[piece.node.name] = piece.node
        elif not isinstance(piece.node, IMPORTS):
            break
    return [_replaced(_expanded(piece, helpers), helpers) for piece in program]


def _short(function: ast.FunctionDef) -> bool:
    """Whether a function returns one expression, or names the results of one and returns them."""
    if function.args.defaults or function.args.vararg or function.args.kwonlyargs:
        return False
    match function.body:
        case [ast.Assign(targets=[ast.Tuple()]), ast.Return(value=ast.Tuple())] | [ast.Return(value=ast.expr())]:
            return True
    return False


def _replaced(piece: Piece, helpers: Mapping[str, ast.FunctionDef]) -> Piece:
    """Return a statement with the expressions that helpers return in place of their calls."""
    if isinstance(piece.node, IMPORTS) or not any(_mentions([piece], name) for name in helpers):
        return piece
    inlining = _Inlining({name: function for name, function in helpers.items() if len(function.body) == 1})
    node = inlining.visit(copy.deepcopy(piece.node))
    if not inlining.done:
        return piece
    node = Folding().visit(ast.fix_missing_locations(node))
    return Piece(node, ast.unparse(ast.fix_missing_locations(node)), piece.remark)


@dataclass
class _Inlining(ast.NodeTransformer):
    """Puts what a helper returns in place of its call, where no argument would be computed twice."""

    helpers: Mapping[str, ast.FunctionDef]
    done: bool = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the expression of a helper with the arguments filled in."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in self.helpers:
                function = self.helpers[name]
                parameters = [each.arg for each in function.args.args]
                if len(parameters) == len(given) and all(map(_is_plain, given)):
                    self.done = True
                    returned = function.body[0]
                    assert isinstance(returned, ast.Return)
                    assert returned.value is not None
                    filled = dict(zip(parameters, given, strict=True))
                    return Folding().visit(_Filling(filled).visit(copy.deepcopy(returned.value)))  # type: ignore[no-any-return]
        return node


def _is_plain(argument: ast.expr) -> bool:
    """Whether an argument is a name, or made of literals."""
    if isinstance(argument, ast.Name):
        return True
    return all(isinstance(node, LITERALS) for node in ast.walk(argument))


def _expanded(piece: Piece, helpers: Mapping[str, ast.FunctionDef]) -> Piece:
    match piece.node:
        case ast.Assign(
            targets=[ast.Tuple(elts=taken)], value=ast.Call(func=ast.Name(id=name), args=given, keywords=[])
        ) if name in helpers and len(helpers[name].body) > 1:
            made, returned = helpers[name].body
        case _:
            return piece
    assert isinstance(made, ast.Assign)
    assert isinstance(returned, ast.Return)
    filled = dict(zip((each.arg for each in helpers[name].args.args), given, strict=True))
    results = returned.value.elts if isinstance(returned.value, ast.Tuple) else []
    filled |= {each.id: new for each, new in zip(results, taken, strict=True) if isinstance(each, ast.Name)}
    node = Folding().visit(_Filling(filled).visit(copy.deepcopy(made)))
    return Piece.new(ast.unparse(ast.fix_missing_locations(node)))


@dataclass
class _Filling(ast.NodeTransformer):
    """Puts expressions in the places of names."""

    filled: Mapping[str, ast.expr]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands for a name."""
        return copy.deepcopy(self.filled.get(node.id, node))


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


def _reads(program: Iterable[Piece], name: str) -> bool:
    """Whether a name that stands at the top of a program is read further on."""
    return any(name in _free(piece.node) for piece in program)


def _free(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads from outside of it."""
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    if not isinstance(node, ast.FunctionDef):
        return read
    own = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return read - own - {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}


def _needed(program: Sequence[Piece]) -> list[Piece]:
    """Return the program without imports and functions that nothing uses."""
    kept: list[Piece] = []
    for piece in reversed(program):
        if isinstance(piece.node, ast.FunctionDef) and not _mentions(kept, piece.node.name):
            continue
        new = _used(piece, kept) if isinstance(piece.node, IMPORTS) else piece
        if new is not None:
            kept.insert(0, new)
    return kept


def _used(piece: Piece, behind: Sequence[Piece]) -> Piece | None:
    """Return an import of those names that the statements behind it use, None where they use none."""
    assert isinstance(piece.node, IMPORTS)
    names = [each for each in piece.node.names if _mentions(behind, each.asname or each.name)]
    if len(names) == len(piece.node.names):
        return piece
    node = copy.deepcopy(piece.node)
    node.names = names
    return Piece(node, ast.unparse(node)) if names else None


def _mentions(program: Iterable[Piece], name: str) -> bool:
    """Whether a name, or one with dots, stands anywhere in some statements other than imports."""
    last = name.rpartition(".")[2]
    return any(
        (isinstance(each, ast.Name) and each.id == name)
        or (isinstance(each, ast.Attribute) and each.attr == last and ast.unparse(each) == name)
        for piece in program
        if not isinstance(piece.node, IMPORTS)
        for each in ast.walk(piece.node)
    )


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
