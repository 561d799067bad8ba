"""The spellings of an engine's adapter, read backwards: the row of the operator table that a call amounts to.

A spelling is an expression with placeholders, ``torch.roll({x}, {shift}, {axis})``. A call of the same function whose
arguments fit says what each placeholder stands for. What a row gives is compared with what the call gave.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.native.adapter import AnyAdapter
from refgrad.operators import Operator, operator_table

SignatureOf = Callable[[Any], inspect.Signature | None]

SELF = "self"
INPUT = "input"
"""What libraries call the first argument of a method, and of the function of that name."""

INSIDE: Mapping[str, int] = MappingProxyType({
    "integers": 0, "truths": 0, "classes": 0, "signs": 0, "float": 0, "list": 0, "tuple": 0, "tensor": 0, "array": 0,
    "reduction": 0, "all_axes": 1,
})  # fmt: skip
"""Functions in spellings that only make another type of one of their arguments, and which one that is."""

SAME: Mapping[str, str] = MappingProxyType({
    "psi": "digamma", "gammaln": "lgamma", "multigammaln": "mvlgamma", "ger": "outer", "swapdims": "swapaxes",
    "row_stack": "vstack", "trapz": "trapezoid", "solve_ex": "solve", "inv_ex": "inv",
})  # fmt: skip
"""Further names of functions."""

BESIDE = frozenset({"compute_mode", "inplace", "momentum", "driver", "sorted", "stable"})
"""Parameters that change nothing of a value."""

FLAT = frozenset({"classes"})
"""Those whose argument is a row of numbers, whatever shape the library takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """A row, and for each parameter of the function that spells it the expression that stands there."""

    row: Operator
    parameters: Mapping[str, ast.expr]


@dataclass(frozen=True, slots=True, eq=False)
class ParsedCall:
    """What a call says in terms of a row: its arguments, None where one was left out, and its attributes."""

    row: Operator
    arguments: tuple[Any, ...]
    attributes: Mapping[str, Any]


