"""Replaces calls of helper functions in a printed program by the bodies of these functions.

A helper is a function in the setup of an engine file. The functions of the program itself are not inlined. Nor is a
helper whose body would compute an argument twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from refgrad.report.findings.folding import Folding, truth
from refgrad.report.findings.trees import IMPORTS, Filling, Piece, copied, mentions, names_in
from refgrad.scenario.rewrite import fresh_name

LITERALS: Final = (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.Load, ast.Name)
SIMPLE: Final = (ast.Expr, ast.Assign, ast.Return)

Helpers = Mapping[str, ast.FunctionDef]


def inlined(program: Sequence[Piece], setup: int = 0) -> list[Piece]:
    """Return the program with calls of helpers replaced by their bodies.

    Helpers are the functions among the first ``setup`` statements.
    """
    leading = (each.node for each in program[:setup] if isinstance(each.node, ast.FunctionDef))
    helpers = {each.name: _without_rejections(each) for each in leading}
    pieces = [each.changed(lambda node: helpers.get(getattr(node, "name", ""), node)) for each in program]
    taken = set[str]().union(*(names_in(each.node) for each in pieces if not _is_helper(each.node, helpers)))
    return _in_place(pieces, helpers, taken)


def _in_place(program: Sequence[Piece], helpers: Helpers, taken: set[str]) -> list[Piece]:
    opened = [_replaced(_opened(piece, helpers, taken), helpers) for piece in program]
    expanded = [new for piece in opened for new in _expanded(piece, helpers, taken)]
    return _without_lambdas([_replaced(piece, helpers) for piece in expanded])


def _opened(piece: Piece, helpers: Helpers, taken: set[str]) -> Piece:
    """Inline helpers in the body of a function of the program itself. Return other statements unchanged."""
    if not isinstance(piece.node, ast.FunctionDef) or _is_helper(piece.node, helpers):
        return piece
    node = copied(piece.node)
    node.body = [each.node for each in _in_place([Piece.new(each) for each in node.body], helpers, taken)]
    return piece.changed(lambda _: node)


def _is_helper(node: ast.stmt, helpers: Helpers) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in helpers


def _without_rejections(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a helper without the checks that reject arguments: a program that was run has passed them."""
    node, body = copied(function), list[ast.stmt]()
    for statement in node.body:
        match statement:
            case ast.Try(body=tried, handlers=[ast.ExceptHandler(body=[rejection, ast.Raise(exc=None)])], finalbody=[]):
                body += tried if _rejects(rejection) else [statement]
            case _:
                body.append(statement)
    node.body = [each for each in body if not _rejects(each)] or function.body
    return node


