"""The journal of a run: every verdict is appended to a file the moment it is known, so that none is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from refgrad.documents import checked, read_bytes
from refgrad.errors import UserError
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_line

MOST_BYTES: Final = 1 << 30
"""Largest journal that is read, in bytes: of an engine that fails all checks it has tens of MB."""


class JournalError(UserError):
    """A journal cannot be used; the message names the file and the line, and says what to do."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of JSON lines: a header that says what is being run, then one verdict a line."""

    path: Path

    def begin(self, header: Mapping[str, Any]) -> None:
        """Start afresh, in one go: whoever dies meanwhile leaves the old journal, or the new one with its header."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f".{self.path.name}.unfinished")
        try:
            unfinished.write_bytes(_line(dict(header)))
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)

    def append(self, verdict: Verdict) -> None:
        """Add one verdict and hand it to the operating system; the rest of a line that was cut short is removed before.

        Raises OSError where it cannot be written; the lines before it stay.
        """
        with self.path.open("r+b", buffering=0) as file:
            file.seek(_end_of_lines(file))
            file.truncate()
            _write(file, _line(verdict.to_json()))

    def resume(self, header: Mapping[str, Any]) -> list[Verdict]:
        """Return the verdicts already known, for a run with the same header, without a last line that was cut short.

        Nothing is written. Raises JournalError where the journal cannot be read, belongs to another run, or is damaged
        before its end.
        """
        whole = read_bytes(self.path, JournalError, MOST_BYTES).split(b"\n")[:-1]
        if not whole or _read(whole[0]) != dict(header):
            message = f"{self.path} belongs to another run; grade without --resume, or into another folder"
            raise JournalError(message)
        return [self._verdict(number, line) for number, line in enumerate(whole[1:], 2)]

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
    """Return what a line holds; None where it is not JSON, or nested too deep to be read."""
    try:
        return json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _end_of_lines(file: Any) -> int:
    """Return where the last whole line of a file ends."""
    end = int(file.seek(0, os.SEEK_END))
    while end:
        start = max(end - 65536, 0)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + int(found) + 1
        end = start
    return 0


def _write(file: Any, line: bytes) -> None:
    """Write all of a line: a disk that is nearly full takes a part of it, and refuses the rest."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]
