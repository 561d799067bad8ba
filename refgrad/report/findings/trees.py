"""Syntax trees of statements in Python: of text, and of code templates with their fields filled in by trees."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from string import Formatter
from typing import Any, Final, TypeVar

from refgrad.native import statements
from refgrad.native.languages import Python
from refgrad.report import CHARACTERS
from refgrad.scenario import Constant

IMPORTS: Final = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Piece:
    """A statement outside of functions, its text, and the comment on its last line.

    ``needs`` are names that its text uses.
    """

    node: ast.stmt
    text: str
    comment: str = ""
    needs: tuple[str, ...] = ()

    @classmethod
    def new(cls, node: ast.stmt, comment: str = "") -> Piece:
        """Return a statement that is printed again."""
        return cls(ast.fix_missing_locations(node), ast.unparse(node), comment)

    def changed(self, change: Callable[[ast.stmt], ast.AST]) -> Piece:
        """Return the statement after a change, or as it was written if nothing changes. Imports stay."""
        if isinstance(self.node, IMPORTS):
            return self
        node = change(copied(self.node))
        assert isinstance(node, ast.stmt)
        return self if ast.dump(node) == ast.dump(self.node) else Piece.new(node, self.comment)

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Return the names in the statement, also those with dots; none of an import."""
        inside = () if isinstance(self.node, IMPORTS) else ast.walk(self.node)
        return frozenset(filter(None, map(_dotted, inside))).union(self.needs)


def pieces(program: str) -> list[Piece]:
    """Return the statements of a program. Raises ValueError for what is no program of Python."""
    if len(program) > CHARACTERS["program"]:
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
    text, comment = (
        part.decode("utf-8", "replace") for part in (last[: node.end_col_offset], last[node.end_col_offset :])
    )
    return Piece(node, "\n".join([*lines[node.lineno - 1 : end - 1], text]), comment.strip().removeprefix("#").strip())


def mentions(program: Sequence[Piece], name: str) -> bool:
    """Whether a name, or one with dots, stands anywhere in some statements other than imports."""
    return any(name in piece.mentioned for piece in program)


def _dotted(node: ast.AST) -> str:
    """Return a name, or one with dots; an empty string for any other node."""
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
    """Return all variables."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def assigned_in(body: Sequence[ast.stmt]) -> set[str]:
    """Return the variables that statements assign, but not those within them."""
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


class Filling(ast.NodeTransformer):
    """Replaces names by expressions, and bound names by other names."""

    def __init__(self, filled: Mapping[str, ast.expr]) -> None:
        self.filled = filled

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands for a name."""
        new = self.filled.get(node.id, node)
        return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else copied(new)


PYTHON: Final = Python()

FIELD: Final = "field_of_template_{}"
"""Name that stands for a field while a template is parsed."""


def program_of(program: Sequence[statements.Statement]) -> list[Piece]:
    """Return the statements of a program as trees, those of a region nested in it."""
    return _block(program, 0)[0]


def _block(program: Sequence[statements.Statement], at: int) -> tuple[list[Piece], int]:
    """Return the trees up to the end of a region, and the index of that end."""
    trees: list[Piece] = []
    while at < len(program):
        statement = program[at]
        match statement:
            case statements.Enter(region=region):
                inner, at = _block(program, at + 1)
                ends = program[at] if at < len(program) else statements.Leave()
                trees.append(_region(region, [each.node for each in inner], ends))
            case statements.Leave():
                return trees, at
            case statements.Code(text=text):
                trees += pieces(text)
            case _:
                trees += [Piece.new(node) for node in nodes_of(statement)]
        at += 1
    return trees, at


def _region(region: statements.Call, inner: list[ast.stmt], end: statements.Statement) -> Piece:
    target = ast.Name(region.targets[0], ast.Store()) if region.targets else None
    by_error = isinstance(end, statements.Leave) and end.by_error
    error = ast.Raise(ast.Call(ast.Name("KeyError", ast.Load()), [ast.Constant("left by error")], []))
    body = [*inner, error] if by_error else inner or [ast.Pass()]
    node: ast.stmt = ast.With([ast.withitem(called(region), target)], body)
    return Piece.new(_tried([node], "KeyError") if by_error else node)


