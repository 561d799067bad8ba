"""Meters of the memory of a process.

Numpy tells :mod:`tracemalloc` of its arrays, so that engines which use it are measured to the byte. Others are measured
by the resident set of the process, once the C library has given back what is free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from refgrad.native.library import Library, function
from refgrad.native.observation import Observation

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


def measuring(meter: Meter, text: str) -> str:
    """Return code that measures: with what a meter needs in front, and allocations counted from the start."""
    start = "\n\ntracemalloc.start()\n" if meter.name == "traced" else ""
    return f"{meter.imports}\n\n\n{meter.text}\n\n{text}{start}"


def measured(library: Library, meter: Meter, text: str, *sizes: int) -> list[Any]:
    """Run code that measures, and return what each call of its function ``attempt`` gives."""
    return [seen.data for seen in run_measuring(library, meter, text, *sizes)]


def run_measuring(library: Library, meter: Meter, text: str, *sizes: int) -> list[Observation]:
    """Run code that measures, and return what is seen of each call of its function ``attempt``, its time included."""
    after = "tracemalloc.stop()" if meter.name == "traced" else ""
    return library.run(measuring(meter, text), *sizes, after=after)


def with_garbage(meter: Meter) -> Meter:
    """Return a meter to which what the garbage collector would free is held."""
    imports, text = f"{meter.imports}\n\ngc.disable()", meter.text.replace("    gc.collect()\n", "")
    return replace(meter, imports=imports, text=text)
