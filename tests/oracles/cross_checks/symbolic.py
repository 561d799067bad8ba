"""The gradient of a small scenario as a formula, differentiated by a computer algebra system.

The ordinary forward interpreter runs on object arrays of SymPy expressions; SymPy differentiates the result and
evaluates it at the leaves to as many digits as are asked for. It is slow (a second for a graph on which the balls take
a fifth of a millisecond) and independent of every derivative rule in this package, so it checks small cases.
SymPy is imported only when it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import evaluate, expanded
from refgrad.operators import Operator
from refgrad.oracles.judgement import limits_met
from refgrad.scenario import Constant, Leaf, Scenario
from refgrad.scenario.rewrite import needed

Contributions = tuple[tuple[str, Constant | None], ...]
ObjectArray = npt.NDArray[np.object_]

DIGITS = 30
LARGEST_ENTRIES = 12
LARGEST_LENGTH = 8
LARGEST_SIZE = 5000
"""Operations in the expression to be differentiated, above which SymPy would take many seconds."""

LARGEST_NUMBER: Final = 30
"""SymPy finds the digits of what is beside an exponential of 800 by taking thousands, for minutes."""


class SymbolicRefusedError(RuntimeError):
    """A scenario is too large for symbols, or sits on a kink or a limit; the message says which."""


def symbolic_gradient(scenario: Scenario, contributions: Contributions, digits: int = DIGITS) -> dict[str, ObjectArray]:
    """Differentiate the sum of seed · output over the contributions with respect to every leaf that requires grad.

    Returns object arrays of SymPy numbers with that many digits, in each leaf's shape.

    Raises SymbolicRefusedError for scenarios that are not small or have large numbers, whose value lies on a kink, or
    that come to a limit, and ScenarioEvaluationError where shapes do not fit.
    """
    path = Scenario(needed(expanded(scenario).steps, {output for output, _ in contributions}))
    leaves = [leaf for leaf in path.leaves if leaf.requires_grad]
    if sum(leaf.value.size for leaf in leaves) > LARGEST_ENTRIES or len(path.applications) > LARGEST_LENGTH:
        raise SymbolicRefusedError(f"there are more than {LARGEST_ENTRIES} entries or {LARGEST_LENGTH} operators")
    if any((np.abs(leaf.value.to_numpy()) > LARGEST_NUMBER).any() for leaf in path.leaves):
        raise SymbolicRefusedError(f"a number is larger than {LARGEST_NUMBER}")
    if limits_met(path):
        raise SymbolicRefusedError("an operator has a limit there, where its formula has no value")
    system = Symbols(digits)
    values = evaluate(path, system)
    total = sum((_weighted(values[output], seed, system) for output, seed in contributions), system.sympy.Integer(0))
    if system.sympy.count_ops(total) > LARGEST_SIZE:
        raise SymbolicRefusedError(f"the expression has more than {LARGEST_SIZE} operations")
    unused = {leaf.name: np.zeros(leaf.value.shape, dtype=object) for leaf in scenario.leaves if leaf.requires_grad}
    return unused | {leaf.name: system.slopes(total, values[leaf.name]) for leaf in leaves}


@dataclass(slots=False)
class Symbols:
    """The number system of SymPy expressions; the point at which they stand decides branches."""

    digits: int = DIGITS
    point: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def sympy(self) -> Any:
        """The library."""
        import sympy  # noqa: PLC0415 (it takes a third of a second to import)

        return sympy

    @cached_property
    def maximum(self) -> Any:
        """The larger of two expressions, reducible as numpy's is."""
        return np.frompyfunc(lambda x, y: x if self.greater(x, y) else y, 2, 1)

    @cached_property
    def minimum(self) -> Any:
        """The smaller of two expressions, reducible as numpy's is."""
        return np.frompyfunc(lambda x, y: y if self.greater(x, y) else x, 2, 1)

    def leaf(self, leaf: Leaf) -> npt.NDArray[Any]:
        """Return symbols for a leaf that requires grad, exact fractions for another one, truth values as they are."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        numbers = [self.sympy.Rational(x) for x in array.astype(np.float64).ravel().tolist()]
        if leaf.requires_grad:
            symbols = [self.sympy.Symbol(f"{leaf.name}_{i}") for i in range(len(numbers))]
            self.point.update(zip(symbols, numbers, strict=True))
            numbers = symbols
        return _filled(array.shape, numbers)

    def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> ObjectArray:
        """Apply an operator to arrays of expressions."""
        if operator.structure is not None:
            return np.asarray(operator.structure.forward(self)(*arguments, **attributes), dtype=object)
        assert operator.formula is not None
        parameters = (*operator.argument_names, *operator.attribute_names)
        function = operator.formula.function(parameters, self.functions)
        exact = {name: self.sympy.Rational(value) for name, value in attributes.items()}
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        columns = [np.broadcast_to(a, shape).ravel().tolist() for a in arguments]
        return _filled(shape, [function(*entries, **exact) for entries in zip(*columns, strict=True)])

    @cached_property
    def functions(self) -> Mapping[str, Any]:
        """The functions that formulas call, with conditions that are decided at the leaves' values."""
        from tests.operators.functions.symbols import symbol_functions  # noqa: PLC0415 (it imports SymPy)

        return symbol_functions({
            "greater": self.greater,
            "greater_equal": self.greater,
            "less": lambda x, y: self.greater(y, x),
            "less_equal": lambda x, y: self.greater(y, x),
            "equal": self.equal,
            "not_equal": lambda x, y: not self.equal(x, y),
            "logical_and": lambda a, b: a and b,
            "logical_or": lambda a, b: a or b,
            "logical_not": lambda a: not a,
            "where": lambda condition, x, y: self.sympy.sympify(x if condition else y),
        })

    def at(self, expression: Any) -> Any:
        """Return what an expression is at the leaves' values."""
        return self.sympy.N(expression, self.digits, subs=self.point)

    def greater(self, x: Any, y: Any) -> bool:
        """Whether x > y at the leaves' values; equality is where a kink sits, and is refused."""
        difference = self.at(self.sympy.sympify(x) - y)
        if not difference.is_extended_real or abs(difference) < self.sympy.Float(10) ** (5 - self.digits):
            raise SymbolicRefusedError("a branch is open at the leaves' values: they lie on a kink")
        return bool(difference > 0)

    def equal(self, x: Any, y: Any) -> bool:
        """Whether x == y, as expressions; where only their values are equal the branch is open."""
        return bool(self.sympy.sympify(x) == y) or (self.greater(x, y) and False)

    def slopes(self, total: Any, symbols: ObjectArray) -> ObjectArray:
        """Return the derivative by each symbol at the leaves' values."""
        found = [self.at(self.sympy.diff(total, x)) for x in symbols.ravel().tolist()]
        return _filled(symbols.shape, [x if x.is_extended_real else self.sympy.nan for x in found])


def _weighted(array: ObjectArray, seed: Constant | None, system: Symbols) -> Any:
    weights = [1.0] * array.size if seed is None else seed.to_numpy().astype(np.float64).ravel().tolist()
    terms = [system.sympy.Rational(w) * x for w, x in zip(weights, array.ravel().tolist(), strict=True)]
    return sum(terms, system.sympy.Integer(0))


def _filled(shape: tuple[int, ...], entries: list[Any]) -> ObjectArray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)
