"""Rules about what operators compute, record and share that can be taken out of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np

import refgrad.engine
from refgrad.engine import autograd
from refgrad.engine.graph.node import AccumulateGrad, Handle, Node
from refgrad.engine.graph.sweep import _Switched, is_grad_enabled, reachable
from refgrad.engine.graph.tensor import Tensor
from refgrad.operators import operator_table
from tests.faulty_engines.stateful.open_sweep import OpenSweep
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]
Operator = Callable[..., Any]

ENTER = _Switched.__enter__
REGISTER = Tensor.register_hook


@contextmanager
def operators(changed: Callable[[str, Operator], Operator]) -> Iterator[None]:
    """Let users of the engine call other operators, made of a name and the engine's own."""
    with ExitStack() as stack:
        for name in operator_table():
            own = getattr(refgrad.engine, name)
            stack.enter_context(patch.object(refgrad.engine, name, changed(name, own)))
        yield


def with_results(look: Callable[[Any], None]) -> Region:
    """Return a region in which every result is looked at."""

    def looked_at(_: str, operator: Operator) -> Operator:
        def apply(*operands: Any, **attributes: Any) -> Any:
            result = operator(*operands, **attributes)
            look(result)
            return result

        return apply

    return operators(looked_at)


def records_constants() -> Region:
    """Operands that require no grad are recorded as if they did."""

    def as_recorded(x: Any) -> Any:
        constant = isinstance(x, Tensor) and x.node is None and x.dtype.kind == "f"
        return Tensor(x.array, AccumulateGrad(x), x.writes) if constant else x

    return operators(lambda _, operator: lambda *x, **attributes: operator(*map(as_recorded, x), **attributes))


def rounds_in_regions() -> Region:
    """What is not recorded is computed in single precision."""

    def rounded(result: Tensor) -> None:
        if not is_grad_enabled():
            result.array = result.array.astype(np.float32).astype(result.dtype)

    return with_results(rounded)


def overwrites_operands() -> Region:
    """The result is written over the first operand, where it fits."""

    def overwriting(_: str, operator: Operator) -> Operator:
        def apply(x: Any, *operands: Any, **attributes: Any) -> Any:
            result = operator(x, *operands, **attributes)
            if isinstance(x, Tensor) and x.shape == result.shape:
                x.array = result.array.copy()
            return result

        return apply

    return operators(overwriting)


def hands_out_operands() -> Region:
    """Adding zeros gives a result in the operand's own memory."""

    def adding(name: str, operator: Operator) -> Operator:
        def apply(x: Tensor, y: Tensor) -> Any:
            result = operator(x, y)
            if x.shape == y.shape and not np.any(y.array):
                result.array = x.shared_array()
            return result

        return apply if name == "add" else operator

    return operators(adding)


def computes_once() -> Region:
    """An operator that was applied to the same tensors before hands out what it computed then."""
    results: dict[Any, Any] = {}

    def remembering(name: str, operator: Operator) -> Operator:
        def apply(*operands: Any, **attributes: Any) -> Any:
            key = (name, tuple(map(id, operands)), repr(attributes))
            if key not in results:
                results[key] = (operands, operator(*operands, **attributes))
            return results[key][1]

        return apply

    return operators(remembering)


def full_sums_keep_an_axis() -> Region:
    """The sum of all entries is an array of one entry."""

    def summing(name: str, operator: Operator) -> Operator:
        def apply(x: Any, **attributes: Any) -> Any:
            result = operator(x, **attributes)
            result.array = np.atleast_1d(result.array)
            return result

        return apply if name == "sum" else operator

    return operators(summing)


@contextmanager
def deaf_to_late_hooks() -> Iterator[None]:
    """A result takes the hooks of its operands as they are when it is computed."""
    used: dict[int, Any] = {}

    def using(_: str, operator: Operator) -> Operator:
        def apply(*operands: Any, **attributes: Any) -> Any:
            used.update((id(x), x) for x in operands)
            return operator(*operands, **attributes)

        return apply

    def register(tensor: Tensor, hook: Any) -> Handle:
        return Handle({}, hook) if id(tensor) in used else REGISTER(tensor, hook)

    with operators(using), patch.object(Tensor, "register_hook", register):
        yield


@contextmanager
def noted_nodes() -> Iterator[WeakSet[Node]]:
    """Yield all nodes that are recorded in the region, as long as they are there."""
    nodes: WeakSet[Node] = WeakSet()

    def note(result: Tensor) -> None:
        if isinstance(result.node, Node):
            nodes.add(result.node)

    with with_results(note):
        yield nodes


@contextmanager
def regions_end_graphs() -> Iterator[None]:
    """Everything that was recorded is freed when a no_grad region begins."""
    with noted_nodes() as nodes:

        def enter(region: _Switched) -> None:
            for node in () if region.recording else nodes:
                node.values = None
            ENTER(region)

        with patch.object(_Switched, "__enter__", enter):
            yield


@contextmanager
def frees_everything() -> Iterator[None]:
    """A backward that keeps no graph frees those that it did not walk, too."""
    with noted_nodes() as nodes:

        class Sweeping(OpenSweep):
            def to_leaves(self) -> None:
                super().to_leaves()
                for node in () if self.retain else nodes:
                    node.values = None if node.values else node.values

        with patch.object(autograd, "BackwardPass", Sweeping):
            yield


@contextmanager
def counts_everything() -> Iterator[None]:
    """Results that the output does not depend on are counted, too."""
    with noted_nodes() as nodes:

        class Counting(OpenSweep):
            def to_leaves(self) -> None:
                met = set(reachable(self.pending))
                others = (node for node in nodes if node not in met and node.values is not None)
                self.pending |= {node: np.ones(node.shape)[()] for node in others}
                super().to_leaves()

        with patch.object(autograd, "BackwardPass", Counting):
            yield


@contextmanager
def spoils_what_it_frees() -> Iterator[None]:
    """The value of a tensor goes when its node is freed."""
    tensors: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()

    def note(result: Tensor) -> None:
        if isinstance(result.node, Node):
            tensors[result.node] = ref(result)

    class Spoiling(OpenSweep):
        def release(self, node: Node) -> None:
            super().release(node)
            tensor = tensors[node]() if node.values is None and node in tensors else None
            if tensor is not None:
                tensor.array = np.full_like(tensor.array, np.nan)

    with with_results(note), patch.object(autograd, "BackwardPass", Spoiling):
        yield


REMOVALS_OF_OPERATORS: tuple[StatefulFault, ...] = (
    StatefulFault("records constants", "generic: a flag nobody reads", records_constants),
    StatefulFault("computes in single precision what it does not record", "generic: another path", rounds_in_regions),
    StatefulFault("writes results over operands", "pytorch/pytorch#7763", overwrites_operands),
    StatefulFault("hands out its operand where it adds zeros", "rsokl/MyGrad 407b2764", hands_out_operands),
    StatefulFault("computes an expression once for all", "generic: a graph that is built once", computes_once),
    StatefulFault("gives the sum of all entries an axis", "HIPS/autograd#36", full_sums_keep_an_axis),
    StatefulFault("does not hear of hooks that come after a result", "generic: a copy of the list", deaf_to_late_hooks),
    StatefulFault("lets go of graphs when a no_grad region begins", "generic: one mode for all", regions_end_graphs),
    StatefulFault("frees graphs that a backward has not walked", "tracel-ai/burn#3982", frees_everything),
    StatefulFault("counts what the output does not depend on", "generic: a tape without an order", counts_everything),
    StatefulFault("lets values go with what it frees", "tracel-ai/burn#3957", spoils_what_it_frees),
)
