"""The values that an elementwise operator's derivative depends on, apart from the choice of a branch."""

from __future__ import annotations

import ast
from functools import cache

from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.table import Operator


@cache
def bending(operator: Operator, argument: str) -> frozenset[str]:
    """Return the values (arguments by name, or ``out``) on which the partial by an argument certainly depends.

    A name that only selects a branch does not count: the slope of |x| depends on x, but |x| is linear in each branch.
    For structural and composite operators the result is empty: whether a product is nonlinear in a factor, for example,
    depends on the number of factors.
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
