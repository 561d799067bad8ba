"""The tape engine with gradients that can be recorded, and differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from refgrad.interpreter import NUMPY_FUNCTIONS
from refgrad.operators import Operator, operator_table
from refgrad.operators.expression import COMPARISONS
from refgrad.operators.functions import FUNCTIONS
from tests.faulty_engines.tapes.tape import Array, Node, Shape, Steps, Tape, Tensor

Compiled = tuple[tuple[str, ...], Callable[..., Any]]
"""The names that a function is called with, and the function."""


class RecordingTape(Tape):
    """The tape, with rules that are run on tensors where a gradient is asked for."""

    def grad(self, output: Tensor, leaf: Tensor, seed: Array | None = None) -> Tensor:
        """Return the gradient of an output by a leaf, recorded like any other result; the graph is kept."""
        root = self.root(output)
        pending: dict[Node, Tensor] = {root: Tensor(self.seed(root, seed))}
        for node in self.order(root):
            if node is leaf.node:
                return pending[node]
            for parent, share in self.recorded_contributions(node, pending.pop(node)):
                pending[parent] = self.add(pending[parent], share) if parent in pending else share
        return Tensor(np.zeros_like(leaf.array))

    def recorded_contributions(self, node: Node, cotangent: Tensor) -> list[tuple[Node, Tensor]]:
        """Return what a node sends to its operands, as tensors in their shapes."""
        if node.operator is None:
            return []
        if node.values is None:
            raise RuntimeError("Trying to backward through the graph a second time")
        shares = self.recorded_pull(node, cotangent)
        pairs = zip(node.parents, shares, strict=True)
        return [(parent, self.summed_to(share, parent.array.shape)) for parent, share in pairs if parent is not None]

    def recorded_pull(self, node: Node, cotangent: Tensor) -> Sequence[Any]:
        """Return the cotangents of the operands, before broadcasting is undone: the operator's rule on tensors."""
        operator = node.operator
        assert operator is not None
        view = Application(self, node)
        if operator.structure is not None:
            return operator.structure.vjp(self.terms, Term(self, cotangent.array, cotangent.node), view)
        return [
            Term(self, cotangent.array, cotangent.node) * self.slope(operator, name, view) if needed else None
            for name, needed in zip(operator.argument_names, node.needs, strict=True)
        ]

    def slope(self, operator: Operator, argument: str, view: Application) -> Any:
        """Return a partial derivative as a tensor."""
        if (operator, argument) not in self.slopes:
            self.slopes[operator, argument] = compiled(operator, argument, self.vocabulary)
        names, function = self.slopes[operator, argument]
        values = [view.attributes[n] if n in operator.attribute_names else view.saved(n) for n in names]
        return function(*values)

    @cached_property
    def terms(self) -> SimpleNamespace:
        """The operators as rules use them: on tensors."""
        return on_tensors(self)

    @cached_property
    def vocabulary(self) -> Mapping[str, Any]:
        """The functions that formulas call, on tensors."""
        return vocabulary(self.terms)

    @cached_property
    def slopes(self) -> dict[tuple[Operator, str], Compiled]:
        """Partial derivatives that have been compiled so far."""
        return {}

    def summed_to(self, share: Any, shape: Shape) -> Tensor:
        """Undo broadcasting."""
        lead = len(share.shape) - len(shape)
        stretched = (lead + i for i, n in enumerate(shape) if n == 1 != share.shape[lead + i])
        axes = (*range(lead), *stretched)
        return self.reshape(self.sum(share, axis=axes, keepdims=False), shape=shape) if axes else share

    def remembered(self, node: Node, name: str) -> Term:
        """Return a saved value as a tensor, with the history that it has."""
        assert node.operator is not None
        if name == "out":
            return Term(self, node.array, node)
        return Term(self, node.saved(name), node.parents[node.operator.argument_names.index(name)])


@dataclass(frozen=True, slots=True)
class Application:
    """A node as rules see it when they are recorded."""

    tape: RecordingTape
    node: Node

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes of the operands."""
        return self.node.shapes

    @property
    def needs(self) -> tuple[bool, ...]:
        """Which operands want a gradient."""
        return self.node.needs

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes."""
        return self.node.attributes

    def saved(self, name: str) -> Term:
        """Return a saved value."""
        return self.tape.remembered(self.node, name)


class Term(Tensor):
    """A tensor that formulas can reckon with."""

    __slots__ = ("tape",)
    __array_ufunc__ = None

    def __init__(self, tape: RecordingTape, array: Array, node: Node | None) -> None:
        super().__init__(array, node)
        self.tape = tape

    def _with(self, name: str, *operands: Any) -> Term:
        found = getattr(Steps(self.tape), name)(*operands)
        return Term(self.tape, found.array, found.node)

    def __add__(self, other: Any) -> Term:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return self._with("subtract", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self._with("subtract", other, self)

    def __mul__(self, other: Any) -> Term:
        return self._with("multiply", self, other)

    def __rmul__(self, other: Any) -> Term:
        return self._with("multiply", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self._with("divide", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self._with("divide", other, self)

    def __pow__(self, other: Any) -> Term:
        return self._with("power", self, other)

    def __neg__(self) -> Term:
        return self._with("negative", self)


def on_tensors(tape: RecordingTape) -> SimpleNamespace:
    """Return the operators as rules use them; ``equal`` answers with an array."""

    def function(name: str) -> Callable[..., Term]:
        def applied(*operands: Any, **attributes: Any) -> Term:
            found = getattr(Steps(tape), name)(*operands, **attributes)
            return Term(tape, found.array, found.node)

        return applied

    return SimpleNamespace(**{name: function(name) for name in operator_table()}, equal=_on_arrays(np.equal))


def _on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*(x.array if isinstance(x, Tensor) else x for x in operands))


def compiled(operator: Operator, argument: str, system: Mapping[str, Any]) -> Compiled:
    """Return the names that a partial derivative speaks of, and the same as a function of tensors."""
    expression = operator.partials[argument]
    names = tuple(sorted(expression.names))
    return names, expression.function(names, system)


def vocabulary(terms: SimpleNamespace) -> Mapping[str, Any]:
    """Return the functions that formulas call, on tensors; what the table lacks is constant between its jumps."""
    spoken = vars(terms)
    comparisons = {name: _on_arrays(getattr(np, name)) for name in (*COMPARISONS.values(), "logical_and", "logical_or")}
    functions = {name: spoken.get(name, partial(_constant, name)) for name in FUNCTIONS}
    rest = {"where": spoken["where"], "logical_not": _on_arrays(np.logical_not), "number": float, "pi": np.pi}
    return {**functions, **comparisons, **rest}


def _constant(name: str, *operands: Any) -> Tensor:
    return Tensor(np.asarray(_on_arrays(NUMPY_FUNCTIONS[name])(*operands)))
