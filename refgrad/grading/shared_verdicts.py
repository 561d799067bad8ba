"""Verdicts that the workers of one run share: each is made once, whichever worker needs it first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from refgrad.grading.judging.verdict import Verdict

try:
    import fcntl
except ImportError:  # on Windows, where two workers may make the same verdict
    fcntl = None  # type: ignore[assignment]

PLACE_BYTES = 7
"""How many bytes the offset of a lock has: one that a file may have, and that no two checks share."""


class SharedVerdicts:
    """A file with a line a verdict; while one is made, a byte of the file that stands for its check is locked.

    A check never needs itself, by way of others either, so no two workers wait for each other. A lock ends with the
    process that has it: where a worker dies, the next one makes the verdict. The threads of one process share its
    locks, so one of them may use it at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        self._file = path.open("a+b", buffering=0)
        self._end = 0
        self._lines: dict[bytes, bytes] = {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def made_once(self, check: str, make: Callable[[], Verdict]) -> Verdict:
        """Return the verdict that a worker has made, or make it while the others wait."""
        with self._locked(check):
            self._read()
            made = _complete(self._lines.get(check.encode(), b""))
            if made is None:
                made = make()
                self._write(made)
        return made

    @contextmanager
    def _locked(self, check: str) -> Iterator[None]:
        place = int.from_bytes(blake2b(check.encode(), digest_size=PLACE_BYTES).digest())
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            if fcntl is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def _write(self, verdict: Verdict) -> None:
        """Append a line, after the end of one that was cut off. On a full disk, other workers compute the verdict."""
        with suppress(OSError):
            self._file.write(f"\n{verdict.id} {json.dumps(verdict.to_json())}\n".encode())

    def _read(self) -> None:
        """Take in the lines that were written since the last time."""
        self._file.seek(self._end)
        text, end, _ = self._file.read().rpartition(b"\n")
        self._end += len(text + end)
        for check, _, row in (line.partition(b" ") for line in text.splitlines()):
            self._lines[check] = row


def _complete(row: bytes) -> Verdict | None:
    """Read a verdict; whoever died while writing has left none, or a part of one."""
    try:
        return Verdict.from_json(json.loads(row))
    except ValueError:
        return None
