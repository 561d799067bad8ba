"""At which points does a scenario take another branch than next to them? There a kink lies between.

The choices that a value depends on are read from the rows: each comparison of a formula, and those that ``abs``,
``maximum``, ``minimum``, ``sign`` and ``floor`` imply; for a reduction with ties, which entries attain the extremum.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, Batch, BatchedFloat64, keywords
from refgrad.operators import Expression, Operator, operator_table
from refgrad.scenario import Apply

Booleans = npt.NDArray[np.bool_]
Pattern = npt.NDArray[Any]

IMPLIED: Mapping[str, str] = MappingProxyType({
    "abs": "({0}) > 0",
    "sign": "({0}) > 0",
    "floor": "floor({0})",
    "maximum": "({0}) > ({1})",
    "minimum": "({0}) > ({1})",
})
"""What has to stay as it is for a function with a kink or a jump to be smooth."""


def patterns(step: Apply, values: Mapping[str, Batch]) -> Iterator[Pattern]:
    """Yield, for each choice that the application makes, what it chose: an array with the batch axis last.

    ``values`` are those of a batched evaluation; nothing is yielded where the operands do not vary.
    """
    operator = operator_table()[step.operator]
    arguments = [values[name] for name in step.arguments]
    if all(argument.points is None for argument in arguments):
        return
    attributes = operator.bind(keywords(step))
    if operator.elementwise:
        arrays = [a.array if a.points is not None else a.array[..., None] for a in arguments]
        yield from (np.asarray(choice(*arrays, **attributes)) for choice in choices(operator))
    elif operator.kinks:
        (argument,) = arguments
        extremum = BatchedFloat64({}).apply(operator, arguments, attributes | {"keepdims": True})
        yield argument.array == extremum.array


@cache
def choices(operator: Operator) -> tuple[Callable[..., Any], ...]:
    """Compile the choices in an elementwise operator's formula; a smooth one has none."""
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    sources = dict.fromkeys(_choices(operator.formula))
    return tuple(Expression(source).function(parameters, NUMPY_FUNCTIONS) for source in sources)


def _choices(formula: Expression) -> Iterator[str]:
    for node in ast.walk(formula.tree):
        match node:
            case ast.Compare():
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in IMPLIED:
                yield IMPLIED[name].format(*(ast.unparse(argument) for argument in arguments))
