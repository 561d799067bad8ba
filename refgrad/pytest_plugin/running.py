"""The scenario that a worker runs in its own process, written down so that the controller can blame a crash."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Final

from refgrad.scenario import Apply, Scenario, parse

HEAD: Final = Struct("<II")
"""The number of the step that is being run, from 1, and the bytes of the scenario's text."""

LARGEST: Final = 1 << 20
"""Bytes of the file; of a scenario that is larger, no step is known."""


@dataclass(frozen=True, slots=True)
class Running:
    """A file that a worker maps into its memory, and that stays when the worker dies."""

    path: Path

    def watch(self) -> Callable[[Scenario], Callable[[int], None]]:
        """Return what notes a scenario, and returns what notes each of its steps."""
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
        """Return the operator that was being applied, or nothing where none was."""
        if not self.path.exists():
            return ""
        content = self.path.read_bytes()
        step, length = HEAD.unpack_from(content)
        steps = parse(content[HEAD.size : HEAD.size + length].decode()).steps
        applied = steps[step - 1] if 0 < step <= len(steps) else None
        return applied.operator if isinstance(applied, Apply) else ""
