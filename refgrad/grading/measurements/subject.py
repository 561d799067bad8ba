"""The graph that programs about memory build, and how they are run and shown."""

from __future__ import annotations

from refgrad.grading.measurements.memory import Meter, measuring
from refgrad.native.library import Library, function


def leaf_lines(library: Library, size: str) -> list[str]:
    """Return the line that makes the leaf ``x``: ones, as many as ``size`` says, or the number one."""
    scalars = library.engine.adapter.scalars_only
    return [f"x = {library.leaf('np.array(1.0)', '1.0') if scalars else library.leaf(f'np.ones({size})')}"]


def forward_text(library: Library, operator: str, steps: int) -> str:
    """Return the function that applies an operator to what it gave before and its operand, so many times, and sums up.

    No result is used twice: that takes a walk along every path a time which says nothing of memory.
    """
    last = "return y" if library.engine.adapter.scalars_only else f"return {library.apply('sum', 'y')}"
    step = f"    y = {library.apply(operator, 'y', 'x')}"
    return function("function(x)", ["y = x", f"for _ in range({steps}):", step, last])


def program_of(library: Library, meter: Meter, text: str, call: str) -> str:
    """Return the program that calls ``attempt`` and prints what it measured."""
    return library.shown(measuring(meter, text), "", f"print({call})")
