"""Lowering of formulas to numpy calls that write into buffers.

The operations are exactly those of the formula on arrays, so the results are the same, bit for bit. A formula on
scalars stays as it is, since numpy scalars are faster than arrays of one entry.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.operators.vocabulary import ON_ARRAYS, alike
from refgrad.engine.replay.program import ReplayProgram, Term
from refgrad.operators import Formula

PYTHON: Mapping[type[ast.AST], tuple[str, Callable[..., Any], np.ufunc]] = MappingProxyType({
    ast.Add: ("+", operator.add, np.add),
    ast.Sub: ("-", operator.sub, np.subtract),
    ast.Mult: ("*", operator.mul, np.multiply),
    ast.Div: ("/", operator.truediv, np.divide),
    ast.Pow: ("**", operator.pow, np.power),
    ast.USub: ("-", operator.neg, np.negative),
})
UFUNCS: Mapping[Callable[..., Any], np.ufunc] = MappingProxyType({
    abs: np.absolute,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
})
WHERE = ON_ARRAYS["where"]


def lowered(program: ReplayProgram, formula: Formula, variables: Mapping[str, Term]) -> Term:
    """Write the lines that compute a formula of ``variables``, and return the term of its value."""
    return _Lowering(program, variables).visit(ast.parse(formula.calls, mode="eval").body)


class _Lowering:
    def __init__(self, program: ReplayProgram, variables: Mapping[str, Term]) -> None:
        self.program = program
        self.variables = variables

    def visit(self, tree: ast.AST) -> Term:
        match tree:
            case ast.Constant(value=value):
                return Term(repr(value), value, constant=True)
            case ast.Name(id=name):
                return self.variables[name] if name in self.variables else self.constant(ON_ARRAYS[name])
            case ast.UnaryOp(op=sign, operand=x):
                return self.arithmetic(sign, [self.visit(x)])
            case ast.BinOp(left=x, op=sign, right=y):
                return self.arithmetic(sign, [self.visit(x), self.visit(y)])
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.call(ON_ARRAYS[name], [self.visit(argument) for argument in arguments])
        raise AssertionError(ast.dump(tree))

    def constant(self, value: Any) -> Term:
        """Return the term of a value that never changes."""
        return Term(self.program.store(value), value, constant=True)

    def arithmetic(self, sign: ast.AST, terms: list[Term]) -> Term:
        """Lower one of Python's own operators."""
        text, function, ufunc = PYTHON[type(sign)]
        value = function(*(term.value for term in terms))
        if ufunc is np.power and not all(isinstance(term.value, np.ndarray) for term in terms):
            return self.fresh(text.join(_bracketed(terms)), terms, value)  # numpy has fast paths for some exponents
        if isinstance(value, np.ndarray):
            return self.program.into_buffer(ufunc, terms, value)
        before = "" if len(terms) > 1 else text
        return self.fresh(f"{before}{text.join(_bracketed(terms))}", terms, value)

    def call(self, function: Callable[..., Any], terms: list[Term]) -> Term:
        """Lower a call of a function of the vocabulary."""
        value = function(*(term.value for term in terms))
        ufunc = UFUNCS.get(function, function)
        if isinstance(value, np.ndarray) and isinstance(ufunc, np.ufunc):
            return self.program.into_buffer(ufunc, terms, value)
        if isinstance(value, np.ndarray) and function is WHERE:
            into = _masked_into if alike(*(term.value for term in terms[:2])) and _is_zero(terms[2]) else _where_into
            return self.program.into_buffer(into, terms, value, over=False)
        arguments = ", ".join(term.text for term in terms)
        return self.fresh(f"{self.program.bind(function)}({arguments})", terms, value)

    def fresh(self, text: str, terms: Sequence[Term], value: Any) -> Term:
        """Return the term of a value that is computed in every run, or only once if all its operands are constant."""
        if all(term.constant for term in terms):
            return self.constant(value)
        if not isinstance(value, np.ndarray):
            return Term(text, value)
        term = self.program.named(Term(text, value))
        self.program.release(terms)
        return term


def _is_zero(term: Term) -> bool:
    return type(term.value) is int and term.value == 0 and term.constant


def _masked_into(condition: Any, values: Any, _zero: int, out: np.ndarray[Any, Any]) -> None:
    """Write the result of :func:`refgrad.engine.operators.vocabulary.masked` into ``out``."""
    bits = out.view(np.int64)
    np.copyto(bits, condition)
    np.negative(bits, out=bits)
    np.bitwise_and(bits, values.view(np.int64), out=bits)


def _where_into(condition: Any, then: Any, otherwise: Any, out: np.ndarray[Any, Any]) -> None:
    np.copyto(out, otherwise)
    np.copyto(out, then, where=condition)


def _bracketed(terms: Sequence[Term]) -> list[str]:
    return [term.text if term.text.isidentifier() else f"({term.text})" for term in terms]
