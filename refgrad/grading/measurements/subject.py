"""The graph that programs about memory build, whether tracemalloc traces it, and the text of the programs."""

from __future__ import annotations

from typing import Final

from refgrad.grading.measurements.memory import MEGABYTE, TRACED, Meter, measured, measuring
from refgrad.native.library import Library, function

SCALAR_STEPS: Final = 200
"""Number of nodes of a graph of scalars, which is large enough to be noticed."""

NODE: Final = 16
"""Least size in bytes of a Python object: its type and its reference count."""

RUNS: Final = 16
"""Number of times that a graph of scalars is built. Reused wrappers of untraced objects may hide a single graph."""


def leaf_lines(library: Library, size: str) -> list[str]:
    """Return the line that makes the leaf ``x``: an array of ``size`` ones, or the number one."""
    scalars = library.engine.adapter.scalars_only
    return [f"x = {library.leaf('np.array(1.0)', '1.0') if scalars else library.leaf(f'np.ones({size})')}"]


def forward_text(library: Library, operator: str, steps: int) -> str:
    """Return the text of a function that applies an operator ``steps`` times to its last result and ``x``, and sums up.

    No result is used twice: an engine that follows every path would take a time that says nothing of memory.
    """
    last = "return y" if library.engine.adapter.scalars_only else f"return {library.apply('sum', 'y')}"
    step = f"    y = {library.apply(operator, 'y', 'x')}"
    return function("function(x)", ["y = x", f"for _ in range({steps}):", step, last])


def built(library: Library) -> str:
    """Return the line that applies ``function`` to the leaf and records the graph."""
    return "loss = function(x)" if library.tape else f"loss, pullback = {library.vjp('function', '[x]')}"


def is_traced(library: Library, operator: str) -> bool:
    """Return True if tracemalloc traces the arrays of an engine, or the nodes of a graph of scalars."""
    if library.engine.adapter.scalars_only:
        forward, line, leaf = forward_text(library, operator, SCALAR_STEPS), built(library), leaf_lines(library, "")
        runs, least = RUNS, SCALAR_STEPS * NODE
    else:
        forward, line, leaf = "", f"loss = {library.apply(operator, 'x', 'x')}", leaf_lines(library, f"{MEGABYTE // 8}")
        runs, least = 1, MEGABYTE // 2
    lines = [*leaf, "before = held()", line, "grown = held() - before", "return grown, loss is not None"]
    results = measured(library, TRACED, f"{forward}\n\n{function('attempt(_)', lines)}", *range(runs))
    return bool(min(grown for grown, _ in results) > least)


def program_of(library: Library, meter: Meter, text: str, call: str) -> str:
    """Return the program that evaluates ``call`` and prints what it measured."""
    return library.shown(measuring(meter, text), "", f"print({call})")
