"""Automatic differentiation of formulas, for the oracles, and the values that a derivative depends on.

``differentiate`` turns a formula into a function that returns its value and its partial derivative with respect to each
argument, by the sum, product, quotient and chain rules and the derivatives of the functions that formulas call. It
never reads the ``partials`` of a row, so an oracle that uses it is independent of them. Where a number system cannot
decide a branch, both branches are evaluated and joined (``choose``), which yields the hull of the one-sided derivatives
at a kink.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any

from refgrad.operators.expression import COMPARISONS, Formula, FormulaError, is_exact
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.table import Operator

INFIX: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}

ZERO = "0"
ONE = "1"
Partials = tuple[str, ...]


def differentiate(
    formula: Formula, arguments: tuple[str, ...], parameters: tuple[str, ...], system: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Compile ``formula`` to a function of ``arguments + parameters`` returning ``(value, partial, …)``.

    There is one partial per argument; one that is identically zero or one is the integer 0 or 1. ``system`` supplies
    the functions, ``number``, the comparisons (True, False or None for undecided) and ``choose(condition, then,
    otherwise)``, whose branches are tuples of value and partials or functions that return such a tuple.
    """
    return compiled(value_and_partials(formula, arguments, parameters), formula, system)


def row_derivative(operator: Operator, system: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Compile the formula of a row to its value and its partials by its arguments: see :func:`differentiate`."""
    assert operator.formula is not None
    return differentiate(operator.formula, operator.argument_names, operator.attribute_names, system)


def differentiate_along(
    formula: Formula, arguments: tuple[str, ...], moving: tuple[str, ...], system: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """Compile ``formula`` to a function that returns its value and its derivative along a line.

    It takes ``arguments``, and the speed of each argument in ``moving`` as a keyword ``NAME_speed``. Where a branch is
    undecided, ``choose`` joins the pairs of value and derivative that the two sides return.
    """
    block = _Block(("time",))
    environment = {name: _Dual(name, (f"{name}_speed",) if name in moving else (ZERO,)) for name in arguments}
    signature = (*arguments, "*", *(f"{name}_speed" for name in moving))
    return compiled(block.function(formula, environment, signature), formula, system)


def compiled(source: str, formula: Formula, system: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the function ``derivative`` that ``source``, made from a formula, defines in a number system."""
    namespace = dict(system)
    exec(compile(source, f"<derivative of {formula.source}>", "exec"), namespace)
    return namespace["derivative"]  # type: ignore[no-any-return]


def value_and_partials(formula: Formula, arguments: tuple[str, ...], parameters: tuple[str, ...]) -> str:
    """Return the Python source of the function that :func:`differentiate` compiles.

    Parameters are converted to numbers of the system, since Python would divide its own numbers in 53 bits.
    """
    block = _Block(arguments)
    environment = {name: _Dual(name, block.unit(name)) for name in arguments}
    environment |= {name: _Dual(name, block.nothing) for name in parameters}
    block.lines += (f"{name} = number({name})" for name in parameters)
    return block.function(formula, environment, (*arguments, *parameters))


@dataclass(frozen=True, slots=True)
class _Dual:
    """Source text of a value and of its partials."""

    value: str
    partials: Partials


@dataclass(slots=True)
class _Block:
    """A list of statements that is being built, with names that no other block of the function uses."""

    arguments: tuple[str, ...]
    prefix: str = "t"
    lines: list[str] = field(default_factory=list)
    count: int = 0

    @property
    def nothing(self) -> Partials:
        return (ZERO,) * len(self.arguments)

    def unit(self, name: str) -> Partials:
        return tuple(ONE if name == argument else ZERO for argument in self.arguments)

    def name(self, text: str) -> str:
        """Assign a value to a new name, so that it is computed once; names, 0 and 1 are returned unchanged."""
        if text.isidentifier() or text in {ZERO, ONE}:
            return text
        self.count += 1
        name = f"{self.prefix}{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def function(self, formula: Formula, environment: Mapping[str, _Dual], parameters: tuple[str, ...]) -> str:
        """Return the source of a function ``derivative`` that returns the value of a formula and its partials."""
        result = self.visit(formula.tree, environment)
        body = "\n".join([*self.lines, f"return {', '.join([result.value, *result.partials])},"])
        return f"def derivative({', '.join(parameters)}):\n{_indented(body)}\n"

    def visit(self, node: ast.expr, environment: Mapping[str, _Dual]) -> _Dual:
        match node:
            case ast.Name(id=name):
                return environment.get(name, _Dual(name, self.nothing))
            case ast.Constant(value=value):
                text = repr(value)
                exact = isinstance(value, int) or is_exact(text)
                return _Dual(text if exact else f"number({text!r})", self.nothing)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.visit(operand, environment)
                return _Dual(self.name(f"-{inner.value}"), tuple(_minus(p) for p in inner.partials))
            case ast.BinOp(left=left, op=operation, right=right):
                return self.arithmetic(operation, self.visit(left, environment), self.visit(right, environment), right)
            case ast.Call(func=ast.Name(id=name), args=operands):
                return self.call(name, [self.visit(operand, environment) for operand in operands])
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self.branch(self.condition(test, environment), then, otherwise, environment)
        raise FormulaError(f"{ast.unparse(node)!r} cannot be differentiated")

    def arithmetic(self, operation: ast.operator, left: _Dual, right: _Dual, exponent: ast.expr) -> _Dual:
        a, b = left.value, right.value
        value = self.name(f"({a}) {INFIX[type(operation)]} ({b})")
        pairs = zip(left.partials, right.partials, strict=True)
        match operation:
            case ast.Add():
                partials = [_plus(p, q) for p, q in pairs]
            case ast.Sub():
                partials = [_plus(p, _minus(q)) for p, q in pairs]
            case ast.Mult():
                partials = [_plus(_times(p, b), _times(q, a)) for p, q in pairs]
            case ast.Div():
                partials = [_over(_plus(p, _minus(_times(q, value))), b) for p, q in pairs]
            case _:
                partials = self.power(left, right, value, exponent)
        return _Dual(value, tuple(self.name(p) for p in partials))

    def power(self, base: _Dual, exponent: _Dual, value: str, node: ast.expr) -> list[str]:
        """Return the partials by d(a ** b) = b a ** (b - 1) da + log(a) a ** b db; b - 1 is literal if b is whole."""
        a, b = base.value, exponent.value
        is_integer = isinstance(node, ast.Constant) and isinstance(node.value, int)
        down = f"({a}) ** {node.value - 1}" if is_integer else f"({a}) ** ({b} - 1)"  # type: ignore[attr-defined]
        by_base = self.name(f"({b}) * {down}") if base.partials != self.nothing else ZERO
        by_exponent = self.name(f"log({a}) * {value}") if exponent.partials != self.nothing else ZERO
        return [
            _plus(_times(p, by_base), _times(q, by_exponent))
            for p, q in zip(base.partials, exponent.partials, strict=True)
        ]

    def call(self, name: str, operands: list[_Dual]) -> _Dual:
        function = FUNCTIONS[name]
        inputs = [_Dual(self.name(_number(operand.value)), operand.partials) for operand in operands]
        value = self.name(f"{name}({', '.join(operand.value for operand in inputs)})")
        local = {p: _Dual(o.value, self.nothing) for p, o in zip(function.parameters, inputs, strict=True)}
        local["out"] = _Dual(value, self.nothing)
        totals = self.nothing
        for operand, derivative in zip(inputs, function.derivatives, strict=True):
            if operand.partials == self.nothing:
                continue
            slope = self.name(self.visit(ast.parse(derivative, mode="eval").body, local).value)
            totals = tuple(_plus(t, _times(p, slope)) for t, p in zip(totals, operand.partials, strict=True))
        return _Dual(value, tuple(self.name(total) for total in totals))

    def condition(self, node: ast.expr, environment: Mapping[str, _Dual]) -> str:
        match node:
            case ast.Compare(left=left, ops=[operation], comparators=[right]):
                a, b = self.visit(left, environment).value, self.visit(right, environment).value
                return f"{COMPARISONS[type(operation)]}({a}, {b})"
            case ast.BoolOp(op=operation, values=values):
                name = "logical_and" if isinstance(operation, ast.And) else "logical_or"
                return reduce(lambda a, b: f"{name}({a}, {b})", [self.condition(v, environment) for v in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"logical_not({self.condition(operand, environment)})"
        return self.visit(node, environment).value

    def branch(self, condition: str, then: ast.expr, otherwise: ast.expr, environment: Mapping[str, _Dual]) -> _Dual:
        self.count += 1
        name = f"{self.prefix}{self.count}"
        sides = [
            self.side(f"{name}_{word}", node, environment) for word, node in (("then", then), ("otherwise", otherwise))
        ]
        targets = [name] + [f"{name}_d{i}" for i in range(len(self.arguments))]
        self.lines.append(f"{', '.join(targets)}, = choose({condition}, {', '.join(sides)})")
        return _Dual(targets[0], tuple(targets[1:]))

    def side(self, name: str, node: ast.expr, environment: Mapping[str, _Dual]) -> str:
        """Return a branch as a tuple if it computes nothing, else the name of a function that computes it."""
        inner = _Block(self.arguments, f"{name}_")
        result = inner.visit(node, environment)
        texts = ", ".join([_number(result.value), *result.partials])
        if not inner.lines:
            return f"({texts},)"
        body = "\n".join([*inner.lines, f"return {texts},"])
        self.lines.append(f"def {name}():\n{_indented(body)}")
        return name


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _number(text: str) -> str:
    """Convert a literal to a number of the system; leave any other text unchanged.

    FLINT requires it of arguments and of what a branch returns, and Python would divide two literals in 53 bits.
    """
    return f"number({text})" if text[0].isdigit() else text


def _minus(a: str) -> str:
    return a if a == ZERO else f"-({a})"


def _plus(a: str, b: str) -> str:
    if a == ZERO:
        return b
    return a if b == ZERO else f"({a}) + ({b})"


def _times(a: str, b: str) -> str:
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    return a if b == ONE else f"({a}) * ({b})"


def _over(a: str, b: str) -> str:
    return a if a == ZERO else f"({_number(a)}) / ({b})"


@cache
def bending(operator: Operator, argument: str) -> frozenset[str]:
    """Return the values (arguments by name, or ``out``) on which the partial by an argument certainly depends.

    A name that only selects a branch does not count: the slope of |x| depends on x, but |x| is linear in each branch.
    Of the structural operators only the product of two matrices has such partials: whether ``prod`` is nonlinear in a
    factor, for example, depends on the number of factors. For composite operators the result is empty.
    """
    names = operator.argument_names
    if operator.structure is not None and len(names) > 1 and all(operator.saves(x) == {*names} - {x} for x in names):
        return operator.saves(argument)
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
