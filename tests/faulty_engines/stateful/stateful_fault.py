"""One rule that is taken out of the reference engine for a while.

A fault replaces functions or methods of ``refgrad.engine``, by :func:`unittest.mock.patch.object`, or templates of the
engine's adapter. What takes part in the text of a compiled function cannot be replaced, since that would outlast the
fault: of :mod:`refgrad.engine.operators.node_classes` everything, of :mod:`refgrad.engine.operators.recording` what it
gives to that text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from refgrad.engine.graph.node import LAST_WRITE
from refgrad.engine.graph.sweep import RECORDING
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine

LOOKING: Final[Mapping[str, str]] = MappingProxyType({
    "value": "{x}.array",
    "gradient": "None if {leaf}.grad is None else {leaf}.grad.array",
})
"""How arrays are read of a broken engine: not by way of ``detach`` and ``numpy``, which may be what is broken."""


@dataclass(frozen=True, slots=True, eq=False)
class StatefulFault:
    """One rule of the life of a graph that an engine breaks.

    ``name`` continues the words "an engine that"; ``source`` is the real bug, or the kind of bug, that it is modelled
    on. ``broken`` makes a region in which the reference engine breaks the rule, anew each time; ``templates`` are
    members of the engine's adapter, by name, that are other ones meanwhile.
    """

    name: str
    source: str
    broken: Callable[[], AbstractContextManager[Any]] = nullcontext
    templates: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def broken_engine(fault: StatefulFault) -> Iterator[Engine]:
    """Yield the reference engine, started anew, which has the fault inside of the block; nothing of it outlasts that.

    Recording is on at the beginning, and afterwards what it was before. What was overwritten is forgotten, as tensors
    are that were made inside of the block.
    """
    recording, last_write = RECORDING.set(True), LAST_WRITE.number
    try:
        with fault.broken():
            changes: dict[str, Any] = {"name": f"an engine that {fault.name}", **LOOKING, **fault.templates}
            yield Engine(replace(find_adapter("refgrad"), **changes))
    finally:
        RECORDING.reset(recording)
        LAST_WRITE.number = last_write
