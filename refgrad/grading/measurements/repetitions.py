"""Actions that an engine must be able to repeat without holding more and more memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.grading.measurements.releases import Lines
from refgrad.native.library import Library


@dataclass(frozen=True, slots=True)
class RepeatedAction:
    """A repeated action on the leaf ``x`` and ``function``: the lines ``before`` all iterations, and those of each."""

    what: str
    tape: Lines
    functional: Lines | None = None
    before: Lines = lambda _: []
    features: tuple[str, ...] = ()


def _training(library: Library) -> list[str]:
    if library.functional:
        return [f"loss, pullback = {library.vjp('function', '[x]')}", f"gradients = pullback({library.one})"]
    return ["loss = function(x)", library.backward("loss"), library.zero_grad("x")]


def _abandoning(library: Library) -> list[str]:
    return [f"loss, pullback = {library.vjp('function', '[x]')}"] if library.functional else ["loss = function(x)"]


def _kept_graph(library: Library) -> list[str]:
    return _abandoning(library)


def _calling(library: Library) -> list[str]:
    return (
        [f"gradients = pullback({library.one})"]
        if library.functional
        else [library.backward("loss", retain_graph=True)]
    )


def _totalling(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.detach is not None
    cut = library.template(library.tape.detach, x="loss")
    return ["loss = function(x)", f"total = {library.apply('add', 'total', cut)}"]


def _zero(library: Library) -> list[str]:
    return [f"total = {library.leaf('np.array(0.0)', '0.0', requires_grad=False)}"]


def _failing(library: Library) -> list[str]:
    return ["try:", f"    {library.backward('loss')}", "except Exception:", "    pass"]


def _freed(library: Library) -> list[str]:
    return ["loss = function(x)", library.backward("loss")]


def _recording(library: Library) -> list[str]:
    return ["loss = function(x)", f"gradient = {library.recorded_gradient('loss', 'x')}"]


def _hooking(library: Library) -> list[str]:
    assert library.tape is not None
    assert library.tape.hook is not None
    assert library.tape.unhook is not None
    hook = library.template(library.tape.hook, x="x", function="lambda gradient: None")
    return [f"handle = {hook}", library.template(library.tape.unhook, handle="handle")]


REPETITIONS: Final[Mapping[str, RepeatedAction]] = MappingProxyType({
    "training": RepeatedAction("build, differentiate, reset", _training, _training, features=("zero_grad",)),
    "abandoned": RepeatedAction("build a graph, and build the next one", _abandoning, _abandoning),
    "calls": RepeatedAction(
        "differentiate a graph that is kept", _calling, _calling, _kept_graph, features=("retain_graph",)
    ),
    "detached_total": RepeatedAction("add a detached loss to a total", _totalling, None, _zero, features=("detach",)),
    "failures": RepeatedAction(
        "differentiate a graph that is freed, which fails", _failing, None, _freed, features=("error:freed-graph",)
    ),
    "recorded_gradients": RepeatedAction("record a gradient, and drop it", _recording, features=("double_backward",)),
    "hooks": RepeatedAction("put a hook on a leaf, and take it away", _hooking, features=("hooks", "unhook")),
})
"""Repetitions by the name that rows use."""
