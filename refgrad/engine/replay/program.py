"""Programs: straight-line code on arrays in preallocated buffers, and the lines that formulas become.

Every value is computed once while its line is written, so shapes, dtypes and memory layouts are those that numpy itself
chooses.

The operations are exactly those of the formula on arrays, so the results are the same, bit for bit. A formula on
scalars stays as it is, since numpy scalars are faster than arrays of one entry.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.operators.vocabulary import COMPARE, ON_ARRAYS, alike
from refgrad.operators import Formula

LINES = 500  # per function: functions of several thousand lines compile slowly


@dataclass(frozen=True, slots=True)
class Term:
    """The text of a value in a program, and the value that it has now.

    ``temporary`` marks a buffer that nothing else uses; ``constant`` marks a value that is the same in every run.
    """

    text: str
    value: Any
    temporary: bool = False
    constant: bool = False


class Buffers:
    """A pool of arrays to compute into; arrays that are no longer needed are reused."""

    def __init__(self) -> None:
        self.owned: set[int] = set()
        self.free: dict[Any, list[np.ndarray[Any, Any]]] = {}
        self.uses: dict[int, int] = {}

    def take(self, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a buffer with the shape, dtype and layout of another array."""
        free = self.free.get((like.shape, like.dtype, like.strides))
        if free:
            return free.pop()
        buffer = np.empty_like(like)
        self.owned.add(id(buffer))
        return buffer

    def give_back(self, array: np.ndarray[Any, Any]) -> None:
        """Return an array's buffer to the pool."""
        buffer = memory(array)
        if id(buffer) in self.owned:
            self.free.setdefault((buffer.shape, buffer.dtype, buffer.strides), []).append(buffer)

    def hold(self, value: Any) -> None:
        """Increment the number of users of a value's buffer."""
        key = id(memory(value))
        if key in self.owned:
            self.uses[key] = self.uses.get(key, 0) + 1

    def drop(self, value: Any) -> None:
        """Decrement the number of users of a value's buffer; return it to the pool at zero."""
        key = id(memory(value))
        if key in self.owned:
            self.uses[key] -= 1
            if not self.uses[key]:
                self.give_back(value)


def memory(value: Any) -> Any:
    """Return the array that owns the memory of ``value``, which is ``value`` itself unless it is a view."""
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    return value


class ReplayProgram:
    """Lines of Python code that run in ``namespace``."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.lines: list[str] = []
        self.assigned: list[Sequence[str]] = []
        self.names: dict[int, str] = {}
        self.buffers = Buffers()

    def bind(self, thing: Any) -> str:
        """Return the name of an object, the same one for each call with that object."""
        name = self.names.get(id(thing))
        if name is None:
            name = self.names[id(thing)] = self.store(thing)
        return name

    def store(self, value: Any) -> str:
        """Store a value under a new name, and return the name."""
        name = f"v{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def constant(self, value: Any) -> Term:
        """Return the term of a value that never changes."""
        return Term(self.store(value), value, constant=True)

    def call(self, function: Callable[..., Any], terms: Sequence[Term]) -> str:
        """Return the text of the call of a function."""
        return f"{self.bind(function)}({', '.join(term.text for term in terms)})"

    def line(self, text: str, *assigned: str) -> None:
        """Write a line that assigns to the names ``assigned``."""
        self.lines.append(text)
        self.assigned.append(assigned)

    def named(self, term: Term) -> Term:
        """Return a term that can be used several times: assign a value to a name unless it has one or is constant."""
        if term.text.isidentifier() or term.constant:
            return term
        name = self.store(term.value)
        self.line(f"{name} = {term.text}", name)
        return Term(name, term.value)

    def called(self, function: Callable[..., Any], terms: Sequence[Term], values: Sequence[Any]) -> tuple[Term, ...]:
        """Write the call of a function that returns several values, currently ``values``."""
        names = [self.store(value) for value in values]
        self.line(f"{', '.join(names)}, = {self.call(function, terms)}", *names)
        return tuple(Term(name, value) for name, value in zip(names, values, strict=True))

    def into_buffer(
        self, function: Callable[..., Any], terms: Sequence[Term], value: np.ndarray[Any, Any], *, over: bool = True
    ) -> Term:
        """Write the call of a function that writes its result to the array ``out``.

        If ``over``, ``out`` may be one of the operands: a temporary one of the same shape, dtype and layout is
        overwritten.
        """
        if over:
            self.release(terms)
        buffer = self.buffers.take(value)
        buffer[...] = value
        if not over:
            self.release(terms)
        self.line(f"{self.bind(function)}({', '.join(term.text for term in terms)}, out={self.bind(buffer)})")
        return Term(self.bind(buffer), buffer, temporary=True)

    def copied(self, term: Term) -> Term:
        """Write the copy of an array into a new buffer in row-major order."""
        buffer = np.empty(term.value.shape, term.value.dtype)
        buffer[...] = term.value
        self.line(f"{self.bind(np.copyto)}({self.bind(buffer)}, {term.text})")
        return Term(self.bind(buffer), buffer)

    def release(self, terms: Sequence[Term]) -> None:
        """Return the buffers of the temporary operands of a line to the pool."""
        for buffer in {id(memory(term.value)): term.value for term in terms if term.temporary}.values():
            self.buffers.give_back(buffer)

    def functions(self) -> tuple[Callable[[], None], ...]:
        """Compile the lines, and return functions to call in order."""
        return tuple(self._function(start) for start in range(0, len(self.lines), LINES))

    def _function(self, start: int) -> Callable[[], None]:
        names = [name for assigned in self.assigned[start : start + LINES] for name in assigned]
        head = f"    global {', '.join(names)}\n" if names else ""
        body = "\n    ".join(self.lines[start : start + LINES])
        exec(f"def run():\n{head}    {body}\n", self.namespace)  # made of generated names and formulas of the table
        return self.namespace["run"]  # type: ignore[no-any-return]


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
    **{function: getattr(np, name) for name, function in COMPARE.items()},
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
                return self.variables[name] if name in self.variables else self.program.constant(ON_ARRAYS[name])
            case ast.UnaryOp(op=sign, operand=x):
                return self.arithmetic(sign, [self.visit(x)])
            case ast.BinOp(left=x, op=sign, right=y):
                return self.arithmetic(sign, [self.visit(x), self.visit(y)])
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.call(ON_ARRAYS[name], [self.visit(argument) for argument in arguments])
        raise AssertionError(ast.dump(tree))

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
            masks = terms[2].constant and type(terms[2].value) is int and terms[2].value == 0
            into = _masked_into if masks and alike(*(term.value for term in terms[:2])) else _where_into
            return self.program.into_buffer(into, terms, value, over=False)
        return self.fresh(self.program.call(function, terms), terms, value)

    def fresh(self, text: str, terms: Sequence[Term], value: Any) -> Term:
        """Return the term of a value that is computed in every run, or only once if all its operands are constant."""
        if all(term.constant for term in terms):
            return self.program.constant(value)
        if not isinstance(value, np.ndarray):
            return Term(text, value)
        term = self.program.named(Term(text, value))
        self.program.release(terms)
        return term


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
