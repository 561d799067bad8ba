"""Rules about transforms of functions and about loops that can be taken out, by other templates of the adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from refgrad.native.adapter import find_adapter
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

WAYS: Final[Mapping[str, str]] = find_adapter("refgrad").ways
PLAIN: Final = "(lambda function, _, __, x: function(*x))({function}, {backward}, {saved}, {inputs})"
"""Template of a function without its rule."""


def without(name: str, source: str, **ways: str) -> StatefulFault:
    """Return the fault of an engine in which functions are called by other templates."""
    return StatefulFault(name, source, templates={"ways": {**WAYS, **ways}})


def around(way: str, text: str) -> str:
    """Return a template around that of a way."""
    return text.replace("{result}", WAYS[way])


ONE_REPETITION: Final = "(lambda first, last: first + (last - first).detach())({function}(*{inputs}), {result})"
BY_ONE: Final = "torch.jacrev(lambda x, i=i: {function}(*{inputs}[:i], x, *{inputs}[i + 1:]))(y)"
BY_ALL: Final = f"sum({BY_ONE} for i, y in enumerate({{inputs}}))"

REMOVALS_OF_WAYS: tuple[StatefulFault, ...] = (
    without("transposes Jacobians", "generic: rows for columns", jacrev=around("jacrev", "({result}).T")),
    without("doubles Jacobians in forward mode", "generic: one mode alone", jacfwd=around("jacfwd", "2 * {result}")),
    without(
        "cuts Jacobians off the graph",
        "generic: no graph is made of the gradient",
        jacrev=around("jacrev", "({result}).detach()"),
        jacfwd=around("jacfwd", "({result}).detach()"),
    ),
    without("differentiates by all inputs", "generic: what is closed over is an input", jacrev=BY_ALL),
    without(
        "keeps the diagonal of Hessians",
        "generic: a product of gradients",
        hessian=around("hessian", "(lambda h: h * torch.eye(h.shape[0]))({result})"),
    ),
    without(
        "cuts Hessians off the graph", "generic: no graph is made", hessian=around("hessian", "({result}).detach()")
    ),
    without(
        "maps the first row",
        "generic: one result is broadcast",
        vmap="torch.vmap({function})(*(x[:1] + 0 * x for x in {inputs}))",
    ),
    without(
        "shifts the rows of further inputs",
        "generic: offsets",
        vmap="torch.vmap({function})({inputs}[0], *(x.roll(1, 0) for x in {inputs}[1:]))",
    ),
    without("drops rules in transforms and loops", "MLX 0.32: vmap of a function with a vjp of its own", rule=PLAIN),
    without(
        "differentiates the first repetition", "generic: the carry is cut off", loop=around("loop", ONE_REPETITION)
    ),
    without(
        "gives nothing to what loops read",
        "generic: a carry without constants",
        loop="looped({function}, {count}, {inputs}[0], *(x.detach() for x in {inputs}[1:]))",
    ),
)
"""Faults of the functional ways; those of rules and recomputation are in :mod:`removals_of_functions`."""
