"""The lint of the operator table: what a row says about itself is held against its formula.

The loader sees to the form of the rows; here their content is checked, to fifty digits: partials are the formula's
derivatives by SymPy, forward is the formula, sample ranges lie inside the domain over their whole length, every kink
has an edge, and every edge is what the formula does there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any

import mpmath

from refgrad.operators.expression import Formula
from refgrad.operators.functions import FUNCTIONS, FormulaFunction
from refgrad.operators.table import Operator
from tests.operators.edge_lint import edge_problems
from tests.operators.exact_row import ExactRow, describe
from tests.operators.functions.digits import DIGITS_FUNCTIONS, digits
from tests.operators.functions.intervals import INTERVAL_FUNCTIONS
from tests.operators.symbolic_derivative import derivative

Problems = Iterator[str]

DIGITS = 50
WORKING_DIGITS = 120
"""Enough for formulas that cancel, as exp(x) - 1 does, to keep fifty digits."""

POINTS = 24

TRIED = ((0.3, 0.7), (0.7, -0.3), (1.3, 0.7), (2.7, -1.3))
"""Where functions are differentiated that have these points in their domain."""


def lint_table(table: Mapping[str, Operator]) -> list[str]:
    """Return what is wrong with the rows, each as ``FILE: operator NAME: problem``; nothing where all is right."""
    problems = [*_aliases(table)]
    for operator in table.values():
        where = f"{operator.family}.toml: operator {operator.name!r}"
        problems.extend(f"{where}: {problem}" for problem in _row(operator))
    return problems


def lint_functions() -> list[str]:
    """Return what is wrong with the derivatives of the formula language's functions, by SymPy at a few points."""
    return [problem for name in FUNCTIONS for problem in _function(name)]


def _aliases(table: Mapping[str, Operator]) -> Problems:
    owners = {name: name for name in table}
    for operator in table.values():
        for alias in operator.aliases:
            if alias in owners:
                owner = owners[alias]
                yield f"{operator.family}.toml: operator {operator.name!r}: alias {alias!r} belongs to {owner!r}"
            owners.setdefault(alias, operator.name)


def _function(name: str) -> Problems:
    function = FUNCTIONS[name]
    formula = Formula(f"{name}({', '.join(function.parameters)})")
    with digits(WORKING_DIGITS):
        value = formula.function(function.parameters, DIGITS_FUNCTIONS)
        for parameter, source in zip(function.parameters, function.derivatives, strict=True):
            if parameter in function.integers:
                continue
            slope = derivative(formula, function.parameters, parameter)
            stated = Formula(source).function((*function.parameters, "out"), DIGITS_FUNCTIONS)
            for point in _points(function):
                if not _same(stated(*point, value(*point)), slope(*point)):
                    where = ", ".join(mpmath.nstr(number, 2) for number in point)
                    yield f"functions: {name}: the derivative {source!r} by {parameter} is wrong at {where}"


def _points(function: FormulaFunction) -> Iterator[list[Any]]:
    admits = Formula(function.domain).function(function.parameters, DIGITS_FUNCTIONS)
    for order, pair in enumerate(TRIED):
        named = zip(function.parameters, pair, strict=False)
        point = [order if name in function.integers else mpmath.mpf(number) for name, number in named]
        if admits(*point):
            yield point


def _row(operator: Operator) -> Problems:
    for name in ("summary", "source"):
        if not getattr(operator, name).strip():
            yield f"has no {name}"
    for number, edge in enumerate(operator.edges, 1):
        if not edge.reason.strip():
            yield f"edge {number} has no reason"
    if not operator.elementwise:
        return
    row = ExactRow(operator)
    yield from _quotients(row)
    yield from _samples(row)
    with digits(WORKING_DIGITS):
        try:
            yield from _values(row)
        except (ArithmeticError, ValueError) as error:
            yield f"cannot be evaluated everywhere in its domain: {type(error).__name__}"
    if row.chooses() and not operator.edges:
        yield "has a kink (its formula makes a choice), but declares no edge"
    for number, edge in enumerate(operator.edges, 1):
        yield from (f"edge {number}: {problem}" for problem in edge_problems(row, edge))


def _quotients(row: ExactRow) -> Problems:
    """Quotients of integers are computed by Python, in 53 bits."""
    for node in ast.walk(row.formula.tree):
        match node:
            case ast.BinOp(left=ast.Constant(value=int(a)), op=ast.Div(), right=ast.Constant(value=int(b))):
                if Fraction(a / b) != Fraction(a, b):
                    yield f"formula {row.formula.source!r} has the quotient {a} / {b}, which is no float64"


def _samples(row: ExactRow) -> Problems:
    """The domain has to hold over the whole box of the sample ranges and bounds; other attributes are 0, 1, 2."""
    samples, domain = row.operator.samples, row.operator.domain
    for name, (low, high) in samples.items():
        if not low < high:
            yield f"the sample range of {name} is empty: [{low}, {high}]"
    if domain is None:
        return
    box: dict[str, Any] = dict.fromkeys(row.conditions)
    box |= {name: mpmath.iv.mpf(list(bounds)) for name, bounds in samples.items()}
    box |= {name: mpmath.iv.mpf(index) for index, name in enumerate(row.operator.attribute_names)}
    box |= {name: mpmath.iv.mpf([low, high]) for name, (_, low, high) in row.bounds.items()}
    if domain.function(row.parameters, INTERVAL_FUNCTIONS)(**box) is not True:
        ranges = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in samples.items())
        yield f"the sample range {ranges} is not inside the domain {domain.source!r}"
    for name, numbers in row.operator.stress_values.items():
        for number in numbers:
            if domain.function(row.parameters, INTERVAL_FUNCTIONS)(**box | {name: mpmath.iv.mpf(number)}) is False:
                yield f"{name} = {number:g}, beyond the samples, is not in the domain {domain.source!r}"


def _values(row: ExactRow) -> Problems:
    """Forward is the formula, and the partials are its derivatives, inside of the sample range and beyond."""
    points = row.points(POINTS)
    if len(points) < POINTS:
        yield f"only {len(points)} of the points tried are in the domain"
    for point in islice((p for p in points if not _real(row.at(row.formula, p))), 1):
        yield f"the formula is no real number at {describe(point)}, which is in the domain"
    for key, computed in (("forward", row.forward), ("rounding", row.rounding)):
        wrong = (p for p in points if not _same(row.at(computed, p), row.at(row.formula, p)))
        for point in islice(wrong, 1):
            yield f"{key} {computed.source!r} is not the formula at {describe(point)}"
    for name, slope in row.slopes.items():
        source = row.operator.partials[name].source
        wrong = (p for p in points if not _same(row.partials(p)[name], slope(**p)))
        for point in islice(wrong, 1):
            stated, right = (mpmath.nstr(value, 8) for value in (row.partials(point)[name], slope(**point)))
            yield f"the partial {source!r} by {name} is {stated} at {describe(point)}, but the formula has {right}"


def _real(value: Any) -> bool:
    return bool(mpmath.isfinite(value) and mpmath.im(value) == 0)


def _same(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= mpmath.mpf(10) ** -DIGITS * max(1, abs(a), abs(b)))
