"""Which graph do programs about memory build, and how are they run and shown?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from refgrad.harness.execution import Engine
from refgrad.harness.probes.growth import without_collector
from refgrad.harness.probes.memory import Meter, tracing
from refgrad.harness.probes.program import Words, function, recording


@contextmanager
def measuring(engine: Engine) -> Iterator[None]:
    """Count allocations, with recording switched on and the garbage collector only where it is called."""
    with recording(engine), without_collector(), tracing():
        yield


def leaf_lines(words: Words, size: str) -> list[str]:
    """Return the line that makes the leaf ``x``: ones, as many as ``size`` says, or the number one."""
    scalars = words.engine.adapter.scalars_only
    return [f"x = {words.leaf('np.array(1.0)', '1.0') if scalars else words.leaf(f'np.ones({size})')}"]


def forward_text(words: Words, operator: str, steps: int) -> str:
    """Return the function that applies an operator to an operand and itself, so many times, and sums up."""
    last = "return y" if words.engine.adapter.scalars_only else f"return {words.apply('sum', 'y')}"
    return function("function(y)", [f"for _ in range({steps}):", f"    y = {words.apply(operator, 'y', 'y')}", last])


def program_of(words: Words, meter: Meter, text: str, call: str) -> str:
    """Return the program that calls ``attempt`` and prints what it measured."""
    start = "tracemalloc.start()\n" if meter.name == "traced" else ""
    return words.shown(meter.imports, "\n", meter.text, "", text, "", f"{start}print({call})")
