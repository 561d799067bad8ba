"""Puts what an engine file's helper ``vjp`` does in place of its call, and functions in place of their only call.

A helper gives an output and a function that pulls a seed back. Where that function is called once, the program does
what both do: it records, and asks the record for gradients, as users of the library write it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from refgrad.report.findings.tidying.entries import with_entries
from refgrad.report.findings.tidying.statements import (
    Body,
    bound_in,
    filled,
    free_names,
    fresh_name,
    names_in,
    stands_there,
    with_body,
)


def without_pullbacks(program: Body) -> list[ast.stmt]:
    """Return a program with what its helpers do in place of pullbacks that are called once."""
    helpers = {helper.name: helper for node in program if (helper := _helper_of(node)) is not None}
    if not helpers:
        return list(program)
    own = [copy.deepcopy(node) for node in program if not _is_named(node, helpers)]
    expanding = _Expanding(helpers, {name for node in own for name in _every_name(node)})
    body = with_entries(expanding.of(own), expanding.made)
    for name in expanding.functions:
        body = with_entries(_placed(body, name, expanding), expanding.made)
    kept = {name for node in body for name in names_in(node)}
    given = {ast.dump(node): node for node in program}
    new = [node for node in program if _is_named(node, helpers.keys() & kept)] + body
    return [given.get(ast.dump(node), node) for node in new]


def _is_named(node: ast.stmt, names: Mapping[str, object] | set[str]) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in names


@dataclass(frozen=True, slots=True)
class _Helper:
    """What a helper does at once, and what the pullback does that it gives."""

    name: str
    function: str
    primals: str
    before: Body
    output: str
    seed: str
    behind: Body
    gradients: ast.expr


def _helper_of(node: ast.stmt) -> _Helper | None:
    """Return a function of a function and its operands that gives an output and a pullback, None for anything else."""
    match node:
        case ast.FunctionDef(
            args=ast.arguments(args=[ast.arg(arg=function), ast.arg(arg=primals)], defaults=[]),
            body=[*before, ast.Return(value=ast.Tuple(elts=[ast.Name(id=output), given]))],
        ):
            pass
        case _:
            return None
    match before, given:
        case [*first, ast.FunctionDef(name=name) as inner], ast.Name(id=returned) if name == returned:
            arguments, behind, last = inner.args, inner.body[:-1], inner.body[-1]
            value = last.value if isinstance(last, ast.Return) else None
        case first, ast.Lambda(args=arguments, body=value):
            behind = []
        case _:
            return None
    odd = any(isinstance(each, ast.FunctionDef | ast.Return) for part in (*first, *behind) for each in ast.walk(part))
    if odd or value is None or len(arguments.args) != 1:
        return None
    return _Helper(node.name, function, primals, first, output, arguments.args[0].arg, behind, value)


@dataclass
class _Expanding:
    """Puts what helpers do in place of their calls; ``made`` are the names that this brings in."""

    helpers: Mapping[str, _Helper]
    taken: set[str]
    made: set[str] = field(default_factory=set)
    functions: list[str] = field(default_factory=list)
    """Those that helpers were given, by their names."""

    def of(self, body: Body) -> list[ast.stmt]:
        """Return statements, functions among them, with what helpers do in place of their calls."""
        found = [with_body(node, self.of(node.body)) if isinstance(node, ast.FunctionDef) else node for node in body]
        for number, node in enumerate(found):
            new = self._pulled(node, found[number + 1 :])
            if new is not None:
                return self.of([*found[:number], *new])
        return found

    def _pulled(self, node: ast.stmt, behind: Body) -> list[ast.stmt] | None:
        """Return a statement and those behind it with what a helper does in the statement, and where it is pulled."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=output), ast.Name(id=pullback)])],
                value=ast.Call(func=ast.Name(id=name), args=[function, ast.List() as primals], keywords=[]),
            ) if name in self.helpers and stands_there(function) and stands_there(primals):
                helper = self.helpers[name]
            case _:
                return None
        where = _only_call(behind, pullback)
        if where is None:
            return None
        number, call = where
        before, last = behind[:number], behind[number]
        bound = {name for each in before for name in bound_in(each)}
        if (bound | {output}) & (names_in(function) | names_in(primals)):
            return None
        if isinstance(function, ast.Name):
            self.functions.append(function.id)
        filling = self._names(helper) | {helper.function: function, helper.primals: primals}
        if output != "_":
            filling[helper.output] = ast.Name(output, ast.Load())
        *then, shown = self._behind(helper, call.args[0], filling)
        assert isinstance(shown, ast.Expr)
        pulled = _Calls(call, shown.value).visit(last)
        return [*filled(helper.before, filling), *before, *then, pulled, *behind[number + 1 :]]

    def _behind(self, helper: _Helper, seed: ast.expr, filling: Mapping[str, ast.expr]) -> list[ast.stmt]:
        """Return what a pullback does with a seed, which has a name if it is used more than once, and what it gives."""
        body = [*helper.behind, ast.Expr(helper.gradients)]
        used = sum(isinstance(each, ast.Name) and each.id == helper.seed for part in body for each in ast.walk(part))
        if used <= 1:
            return filled(body, {**filling, helper.seed: seed})
        named = ast.Name(self.fresh(helper.seed), ast.Load())
        assigned = ast.Assign([ast.Name(named.id, ast.Store())], seed)
        return [ast.fix_missing_locations(assigned), *filled(body, {**filling, helper.seed: named})]

    def _names(self, helper: _Helper) -> dict[str, ast.expr]:
        own = {name for part in (*helper.before, *helper.behind) for name in bound_in(part)}
        return {name: ast.Name(self.fresh(name), ast.Load()) for name in sorted(own)}

    def fresh(self, name: str) -> str:
        """Return a name that stands for nothing else, from now on for this."""
        found = fresh_name(name, self.taken)
        self.made.add(found)
        return found


