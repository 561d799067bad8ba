"""The known failures of a project, compared with the verdicts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.text import plain_line
from refgrad.pytest_plugin.known_failures_file import (
    KnownFailure,
    KnownFailuresError,
    read_known_failures,
    written_anew,
)

LONGEST_REASON: Final = 200
"""Largest number of characters of a reason that a run writes, which a user is to replace."""

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
        reason = plain_line(f"{verdict.verdict}: {verdict.message}", LONGEST_REASON)
        return KnownFailure(verdict.id, reason, self.engine)


def _specific(entry: KnownFailure) -> tuple[bool, bool]:
    """Return the precedence of an entry: one that names the engine overrides others, then one that names versions."""
    return bool(entry.engine), bool(entry.version)
