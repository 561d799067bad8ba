"""The kinds of faults: for each node of a syntax tree, what may stand in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.mutation.faults import Kind

FLIPPED: Mapping[type[ast.cmpop], ast.cmpop] = MappingProxyType({
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
})
BOUNDARY: Mapping[type[ast.cmpop], ast.cmpop] = MappingProxyType({
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
})
ARITHMETIC: Mapping[type[ast.operator], ast.operator] = MappingProxyType({
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
})
CONSTANT_ANSWERS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "bool": ("True", "False"),
    "float": ("0.0",),
    "int": ("0",),
    "str": ("''",),
})
EMPTY_ANSWERS: Mapping[str, str] = MappingProxyType({
    "list": "[]",
    "tuple": "()",
    "dict": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
    "Iterator": "",
})
"""By what a function says that it returns; a generator that returns at once yields nothing."""

NUMBER_OF_TABLE = re.compile(
    r'#.*|"[^"]*"|^\[(?P<table>\w+)\]|^(?P<key>\w+)|(?P<number>-?(0x[0-9a-fA-F_]+|\d[\d_.]*(e-?\d+)?))', re.MULTILINE
)
"""A comment or a text, a name of a table, a key, or a number of a TOML file."""
TABLE_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Change:
    """What may stand in a node's place, or before it; ``told`` and ``instead`` are how a reader is shown both."""

    node: ast.expr | ast.stmt
    kind: Kind
    told: str
    instead: str
    replacement: str
    before: bool = False


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield the changes of a node within a function."""
    match node:
        case ast.Compare(ops=[operator]):
            yield from _comparisons(node, operator)
        case ast.BoolOp():
            yield _of(node, "and, or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node):
            yield _of(node, "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)], node.right))
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield _of(node, "condition", node.operand)
        case ast.If() | ast.IfExp():
            yield _of(node.test, "condition", ast.UnaryOp(ast.Not(), node.test))
        case ast.Call():
            yield from _copies(node)
        case ast.Subscript():
            yield from _positions(node)
        case ast.stmt():
            yield from _dropped(node)


def _comparisons(node: ast.Compare, operator: ast.cmpop) -> Iterator[Change]:
    yield _of(node, "comparison", ast.Compare(node.left, [FLIPPED[type(operator)]], node.comparators))
    if type(operator) in BOUNDARY:
        yield _of(node, "boundary", ast.Compare(node.left, [BOUNDARY[type(operator)]], node.comparators))


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides
    )


def _copies(node: ast.Call) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Attribute(value=copied, attr="copy" | "clone"), args=[]):
            yield _of(node, "copy", copied)
        case ast.Call(func=ast.Attribute(value=ast.Name("np"), attr="array"), args=[copied]) if not isinstance(
            copied, ast.List | ast.ListComp | ast.Constant
        ):
            yield _of(node, "copy", ast.Call(ast.Attribute(ast.Name("np"), "asarray"), [copied], _others(node)))


def _others(node: ast.Call) -> list[ast.keyword]:
    return [keyword for keyword in node.keywords if keyword.arg != "copy"]


def _positions(node: ast.Subscript) -> Iterator[Change]:
    """Numbers in an index or at either end of a slice, one more."""
    match node.slice:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            yield _of(node.slice, "off by one", ast.Constant(number + 1))
        case ast.Slice(lower=lower, upper=upper):
            for end in (lower, upper):
                if end is not None:
                    yield _of(end, "off by one", ast.BinOp(end, ast.Add(), ast.Constant(1)))


def _dropped(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise(exc=ast.expr()):
            yield Change(node, "statement", ast.unparse(node), "nothing", "pass")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield Change(node, "statement", ast.unparse(node), "nothing", "pass")


def answers(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield the answers that a function may give without looking at anything."""
    returned = function.returns
    named = returned.value if isinstance(returned, ast.Subscript) else returned
    if not isinstance(named, ast.Name):
        return
    for answer in CONSTANT_ANSWERS.get(named.id, ()):
        yield _at_once(function, "answer", answer)
    if named.id in EMPTY_ANSWERS:
        yield _at_once(function, "answer", EMPTY_ANSWERS[named.id])


def family_passes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield the fault of a family of checks that lets everything pass."""
    first, *others = [a.arg for a in function.args.args] or [""]
    is_judge = first == "check" and isinstance(function.returns, ast.Name) and function.returns.id == "Verdict"
    if others[:1] == ["bench"] and (is_judge or (function.name == "run" and first == "self")):
        yield _at_once(function, "family", f"bench.verdict({first}, 'passed')")


def _at_once(function: ast.FunctionDef, kind: Kind, answer: str) -> Change:
    first = function.body[1 if ast.get_docstring(function) is not None else 0]
    text = f"return {answer}".strip()
    return Change(first, kind, f"{function.name}(…)", text, f"{text}\n{' ' * first.col_offset}", before=True)


def tolerances(tree: ast.Module) -> Iterator[tuple[str, Change]]:
    """Yield the constants of a module that are numbers, and a hundred and a thousand times as much."""
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name.lstrip("_").isupper() and is_number(value):
                for factor in (100, 1000):
                    told = f"{name} = {ast.unparse(value)}"
                    yield (
                        name,
                        Change(value, "tolerance", told, f"{factor} times", f"{factor} * ({ast.unparse(value)})"),
                    )


def numbers(text: str) -> Iterator[tuple[str, re.Match[str], str]]:
    """Yield each number of a TOML file with its key, and ten times and a tenth of it (of an integer, at least one)."""
    table = key = ""
    for part in NUMBER_OF_TABLE.finditer(text):
        table = f"{part['table']}." if part["table"] else table
        key = f"{table}{part['key']}" if part["key"] else key
        if part["number"]:
            value = ast.literal_eval(part["number"])
            less = max(1, value // TABLE_FACTOR) if isinstance(value, int) else value / TABLE_FACTOR
            yield from ((key, part, repr(other)) for other in (value * TABLE_FACTOR, less) if other != value)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is made of numbers, names of constants and arithmetic alone."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.Name(id=name):
            return name.isupper()
        case ast.Attribute(value=ast.Name(id=name)):
            return name.isupper()
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
    return False


def _of(node: ast.expr, kind: Kind, instead: ast.expr) -> Change:
    text = ast.unparse(ast.fix_missing_locations(instead))
    return Change(node, kind, ast.unparse(node), text, f"({text})")
