"""Known failures: the file that lists them, and how they change the outcome of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from refgrad.documents import read_text, read_toml
from refgrad.errors import UserError
from refgrad.grading.checks.families import check_named
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.text import plain_line
from refgrad.report import CHARACTERS

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
    lines, starts = text.splitlines(keepends=True), [0]
    for index, line in enumerate(lines):
        if line.strip() == HEAD:
            start = index
            while start and lines[start - 1].startswith("#"):
                start -= 1
            starts.append(start)
    return ["".join(lines[a:b]) for a, b in pairwise([*starts, len(lines)])]


def _block(entry: KnownFailure) -> str:
    fields = {name: getattr(entry, name) for name in ("id", "engine", "reason")}
    lines = (f"{name} = {json.dumps(text, ensure_ascii=False)}\n" for name, text in fields.items() if text)
    return f"{HEAD}\n{''.join(lines)}"  # TOML has the escapes of JSON; control characters were escaped before


HELD: Final[frozenset[Outcome]] = frozenset({"passed", "convention", "unsupported"})
"""Outcomes with which a known failure no longer exists. `inconclusive` is not evidence of that."""


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """Known failures of one version of an engine, by check, and the ids of those that have expired.

    If the file is to be updated (``updates``), failures that it does not hold are accepted, and so are entries of
    checks that no longer fail.
    """

    path: Path | None = None
    engine: str = ""
    entries: Mapping[str, KnownFailure] = field(default_factory=dict)
    expired: frozenset[str] = frozenset()
    updates: bool = False

    @classmethod
    def of(cls, path: Path, engine: str, version: str, *, updates: bool = False) -> KnownFailures:
        """Read a file, which may be missing if it is to be updated. Raises KnownFailuresError if it is invalid."""
        engine = plain_line(engine)
        every = () if updates and not path.exists() else read_known_failures(path)
        ours = [entry for entry in every if entry.concerns(engine, version)]
        ours.sort(key=_specific)
        for (name, _), count in Counter((entry.id, _specific(entry)) for entry in ours).items():
            if count > 1:
                raise KnownFailuresError(f"{path}: {count} entries are about {name} of {engine} {version}")
        today = datetime.now(UTC).date()
        expired = frozenset(entry.id for entry in ours if entry.expires is not None and entry.expires < today)
        return cls(path, engine, {entry.id: entry for entry in ours}, expired, updates)

    def reason_to_accept(self, verdict: Verdict) -> str:
        """Return the reason why a failure does not fail the run, or an empty string if it does."""
        if verdict.id in self.entries:
            return "" if verdict.id in self.expired else f"known failure: {self.entries[verdict.id].text}"
        written = self.updates and verdict.failed and verdict.level == "MUST"
        return f"a known failure from now on, in {self.path}" if written else ""

    def objection(self, verdict: Verdict) -> str:
        """Return the problem with the entry of a check and how to fix it, or an empty string."""
        entry = self.entries.get(verdict.id)
        if entry is None:
            return ""
        if verdict.failed and entry.id in self.expired:
            return f"the known failure {entry.id} expired on {entry.expires}: {entry.text}; fix it, or change the date"
        if verdict.verdict in HELD and not self.updates:
            change = f"the known failure {entry.id} is {verdict.verdict} now: {entry.text}"
            return f"{change}; delete its entry from {self.path}, or let --update do that"
        return ""

    def objections(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Return the problems with the entries of some checks."""
        return [objection for objection in map(self.objection, verdicts) if objection]

    def unexpected(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Return the failures that are not accepted."""
        return [verdict for verdict in verdicts if verdict.failed and not self.reason_to_accept(verdict)]

    def update(self, verdicts: Sequence[Verdict]) -> None:
        """Add failures on the level MUST that are not in the file, and delete entries of checks that no longer fail.

        Raises KnownFailuresError if that cannot be done.
        """
        if self.path is None or not self.updates:
            return
        gone = [self.entries[v.id] for v in verdicts if v.id in self.entries and v.verdict in HELD]
        new = [self._entry(v) for v in verdicts if v.failed and v.level == "MUST" and v.id not in self.entries]
        if not gone and not new:
            return
        text = written_anew(self.path, gone, new)
        try:
            self.path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise KnownFailuresError(f"{self.path} cannot be written: {error.strerror}") from error

    def _entry(self, verdict: Verdict) -> KnownFailure:
        reason = plain_line(f"{verdict.verdict}: {verdict.message}", CHARACTERS["reason"])
        return KnownFailure(verdict.id, reason, self.engine)


def _specific(entry: KnownFailure) -> tuple[bool, bool]:
    """Return the precedence of an entry: one that names the engine overrides others, then one that names versions."""
    return bool(entry.engine), bool(entry.version)
