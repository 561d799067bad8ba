"""The file of a project's known failures: entries of TOML, which people write and a run may add to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from refgrad.documents import read_text, read_toml
from refgrad.errors import UserError
from refgrad.grading.checks.families import check_named
from refgrad.native.text import plain_line

TABLE: Final = "known_failure"
HEAD: Final = f"[[{TABLE}]]"


class KnownFailuresError(UserError):
    """A file of known failures is invalid. The message names the entry and the problem."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A check that is known to fail: the reason, the engine, its versions, and how long the failure is accepted."""

    id: str
    reason: str
    engine: str = ""
    version: str = ""
    link: str = ""
    expires: date | None = None

    @property
    def text(self) -> str:
        """Reason with its link."""
        return plain_line(f"{self.reason} ({self.link})" if self.link else self.reason)

    def concerns(self, engine: str, version: str) -> bool:
        """Return True if the entry applies to a version of an engine.

        Raises KnownFailuresError if the entry names versions and ``version`` cannot be compared with them.
        """
        if self.engine not in {"", engine}:
            return False
        try:
            return not self.version or SpecifierSet(self.version).contains(Version(version), prereleases=True)
        except InvalidVersion as error:
            problem = f"{self.id}: the version of {engine} is {version}, which cannot be compared with {self.version!r}"
            raise KnownFailuresError(problem) from error


def read_known_failures(path: Path) -> tuple[KnownFailure, ...]:
    """Read a file. Raises KnownFailuresError if it is malformed, or if an entry names an unknown check."""
    rows = read_toml(path, "known-failures", KnownFailuresError, dates=("expires",)).get(TABLE, [])
    return tuple(_entry(f"{path}: {TABLE}[{number}]", row) for number, row in enumerate(rows))


def written_anew(path: Path, gone: Sequence[KnownFailure], new: Sequence[KnownFailure]) -> str:
    """Return the text of a file with entries removed and added. The rest, including comments, is unchanged.

    Raises KnownFailuresError if the entries of the file cannot be separated by their headers.
    """
    entries = read_known_failures(path) if path.exists() else ()
    before, *blocks = _blocks(read_text(path, KnownFailuresError)) if path.exists() else [""]
    if len(blocks) != len(entries):
        raise KnownFailuresError(f"{path} cannot be updated: begin each entry with a line {HEAD}")
    kept = [before, *(block for block, entry in zip(blocks, entries, strict=True) if entry not in gone)]
    parts = [part.strip("\n") for part in (*kept, *map(_block, new))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(where: str, row: dict[str, Any]) -> KnownFailure:
    expires = date.fromisoformat(row["expires"]) if "expires" in row else None
    entry = KnownFailure(**row | {"expires": expires})
    try:
        check_named(entry.id)
        SpecifierSet(entry.version)
    except UserError as error:
        raise KnownFailuresError(f"{where}: {error}") from error
    except InvalidSpecifier as error:
        text = entry.version
        raise KnownFailuresError(f"{where}: {text!r} is not a version specifier, such as '<2.6' (PEP 440)") from error
    return entry


def _blocks(text: str) -> list[str]:
    """Split a file before the header of each entry and the comment directly above the header."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for index, line in enumerate(lines):
        if line.strip() == HEAD:
            starts.append(_with_comment(lines, index))
    return ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _with_comment(lines: Sequence[str], index: int) -> int:
    while index and lines[index - 1].startswith("#"):
        index -= 1
    return index


def _block(entry: KnownFailure) -> str:
    fields = {name: getattr(entry, name) for name in ("id", "engine", "reason")}
    return f"{HEAD}\n" + "".join(f"{name} = {_quoted(value)}\n" for name, value in fields.items() if value)


def _quoted(text: str) -> str:
    """Return a string of TOML, which has the escapes of JSON. Control characters were escaped before."""
    return json.dumps(text, ensure_ascii=False)
