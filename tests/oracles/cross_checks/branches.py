"""Points at which a scenario takes another branch than next to them: a kink lies between.

The choices that a value depends on are read from the rows: each comparison of a formula, and those that ``abs``,
``maximum`` or ``floor`` imply; for a reduction with ties, which entries attain the extremum.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.interpreter import NUMPY_FUNCTIONS, keywords
from refgrad.operators import Formula, Operator, operator_table
from refgrad.scenario import Apply
from tests.interpreter.batched import Batch, BatchedFloat64
from tests.oracles.cross_checks.one_sided import Pattern

IMPLIED: Mapping[str, tuple[str, str]] = MappingProxyType({
    "abs": ("{0}", "0"),
    "sign": ("{0}", "0"),
    "i0e": ("{0}", "0"),
    "i1e": ("{0}", "0"),
    "besselie": ("{1}", "0"),
    "maximum": ("{0}", "{1}"),
    "minimum": ("{0}", "{1}"),
})
"""What is compared by a function with a kink or a jump."""

CODE = "0 if ({0}) == ({1}) else (1 if ({0}) > ({1}) else 2)"
"""Which of two numbers is the larger; 0 where the choice is open."""


def patterns(step: Apply, values: Mapping[str, Batch]) -> Iterator[Pattern]:
    """Yield, for each choice that the application makes, a code of what it chose: an array with the batch axis last.

    Where the code is 0 the choice is open: the numbers are equal, or an entry attains the extremum. ``values`` are
    those of a batched evaluation; nothing is yielded where the operands do not vary.
    """
    operator = operator_table()[step.operator]
    arguments = [values[name] for name in step.arguments]
    if all(argument.points is None for argument in arguments):
        return
    attributes = operator.bind(keywords(step))
    if operator.elementwise:
        arrays = [a.array if a.points is not None else a.array[..., None] for a in arguments]
        codes = (np.asarray(choice(*arrays, **attributes)) for choice in choices(operator))
        points = next(argument.points for argument in arguments if argument.points is not None)
        yield from (code for code in codes if code.shape[-1:] == (points,))
    elif operator.kinks:
        (argument,) = arguments
        extremum = BatchedFloat64({}).apply(operator, arguments, attributes | {"keepdims": True})
        yield np.where(argument.array == extremum.array, 0, 1)


@cache
def choices(operator: Operator) -> tuple[Callable[..., Any], ...]:
    """Compile the choices in an elementwise operator's formula; a smooth one has none."""
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    sources = dict.fromkeys(_choices(operator.formula))
    return tuple(Formula(source).function(parameters, NUMPY_FUNCTIONS) for source in sources)


def _choices(formula: Formula) -> Iterator[str]:
    for node in ast.walk(formula.tree):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                yield CODE.format(ast.unparse(left), ast.unparse(right))
            case ast.Call(func=ast.Name(id="floor" | "trunc" | "round")):
                yield f"{ast.unparse(node)} + 0.5"
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in IMPLIED:
                texts = [ast.unparse(argument) for argument in arguments]
                yield CODE.format(*(side.format(*texts) for side in IMPLIED[name]))
