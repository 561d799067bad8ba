"""How are verdicts kept safe from a run that dies? Each is appended to a file the moment it is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refgrad.harness.verdict import Verdict


class JournalError(ValueError):
    """A journal cannot be used; the message names the file and the line, and says what to do."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of JSON lines: a header that says what is being run, then one verdict a line."""

    path: Path

    def begin(self, header: Mapping[str, Any]) -> None:
        """Start afresh."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(dict(header)) + "\n", encoding="utf-8")

    def append(self, verdict: Verdict) -> None:
        """Add one verdict and hand it to the operating system."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(verdict.to_json()) + "\n")

    def resume(self, header: Mapping[str, Any]) -> list[Verdict]:
        """Return the verdicts already known, for a run with the same header; a last line cut short is dropped.

        Raises JournalError where the journal belongs to another run or is damaged before its end.
        """
        lines = self.path.read_text(encoding="utf-8").split("\n")
        whole = lines[:-1]
        if not whole or _header(whole[0]) != dict(header):
            message = f"{self.path} belongs to another run; grade without --resume, or into another folder"
            raise JournalError(message)
        verdicts = [self._read(number, line) for number, line in enumerate(whole[1:], 2)]
        if lines[-1]:
            self.path.write_text("\n".join(whole) + "\n", encoding="utf-8")
        return verdicts

    def _read(self, number: int, line: str) -> Verdict:
        try:
            return Verdict.from_json(json.loads(line))
        except (TypeError, ValueError) as error:
            message = f"{self.path}, line {number} is damaged ({error}); delete that line and resume again"
            raise JournalError(message) from error


def _header(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