def _rejects(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(body=[ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError")))], orelse=[]):
            return True
    return False


def _replaced(piece: Piece, helpers: Helpers) -> Piece:
    """Return a statement in which calls of helpers are replaced by the expressions that these return."""
    if isinstance(piece.node, IMPORTS) or not any(mentions([piece], name) for name in helpers):
        return piece
    inlining = _Inlining({name: each for name, each in helpers.items() if _returned(each) is not None})
    new = piece.changed(inlining.visit)
    return piece if new is piece else new.changed(Folding().visit)


def _returned(function: ast.FunctionDef) -> ast.expr | None:
    """Return the expression that a function returns, or None if the function has other statements."""
    match function.body:
        case [ast.Return(value=ast.expr() as value)] if not _has_optional_parameters(function.args):
            return value
    return None


def _has_optional_parameters(arguments: ast.arguments) -> bool:
    """Return True if the number of arguments of a function may vary."""
    return bool(arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs)


class _Inlining(ast.NodeTransformer):
    """Replaces a call of a helper by the expression that it returns, unless an argument would be computed twice."""

    def __init__(self, helpers: Helpers) -> None:
        self.helpers = helpers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the expression of a helper with the arguments filled in."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in self.helpers:
                match _filled(self.helpers[name].args, arguments, self.helpers[name].body):
                    case [ast.Return(value=ast.expr() as value)]:
                        return value
        return node


def _filled(parameters: ast.arguments, values: Sequence[ast.expr], body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """Return a body with arguments for parameters; None if an argument would be evaluated twice or captured."""
    names = [each.arg for each in parameters.args]
    if len(names) != len(values) or any(isinstance(each, ast.Starred) for each in values):
        return None
    inner = {each.arg for part in body for each in ast.walk(part) if isinstance(each, ast.arg)}
    if inner & set[str]().union(*map(names_in, values)):
        return None
    filling = Filling(dict(zip(names, values, strict=True)))
    text = [ast.fix_missing_locations(filling.visit(copied(part))) for part in body]
    folded = [ast.fix_missing_locations(Folding().visit(each)) for part in text for each in _decided(part)]
    for value in values:
        same, plain = ast.dump(value), all(isinstance(node, LITERALS) for node in ast.walk(value))
        if not plain and sum(ast.dump(n) == same for part in folded for n in ast.walk(part)) > 1:
            return None
    return folded


def _decided(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the branch that is taken if the condition is known, else the statement itself."""
    if not isinstance(statement, ast.If) or (holds := truth(statement.test)) is None:
        return [statement]
    return statement.body if holds else statement.orelse


def _expanded(piece: Piece, helpers: Helpers, taken: set[str]) -> list[Piece]:
    """Return the statements of a helper for a statement that only calls it, else the statement itself."""
    targets = piece.node.targets if isinstance(piece.node, ast.Assign) else []
    match piece.node.value if isinstance(piece.node, ast.Assign | ast.Expr) else None:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in helpers:
            body = _statements(helpers[name], arguments) if _returned(helpers[name]) is None else None
            done = None if body is None else _assigned(body, targets, taken)
            return [piece] if done is None else [Piece.new(each) for each in done]
    return [piece]


def _statements(function: ast.FunctionDef, values: Sequence[ast.expr]) -> list[ast.stmt] | None:
    """Return the statements of a helper with its arguments filled in, or None if they are not all simple."""
    arguments = copied(function.args)
    body = [_without_rest(each, arguments.kwarg) for each in function.body]
    arguments.kwarg = None
    filled = None if _has_optional_parameters(arguments) else _filled(arguments, values, body)
    if filled is None or not all(isinstance(each, SIMPLE) or _is_region(each) for each in filled):
        return None
    returns = [each for each in filled[:-1] if isinstance(each, ast.Return)]
    return None if returns else list(_without_names_of_literals(filled))


def _without_names_of_literals(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements without variables that are only another name of a variable or a literal."""
    known: dict[str, ast.expr] = {}
    for statement in body:
        match Filling(known).visit(statement):
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Constant() as value):
                known[name] = value
            case other:
                yield other


def _without_rest(statement: ast.stmt, rest: ast.arg | None) -> ast.stmt:
    """Return a statement without the argument ``**rest`` of its calls, for a helper that got no further keywords."""
    node = copied(statement)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and rest is not None:
            call.keywords = [
                each for each in call.keywords if not (each.arg is None and ast.unparse(each.value) == rest.arg)
            ]
    return node


def _is_region(statement: ast.stmt) -> bool:
    """Return True if a statement is a ``with`` block that contains only a ``return``."""
    return isinstance(statement, ast.With) and len(statement.body) == 1 and isinstance(statement.body[0], ast.Return)


def _assigned(body: list[ast.stmt], targets: Sequence[ast.expr], taken: set[str]) -> list[ast.stmt] | None:
    """Return statements that assign their results to the targets, or None if that is not possible."""
    last = body[-1]
    returned = last.body[0] if isinstance(last, ast.With) else last
    value = returned.value if isinstance(returned, ast.Return) else None
    if (value is None) == bool(targets) or len(targets) > 1:
        return None
    before, renamed, others = (body if value is None else body[:-1]), dict[str, ast.expr](), []
    for target, result in _pairs(targets, value):
        if isinstance(target, ast.Name) and isinstance(result, ast.Name) and not isinstance(last, ast.With):
            renamed[result.id] = target
        else:
            others.append((target, result))
    own = {each.id for part in before for each in ast.walk(part) if isinstance(each, ast.Name) and _stores(each)}
    if renamed.keys() - own:
        return None
    renamed |= {name: ast.Name(fresh_name(name, taken), ast.Load()) for name in sorted(own - renamed.keys())}
    filling = Filling(renamed)
    results: list[ast.stmt] = [ast.Assign([target], filling.visit(result)) for target, result in others]
    if isinstance(last, ast.With):
        results = [ast.With([filling.visit(each) for each in last.items], results)]
    return [*(filling.visit(each) for each in before), *results]


def _pairs(targets: Sequence[ast.expr], value: ast.expr | None) -> list[tuple[ast.expr, ast.expr]]:
    """Return pairs of a target and its value; a tuple is split into its items."""
    if value is None:
        return []
    target = targets[0]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _stores(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _without_lambdas(program: Sequence[Piece]) -> list[Piece]:
    """Return the program with each lambda that is named and called once inlined."""
    kept = list(program)
    for piece in program:
        match piece.node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                reading = [each for each in kept for read in ast.walk(each.node) if _is_read(read, name)]
                helper = ast.FunctionDef(name, function.args, [ast.Return(function.body)], [])
                if len(reading) == 1 and not mentions([new := _replaced(reading[0], {name: helper})], name):
                    kept[kept.index(reading[0])] = new
                    kept.remove(piece)
    return kept


def _is_read(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not _stores(node)
