"""Trees of a program as text: simplified, with helpers inlined and without unused parts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Final

from refgrad.report.findings.folding import Folding, Shapes, with_shapes
from refgrad.report.findings.inlining import inlined
from refgrad.report.findings.trees import IMPORTS, Filling, Piece, assigned_in, copied, mentions, names_in

PREFIX: Final = "program_"
"""Beginning of the names of functions that a program differentiates."""

NAMES: Final = ("f", "g", "h", "u", "v", "w")
"""Names of these functions in the printed program."""

MOVABLE: Final = (*IMPORTS, ast.FunctionDef, ast.ClassDef)
"""Statements that do nothing by themselves."""

PLAIN: Final = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Tuple, ast.Load)
"""Types of nodes in an expression that may replace the name of a function."""


def tidied(setup: Sequence[Piece], program: Sequence[Piece], shapes: Shapes = MappingProxyType({})) -> str:
    """Return the text of a program, whose first statements are a ``setup`` with helpers.

    ``shapes`` are the known shapes of variables outside of functions.
    """
    program = _used(program)
    folded = [piece.changed(Folding().visit) for piece in program]
    placed = _unrepeated([_decided(piece, shapes) for piece in inlined(folded, sum(each in program for each in setup))])
    return _laid_out(list(_imports_first(_needed(_renamed(_without_wrappers(_unnamed(placed)))))))


def _used(program: Sequence[Piece]) -> list[Piece]:
    """Return the program without functions that are used neither directly nor through other functions."""
    used = [each for each in program if not isinstance(each.node, ast.FunctionDef)]
    while more := [each for each in program if each not in used and mentions(used, getattr(each.node, "name", ""))]:
        used += more
    return [each for each in program if each in used]


def _decided(piece: Piece, shapes: Shapes) -> Piece:
    """Return a statement with known shapes filled in. Helpers are returned unchanged."""
    if _is_helper(piece.node):
        return piece
    return piece.changed(lambda node: Folding().visit(with_shapes(node, shapes)))


def _unrepeated(program: Sequence[Piece]) -> list[Piece]:
    """Return a program without unused results of functions that are used again later."""
    kept: list[Piece] = []
    for piece in reversed(program):
        match piece.node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=ast.Name(id=name))):
                if name.startswith(PREFIX) and mentions(kept, name) and not mentions(kept, target):
                    continue
        kept.insert(0, piece)
    return kept


def _unnamed(program: list[Piece]) -> list[Piece]:
    """Return a program whose last statement assigns its result to no variable."""
    match program[-1].node if program else None:
        case ast.Assign(targets=[ast.Tuple() | ast.List() | ast.Name()], value=ast.Call() as value):
            return [*program[:-1], Piece.new(ast.Expr(value), program[-1].comment)]
    return program


def _without_wrappers(program: Sequence[Piece]) -> list[Piece]:
    """Return a program without functions that only pass their arguments on to another function."""
    names: dict[str, ast.expr] = {}
    kept: list[Piece] = []
    for piece in program:
        new = piece.changed(Filling(names).visit) if names_in(piece.node) & names.keys() else piece
        if isinstance(new.node, ast.FunctionDef) and (called := _called(new.node)) is not None:
            names[new.node.name] = called
        else:
            kept.append(new)
    return kept


def _called(function: ast.FunctionDef) -> ast.expr | None:
    """Return the function to which a function only passes its arguments on, or None if it does more."""
    parameters = [each.arg for each in function.args.args]
    match function.body:
        case [ast.Return(value=ast.Call(func=called, args=arguments, keywords=[]))] if function.name.startswith(PREFIX):
            names = [each.id for each in arguments if isinstance(each, ast.Name)]
            plain = all(isinstance(each, PLAIN) for each in ast.walk(called))
            if plain and names == parameters and len(arguments) == len(names):
                return None if names_in(called) & set(parameters) else called
    return None


def _renamed(program: Sequence[Piece]) -> list[Piece]:
    """Return the program with short names for its functions, and for pullbacks if no function has several."""
    own = [piece.node for piece in program if not _is_helper(piece.node)]
    nodes = [each for node in own for each in ast.walk(node)]
    taken = {each.id for each in nodes if isinstance(each, ast.Name)}
    functions = [each.name for each in nodes if isinstance(each, ast.FunctionDef) and each.name.startswith(PREFIX)]
    names = dict(zip(functions, (name for name in NAMES if name not in taken), strict=False))
    bodies = [own, *(each.body for each in nodes if isinstance(each, ast.FunctionDef))]
    pullbacks = [[name for name in assigned_in(body) if name.startswith("pullback_of_")] for body in bodies]
    if all(len(each) <= 1 for each in pullbacks):
        names |= {name: "pullback" for each in pullbacks for name in each}
    renaming = _Renaming({name: ast.Name(new, ast.Load()) for name, new in names.items()})
    return [piece.changed(renaming.visit) for piece in program]


def _is_helper(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith(PREFIX)


class _Renaming(Filling):
    """Replaces names of variables and functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802 (the name that `ast` calls)
        """Return the function definition with its new name."""
        self.generic_visit(node)
        node.name = getattr(self.filled.get(node.name), "id", node.name)
        return node


def _imports_first(program: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the imports before functions and classes, but after other statements that they may need.

    Imports from the standard library come first.
    """
    for _, group in groupby(program, key=lambda piece: isinstance(piece.node, MOVABLE)):
        yield from sorted(group, key=lambda piece: (not isinstance(piece.node, IMPORTS), not _is_standard(piece.node)))


def _is_standard(node: ast.stmt) -> bool:
    match node:
        case ast.Import(names=[ast.alias(name=name), *_]) | ast.ImportFrom(module=str(name)):
            return name.partition(".")[0] in sys.stdlib_module_names
    return False


def _needed(program: Sequence[Piece]) -> list[Piece]:
    """Return the program without imports and functions that nothing uses."""
    kept: list[Piece] = []
    for piece in reversed(program):
        node, new = copied(piece.node), piece
        if isinstance(node, IMPORTS):
            names = [each for each in node.names if mentions(kept, each.asname or each.name)]
            if len(names) < len(node.names):
                node.names = names
                new = Piece(node, ast.unparse(node) if names else "")
        unused = isinstance(node, ast.FunctionDef) and not mentions(kept, node.name)
        kept[:0] = [] if unused or not new.text else [new]
    return kept


def _laid_out(program: Sequence[Piece]) -> str:
    """Return the text, with a blank line after the imports and two around functions."""
    blanks = [0, *(_blanks(before.node, after.node) for before, after in pairwise(program))]
    lines = [piece.text + (f"  # {piece.comment}" if piece.comment else "") for piece in program]
    return "".join("\n" * count + line + "\n" for count, line in zip(blanks, lines, strict=True))


def _blanks(before: ast.stmt, after: ast.stmt) -> int:
    if isinstance(before, ast.FunctionDef) or isinstance(after, ast.FunctionDef):
        return 2
    return int(isinstance(before, IMPORTS) and not isinstance(after, IMPORTS))
