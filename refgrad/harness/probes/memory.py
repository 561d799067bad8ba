"""How much memory does a process hold, and is what an engine computes part of what Python knows of?

Numpy tells :mod:`tracemalloc` of its arrays, so that engines which use it are measured to the byte. Others are measured
by the resident set of the process, once the C library has given back what is free.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from refgrad.harness.probes.program import Words, function

MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Meter:
    """A way to measure: ``imports`` and ``text`` make the function ``held()``, which gives bytes.

    ``array`` is the number of bytes of arrays that are large enough to be seen. ``noise`` is how many bytes an
    iteration must leave behind, time and again, before that is a leak, and ``least`` how many all of them together.
    """

    name: str
    imports: str
    text: str
    array: int
    noise: int
    least: int


TRACED: Final = Meter(
    "traced",
    "import gc\nimport tracemalloc",
    function("held()", ["gc.collect()", "return tracemalloc.get_traced_memory()[0]"]),
    array=MEGABYTE,
    noise=8,
    least=2_000,
)
"""What Python and numpy have allocated; a pointer in a list counts."""

RESIDENT: Final = Meter(
    "resident",
    "import ctypes\nimport gc\nimport resource",
    function(
        "held()",
        [
            "gc.collect()",
            'getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # give back what is free',
            'with open("/proc/self/statm") as file:',
            "    return int(file.read().split()[1]) * resource.getpagesize()",
        ],
    ),
    array=4 * MEGABYTE,
    noise=64,
    least=128_000,
)
"""The pages of the process, as Linux counts them."""


def with_garbage(meter: Meter) -> Meter:
    """Return a meter to which what the garbage collector would free is held."""
    imports, text = f"{meter.imports}\n\ngc.disable()", meter.text.replace("    gc.collect()\n", "")
    return replace(meter, imports=imports, text=text)


@contextmanager
def tracing() -> Iterator[None]:
    """Have Python count what it allocates."""
    started = tracemalloc.is_tracing()
    if not started:
        tracemalloc.start()
    try:
        yield
    finally:
        if not started:
            tracemalloc.stop()


def is_traced(words: Words, operator: str) -> bool:
    """Whether Python knows of the arrays that an engine computes: those of scalar engines are Python's own numbers."""
    if words.engine.adapter.scalars_only:
        return True
    leaf, result = words.leaf(f"np.ones({MEGABYTE // 8})"), words.apply(operator, "x", "x")
    text = function("attempt(held)", [f"x = {leaf}", "before = held()", f"y = {result}", "return y, held() - before"])
    with tracing():
        attempt: Callable[[Callable[[], int]], tuple[object, int]] = words.run(text)["attempt"]
        _, grown = attempt(lambda: tracemalloc.get_traced_memory()[0])
    return grown > MEGABYTE // 2
