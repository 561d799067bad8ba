"""Meters of the memory of a process.

NumPy reports its arrays to :mod:`tracemalloc`, so that engines which use NumPy are measured to the byte. Others are
measured by the resident set of the process, after the C library has returned free memory to the system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from refgrad.native.library import Library, function
from refgrad.native.observation import Observation

MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Meter:
    """A way to measure memory: ``imports`` and ``text`` define the function ``held()``, which returns bytes.

    ``array`` is the size in bytes of arrays that are large enough to be noticed. Memory leaks if every iteration leaves
    more than ``noise`` bytes behind, and all of them together more than ``least``.
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
"""Meter of memory that Python and NumPy have allocated. Even a pointer in a list counts."""

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
"""Meter of the resident pages of the process, as Linux counts them."""


def measuring(meter: Meter, text: str) -> str:
    """Return the code that measures: what a meter needs, the functions in ``text``, and the start of tracing."""
    start = "\n\ntracemalloc.start()\n" if meter.name == "traced" else ""
    return f"{meter.imports}\n\n\n{meter.text}\n\n{text}{start}"


def measured(library: Library, meter: Meter, text: str, *sizes: int) -> list[Any]:
    """Run code that measures, and return the result of each call of its function ``attempt``."""
    return [seen.data for seen in run_measuring(library, meter, text, *sizes)]


def run_measuring(library: Library, meter: Meter, text: str, *sizes: int) -> list[Observation]:
    """Run code that measures, and return the observation of each call of its function ``attempt``, with its time."""
    after = "tracemalloc.stop()" if meter.name == "traced" else ""
    return library.run(measuring(meter, text), *sizes, after=after)


def with_garbage(meter: Meter) -> Meter:
    """Return a meter that also counts memory that the garbage collector would free."""
    imports, text = f"{meter.imports}\n\ngc.disable()", meter.text.replace("    gc.collect()\n", "")
    return replace(meter, imports=imports, text=text)
