"""Writes gradients of functions as users of a functional engine do: ``jax.grad(f)(x)`` for a pullback called with 1.

Functional engines whose functions have no effects, such as JAX, are known by the function that gives a pullback. Of
their programs what computes nothing that is shown goes, and functions within functions stand for themselves where they
can.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from refgrad.report.findings.tidying.pieces import IMPORTS, Piece

GRADIENTS: Final[Mapping[str, str]] = MappingProxyType({
    "autograd.make_vjp": "autograd.grad",
    "jax.vjp": "jax.grad",
    "torch.func.vjp": "torch.func.grad",
    "vjp": "",
})
"""Functions that give a pullback, and those that give the gradient of a function whose result is one number, if any.

Engine files call a helper of their own ``vjp``.
"""

NAMES: Final = ("f", "g", "h", "u", "v", "w")

Body = Sequence[ast.stmt]


def natural(program: Sequence[Piece]) -> list[Piece]:
    """Return the program with gradients in place of pullbacks; that of any other engine is returned as it is."""
    given = [piece.node for piece in program]
    pulled = [each for each in _calls(given) if _vjp(each) is not None]
    if not pulled or _is_about_calls(given):
        return list(program)
    pieces = {id(piece.node): piece for piece in program}
    return [pieces.get(id(node)) or Piece.new(node) for node in _renamed(_simplified(given))]


def _simplified(program: Body) -> list[ast.stmt]:
    """Simplify until nothing changes; statements that stay are the same objects."""
    while True:
        found = _standing_alone(_with_gradients(_lean(program)))
        if [ast.dump(each) for each in found] == [ast.dump(each) for each in program]:
            return found
        program = found


def _is_about_calls(program: Body) -> bool:
    """Whether a program shows what calling does: a pullback is called again, or what it was given is looked at."""
    called = Counter(each.func.id for each in _calls(program) if isinstance(each.func, ast.Name))
    pullbacks = {name for name in _stored(program) if name.startswith("pullback_of_")}
    given = {
        name.id
        for each in _calls(program)
        if isinstance(each.func, ast.Name) and each.func.id in pullbacks
        for argument in each.args
        for name in ast.walk(argument)
        if isinstance(name, ast.Name) and name.id in _stored(program)
    }
    return bool(given) or any(called[name] > 1 for name in pullbacks)


def _lean(body: Body, *, within: bool = False) -> list[ast.stmt]:
    """Return statements without those whose results nothing reads, but for the last one of a program."""
    kept: list[ast.stmt] = []
    live: set[str] = set()
    for number, node in reversed(list(enumerate(body))):
        names = set[str]() if _is_idle_call(node) else _targets(node)
        ends = not within and number == len(body) - 1
        if names is not None and not ends and not names & live and not isinstance(node, IMPORTS):
            continue
        new = _opened(node)
        kept.insert(0, new)
        live = (live - (names or set())) | _free(new)
    return kept


def _is_idle_call(node: ast.stmt) -> bool:
    """Whether a statement makes a pullback that has no name."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _vjp(node.value) is not None


def _opened(node: ast.stmt) -> ast.stmt:
    """Return a function with a lean body, anything else as it is."""
    if not isinstance(node, ast.FunctionDef):
        return node
    body = _lean(node.body, within=True)
    return node if body == node.body else _with_body(node, body)


def _with_gradients(body: Body) -> list[ast.stmt]:
    """Return statements with gradients in place of pullbacks that are called with 1."""
    result = [_each_opened(node) for node in body]
    for number, node in enumerate(result):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Call() as call):
                pulled = [name.id for name in elements if isinstance(name, ast.Name) and name.id != "_"]
                found = _vjp(call)
                if found is not None and found[0] and len(pulled) == 1:
                    new = _Gradient(pulled[0], call)
                    changed = [_changed(each, new) for each in result[number + 1 :]]
                    if new.done == 1 and pulled[0] not in {name for each in changed for name in _free(each)}:
                        return _with_gradients([*result[:number], *changed])
    return result


def _each_opened(node: ast.stmt) -> ast.stmt:
    if not isinstance(node, ast.FunctionDef):
        return node
    body = _with_gradients(node.body)
    return node if body == node.body else _with_body(node, body)


class _Gradient(ast.NodeTransformer):
    """Puts gradients in place of what a pullback gives for 1."""

    def __init__(self, pullback: str, call: ast.Call) -> None:
        found = _vjp(call)
        assert found is not None
        self.pullback = pullback
        self.gradient, self.function, self.arguments = found
        self.done = 0

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Name the gradients that are read."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=value):
                if self._is_pull(value):
                    read = [n for n, name in enumerate(names) if not (isinstance(name, ast.Name) and name.id == "_")]
                    target = names[read[0]] if len(read) == 1 else ast.Tuple([names[n] for n in read], ast.Store())
                    return ast.Assign([target], self._of(read), lineno=node.lineno)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Write a gradient whose computation fails."""
        if self._is_pull(node.value):
            return ast.Expr(self._of(range(len(self.arguments))))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Write the gradient with respect to one of the arguments."""
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=int(n))) if self._is_pull(value):
                return self._of([n])
        return self.generic_visit(node)

    def _is_pull(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[seed]) if name == self.pullback:
                return _is_one(seed)
        return False

    def _of(self, numbers: Sequence[int]) -> ast.expr:
        """Return the gradients with respect to some of the arguments."""
        self.done += 1
        which = ", ".join(map(str, numbers))
        more = "" if list(numbers) == [0] else f", {which}" if len(numbers) == 1 else f", ({which})"
        arguments = ", ".join(map(ast.unparse, self.arguments))
        return ast.parse(f"{self.gradient}({ast.unparse(self.function)}{more})({arguments})", mode="eval").body


