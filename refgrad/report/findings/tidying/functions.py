"""Writes programs of functional engines as their users do: with gradients for pullbacks, and with plain functions.

What computes nothing that is shown goes, and functions within functions stand for themselves where they can.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from refgrad.report.findings.tidying.gradients import AT_ONCE, vjp_of, with_gradients
from refgrad.report.findings.tidying.pieces import IMPORTS, Piece
from refgrad.report.findings.tidying.pullbacks import without_pullbacks
from refgrad.report.findings.tidying.statements import (
    Body,
    Filling,
    calls_in,
    changed,
    free_names,
    names_in,
    stored,
    targets,
    with_body,
)

NAMES: Final = ("f", "g", "h", "u", "v", "w")


def natural(program: Sequence[Piece]) -> list[Piece]:
    """Return the program with gradients in place of pullbacks.

    That of any other engine is returned as it is, and one in which a function differentiates and measures how.
    """
    given = [piece.node for piece in program]
    measuring = [node for node in given if isinstance(node, ast.FunctionDef) and not _is_own(node.name)]
    if not _differentiates(given) or _differentiates(measuring) or _is_about_calls(given):
        return list(program)
    at_once = any(ast.unparse(each.func) in AT_ONCE for each in calls_in(given))
    pieces = {id(piece.node): piece for piece in program}
    found = _simplified(given, inside=True)
    if at_once and any(_is_nested(node) for node in found):
        found = _simplified(given, inside=False)
    return [pieces.get(id(node)) or Piece.new(node) for node in without_pullbacks(_renamed(found))]


def _differentiates(program: Body) -> bool:
    return any(vjp_of(each) is not None or ast.unparse(each.func) in AT_ONCE for each in calls_in(program))


def _is_nested(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(isinstance(each, ast.FunctionDef) for each in node.body)


def _simplified(program: Body, *, inside: bool) -> list[ast.stmt]:
    """Simplify until nothing changes, functions ``inside`` too; statements that stay are the same objects."""
    while True:
        found = _standing_alone(with_gradients(_lean(program, inside=inside)))
        if [ast.dump(each) for each in found] == [ast.dump(each) for each in program]:
            return found
        program = found


def _is_about_calls(program: Body) -> bool:
    """Whether a program shows what calling does: a pullback is called again, or what it was given is looked at."""
    called = Counter(each.func.id for each in calls_in(program) if isinstance(each.func, ast.Name))
    pullbacks = {name for name in stored(program) if name.startswith("pullback")}
    given = {
        name.id
        for each in calls_in(program)
        if isinstance(each.func, ast.Name) and each.func.id in pullbacks
        for argument in each.args
        for name in ast.walk(argument)
        if isinstance(name, ast.Name) and name.id in stored(program)
    }
    return bool(given) or any(called[name] > 1 for name in pullbacks)


def _lean(body: Body, *, within: bool = False, inside: bool = True) -> list[ast.stmt]:
    """Return statements without those whose results nothing reads, but for the last one of a program.

    Functions are lean ``inside``, too.
    """
    kept: list[ast.stmt] = []
    live: set[str] = set()
    functions = {node.name: free_names(node) for node in body if isinstance(node, ast.FunctionDef)}
    for number, node in reversed(list(enumerate(body))):
        names = set[str]() if _is_idle_call(node) else targets(node)
        ends = not within and number == len(body) - 1
        if names is not None and not ends and not names & live and not isinstance(node, IMPORTS):
            continue
        new = _opened(node) if inside else node
        kept.insert(0, new)
        live = _with_called((live - (names or set())) | free_names(new), functions)
    return kept


def _with_called(names: set[str], functions: Mapping[str, set[str]]) -> set[str]:
    """Return names with those that functions among them read when they are called."""
    more = {name for function in names & functions.keys() for name in functions[function]}
    return names if more <= names else _with_called(names | more, functions)


def _is_idle_call(node: ast.stmt) -> bool:
    """Whether a statement makes a pullback that has no name."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and vjp_of(node.value) is not None


def _opened(node: ast.stmt) -> ast.stmt:
    """Return a function with a lean body, anything else as it is."""
    if not isinstance(node, ast.FunctionDef):
        return node
    body = _lean(node.body, within=True)
    return node if body == node.body else with_body(node, body)


def _standing_alone(body: Body) -> list[ast.stmt]:
    """Return statements with functions in front of those that they stand in, each once, and what only calls as that."""
    result: list[ast.stmt] = []
    for node in body:
        result += _freed(node) if isinstance(node, ast.FunctionDef) else [node]
    same: dict[str, str] = {}
    names: dict[str, ast.expr] = {}
    kept: list[ast.stmt] = []
    for node in result:
        new = changed(node, Filling(names))
        if isinstance(new, ast.FunctionDef):
            text = ast.dump(ast.Module([new.args, *new.body], []))  # type: ignore[list-item]
            called = _called(new)
            if called is not None or text in same:
                names[new.name] = ast.Name(same[text], ast.Load()) if called is None else called
                continue
            same[text] = new.name
        kept.append(new)
    return kept


def _freed(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the functions within a function that need nothing of it, and the function without them."""
    body = _standing_alone(function.body)
    own = stored(body) | {each.arg for each in function.args.args}
    alone = [each for each in body if isinstance(each, ast.FunctionDef) and not free_names(each) & own]
    yield from alone
    rest = [each for each in body if each not in alone]
    yield function if rest == function.body else with_body(function, rest)


def _called(function: ast.FunctionDef) -> ast.expr | None:
    """Return what a function calls with its own arguments, if it does nothing else."""
    parameters = [each.arg for each in function.args.args]
    match function.body:
        case [ast.Return(value=ast.Call(func=called, args=arguments, keywords=[]))]:
            given = [each.id for each in arguments if isinstance(each, ast.Name)]
            plain = all(isinstance(each, _PLAIN) for each in ast.walk(called))
            if (
                plain
                and given == parameters
                and len(arguments) == len(given)
                and not names_in(called) & set(parameters)
            ):
                return called
    return None


_PLAIN: Final = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Tuple, ast.Load)


def _renamed(program: Body) -> list[ast.stmt]:
    """Return the program with short names for its functions, and for pullbacks if no function has several."""
    nodes = [each for node in program for each in ast.walk(node)]
    taken = {each.id for each in nodes if isinstance(each, ast.Name)}
    functions = [each.name for each in nodes if isinstance(each, ast.FunctionDef) and _is_own(each.name)]
    names = dict(zip(functions, (name for name in NAMES if name not in taken), strict=False))
    bodies = [program, *(each.body for each in nodes if isinstance(each, ast.FunctionDef))]
    pullbacks = [[name for name in stored(body) if name.startswith("pullback_of_")] for body in bodies]
    if all(len(each) <= 1 for each in pullbacks):
        names |= {name: "pullback" for each in pullbacks for name in each}
    return [changed(node, _Names(names)) for node in program]


class _Names(ast.NodeTransformer):
    """Changes names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return a variable by its new name."""
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Return a function by its new name."""
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node


def _is_own(name: str) -> bool:
    """Whether a function is a part of the program, and no helper."""
    return name.startswith(("program_", "function_of_"))
