"""Simplifies expressions of printed programs by what the program itself, or the shapes of its tensors, decide."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from refgrad.report.findings.trees import Filling, literal, names_in

ARRAYS: Final = frozenset({"array", "ones", "zeros"})
"""Functions that make an array of the numbers in their arguments."""

TENSORS: Final = ARRAYS | {"Variable", "constant", "tensor", "to_tensor"}
"""Functions that never return None."""

OF_LISTS: Final = frozenset({"jnp.array"})
"""Functions other than ``tensor`` for which ``f([...])`` equals ``f(np.array([...]))``."""

OF_TYPED: Final = frozenset({"mx.array", "mx.np.array", "tf.constant"})
"""Functions for which the two are equal only if a dtype is given."""

REDUCTIONS: Final = frozenset({"sum", "prod", "mean", "max", "min", "amax", "amin", "var", "std"})
"""Functions for which libraries that follow NumPy have ``axis=None, keepdims=False``."""

DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType({
    "backward": MappingProxyType({"retain_graph": False, "create_graph": False}),
    "tensor": MappingProxyType({"requires_grad": False, "constant": False}),
    **dict.fromkeys(REDUCTIONS, MappingProxyType({"axis": None, "keepdims": False, "keepdim": False})),
})
"""Arguments that a call may omit, by the last name of the function."""


class Folding(ast.NodeTransformer):
    """Evaluates known conditions, and removes arguments that equal the defaults of a call."""

    def visit(self, node: ast.AST) -> Any:
        """Return a node with its parts folded. A conditional expression with a known condition becomes its branch."""
        holds = truth(self.visit(node.test)) if isinstance(node, ast.IfExp) else None
        if isinstance(node, ast.IfExp) and holds is not None:
            return self.visit(node.body if holds else node.orelse)
        return _folded(self.generic_visit(node))


def _folded(node: ast.AST) -> ast.AST:  # noqa: PLR0911 (one return for each rule)
    """Return a shorter node that does the same. Its parts are already folded."""
    match node:
        case ast.FunctionDef(body=[*_, ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=result)]):
            if isinstance(result, ast.Name) and result.id == name:  # the name is used only by `return`
                node.body[-2:] = [ast.Return(value)]
        case ast.Assign(targets=[ast.List(elts=[target])], value=ast.List(elts=[value])):  # [x] = [y]
            return ast.Assign([target], value, lineno=node.lineno)
        case ast.Subscript(value=ast.List(elts=[value]), slice=ast.Constant(value=0)):  # [y][0]
            return value
        case ast.Expr(value=ast.Call() as call):
            return _assignment(call, node)
        case ast.Attribute(value=array, attr="dtype") if _is_of_floats(array):
            return ast.Attribute(ast.Name("np", ast.Load()), "float64", ast.Load())
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return ast.Constant(not value)
        case ast.BoolOp(op=op, values=[ast.Constant(value=value) as first, *rest]):
            decides = bool(value) == isinstance(op, ast.Or)
            return first if decides else rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.Call():
            return _shorter_call(node)
    return node


def _assignment(call: ast.Call, node: ast.Expr) -> ast.stmt:
    """Return ``x[i] = y`` for ``x.__setitem__(i, y)``, called directly or in a helper; else the statement itself."""
    match call.args:
        case [ast.Name() as changed, ast.Lambda(args=ast.arguments(args=[ast.arg(arg="x")]), body=body)]:
            call = Filling({"x": changed}).visit(body)
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[target, ast.Constant(value=str(name)), value]):
            if name.isidentifier():
                return ast.Assign([ast.Attribute(target, name, ast.Store())], value, lineno=node.lineno)
        case ast.Call(
            func=ast.Attribute(value=target, attr="__setitem__"), args=[ast.Tuple(elts=[index]) | index, value]
        ):
            return ast.Assign([ast.Subscript(target, index, ast.Store())], value, lineno=node.lineno)
    return node


def _shorter_call(node: ast.Call) -> ast.expr:
    """Remove default arguments, and the call of ``np.array`` around a list that a tensor is made of."""
    node.args = [part for each in node.args for part in _unpacked(each)]
    name, function = last_name(node.func), ast.unparse(node.func)
    defaults = DEFAULTS.get(name, {})
    node.keywords = [
        each for each in node.keywords
        if not (isinstance(each.value, ast.Constant) and each.value.value is defaults.get(str(each.arg), defaults))
    ]  # fmt: skip
    typed = any(each.arg == "dtype" for each in node.keywords)
    listed = function in OF_LISTS or (typed and function in OF_TYPED)
    if node.args and (listed or (name == "tensor" and isinstance(node.func, ast.Attribute))):
        node.args[0] = _list_of(node.args[0], typed=typed)
    return _known_call(node, name)


def _known_call(node: ast.Call, name: str) -> ast.expr:
    """Return the result of a call with literal arguments, or the call without default arguments."""
    match name, node.args:
        case "backward", [ast.Constant(value=None)]:
            node.args = []
        case "grad" | "make_vjp", [function, ast.Constant(value=int(index))] if index == 0:
            node.args = [function]  # these differentiate the first argument by default
        case "get", [ast.Constant(value=key), default] if isinstance(node.func, ast.Attribute):
            if isinstance(table := node.func.value, ast.Dict):
                entries = zip(table.keys, table.values, strict=True)
                known = {each.value: value for each, value in entries if isinstance(each, ast.Constant)}
                return known.get(key, default)
        case "len", [ast.List(elts=parts)]:
            return ast.Constant(len(parts))
        case "list", [ast.Tuple(elts=parts)]:
            return ast.List(parts, ast.Load())
        case "tuple", [ast.List(elts=parts)]:
            return ast.Tuple(parts, ast.Load())
        case "tuple", [ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))])]:
            return ast.Tuple([ast.Constant(number) for number in range(count)], ast.Load())
    return node


def truth(test: ast.expr) -> bool | None:
    """Return the truth of a condition, or None if it cannot be determined from the text."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Constant(value=value), ast.Name(id="int")]):
            return isinstance(value, int)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() as sign], comparators=[right]):
            sides, equal = _sides(left, right), isinstance(sign, ast.Eq | ast.Is)
            return None if sides is None else bool(sides[0] == sides[1]) is equal
    return None