class Spellings:
    """The spellings of one adapter by the names of the functions that they call."""

    def __init__(self, adapter: AnyAdapter, namespace: Mapping[str, Any], signature_of: SignatureOf) -> None:
        """Read all spellings that are one call; ``signature_of`` knows the library's functions."""
        self.namespace = dict(namespace)
        self.signature_of = signature_of
        self.by_name: dict[str, list[Spelling]] = {}
        for name, template in adapter.operators.items():
            self._add(operator_table()[name], template)

    def _add(self, row: Operator, template: str) -> None:
        call = ast.parse(template, mode="eval").body
        if isinstance(call, ast.Attribute):
            call = call.value
        if not isinstance(call, ast.Call) or isinstance(call.func, ast.Name):
            return
        try:
            function = eval(_code(call.func), self.namespace)
        except (AttributeError, NameError):
            return
        signature = self.signature_of(function)
        if signature is None:
            return
        try:
            bound = signature.bind(*_spread(call.args), **{k.arg: k.value for k in call.keywords if k.arg})
        except TypeError:
            return
        name = plain_name(function)
        self.by_name.setdefault(name, []).append(Spelling(row, _renamed(bound.arguments)))

    def has(self, function: Any) -> bool:
        """Whether any row is spelled by a function of this name."""
        return plain_name(function) in self.by_name

    def readings(self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Iterator[ParsedCall]:
        """Yield what a call may be in terms of rows."""
        spellings = self.by_name.get(plain_name(function), [])
        signature = self.signature_of(function) if spellings else None
        if signature is None:
            return
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError:
            return
        given = {name for name in _said(bound) if name not in BESIDE}
        bound.apply_defaults()
        values = _renamed(bound.arguments)
        if "kernel_size" in values and not values.get("stride", 1):
            values["stride"] = values["kernel_size"]
        for spelling in spellings:
            reading = self._read(spelling, values, given)
            if reading is not None:
                yield reading

    def _read(self, spelling: Spelling, values: dict[str, Any], given: set[str]) -> ParsedCall | None:
        if not given <= spelling.parameters.keys():
            return None
        found: dict[str, Any] = {}
        rest: list[tuple[ast.expr, Any]] = []
        for name, expression in spelling.parameters.items():
            if name not in values or not _fits(expression, values[name], found, rest):
                return None
        row = spelling.row
        defaults = {each.name: each.default for each in row.attributes if not each.required}
        known = {**defaults, **found}
        if any(name not in known for name in (*row.argument_names, *row.attribute_names)):
            return None
        if not all(self._equals(expression, known, value) for expression, value in rest):
            return None
        attributes = {name: _plain(known[name]) for name in row.attribute_names}
        return ParsedCall(row, tuple(known[name] for name in row.argument_names), attributes)

    def _equals(self, expression: ast.expr, known: Mapping[str, Any], value: Any) -> bool:
        try:
            wanted = eval(_code(_filled(expression)), {**self.namespace, **known})
            return bool(np.array_equal(np.asarray(_plain(wanted)), np.asarray(_plain(value))))
        except (TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, RuntimeError):
            return False


def plain_name(function: Any) -> str:
    """Return the name by which a function is looked up, one for all of its names."""
    name = getattr(function, "__name__", "").removeprefix("special_").removeprefix("linalg_")
    return SAME.get(name, name)


def _said(bound: inspect.BoundArguments) -> set[str]:
    """Return the parameters that were given another value than their default, which None stands for too."""
    said = {
        name: value
        for name, value in bound.arguments.items()
        if value is not None and not _is(value, bound.signature.parameters[name].default)
    }
    return set(_renamed(said))


def _is(value: Any, default: Any) -> bool:
    return type(value) in (bool, int, float, str) and type(value) is type(default) and bool(value == default)


def _fits(expression: Any, value: Any, found: dict[str, Any], rest: list[tuple[ast.expr, Any]]) -> bool:
    """Find what the placeholders of an expression stand for; ``rest`` gets what has to be computed to be compared."""
    name = _placeholder(expression)
    if name is not None:
        found.setdefault(name, value)
    elif isinstance(expression, ast.Constant):
        return type(value) in (bool, int, float, str, type(None)) and bool(value == expression.value)
    elif isinstance(expression, ast.Tuple | ast.List):
        return _fits_each(expression.elts, value, found, rest)
    elif isinstance(expression, tuple) and len(expression) == 1 and _placeholder(expression[0]) == "arrays":
        found.setdefault("arrays", value)
    elif isinstance(expression, tuple):
        return _fits_each(expression, value, found, rest)
    elif isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mod):
        return _fits(expression.left, value, found, rest)
    elif isinstance(expression, ast.Call) and _called(expression) in INSIDE:
        inside = expression.args[INSIDE[_called(expression)]]
        if _called(expression) == "signs":
            value = value > 0
        if _called(expression) == "reduction":
            value = {"amax": "max", "amin": "min"}.get(value, value)
        return _fits(inside, value.flatten() if _called(expression) in FLAT else value, found, rest)
    else:
        rest.append((expression, value))
    return True


def _fits_each(parts: Sequence[ast.expr], value: Any, found: dict[str, Any], rest: list[tuple[ast.expr, Any]]) -> bool:
    """Fit a row of expressions; one number stands for all of them."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * len(parts)
    values = values * len(parts) if len(values) == 1 else values
    return len(values) == len(parts) and all(
        _fits(part, each, found, rest) for part, each in zip(parts, values, strict=True)
    )


def _placeholder(expression: Any) -> str | None:
    """Return the name in ``{name}``, which Python reads as a set."""
    inside = expression.elts[0] if isinstance(expression, ast.Set) else None
    return inside.id if isinstance(inside, ast.Name) else None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _spread(arguments: Sequence[ast.expr]) -> list[Any]:
    """Return the arguments of a call; those behind a star are one or many."""
    return [each.value if isinstance(each, ast.Starred) else each for each in arguments]


def _renamed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {INPUT if name == SELF else name: value for name, value in arguments.items()}


class _Filled(ast.NodeTransformer):
    """Puts names in place of placeholders."""

    def visit_Set(self, node: ast.Set) -> ast.expr:
        name = _placeholder(node)
        return node if name is None else ast.copy_location(ast.Name(name, ast.Load()), node)


def _filled(expression: ast.expr) -> ast.expr:
    return _Filled().visit(ast.parse(ast.unparse(expression), mode="eval").body)  # type: ignore[no-any-return]


def _code(expression: ast.expr) -> Any:
    return compile(ast.fix_missing_locations(ast.Expression(expression)), "<spelling>", "eval")


def _plain(value: Any) -> Any:
    """Return numbers, words and nested tuples for what a library takes as such."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(_plain(each) for each in value) if isinstance(value, tuple | list) else value
