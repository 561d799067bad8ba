"""Rules about functions of the user's own, and about those that are computed again, that can be taken out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import refgrad.engine
from refgrad.engine import errors
from refgrad.engine.functions import custom
from refgrad.engine.functions.custom import CustomNode, Function, FunctionContext, _Checkpoint
from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Watch
from refgrad.engine.graph.tensor import Tensor
from tests.faulty_engines.stateful.open_sweep import OpenSweep, sweeping
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

Region = AbstractContextManager[Any]
Pairs = list[tuple[GraphNode, Tensor]]

APPLY: Any = Function.__dict__["apply"].__func__
PULLED, CREATED, CHECKED = CustomNode.pulled, CustomNode.__init__, CustomNode.check
IS_LEAF = Tensor.is_leaf


def applying(apply: Callable[..., Tensor]) -> Callable[[], Region]:
    """Return what makes a region in which functions are applied in another way."""
    return lambda: patch.object(Function, "apply", classmethod(apply))


def pulling(change: Callable[[CustomNode, Pairs], Pairs]) -> Callable[[], Region]:
    """Return what makes a region in which the gradients of a rule are changed."""

    def pulled(node: CustomNode, cotangent: Tensor, *, recorded: bool) -> Pairs:
        return change(node, PULLED(node, cotangent, recorded=recorded))

    return lambda: patch.object(CustomNode, "pulled", pulled)


def creating(change: Callable[[CustomNode, Tensor], None]) -> Callable[[], Region]:
    """Return what makes a region in which new nodes of functions are changed, given the output."""

    def created(node: CustomNode, function: Any, context: FunctionContext, parents: Any, output: Tensor) -> None:
        CREATED(node, function, context, parents, output)
        change(node, output)

    return lambda: patch.object(CustomNode, "__init__", created)


def forward_alone(function: Any, *inputs: Any) -> Tensor:
    """Record the forward, and forget the rule."""
    return function.forward(FunctionContext(), *inputs)  # type: ignore[no-any-return]


def forward_as_well(function: Any, *inputs: Any) -> Tensor:
    """Record the forward beside the rule."""
    plain = function.forward(FunctionContext(), *inputs)
    return APPLY(function, *inputs) + (plain - plain.detach())  # type: ignore[no-any-return]


def given_ones() -> Region:
    """A rule never sees what arrives."""

    def pulled(node: CustomNode, cotangent: Tensor, *, recorded: bool) -> Pairs:
        return PULLED(node, refgrad.engine.ones_like(cotangent), recorded=recorded)

    return patch.object(CustomNode, "pulled", pulled)


def exchanged(_: CustomNode, pairs: Pairs) -> Pairs:
    """Give each input the gradient of another one."""
    return list(zip([parent for parent, _ in pairs], [g for _, g in reversed(pairs)], strict=True))


def ones_for_none(node: CustomNode, pairs: Pairs) -> Pairs:
    """Give ones to inputs for which the rule has no gradient."""
    served = {id(parent) for parent, _ in pairs}
    missing = [parent for parent in node.parents if id(parent) not in served]
    return [*pairs, *((parent, refgrad.engine.ones(parent.shape)) for parent in missing)]


def by_position() -> Region:
    """The first gradients go to the inputs that need one, whichever these are."""

    class Shifted(CustomNode):
        __slots__ = ()

        def pulled(self, cotangent: Tensor, *, recorded: bool) -> Pairs:
            kept = self.needs
            shifted: Any = self
            shifted.needs = (True,) * len(self.parents) + (False,) * kept.count(False)
            try:
                return super().pulled(cotangent, recorded=recorded)
            finally:
                shifted.needs = kept

    return patch.object(custom, "CustomNode", Shifted)


def one_edge_each(_: CustomNode, pairs: Pairs) -> Pairs:
    """Keep the last gradient of a tensor that is given twice."""
    return list(dict(pairs).items())


def saved_results_lost(node: CustomNode, _: Tensor) -> None:
    """Save zeros in place of the result."""
    pairs = zip(node.values or (), node.origins, strict=True)
    node.values = tuple(0 * value if origin == "output" else value for value, origin in pairs)


def stops_at(kind: Any, *, leaves_only: bool = False) -> Callable[[CustomNode, Pairs], Pairs]:
    """Return a change that drops gradients which flow from one function to another."""

    def change(node: CustomNode, pairs: Pairs) -> Pairs:
        if not issubclass(node.function, kind):
            return pairs
        if leaves_only:
            return [pair for pair in pairs if isinstance(pair[0], AccumulateGrad)]
        return [pair for pair in pairs if not isinstance(pair[0], CustomNode)]

    return change


def once_only(node: CustomNode, pairs: Pairs) -> Pairs:
    """Return the gradients of the first backward pass, and none later."""
    used, node.context.used = getattr(node.context, "used", False), True  # type: ignore[attr-defined]
    return [] if used else pairs


def shared_by_all() -> Region:
    """Every call overwrites what the one before saved."""
    latest: list[CustomNode] = []

    def created(node: CustomNode, *rest: Any) -> None:
        CREATED(node, *rest)
        latest[:] = [node]

    def pulled(node: CustomNode, cotangent: Tensor, *, recorded: bool) -> Pairs:
        node.values = latest[0].values
        return PULLED(node, cotangent, recorded=recorded)

    return patch.multiple(CustomNode, __init__=created, pulled=pulled)


def constants(_: CustomNode, pairs: Pairs) -> Pairs:
    """Return gradients that do not know where they come from."""
    return [(parent, gradient.detach()) for parent, gradient in pairs]


def results_are_constants(node: CustomNode, _: Tensor) -> None:
    """Forget that a saved result was computed."""
    node.origins = tuple(None if origin == "output" else origin for origin in node.origins)


class LastOfSeveral(OpenSweep):
    """The cotangents of a result replace each other."""

    def send(self, parent: GraphNode, contribution: Any) -> None:
        if isinstance(parent, CustomNode):
            self.pending.pop(parent, None)
        super().send(parent, contribution)


class NoHooks(OpenSweep):
    """Hooks on results of functions are not called."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        return cotangent if isinstance(node, CustomNode) and watch.hooks else super().observed(node, watch, cotangent)


