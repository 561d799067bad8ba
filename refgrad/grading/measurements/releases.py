"""The actions after which an engine must have released a graph.

The graph is a chain of ``steps`` products with an array of ones, and its sum: every step saves an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.native.library import Library

Lines = Callable[[Library], list[str]]


@dataclass(frozen=True, slots=True)
class Release:
    """Actions on a graph with the output ``loss``, for tape engines and, if they make sense, for functional ones.

    ``what`` says when the graph's memory must be free. An engine must offer ``features``; with ``frees`` a tape engine
    must be one that frees graphs. With ``arrays`` scalar engines are left out, as they have nothing that is large
    enough.
    """

    what: str
    tape: Lines
    functional: Lines | None = None
    features: tuple[str, ...] = ()
    frees: bool = False
    arrays: bool = False
    collected: bool = True
    operator: str = "multiply"


def _drop(library: Library) -> list[str]:
    return ["del loss"] if library.tape else ["del loss, pullback"]


def _pulled(library: Library) -> list[str]:
    return [f"gradients = pullback({library.one})", *_drop(library)]


def _differentiate(library: Library) -> list[str]:
    return [library.backward("loss")]


def _differentiate_twice(library: Library) -> list[str]:
    return [library.backward("loss", retain_graph=True), library.backward("loss")]


def _keep_and_drop(library: Library) -> list[str]:
    return [library.backward("loss", retain_graph=True), *_drop(library)]


def _without_recording(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.no_grad is not None
    return ["del loss", f"with {library.template(library.tape.no_grad)}:", "    loss = function(x)"]


def _of_constants(library: Library) -> list[str]:
    array, scalar = ("None", "1.0") if library.engine.adapter.scalars_only else ("np.ones(size)", "None")
    leaf = library.leaf(array, scalar, requires_grad=False)
    return ["del loss", f"constant = {leaf}", "loss = function(constant)", "del constant"]


def _cut_off(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.detach is not None
    return [f"number = {library.template(library.tape.detach, x='loss')}", "del loss"]


def _record_and_drop(library: Library) -> list[str]:
    gradient = library.recorded_gradient("loss", "x")
    return [f"gradient = {gradient}", "del loss", "del gradient"]


RELEASES: Final[Mapping[str, Release]] = MappingProxyType({
    "backward": Release("after backward", _differentiate, frees=True, arrays=True),
    "last_backward": Release(
        "after a backward that kept the graph and one that did not",
        _differentiate_twice,
        features=("retain_graph",),
        frees=True,
        arrays=True,
    ),
    "kept": Release("once the output of a kept graph is dropped", _keep_and_drop, _pulled, features=("retain_graph",)),
    "dropped": Release("once its output is dropped", _drop, _drop),
    "dropped_alone": Release(
        "once its output is dropped, before the garbage collector has run", _drop, _drop, collected=False
    ),
    "no_grad": Release("of what is computed without recording", _without_recording, features=("no_grad",)),
    "constants": Release("of what is computed from constants", _of_constants),
    "detached": Release("once only a detached output is left", _cut_off, features=("detach",)),
    "additions": Release(
        "of a chain of additions, the rule of which needs no operand",
        lambda _: [],
        lambda _: [],
        arrays=True,
        operator="add",
    ),
    "recorded_gradient": Release(
        "once its output and a recorded gradient are dropped", _record_and_drop, features=("double_backward",)
    ),
})
"""Releases by the name that rows use."""
