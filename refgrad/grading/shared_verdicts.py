"""Verdicts that the workers of one run share: each is made once, whichever worker needs it first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from refgrad.grading.judging.verdict import Verdict

try:
    import fcntl
except ImportError:  # on Windows, where two workers may make the same verdict
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class SharedVerdicts:
    """A folder with a file a check, that holds the verdict once it is made and is locked while it is being made.

    A check never needs itself, by way of others either, so no two workers wait for each other. A lock ends with the
    process that has it: where a worker dies, the next one makes the verdict.
    """

    folder: Path

    def made_once(self, check: str, make: Callable[[], Verdict]) -> Verdict:
        """Return the verdict that a worker has made, or make it while the others wait."""
        with (self.folder / quote(check, safe="")).open("a+", encoding="utf-8") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            made = _complete(file.read())
            if made is None:
                made = make()
                file.truncate(0)
                file.write(f"{json.dumps(made.to_json())}\n")
        return made


def _complete(text: str) -> Verdict | None:
    """Read a verdict; whoever died while writing has left none, or a line without its end."""
    return Verdict.from_json(json.loads(text.splitlines()[0])) if text.endswith("\n") else None
