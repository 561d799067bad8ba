"""Writes gradients of functions as users of a functional engine do: ``jax.grad(f)(x)`` for a pullback called with 1."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from refgrad.report.findings.tidying.folding import last_name
from refgrad.report.findings.tidying.statements import Body, changed, free_names, with_body

GRADIENTS: Final[Mapping[str, str]] = MappingProxyType({
    "autograd.make_vjp": "autograd.grad",
    "jax.vjp": "jax.grad",
    "torch.func.vjp": "torch.func.grad",
    "vjp": "",
})
"""Functions that give a pullback, and those that give the gradient of a function whose result is one number, if any.

Engine files call a helper of their own ``vjp``.
"""

HALVES: Final = frozenset({"float16", "bfloat16"})

ALONE: Final = frozenset({"autograd.grad"})
"""Gradients of one argument whose pullback does not give a list."""

AT_ONCE: Final[Mapping[str, str]] = MappingProxyType({"mx.vjp": "mx.grad"})
"""The same for functions that are also given the seed, and give the outputs and the gradients.

They are those of MLX, which gives other numbers where functions that use what is around them compute something for
nothing: that stays.
"""


def with_gradients(body: Body) -> list[ast.stmt]:
    """Return statements with gradients in place of pullbacks that are called with 1."""
    result = [changed(_each_opened(node), _Gradients(_at_once)) for node in body]
    for number, node in enumerate(result):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Call() as call):
                pulled = [name.id for name in elements if isinstance(name, ast.Name) and name.id != "_"]
                found = vjp_of(call)
                if found is not None and found[0] and len(pulled) == 1:
                    new = _Gradients(partial(_pulled, pulled[0], found))
                    rest = [changed(each, new) for each in result[number + 1 :]]
                    if new.done == 1 and pulled[0] not in {name for each in rest for name in free_names(each)}:
                        return with_gradients([*result[:number], *rest])
    return result


def _each_opened(node: ast.stmt) -> ast.stmt:
    if not isinstance(node, ast.FunctionDef):
        return node
    body = with_gradients(node.body)
    return node if body == node.body else with_body(node, body)


Vjp = tuple[str, ast.expr, Sequence[ast.expr]]
"""How the gradient is had of a function, the function, and its arguments."""


def _pulled(pullback: str, found: Vjp, node: ast.expr) -> Vjp | None:
    """Return what a pullback was made of, if it is called with 1 here."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[seed]) if name == pullback and _is_one(seed):
            return found
    return None


def _at_once(node: ast.expr) -> Vjp | None:
    """Return what gradients are computed of here, if it is done at once, with the seed 1."""
    match node:
        case ast.Subscript(
            value=ast.Call(func=maker, args=[function, ast.List(elts=arguments), ast.List(elts=[seed])]),
            slice=ast.Constant(value=1),
        ):
            gradient = AT_ONCE.get(ast.unparse(maker))
            return (gradient, function, arguments) if gradient is not None and _is_one(seed) else None
    return None


class _Gradients(ast.NodeTransformer):
    """Puts gradients in place of what pullbacks give for 1."""

    def __init__(self, find: Callable[[ast.expr], Vjp | None]) -> None:
        self.find = find
        self.done = 0

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Name the gradients that are read."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=value):
                found = self.find(value)
                if found is not None:
                    read = [n for n, name in enumerate(names) if not (isinstance(name, ast.Name) and name.id == "_")]
                    target = names[read[0]] if len(read) == 1 else ast.Tuple([names[n] for n in read], ast.Store())
                    return ast.Assign([target], self.of(found, read), lineno=node.lineno)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Write the gradient that HIPS autograd gives for one argument as it is."""
        found = self.find(node)
        return self.of(found, [0]) if found is not None and found[0] in ALONE else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Write a gradient whose computation fails."""
        found = self.find(node.value)
        return self.generic_visit(node) if found is None else ast.Expr(self.of(found, range(len(found[2]))))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Write the gradient with respect to one of the arguments."""
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=int(n))):
                found = self.find(value)
                if found is not None:
                    return self.of(found, [n])
        return self.generic_visit(node)

    def of(self, found: Vjp, numbers: Sequence[int]) -> ast.expr:
        """Return the gradients with respect to some of the arguments."""
        self.done += 1
        gradient, function, arguments = found
        which = ", ".join(map(str, numbers))
        more = "" if list(numbers) == [0] else f", {which}" if len(numbers) == 1 else f", ({which})"
        given = ", ".join(map(ast.unparse, arguments))
        return ast.parse(f"{gradient}({ast.unparse(function)}{more})({given})", mode="eval").body


def vjp_of(call: ast.Call) -> Vjp | None:
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
    """Whether a seed is the number 1, without axes; not in half precision, where engines may round otherwise then."""
    match seed:
        case ast.Call(keywords=keywords) if any(last_name(each.value) in HALVES for each in keywords):
            return False
        case ast.Call(args=[inner]):
            return _is_one(inner)
        case ast.Constant(value=float(number)):
            return number == 1
    return False