def _tried(body: list[ast.stmt], error: str) -> ast.Try:
    return ast.Try(body, [ast.ExceptHandler(ast.Name(error, ast.Load()), None, [ast.Pass()])], [], [])


def nodes_of(statement: statements.Statement) -> Iterator[ast.stmt]:
    """Yield the trees of a statement that is no region."""
    match statement:
        case statements.Call():
            yield _assigned(statement)
        case statements.Show(call=call):
            yield printed(called(call))
        case statements.Function(name=name, parameters=parameters, body=body, result=result):
            inner = [node for each in body for node in nodes_of(each)]
            arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
            yield ast.FunctionDef(name, arguments, [*inner, ast.Return(ast.Name(result, ast.Load()))], [])
        case statements.Delete(name=name):
            yield ast.Delete([ast.Name(name, ast.Del())])
        case statements.Attempt(body=body):
            yield _tried([node for each in body for node in nodes_of(each)], "Exception")
        case statements.Traversal(nodes=nodes):
            names: list[ast.expr | None] = [ast.Constant(name) for name in nodes]
            table = ast.Dict(names, [ast.Name(variable, ast.Load()) for variable in nodes.values()])
            yield ast.Assign([ast.Name("nodes", ast.Store())], table, lineno=0)
            yield _assigned(statements.Call("{{id(node): name for name, node in nodes.items()}}", {}, ("names",)))
        case _:
            raise ValueError(f"{type(statement).__name__} is no statement here")


def printed(*expressions: ast.expr) -> ast.stmt:
    """Return the statement that prints expressions."""
    return ast.Expr(ast.Call(ast.Name("print", ast.Load()), list(expressions), []))


def _assigned(call: statements.Call) -> ast.stmt:
    names: list[ast.expr] = [ast.Name(target, ast.Store()) for target in call.targets]
    if not names:
        return ast.Expr(called(call))
    listed = ast.List(names, ast.Store()) if len(names) == 1 else ast.Tuple(names, ast.Store())
    return ast.Assign([listed if call.unpack or len(names) > 1 else names[0]], called(call), lineno=0)


def called(call: statements.Call, **others: ast.expr) -> ast.expr:
    """Return the tree of a template with its fields filled in, and with ``others`` that are trees already.

    Raises ValueError for what is no expression.
    """
    fields = {name: _argument(each) for name, each in call.fields.items()} | others
    filling = Filling({FIELD.format(name): each for name, each in fields.items()})
    return filling.visit(copied(_parsed(call.template)))  # type: ignore[no-any-return]


def fields_of(template: str) -> set[str]:
    """Return the names of the fields of a template."""
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@cache
def _parsed(template: str) -> ast.expr:
    """Return the tree of a template, in which names stand for its fields."""
    try:
        fields = {name: FIELD.format(name) for name in fields_of(template)}
        return _tree(template.format(**fields).strip())
    except LookupError as error:
        raise ValueError(str(error)) from error


def _tree(text: str) -> ast.expr:
    """Return the tree of an expression. Raise ValueError for other text."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error


def _argument(argument: statements.Argument) -> ast.expr:
    match argument:
        case statements.Name(name=name):
            return ast.Name(name, ast.Load())
        case statements.Names(names=names):
            return ast.List([ast.Name(name, ast.Load()) for name in names], ast.Load())
        case statements.Value(value=value):
            return literal(value)
        case Constant():
            return _tree(PYTHON.array(argument))
        case statements.Call():
            return called(argument)
        case statements.Lambda(parameters=parameters, body=body):
            arguments = ast.arguments([], [ast.arg(each) for each in parameters], None, [], [], None, [])
            return ast.Lambda(arguments, called(body))
    raise ValueError(f"{type(argument).__name__} is no argument here")


def literal(value: Any) -> ast.expr:
    """Return the tree of a literal."""
    match value:
        case tuple():
            return ast.Tuple(list(map(literal, value)), ast.Load())
        case list():
            return ast.List(list(map(literal, value)), ast.Load())
        case dict():
            keys: list[ast.expr | None] = list(map(literal, value))
            return ast.Dict(keys, list(map(literal, value.values())))
    return _tree(PYTHON.literal(value))
