"""What became of each fault, kept line by line, so that a run that was ended goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.faults import Fault
from tests.repository.sources import ROOT


@dataclass(frozen=True, slots=True)
class Trial:
    """The fault, the test that killed it (None if it survived), and how many tests and seconds of tests it survived."""

    fault: Fault
    killer: str | None
    tests: int
    seconds: float


class Journal:
    """A file with a line for each trial; those of modules that have changed since are forgotten."""

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.rows = {row["id"]: row for row in map(json.loads, lines)}

    def known(self, faults: Iterable[Fault], *, survivors: bool) -> list[Trial]:
        """Return the trials of faults, without those that survived if these are to be tried again."""
        found = []
        for fault in faults:
            row = self.rows.get(fault.id)
            if row is not None and row["source"] == _digest(fault.module) and (survivors or row["killer"]):
                found.append(Trial(fault, row["killer"], row["tests"], row["seconds"]))
        return found

    def add(self, trial: Trial) -> None:
        """Write one trial down."""
        row = {
            "id": trial.fault.id,
            "source": _digest(trial.fault.module),
            "killer": trial.killer,
            "tests": trial.tests,
            "seconds": round(trial.seconds, 2),
        }
        self.rows[trial.fault.id] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _digest(module: str) -> str:
    return hashlib.sha256((ROOT / module).read_bytes()).hexdigest()[:16]