def _only_call(body: Body, name: str) -> tuple[int, ast.Call] | None:
    """Return where a function is called with one argument, and how; None if it is named elsewhere, or not run once."""
    naming = [number for number, each in enumerate(body) if name in names_in(each)]
    if len(naming) != 1 or not isinstance(body[naming[0]], ast.Assign | ast.Expr | ast.Return):
        return None
    nodes = list(ast.walk(body[naming[0]]))
    named = [each for each in nodes if isinstance(each, ast.Name) and each.id == name]
    calls = [each for each in nodes if isinstance(each, ast.Call) and each.func is named[0] and len(each.args) == 1]
    repeated = any(isinstance(each, ast.Lambda | ast.comprehension | ast.IfExp | ast.BoolOp) for each in nodes)
    return (naming[0], calls[0]) if len(named) == len(calls) == 1 and not repeated else None


def _every_name(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.alias(asname=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.partition(".")[0]


class _Calls(ast.NodeTransformer):
    """Puts an expression in place of one call."""

    def __init__(self, call: ast.Call, new: ast.expr) -> None:
        self.call = call
        self.new = new

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the expression for the call."""
        return self.new if node is self.call else self.generic_visit(node)


def _placed(program: Body, name: str, expanding: _Expanding) -> list[ast.stmt]:
    """Return a program with what a function does in place of its call, if nothing else names it."""
    tree = ast.Module([copy.deepcopy(node) for node in program], [])
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    if len(functions) != 1 or len(named) != 1:
        return list(program)
    placing = _Placing(functions[0], expanding, tree)
    placing.visit(tree)
    return tree.body if placing.done else list(program)


class _Placing(ast.NodeTransformer):
    """Puts what a function does in place of an assignment of what it returns."""

    def __init__(self, function: ast.FunctionDef, expanding: _Expanding, tree: ast.Module) -> None:
        self.function = function
        self.expanding = expanding
        inside = {id(node) for node in ast.walk(function)}
        self.outside = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inside}
        self.hidden: set[str] = set()
        """Names that mean something else in the functions that are being visited than where the function stands."""
        self.done = False

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Put what the function does in its place, and leave it out."""
        self.generic_visit(node)
        if self.done:
            _Without(self.function).visit(node)
        return ast.fix_missing_locations(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Visit what another function does."""
        if node is self.function:
            return node
        before = self.hidden
        if all(each is not self.function for each in ast.walk(node)):
            self.hidden = before | bound_in(node) | {each.arg for each in node.args.args}
        self.generic_visit(node)
        self.hidden = before
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """Return what the function does, and assigns then."""
        parameters = [each.arg for each in self.function.args.args]
        *body, last = self.function.body
        match node.value, last:
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]), ast.Return(value=ast.expr() as value):
                pass
            case _:
                return node
        returns = any(isinstance(each, ast.Return | ast.FunctionDef) for part in body for each in ast.walk(part))
        if name != self.function.name or returns or len(given) != len(parameters):
            return node
        bound = {each for part in body for each in bound_in(part)}
        if free_names(self.function) & self.hidden or bound & set(parameters) or not all(map(stands_there, given)):
            return node
        self.done = True
        filling: dict[str, ast.expr] = dict(zip(parameters, given, strict=True))
        for each in sorted(bound & self.outside):
            filling[each] = ast.Name(self.expanding.fresh(each), ast.Load())
        *done, returned = filled([*body, ast.Expr(value)], filling)
        assert isinstance(returned, ast.Expr)
        return [*done, ast.Assign(node.targets, returned.value)]


class _Without(ast.NodeTransformer):
    """Leaves a function out."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST | None:
        """Return another function."""
        return None if node is self.function else self.generic_visit(node)
