"""Syntax trees of programs in Python: of text, and of statements as the language prints them."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from typing import Final, TypeVar

from refgrad.native.display import program_lines
from refgrad.native.languages import Python
from refgrad.native.languages.language import Template
from refgrad.native.statements import Call, Code, Show, Statement, Traversal, Value
from refgrad.report import CHARACTERS

IMPORTS: Final = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Piece:
    """A statement outside of functions, its text, and the comment on its last line.

    ``needs`` are the names that the text uses.
    """

    node: ast.stmt
    text: str
    comment: str = ""
    needs: tuple[str, ...] = ()

    @classmethod
    def new(cls, node: ast.stmt, comment: str = "") -> Piece:
        """Return the piece of a new statement, whose text is made from its tree."""
        return cls(ast.fix_missing_locations(node), ast.unparse(node), comment)

    def changed(self, change: Callable[[ast.stmt], ast.AST]) -> Piece:
        """Return the changed statement, or the same piece if nothing changes. Imports are never changed."""
        node = self.node if isinstance(self.node, IMPORTS) else change(copied(self.node))
        assert isinstance(node, ast.stmt)
        same = pickle.dumps(node) == pickle.dumps(self.node) or ast.dump(node) == ast.dump(self.node)  # faster first
        return self if same else Piece.new(node, self.comment)

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Return the names in the statement, dotted ones included; none for an import."""
        inside = () if isinstance(self.node, IMPORTS) else ast.walk(self.node)
        return frozenset(filter(None, map(_dotted, inside))).union(self.needs)


def pieces(program: str) -> list[Piece]:
    """Return the statements of a program. Raises ValueError if the text is not a Python program."""
    if len(program) > CHARACTERS["program"]:
        raise ValueError("the program is too long to be read")
    lines = program.splitlines()
    return [_piece(node, lines) for node in _parsed(program).body]


def _parsed(program: str) -> ast.Module:
    try:
        return ast.parse(program)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error


def _piece(node: ast.stmt, lines: Sequence[str]) -> Piece:
    end = node.end_lineno or node.lineno
    last = lines[end - 1].encode()
    text, comment = (
        part.decode("utf-8", "replace") for part in (last[: node.end_col_offset], last[node.end_col_offset :])
    )
    return Piece(node, "\n".join([*lines[node.lineno - 1 : end - 1], text]), comment.strip().removeprefix("#").strip())


def mentions(program: Sequence[Piece], name: str) -> bool:
    """Return True if a name, which may be dotted, occurs in one of the statements other than imports."""
    return any(name in piece.mentioned for piece in program)


def _dotted(node: ast.AST) -> str:
    """Return the name, which may be dotted, of a node; an empty string for a node without one."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name) if owner := _dotted(value):
            return f"{owner}.{name}"
    return ""


N = TypeVar("N")


def copied(tree: N) -> N:
    """Return a copy of a syntax tree, in less than half the time of ``copy.deepcopy``."""
    return pickle.loads(pickle.dumps(tree))  # type: ignore[no-any-return]  # noqa: S301 (the bytes are made here)


def names_in(node: ast.AST) -> set[str]:
    """Return the names of all variables in a tree."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def assigned_in(body: Sequence[ast.stmt]) -> set[str]:
    """Return the variables that statements assign directly, not those assigned in nested statements."""
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


class Filling(ast.NodeTransformer):
    """Replaces names by expressions, and bound names by other names."""

    def __init__(self, filled: Mapping[str, ast.expr]) -> None:
        self.filled = filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the replacement of a name."""
        new = self.filled.get(node.id, node)
        return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else copied(new)


@dataclass(frozen=True, slots=True)
class ParsedPython(Python):
    """Python as it is parsed for a page: without parts that only help readers of a run, such as printed exceptions."""

    handler = (("try:",), ("except Exception:", "    pass"))

    def lines(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of a statement. Of a traversal, only the names of its nodes are bound."""
        match statement:
            case Show(call=call):
                yield f"print({self.called(call)})"
            case Traversal():
                yield from islice(self.walked(statement), 2)
            case _:
                yield from Python.lines(self, statement)

    def called(self, call: Call) -> str:
        """Return a template with its fields filled in. Raises TemplateError if it is not an expression."""
        self.check(Template(call.template))
        return Python.called(self, call)


PYTHON: Final = ParsedPython()


def program_of(program: Sequence[Statement]) -> list[Piece]:
    """Return the statements of a program as trees, those of a region nested in it.

    Code is not changed. Raises ValueError if the text is not a Python program.
    """
    parts: list[Piece] = []
    for is_code, group in groupby(program, lambda each: isinstance(each, Code)):
        try:
            text = "\n".join(program_lines(group, PYTHON))
        except (LookupError, TypeError) as error:  # a field without content, or a statement where there can be none
            raise ValueError(str(error)) from error
        parts += pieces(text) if is_code else map(Piece.new, _parsed(text).body)
    return parts


def called(call: Call) -> ast.expr:
    """Return the tree of a template with its fields filled in. Raises ValueError if it is not an expression."""
    match program_of([replace(call, targets=())]):
        case [Piece(node=ast.Expr(value=value))]:
            return value
    raise ValueError(f"{call.template[: CHARACTERS['name']]!r} is no expression")


def literal(value: object) -> ast.expr:
    """Return the tree of a literal."""
    return called(Call("{value}", {"value": Value(value)}))


def printed(expression: ast.expr) -> ast.stmt:
    """Return the statement that prints an expression."""
    return ast.Expr(ast.Call(ast.Name("print", ast.Load()), [expression], []))