def _vjp(call: ast.Call) -> tuple[str, ast.expr, Sequence[ast.expr]] | None:
    """Return how a gradient is had, the function and its arguments, if the call makes a pullback."""
    match call:
        case ast.Call(func=ast.Call(func=maker, args=[function, *_]), args=arguments, keywords=[]):
            pass
        case ast.Call(func=maker, args=[function, *arguments], keywords=[]):
            pass
        case _:
            return None
    gradient = GRADIENTS.get(ast.unparse(maker))
    return None if gradient is None else (gradient, function, arguments)


def _is_one(seed: ast.expr) -> bool:
    """Whether a seed is the number 1, without axes."""
    match seed:
        case ast.Call(args=[inner]):
            return _is_one(inner)
        case ast.Constant(value=float(number)):
            return number == 1
    return False


def _standing_alone(body: Body) -> list[ast.stmt]:
    """Return statements with functions in front of those that they stand in, each once, and what only calls as that."""
    result: list[ast.stmt] = []
    for node in body:
        result += _freed(node) if isinstance(node, ast.FunctionDef) else [node]
    same: dict[str, str] = {}
    names: dict[str, ast.expr] = {}
    kept: list[ast.stmt] = []
    for node in result:
        new = _changed(node, _Renaming(names))
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
    own = _stored(body) | {each.arg for each in function.args.args}
    alone = [each for each in body if isinstance(each, ast.FunctionDef) and not _free(each) & own]
    yield from alone
    rest = [each for each in body if each not in alone]
    yield function if rest == function.body else _with_body(function, rest)


def _called(function: ast.FunctionDef) -> ast.expr | None:
    """Return what a function calls with its own arguments, if it does nothing else."""
    parameters = [each.arg for each in function.args.args]
    match function.body:
        case [ast.Return(value=ast.Call(func=called, args=arguments, keywords=[]))]:
            given = [each.id for each in arguments if isinstance(each, ast.Name)]
            plain = all(isinstance(each, _PLAIN) for each in ast.walk(called))
            if plain and given == parameters and len(arguments) == len(given) and not _names(called) & set(parameters):
                return called
    return None


_PLAIN: Final = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Tuple, ast.Load)


class _Renaming(ast.NodeTransformer):
    """Puts expressions in place of names that are read."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return what stands for the name."""
        return copy.deepcopy(self.names.get(node.id, node))


def _renamed(program: Body) -> list[ast.stmt]:
    """Return the program with short names for its functions, and for pullbacks if no function has several."""
    nodes = [each for node in program for each in ast.walk(node)]
    taken = {each.id for each in nodes if isinstance(each, ast.Name)}
    functions = [each.name for each in nodes if isinstance(each, ast.FunctionDef) and _is_own(each.name)]
    names = dict(zip(functions, (name for name in NAMES if name not in taken), strict=False))
    bodies = [program, *(each.body for each in nodes if isinstance(each, ast.FunctionDef))]
    pullbacks = [[name for name in _stored(body) if name.startswith("pullback_of_")] for body in bodies]
    if all(len(each) <= 1 for each in pullbacks):
        names |= {name: "pullback" for each in pullbacks for name in each}
    return [_changed(node, _Names(names)) for node in program]


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


def _changed(node: ast.stmt, transformer: ast.NodeTransformer) -> ast.stmt:
    """Return a changed copy of a statement, or the statement itself if nothing changes."""
    new: ast.stmt = transformer.visit(copy.deepcopy(node))
    return node if ast.dump(new) == ast.dump(node) else new


def _with_body(function: ast.FunctionDef, body: Body) -> ast.FunctionDef:
    new = copy.copy(function)
    new.body = list(body)
    return new


def _calls(program: Body) -> Iterator[ast.Call]:
    return (each for node in program for each in ast.walk(node) if isinstance(each, ast.Call))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _stored(program: Body) -> set[str]:
    return {name for node in program for name in (_targets(node) or ())}


def _targets(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement binds, or None for one that does anything else."""
    match node:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List() as target]):
            return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
    return None


def _free(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads from outside of it."""
    if not isinstance(node, ast.FunctionDef):
        return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    own = _stored(node.body) | {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    return {name for each in node.body for name in _free(each)} - own
