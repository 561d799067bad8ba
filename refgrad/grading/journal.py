"""Verdicts as they are made: the journal of a run, and the file by which its workers share them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, read_bytes
from refgrad.errors import UserError
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_line

MOST_BYTES: Final = 1 << 30
"""Largest size of a journal that is read, in bytes. That of an engine that fails all checks has tens of MB."""


class JournalError(UserError):
    """A journal cannot be used; the message names the file and the line, and gives advice."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of JSON lines: a header that describes the run, then one verdict on each line."""

    path: Path

    def begin(self, header: Mapping[str, Any]) -> None:
        """Replace the journal by one with only the header, atomically.

        If the process dies meanwhile, the file is the old journal, or the new one with its header.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f".{self.path.name}.unfinished")
        try:
            unfinished.write_bytes(_line(dict(header)))
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)

    def append(self, verdict: Verdict) -> None:
        """Append one verdict and pass it to the operating system. The rest of an incomplete line is removed first.

        Raises OSError if it cannot be written; the earlier lines stay.
        """
        with self.path.open("r+b", buffering=0) as file:
            file.seek(_end_of_lines(file))
            file.truncate()
            _write(file, _line(verdict.to_json()))

    def resume(self, header: Mapping[str, Any]) -> list[Verdict]:
        """Return the verdicts of a journal with the same header, without a last line that was cut short.

        Nothing is written. Raises JournalError if the journal cannot be read, belongs to another run, or is damaged
        before its end.
        """
        lines = read_bytes(self.path, JournalError, MOST_BYTES).split(b"\n")[:-1]
        if not lines or _read(lines[0]) != dict(header):
            message = f"{self.path} belongs to another run; grade without --resume, or into another folder"
            raise JournalError(message)
        return [self._verdict(number, line) for number, line in enumerate(lines[1:], 2)]

    def _verdict(self, number: int, line: bytes) -> Verdict:
        try:
            row = checked(self.path, _read(line), "report#verdict", JournalError)
            return Verdict.from_json({key: row[key] for key in row if key != "severity"})
        except ValueError as error:
            problem = plain_line(str(error).removeprefix(f"{self.path}: "), 200)
            message = f"{self.path}, line {number} is damaged ({problem}); delete that line and resume again"
            raise JournalError(message) from error


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row).encode("ascii") + b"\n"


def _read(line: bytes) -> object:
    """Return the JSON value of a line, or None if the line is not JSON or is nested too deep."""
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _end_of_lines(file: Any) -> int:
    """Return the offset at which the last complete line of a file ends."""
    if not file.seek(0, os.SEEK_END):
        return 0
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data.rfind(b"\n") + 1


def _write(file: Any, line: bytes) -> None:
    """Write all bytes of a line. A disk that is nearly full accepts a part of them first and raises an error later."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


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
            verdict: Verdict | None = None
            with suppress(ValueError):  # the writer of a row may have died before it was complete
                verdict = Verdict.from_json(json.loads(self._lines.get(check.encode(), b"")))
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
