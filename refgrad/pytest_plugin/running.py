"""A file of the scenario that a worker runs in its own process, so that the controller can attribute a crash."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Final

from refgrad.scenario import Apply, Scenario, parse

HEAD: Final = Struct("<II")
"""Number of the running step, from 1, and number of bytes of the scenario's text."""

LARGEST: Final = 1 << 20
"""Size of the file in bytes. For a larger scenario, no step is known."""


@dataclass(frozen=True, slots=True)
class Running:
    """A file that a worker maps into its memory, and that remains when the worker dies."""

    path: Path

    def watch(self) -> Callable[[Scenario], Callable[[int], None]]:
        """Return a function that stores a scenario, and returns a function that stores the number of each step."""
        with self.path.open("w+b") as file:
            file.truncate(LARGEST)
            memory = mmap.mmap(file.fileno(), LARGEST)

        def note(step: int) -> None:
            memory[:4] = step.to_bytes(4, "little")

        def begin(scenario: Scenario) -> Callable[[int], None]:
            text = scenario.text.encode()
            kept = text if len(text) <= LARGEST - HEAD.size else b""
            memory[: HEAD.size + len(kept)] = HEAD.pack(0, len(kept)) + kept
            return note

        return begin

    def operator(self) -> str:
        """Return the operator that was being applied, or an empty string."""
        if not self.path.exists():
            return ""
        content = self.path.read_bytes()
        step, length = HEAD.unpack_from(content)
        steps = parse(content[HEAD.size : HEAD.size + length].decode()).steps
        applied = steps[step - 1] if 0 < step <= len(steps) else None
        return applied.operator if isinstance(applied, Apply) else ""
