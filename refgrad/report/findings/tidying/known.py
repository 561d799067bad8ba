"""Writes numbers in place of what a printed program asks of the shapes of its tensors, where these are known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.report.findings.tidying.folding import TENSORS, last_name
from refgrad.report.findings.tidying.trees import literal

Shapes = Mapping[str, tuple[int, ...]]

DECIDED: Final = (
    *(ast.Constant, ast.Tuple, ast.Load, ast.Subscript, ast.Slice, ast.UnaryOp, ast.USub, ast.BinOp, ast.Compare),
    *(ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
LONGEST: Final = 1000
"""Number of items of a tuple that is computed: no array has as many axes."""


def _tuple(items: tuple[Any, ...] | range = ()) -> tuple[Any, ...]:
    if len(items) > LONGEST:
        raise ValueError(f"{len(items)} items are too many")
    return tuple(items)


def _product(x: Any, y: Any) -> Any:
    items, number = (y, x) if isinstance(x, int) else (x, y)
    if not isinstance(items, int) and len(items) * number > LONGEST:
        raise ValueError(f"{len(items)} items are not repeated {number} times")
    return x * y


FUNCTIONS: Final = MappingProxyType({"len": len, "range": range, "tuple": _tuple})
"""What is computed of numbers and tuples alone."""


def with_shapes(node: ast.stmt, shapes: Shapes) -> ast.stmt:
    """Return a statement with what is known of shapes; names that stand for something else inside of it are left.

    A shape without axes is left, too: some engines give what has none an axis.
    """
    parts = list(ast.walk(node))
    own = {name.arg for each in parts if isinstance(each, ast.Lambda) for name in each.args.args}
    targets = [each.target for each in parts if isinstance(each, ast.comprehension | ast.For)]
    own |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    known = {name: shape for name, shape in shapes.items() if shape and name not in own}
    found = _Known(known).visit(node)
    assert isinstance(found, ast.stmt)
    return found


class _Known(ast.NodeTransformer):
    """Puts shapes in, and computes what is decided by them."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.put: dict[int, ast.expr] = {}
        """What stands now where a shape was asked for, by the node's id."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return a shape, or how many axes there are."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim") if name in self.shapes:
                shape = self.shapes[name]
                return self.literal(shape if node.attr == "shape" else len(shape))
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Compute a product or a quotient of lengths."""
        return self.computed(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Compute a comparison of lengths."""
        return self.computed(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Return a length, or some."""
        return self.computed(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the numbers of axes, and a tensor that has the shape already that it is given."""
        found = self.computed(node)
        match found:
            case ast.Call(func=ast.Attribute(value=inner, attr="reshape"), args=[shape], keywords=[]):
                if id(shape) in self.put and _shape_of(inner) == ast.literal_eval(shape):
                    return inner
        return found

    def computed(self, node: ast.expr) -> ast.AST:
        """Return the value of an expression that a shape decides."""
        found = self.generic_visit(node)
        if not isinstance(found, ast.expr) or not any(id(each) in self.put for each in ast.walk(found)):
            return found
        for each in ast.walk(found):
            called = isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in FUNCTIONS
            named = isinstance(each, ast.Name) and each.id in FUNCTIONS
            if not (isinstance(each, DECIDED) or called or named):
                return found
        bounded = _Products().visit(ast.Expression(deepcopy(found)))
        code = compile(ast.fix_missing_locations(bounded), "shape", "eval")
        try:
            value = eval(code, {"__builtins__": {}, "_product": _product, **FUNCTIONS})
        except (TypeError, ValueError, IndexError, ArithmeticError):
            return found
        return self.literal(value) if isinstance(value, int | tuple) else found

    def literal(self, value: object) -> ast.expr:
        """Return a number or a tuple as it is written."""
        node = literal(value)
        self.put[id(node)] = node
        return node


class _Products(ast.NodeTransformer):
    """Makes calls of products."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace a product by a call."""
        self.generic_visit(node)
        product = ast.Name("_product", ast.Load())
        return ast.Call(product, [node.left, node.right], []) if isinstance(node.op, ast.Mult) else node


def _shape_of(made: ast.expr) -> tuple[int, ...] | None:
    """Return the shape of a tensor that is made of what stands in the program."""
    if not (isinstance(made, ast.Call) and last_name(made.func) in TENSORS and made.args):
        return None
    try:
        return tuple(np.shape(ast.literal_eval(made.args[0])))
    except (TypeError, ValueError):
        return None
