"""Verdicts that the workers of one run share. Each is computed once, by the first worker that needs it."""

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

OFFSET_BYTES = 7
"""Number of bytes of the offset of a lock: valid in a file, and large enough that no two checks share one."""


class SharedVerdicts:
    """A file with one line for each verdict.

    While a verdict is computed, a byte of the file that stands for its check is locked.

    A check never needs itself, not even through other checks, so no two workers wait for each other. A lock ends with
    the process that holds it: if a worker dies, the next one computes the verdict. The threads of one process share its
    locks, so only one of them may use the object at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or create it."""
        self._file = path.open("a+b", buffering=0)
        self._end = 0
        self._lines: dict[bytes, bytes] = {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def computed_once(self, check: str, make: Callable[[], Verdict]) -> Verdict:
        """Return the verdict of a check that a worker has computed, or compute it while the others wait."""
        with self._locked(check):
            self._read()
            verdict = _complete(self._lines.get(check.encode(), b""))
            if verdict is None:
                verdict = make()
                self._write(verdict)
        return verdict

    @contextmanager
    def _locked(self, check: str) -> Iterator[None]:
        offset = int.from_bytes(blake2b(check.encode(), digest_size=OFFSET_BYTES).digest())
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_EX, 1, offset)
        try:
            yield
        finally:
            if fcntl is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, offset)

    def _write(self, verdict: Verdict) -> None:
        """Append a line, after the end of one that was cut off. On a full disk, other workers compute the verdict."""
        with suppress(OSError):
            self._file.write(f"\n{verdict.id} {json.dumps(verdict.to_json())}\n".encode())

    def _read(self) -> None:
        """Read the lines that were written since the last call."""
        self._file.seek(self._end)
        text, end, _ = self._file.read().rpartition(b"\n")
        self._end += len(text + end)
        for check, _, row in (line.partition(b" ") for line in text.splitlines()):
            self._lines[check] = row


def _complete(row: bytes) -> Verdict | None:
    """Return the verdict of a row, or None if its writer died before the row was complete."""
    try:
        return Verdict.from_json(json.loads(row))
    except ValueError:
        return None
