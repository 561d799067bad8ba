"""The values with which an elementwise operator's derivative varies, other than by a choice between branches."""

from __future__ import annotations

import ast
from functools import cache

from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.table import Operator


@cache
def bending(operator: Operator, argument: str) -> frozenset[str]:
    """Return the values (arguments by name, or ``out``) that the partial by an argument surely varies with.

    A name that only decides between branches does not count: |x| has a slope that depends on x, and bends nowhere. Of
    structural operators nothing is said: whether a product bends depends on how many factors it has.
    """
    if argument not in operator.partials:
        return frozenset()
    return frozenset(_smooth_names(operator.partials[argument].tree)) & operator.saves(argument)


def _smooth_names(node: ast.expr) -> set[str]:
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Compare() | ast.BoolOp():
            return set()
        case ast.Call(func=ast.Name(id=name)) if FUNCTIONS[name].nature == "stepped":
            return set()
        case ast.IfExp(body=then, orelse=otherwise):
            return _smooth_names(then) | _smooth_names(otherwise)
        case ast.Call(args=operands):
            return set().union(*map(_smooth_names, operands))
    return set().union(*(_smooth_names(c) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)))
