"""Operators of the reference engine with an error of one order of differentiation, and right in all lower ones.

A node behind an operator's result passes on what arrives there, and adds an error to what the operands receive. An
error of second order is added where that is recorded: as a zero whose own gradient is wrong, and so on for the third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.engine.autograd import grad
from refgrad.engine.graph.node import Contributions, GraphNode, Node, next_number
from refgrad.engine.graph.sweep import enable_grad
from refgrad.engine.graph.tensor import Tensor

Array = npt.NDArray[Any]
Function = Callable[..., Tensor]
Pull = Callable[[Any], Contributions]


class PlantedNode(Node):
    """A node whose rules are given, on arrays and on tensors."""

    __slots__ = ("on_arrays", "on_tensors")

    needs = ()
    saves = ()

    on_arrays: Pull
    on_tensors: Pull

    def vjp(self, cotangent: Any) -> Contributions:
        """Apply the rule of arrays."""
        return self.on_arrays(cotangent)

    def vjp_recorded(self, cotangent: Any) -> Contributions:
        """Apply the rule of tensors."""
        return self.on_tensors(cotangent)


def planted(array: Any, parents: Iterable[GraphNode], on_arrays: Pull, on_tensors: Pull) -> Tensor:
    """Return a tensor of these entries, behind a node with these rules."""
    node = PlantedNode()
    node.parents, node.values, node.guards = tuple(parents), (), ()
    node.on_arrays, node.on_tensors = on_arrays, on_tensors
    node.number, node.watch = next_number(), None
    node.shape, node.dtype = array.shape, array.dtype
    return Tensor(array, node)


def passing(array: Any, source: GraphNode) -> Tensor:
    """Return a tensor of these entries whose cotangent goes to ``source`` as it is."""
    return planted(array, [source], lambda g: [(source, g)], lambda g: [(source, g)])


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """One application of an operator: the operator as a function of its operands alone, and these."""

    function: Function
    operands: Sequence[Tensor]
    attributes: Mapping[str, Any]
    result: Tensor


@dataclass(frozen=True)
class Site:
    """A function of some inputs where a cotangent arrives: the operator, or one of its recorded gradients.

    ``path`` says by which input the gradients were taken; the inputs are the operands, and a cotangent for each of
    these.
    """

    application: Application
    function: Function
    inputs: Sequence[Tensor]
    cotangent: Any
    path: tuple[int, ...] = field(default=())

    @cached_property
    def right(self) -> list[Any]:
        """What each input receives in truth."""
        return self.pulled(self.cotangent)

    def pulled(self, cotangent: Any) -> list[Any]:
        """What each input would receive of another cotangent."""
        leaves = [Tensor(x.array) for x in self.inputs]
        floating = [leaf.requires_grad_() for leaf in leaves if leaf.dtype.kind == "f"]
        with enable_grad():
            output = self.function(*leaves)
        if output.node is None:
            return [np.zeros_like(leaf.array)[()] for leaf in leaves]
        found = iter(grad([output], floating, [Tensor(cotangent)], allow_unused=True))
        slopes = [next(found) if leaf.dtype.kind == "f" else None for leaf in leaves]
        return [np.zeros_like(x.array)[()] if s is None else s.array for x, s in zip(leaves, slopes, strict=True)]


Error = Callable[[Site], Sequence[Any]]
"""What is added to what each input of a site receives."""


def with_error(application: Application, order: int, error: Error) -> Tensor:
    """Return the result of an operator whose derivatives of one order are wrong, and lower ones right."""
    result, operands = application.result, application.operands
    if result.node is None:
        return result
    source = result.node
    on_arrays, on_tensors = _rules(application, application.function, operands, (), order, error)
    return planted(
        result.array,
        [source, *(x.node for x in operands if x.node is not None)],
        lambda g: [(source, g), *on_arrays(g)],
        lambda g: [(source, g), *on_tensors(g)],
    )


def _rules(  # noqa: PLR0913, PLR0917 (a site without its cotangent, and what is wrong there)
    application: Application,
    function: Function,
    inputs: Sequence[Tensor],
    path: tuple[int, ...],
    order: int,
    error: Error,
) -> tuple[Pull, Pull]:
    """Return the rules that send an error of an order, and nothing else."""
    recorded = [(place, x.node) for place, x in enumerate(inputs) if x.node is not None]

    def errors(cotangent: Any) -> list[Any]:
        found = error(Site(application, function, inputs, cotangent, path))
        return [np.asarray(found[place], dtype=inputs[place].dtype)[()] for place, _ in recorded]

    def on_arrays(cotangent: Any) -> Contributions:
        nodes = [node for _, node in recorded]
        return list(zip(nodes, errors(cotangent), strict=True)) if order == 1 else []

    def on_tensors(cotangent: Tensor) -> Contributions:
        if order == 1:
            return [(node, Tensor(e)) for (_, node), e in zip(recorded, errors(cotangent.array), strict=True)]
        return [(node, hidden(place, cotangent)) for place, node in recorded]

    def hidden(place: int, cotangent: Tensor) -> Tensor:
        further = [*inputs, cotangent]
        slope = derivative(function, place)
        rules = _rules(application, slope, further, (*path, place), order - 1, error)
        zeros = np.zeros_like(inputs[place].array)[()]
        return planted(zeros, [x.node for x in further if x.node is not None], *rules)

    return on_arrays, on_tensors


def derivative(function: Function, place: int) -> Function:
    """Return what an input receives, as a function of all inputs and of the cotangent."""

    def slope(*inputs: Tensor) -> Tensor:
        *operands, cotangent = map(_alias, inputs)
        output, operand = function(*operands), operands[place]
        found = None
        if output.node is not None:
            (found,) = grad([output], [operand], [cotangent], create_graph=True, allow_unused=True)
        return Tensor(np.zeros_like(operand.array)[()]) if found is None else found

    return slope


def _alias(x: Tensor) -> Tensor:
    """Return another tensor with the same history, so that one that is given twice is told apart."""
    return x if x.node is None else passing(x.array, x.node)
