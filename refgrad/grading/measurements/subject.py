"""The graph that programs about memory build, whether Python knows of it, and how the programs are shown."""

from __future__ import annotations

from typing import Final

from refgrad.grading.measurements.memory import MEGABYTE, TRACED, Meter, measured, measuring
from refgrad.native.library import Library, function

SCALAR_STEPS: Final = 200
"""How many nodes a graph of scalars has, so that it is seen."""

NODE: Final = 16
"""The bytes that an object of Python takes at least: its type, and how often it is referred to."""

RUNS: Final = 16
"""How often a graph of scalars is built: wrappers of objects that Python does not know of are kept for further use."""


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


def built(library: Library) -> str:
    """Return the line that applies ``function`` to the leaf, and records it."""
    return "loss = function(x)" if library.tape else f"loss, pullback = {library.vjp('function', '[x]')}"


def is_traced(library: Library, operator: str) -> bool:
    """Whether Python knows of what an engine computes: of its arrays, or of the nodes of a graph of scalars."""
    if library.engine.adapter.scalars_only:
        forward, made, leaf = forward_text(library, operator, SCALAR_STEPS), built(library), leaf_lines(library, "")
        runs, least = RUNS, SCALAR_STEPS * NODE
    else:
        forward, made, leaf = "", f"loss = {library.apply(operator, 'x', 'x')}", leaf_lines(library, f"{MEGABYTE // 8}")
        runs, least = 1, MEGABYTE // 2
    lines = [*leaf, "before = held()", made, "grown = held() - before", "return grown, loss is not None"]
    shown = measured(library, TRACED, f"{forward}\n\n{function('attempt(_)', lines)}", *range(runs))
    return bool(min(grown for grown, _ in shown) > least)


def program_of(library: Library, meter: Meter, text: str, call: str) -> str:
    """Return the program that calls ``attempt`` and prints what it measured."""
    return library.shown(measuring(meter, text), "", f"print({call})")