def _sides(left: ast.expr, right: ast.expr) -> tuple[Any, Any] | None:
    """Return two values that compare as these expressions do, or None if such values cannot be determined."""
    if ast.unparse(right) == "bool" and ast.unparse(left) == "np.float64":
        return False, True
    if ast.unparse(right) == "bool" and isinstance(left, ast.Attribute) and left.attr == "dtype":
        boolean = _is_boolean(left.value)
        return None if boolean is None else (boolean, True)
    if ast.unparse(right) == "None" and isinstance(left, ast.Call) and last_name(left.func) in TENSORS:
        return True, None
    try:
        return ast.literal_eval(left), ast.literal_eval(right)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def last_name(function: ast.expr) -> str:
    """Return the last part of the name of a function; an empty string for an expression without a name."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_boolean(array: ast.expr) -> bool | None:
    """Return True if a literal array is boolean, False if it is numeric, and None if the array is not literal."""
    if not (isinstance(array, ast.Call) and last_name(array.func) in ARRAYS and array.args):
        return None
    for each in array.keywords:
        if each.arg == "dtype":
            return last_name(each.value) in {"bool", "bool_"}
    types = _types(array.args[0]) if last_name(array.func) == "array" else {float}
    return None if types is None else types == {bool}


def _is_of_floats(array: ast.expr) -> bool:
    """Return True if an array of NumPy is made of literals that are all floats."""
    if not isinstance(array, ast.Call) or array.keywords or len(array.args) != 1:
        return False
    name = ast.unparse(array.func)
    return name in {"np.ones", "np.zeros"} or (name == "np.array" and _types(array.args[0]) == {float})


def _types(array: ast.expr) -> set[type] | None:
    """Return the types of the entries of a literal array, or None if an entry is a variable."""
    nodes = list(ast.walk(array))
    named = {float if node.attr in {"inf", "nan"} else object for node in nodes if isinstance(node, ast.Attribute)}
    types = {type(node.value) for node in nodes if isinstance(node, ast.Constant)}
    return types | named if names_in(array) <= {"np"} else None


def _unpacked(argument: ast.expr) -> list[ast.expr]:
    """Return the arguments with ``*[a, b]`` replaced by ``a, b``."""
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.List):
        return argument.value.elts
    return [argument]


def _list_of(argument: ast.expr, *, typed: bool) -> ast.expr:
    """Return the list in ``np.array([...])`` if a tensor made of the list is the same."""
    if not (isinstance(argument, ast.Call) and ast.unparse(argument.func) == "np.array" and len(argument.args) == 1):
        return argument
    return argument.args[0] if _types(argument.args[0]) == {float} and (typed or not argument.keywords) else argument


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
"""Functions of numbers and tuples whose calls are replaced by their results."""


def with_shapes(node: ast.stmt, shapes: Shapes) -> ast.stmt:
    """Return a statement with known shapes replaced by literals, except for names that the statement binds itself.

    The shape ``()`` is not replaced either: some engines represent a scalar by an array with one axis.
    """
    parts = list(ast.walk(node))
    own = {name.arg for each in parts if isinstance(each, ast.Lambda) for name in each.args.args}
    targets = [each.target for each in parts if isinstance(each, ast.comprehension | ast.For)]
    own |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    known = {name: shape for name, shape in shapes.items() if shape and name not in own}
    decided = _Known(known).visit(node)
    assert isinstance(decided, ast.stmt)
    return decided


class _Known(ast.NodeTransformer):
    """Replaces known shapes by literals, and evaluates the expressions that consist of them."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.put: dict[int, ast.expr] = {}
        """Literals that replaced a shape, by the id of the node."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the shape, or the number of axes, as a literal if it is known."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="shape" | "ndim") if name in self.shapes:
                shape = self.shapes[name]
                return self.literal(shape if node.attr == "shape" else len(shape))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the value of a call if shapes determine it. Remove a reshape of a tensor to the shape that it has."""
        computed = self.computed(node)
        match computed:
            case ast.Call(func=ast.Attribute(value=inner, attr="reshape"), args=[shape], keywords=[]):
                if id(shape) in self.put and _shape_of(inner) == ast.literal_eval(shape):
                    return inner
        return computed

    def computed(self, node: ast.expr) -> ast.AST:
        """Return the value of an expression that consists of known shapes and literals, or the expression itself."""
        visited = self.generic_visit(node)
        if not isinstance(visited, ast.expr) or not any(id(each) in self.put for each in ast.walk(visited)):
            return visited
        for each in ast.walk(visited):
            called = isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in FUNCTIONS
            named = isinstance(each, ast.Name) and each.id in FUNCTIONS
            if not (isinstance(each, DECIDED) or called or named):
                return visited
        bounded = _Products().visit(ast.Expression(deepcopy(visited)))
        code = compile(ast.fix_missing_locations(bounded), "shape", "eval")
        try:
            value = eval(code, {"__builtins__": {}, "_product": _product, **FUNCTIONS})
        except (TypeError, ValueError, IndexError, ArithmeticError):
            return visited
        return self.literal(value) if isinstance(value, int | tuple) else visited

    visit_BinOp = visit_Compare = visit_Subscript = computed  # noqa: N815 (names of nodes)

    def literal(self, value: object) -> ast.expr:
        """Return a number or a tuple as a literal."""
        node = literal(value)
        self.put[id(node)] = node
        return node


class _Products(ast.NodeTransformer):
    """Replaces each product by a call that limits its size."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace a product by a call."""
        self.generic_visit(node)
        product = ast.Name("_product", ast.Load())
        return ast.Call(product, [node.left, node.right], []) if isinstance(node.op, ast.Mult) else node


def _shape_of(tensor: ast.expr) -> tuple[int, ...] | None:
    """Return the shape of a tensor that is made from a literal array of the program."""
    if not (isinstance(tensor, ast.Call) and last_name(tensor.func) in TENSORS and tensor.args):
        return None
    try:
        return tuple(np.shape(ast.literal_eval(tensor.args[0])))
    except (TypeError, ValueError):
        return None
