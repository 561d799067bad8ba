"""A whole tape engine in which everything that it can get wrong is a method of its own.

The engine is right as it stands; a faulty engine is a subclass that overrides one of these methods. Rules come from the
operator table and run on numpy; lifecycle and error phrases are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import NUMPY_FUNCTIONS, numpy_forward
from refgrad.operators import Operator, operator_table

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Contributions = Sequence[Array | None]


@dataclass(slots=True, eq=False)
class Node:
    """What is kept of one application; a leaf is a node without an operator, where gradients arrive.

    ``parents`` has None for operands that need no gradient; ``values`` are what the rule needs, None once freed.
    """

    array: Array
    operator: Operator | None = None
    parents: tuple[Node | None, ...] = ()
    shapes: tuple[Shape, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Array] | None = field(default_factory=dict)
    grad: Array | None = None

    @property
    def needs(self) -> tuple[bool, ...]:
        """Which operands want a gradient."""
        return tuple(parent is not None for parent in self.parents)

    def saved(self, name: str) -> Array:
        """Return a saved value: an operand by its name, the result as ``out``."""
        assert self.values is not None
        return self.values[name]


@dataclass(slots=True, eq=False)
class Tensor:
    """An array, and the node that it came from; None where it needs no gradient."""

    array: Array
    node: Node | None = None

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.array.shape

    @property
    def grad(self) -> Array | None:
        """The gradient accumulated so far."""
        return None if self.node is None else self.node.grad

    def zero_grad(self) -> None:
        """Forget the gradient."""
        if self.node is not None:
            self.node.grad = None


class Tape:
    """A define-by-run engine; ``tape.sin(x)`` applies the operator of that name.

    ``faulty`` is the operator without which the engine is right, or empty if the fault is of no single operator.
    """

    faulty: ClassVar[str] = ""

    def tensor(self, array: Any, *, requires_grad: bool = False) -> Tensor:
        """Make a leaf."""
        array = np.asarray(array)
        return Tensor(array, Node(array) if requires_grad else None)

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        """Return an operator as a function of tensors."""
        if name not in operator_table():
            raise AttributeError(name)
        return partial(self.apply, operator_table()[name])

    # Forward -------------------------------------------------------------------------------------------------------

    def apply(self, operator: Operator, *operands: Any, **attributes: Any) -> Tensor:
        """Apply an operator, and record it if an operand wants a gradient."""
        if not self.is_one_node(operator):
            return self.steps(operator, operands, attributes)
        tensors: Sequence[Tensor] = operands[0] if operator.arguments[0].variadic else operands
        result = self.forward(operator, self.promoted(tensors), attributes)
        if all(tensor.node is None for tensor in tensors):
            return Tensor(result)
        return Tensor(result, self.record(operator, tensors, result, attributes))

    def promoted(self, tensors: Sequence[Tensor]) -> list[Array]:
        """Return the tensors' arrays in the widest of their floating dtypes: a rule computes in that of the result."""
        arrays = [tensor.array for tensor in tensors]
        dtypes = {array.dtype for array in arrays if array.dtype.kind == "f"}
        if len(dtypes) < 2:
            return arrays
        widest = np.result_type(*dtypes)
        return [array.astype(widest) if array.dtype in dtypes - {widest} else array for array in arrays]

    def is_one_node(self, operator: Operator) -> bool:
        """Whether an operator is recorded in one piece."""
        return operator.composite is None

    def steps(self, operator: Operator, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Tensor:
        """Apply what a composite operator is made of, one after the other."""
        assert operator.composite is not None
        taken = operator.composite.computed or operator.composite.forward
        return taken(Steps(self, floating(operands)), *operands, **operator.bind(attributes))  # type: ignore[no-any-return]

    def forward(self, operator: Operator, arrays: list[Array], attributes: Mapping[str, Any]) -> Array:
        """Return the operator's value."""
        return np.asarray(numpy_forward(operator)(*arrays, **attributes))

    def record(
        self, operator: Operator, tensors: Sequence[Tensor], result: Array, attributes: Mapping[str, Any]
    ) -> Node:
        """Return the node of an application, with the values that its rule will need."""
        repeated = len(tensors) if operator.arguments[0].variadic else 1
        wanted: set[str] = set()
        for name, tensor in zip(operator.argument_names * repeated, tensors, strict=True):
            wanted |= operator.saves(name) if tensor.node is not None else set()
        arrays = self.promoted(tensors)
        values = {**dict(zip(operator.argument_names, arrays, strict=False)), "out": result}
        return Node(
            result,
            operator,
            tuple(tensor.node for tensor in tensors),
            tuple(array.shape for array in arrays),
            attributes,
            {name: self.save(values[name]) for name in wanted},
        )

    def save(self, array: Array) -> Array:
        """Return what is kept of a value that a rule needs."""
        return array

    # Backward ------------------------------------------------------------------------------------------------------

    def backward(self, output: Tensor, seed: Array | None = None, *, retain_graph: bool = False) -> None:
        """Send the seed from an output back to every leaf that it depends on."""
        root = self.root(output)
        pending: dict[Node, Array] = {root: self.seed(root, seed)}
        for node in self.order(root):
            cotangent = pending.pop(node)
            if node.operator is None:
                self.deposit(node, cotangent)
                continue
            for parent, contribution in self.contributions(node, cotangent):
                self.send(pending, parent, contribution)
            self.release(node, retain_graph=retain_graph)

    def root(self, output: Tensor) -> Node:
        """Return the node where the sweep starts."""
        if output.node is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        return output.node

    def seed(self, root: Node, seed: Array | None) -> Array:
        """Return the cotangent of the output."""
        if seed is None:
            if root.array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            return np.ones(root.array.shape, root.array.dtype)
        if seed.shape != root.array.shape:
            raise RuntimeError(f"Mismatch in shape: the seed has {seed.shape}, the output has {root.array.shape}")
        return seed

    def order(self, root: Node) -> Iterable[Node]:
        """Return the nodes that lead to the root, each before its parents."""
        finished: list[Node] = []
        seen: set[Node] = set()
        waiting = [(root, False)]
        while waiting:
            node, expanded = waiting.pop()
            if expanded:
                finished.append(node)
            elif node not in seen:
                seen.add(node)
                waiting.append((node, True))
                waiting.extend((parent, False) for parent in node.parents if parent is not None)
        return reversed(finished)

    def contributions(self, node: Node, cotangent: Array) -> Iterable[tuple[Node, Array]]:
        """Return what a node sends to each operand that wants a gradient, in the operand's shape."""
        if node.values is None:
            raise RuntimeError("Trying to backward through the graph a second time")
        shares = self.pull(node, cotangent)
        for parent, share in zip(node.parents, shares, strict=True):
            if parent is not None:
                assert share is not None
                yield parent, self.fitted(self.unbroadcast(np.asarray(share), parent.array.shape), node, parent)

    def fitted(self, share: Array, node: Node, parent: Node) -> Array:  # noqa: ARG002 (a faulty engine asks)
        """Return what a node sends to an operand in the operand's dtype."""
        return share.astype(parent.array.dtype, copy=False)

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        """Return the cotangents of the operands, before broadcasting is undone: the operator's rule."""
        operator = node.operator
        assert operator is not None
        if operator.structure is not None:
            return operator.structure.vjp(ON_ARRAYS, cotangent, node)
        return [
            cotangent * slope(operator, name)(**(node.values or {}), **node.attributes) if needed else None
            for name, needed in zip(operator.argument_names, node.needs, strict=True)
        ]

    def unbroadcast(self, share: Array, shape: Shape) -> Array:
        """Sum over the axes along which an operand of this shape was stretched."""
        lead = share.ndim - len(shape)
        stretched = tuple(lead + i for i, n in enumerate(shape) if n == 1 != share.shape[lead + i])
        axes = (*range(lead), *stretched)
        return share.sum(axis=axes).reshape(shape) if axes else share

    def send(self, pending: dict[Node, Array], parent: Node, contribution: Array) -> None:
        """Add a contribution to what an operand has received."""
        pending[parent] = self.join(pending[parent], contribution) if parent in pending else contribution

    def join(self, total: Array, contribution: Array) -> Array:
        """Return the total with one contribution more."""
        return np.asarray(total + contribution)

    def deposit(self, leaf: Node, cotangent: Array) -> None:
        """Add what arrived at a leaf to its gradient."""
        leaf.grad = cotangent.copy() if leaf.grad is None else np.asarray(leaf.grad + cotangent)

    def release(self, node: Node, *, retain_graph: bool) -> None:
        """Let go of what a node saved, unless the graph is to be kept."""
        if not retain_graph and node.values:
            node.values = None


class Steps:
    """The operators as composites call them: with numbers among the operands, and attributes left out.

    Numbers have the dtype of the tensors that they meet, and constants ``dtype``.
    """

    def __init__(self, tape: Tape, dtype: np.dtype[Any] | None = None) -> None:
        self.tape = tape
        self.dtype = dtype

    def constant(self, array: Any) -> Tensor:
        """Return an array that gets no gradient."""
        return self._constant(array, self.dtype)

    def _constant(self, array: Any, dtype: np.dtype[Any] | None) -> Tensor:
        array = np.asarray(array)
        return Tensor(array if array.dtype.kind == "b" else array.astype(dtype or np.float64))

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        """Return an operator as a function of tensors and numbers."""
        operator = operator_table()[name]

        def function(*operands: Any, **attributes: Any) -> Tensor:
            dtype = floating(operands) or self.dtype
            tensors = [x if isinstance(x, Tensor) else self._constant(x, dtype) for x in operands]
            given = [tensors] if operator.arguments[0].variadic else tensors
            return self.tape.apply(operator, *given, **operator.bind(attributes))

        return function


def floating(operands: Iterable[Any]) -> np.dtype[Any] | None:
    """Return the floating dtype that tensors promote to, if there are any."""
    dtypes = [x.array.dtype for x in operands if isinstance(x, Tensor) and x.array.dtype.kind == "f"]
    return np.result_type(*dtypes) if dtypes else None


@cache
def slope(operator: Operator, argument: str) -> Callable[..., Array]:
    """Compile a row's partial derivative to a function of those of its saved values that it uses."""
    expression = operator.partials[argument]
    names = tuple(sorted(expression.names))
    function = expression.function(names, NUMPY_FUNCTIONS)
    return lambda **values: function(*(values[name] for name in names))


def _on_arrays(operator: Operator) -> Callable[..., Array]:
    return lambda *arrays, **attributes: np.asarray(numpy_forward(operator)(*arrays, **operator.bind(attributes)))


ON_ARRAYS = SimpleNamespace(**{name: _on_arrays(row) for name, row in operator_table().items()}, equal=np.equal)
