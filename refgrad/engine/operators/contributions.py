"""Vector-Jacobian products as formulas: a cotangent times the partial derivative in a row.

``partial`` becomes the formula ``cotangent * partial``, with the cotangent moved into branches and up to the first
factor: ``1 if x > 0 else 0`` is compiled as ``cotangent if x > 0 else 0``, ``1 / x`` as ``cotangent / x`` and ``1`` as
``cotangent``. That saves an array operation and a rounding, and a branch of 0 contributes exactly 0, whatever the
cotangent is.
"""

from __future__ import annotations

import ast
from typing import Any

from refgrad.operators import Formula, Operator
from refgrad.operators.structures import sum_to


def weighted(partial: Formula) -> Formula:
    """Return the formula ``cotangent * partial``."""
    tree = partial.tree
    if isinstance(tree, ast.Constant) and tree.value == 0:
        return Formula("cotangent * 0")
    return Formula(ast.unparse(_weigh(tree)))


def _weigh(tree: ast.expr) -> ast.expr:
    cotangent = ast.Name("cotangent", ast.Load())
    match tree:
        case ast.Constant(value=1):
            return cotangent
        case ast.Constant(value=0):
            return tree
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return ast.IfExp(test, _weigh(body), _weigh(otherwise))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ast.UnaryOp(ast.USub(), _weigh(operand))
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left, right=right):
            return ast.BinOp(_weigh(left), tree.op, right)
    return ast.BinOp(cotangent, ast.Mult(), tree)


def saved_names(operator: Operator, needs: tuple[bool, ...]) -> tuple[str, ...]:
    """Return the names of the values to save so that gradients can reach the arguments in ``needs``, ``out`` last."""
    saved: frozenset[str] = frozenset()
    for argument, needed in zip(operator.arguments, needs, strict=False):
        if needed:
            saved |= operator.saves(argument.name)
    return tuple(name for name in (*operator.argument_names, "out") if name in saved)


def fitted(operators: Any, contribution: Any, parent: Any) -> Any:
    """Return ``contribution`` with the shape and dtype of ``parent``, a node of the graph or an array.

    ``operators`` has ``sum``, ``reshape`` and ``cast`` for arrays or for tensors, whichever ``contribution`` is.
    """
    if contribution.shape != parent.shape:
        contribution = sum_to(operators, contribution, parent.shape)
    if contribution.dtype != parent.dtype:
        contribution = operators.cast(contribution, dtype=parent.dtype)
    return contribution