class NothingRetained(OpenSweep):
    """Results of functions retain nothing."""

    def observed(self, node: GraphNode, watch: Watch, cotangent: Any) -> Any:
        watch.retains = watch.retains and not isinstance(node, CustomNode)
        return super().observed(node, watch, cotangent)


def kept_for_good() -> Region:
    """What functions save is never freed."""

    def created(node: CustomNode, *rest: Any) -> None:
        CREATED(node, *rest)
        node.context.kept = node.values  # type: ignore[attr-defined]

    def checked(node: CustomNode) -> None:
        node.values = node.context.kept  # type: ignore[attr-defined]

    return patch.multiple(CustomNode, __init__=created, check=checked)


def unwatched(node: CustomNode, _: Tensor) -> None:
    """Forget to watch what was saved."""
    node.guards = tuple([] for _ in node.guards)


def results_watched() -> Region:
    """A write to any result is an error."""

    def created(node: CustomNode, function: Any, context: FunctionContext, parents: Any, output: Tensor) -> None:
        CREATED(node, function, context, parents, output)
        node.context.writes = output.writes  # type: ignore[attr-defined]

    def checked(node: CustomNode) -> None:
        CHECKED(node)
        if node.context.writes:  # type: ignore[attr-defined]
            raise RuntimeError(errors.overwritten(node.name(), "output", 1))

    return patch.multiple(CustomNode, __init__=created, check=checked)


def passed_through() -> Region:
    """The cotangent of a recomputed function is given to its inputs."""

    def backward(ctx: Any, cotangent: Tensor) -> Any:
        return (None, *(cotangent for _ in ctx.needs_input_grad[1:]))

    return patch.object(_Checkpoint, "backward", staticmethod(backward))


REMOVALS_OF_FUNCTIONS: tuple[StatefulFault, ...] = (
    StatefulFault("differentiates the forward of a function with a rule", "google/jax#1249", applying(forward_alone)),
    StatefulFault("records the forward beside the rule", "generic: the mode is not set", applying(forward_as_well)),
    StatefulFault("gives rules ones for their cotangent", "generic: a rule as a derivative", given_ones),
    StatefulFault(
        "gives rules the last of several cotangents", "generic: replaces in place of adding", sweeping(LastOfSeveral)
    ),
    StatefulFault("exchanges the gradients of a rule", "generic: a list in the wrong order", pulling(exchanged)),
    StatefulFault("gives ones where a rule gives none", "generic: None as the default", pulling(ones_for_none)),
    StatefulFault("numbers the gradients of a rule without constants", "generic: positions among parents", by_position),
    StatefulFault("keeps one edge for each tensor of a function", "generic: edges by tensor", pulling(one_edge_each)),
    StatefulFault(
        "loses the results that functions save", "generic: saved before it is computed", creating(saved_results_lost)
    ),
    StatefulFault(
        "stops between functions with rules", "generic: nodes of other kinds only", pulling(stops_at(Function))
    ),
    StatefulFault("uses a rule once", "generic: a closure that is consumed", pulling(once_only)),
    StatefulFault("saves tensors in the function, not in the call", "generic: attributes of the class", shared_by_all),
    StatefulFault("takes the gradients of a rule for constants", "generic: it is not recorded", pulling(constants)),
    StatefulFault(
        "takes results that functions saved for constants",
        "generic: saved without its history",
        creating(results_are_constants),
    ),
    StatefulFault(
        "calls no hooks on results of functions", "PaddlePaddle 3.3: hooks on a result of PyLayer", sweeping(NoHooks)
    ),
    StatefulFault(
        "retains no gradients of results of functions", "generic: nodes of other kinds only", sweeping(NothingRetained)
    ),
    StatefulFault(
        "takes results of functions for leaves",
        "generic: no operator made it",
        lambda: patch.object(Tensor, "is_leaf", property(lambda x: isinstance(x.node, CustomNode) or IS_LEAF.fget(x))),  # type: ignore[attr-defined]
    ),
    StatefulFault(
        "records functions inside of no_grad",
        "generic: the mode is not asked",
        lambda: patch.object(custom, "is_grad_enabled", lambda: True),
    ),
    StatefulFault("never frees what functions save", "generic: kept by the context", kept_for_good),
    StatefulFault("does not watch what functions save", "generic: saved as attributes", creating(unwatched)),
    StatefulFault("watches results that no rule needs", "generic: one version for all", results_watched),
    StatefulFault("passes cotangents through recomputed functions", "generic: no second forward", passed_through),
    StatefulFault(
        "recomputes with leaves only", "generic: a detached input", pulling(stops_at(_Checkpoint, leaves_only=True))
    ),
    StatefulFault("stops between recomputed functions", "generic: a detached input", pulling(stops_at(_Checkpoint))),
)
