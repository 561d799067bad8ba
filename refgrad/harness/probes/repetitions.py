"""What must be possible again and again without holding more and more?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.harness.probes.program import Words
from refgrad.harness.probes.releases import Lines
from refgrad.harness.template import Template


@dataclass(frozen=True, slots=True)
class Repetition:
    """What is done again and again: ``before`` all, and in each iteration, with leaf ``x`` and ``function``."""

    what: str
    tape: Lines
    functional: Lines | None = None
    before: Lines = lambda _: []
    features: tuple[str, ...] = ()


def _training(words: Words) -> list[str]:
    if words.functional:
        return [f"loss, pullback = {words.vjp('function', '[x]')}", f"gradients = pullback({words.one})"]
    return ["loss = function(x)", words.backward("loss"), words.zero_grad("x")]


def _abandoning(words: Words) -> list[str]:
    return [f"loss, pullback = {words.vjp('function', '[x]')}"] if words.functional else ["loss = function(x)"]


def _kept_graph(words: Words) -> list[str]:
    return _abandoning(words)


def _calling(words: Words) -> list[str]:
    return [f"gradients = pullback({words.one})"] if words.functional else [words.backward("loss", retain_graph=True)]


def _totalling(words: Words) -> list[str]:
    assert words.tape is not None
    assert words.tape.detach is not None
    cut = Template(words.tape.detach).render({"x": "loss"})
    return ["loss = function(x)", f"total = {words.apply('add', 'total', cut)}"]


def _zero(words: Words) -> list[str]:
    return [f"total = {words.leaf('np.array(0.0)', '0.0', requires_grad=False)}"]


def _failing(words: Words) -> list[str]:
    return ["try:", f"    {words.backward('loss')}", "except Exception:", "    pass"]


def _freed(words: Words) -> list[str]:
    return ["loss = function(x)", words.backward("loss")]


def _recording(words: Words) -> list[str]:
    return ["loss = function(x)", f"gradient = {words.recorded_gradient('loss', 'x')}"]


def _hooking(words: Words) -> list[str]:
    assert words.tape is not None
    assert words.tape.hook is not None
    assert words.tape.unhook is not None
    hook = Template(words.tape.hook).render({"x": "x", "function": "lambda gradient: None"})
    return [f"handle = {hook}", Template(words.tape.unhook).render({"handle": "handle"})]


REPETITIONS: Final[Mapping[str, Repetition]] = MappingProxyType({
    "training": Repetition("build, differentiate, reset", _training, _training, features=("zero_grad",)),
    "abandoned": Repetition("build a graph, and build the next one", _abandoning, _abandoning),
    "calls": Repetition(
        "differentiate a graph that is kept", _calling, _calling, _kept_graph, features=("retain_graph",)
    ),
    "detached_total": Repetition("add a detached loss to a total", _totalling, None, _zero, features=("detach",)),
    "failures": Repetition(
        "differentiate a graph that is freed, which fails", _failing, None, _freed, features=("error:freed-graph",)
    ),
    "recorded_gradients": Repetition("record a gradient, and drop it", _recording, features=("double_backward",)),
    "hooks": Repetition("put a hook on a leaf, and take it away", _hooking, features=("hooks", "unhook")),
})
"""By the name that a row calls them by."""
