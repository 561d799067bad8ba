"""The history of an engine: its reports in several folders, oldest first, and the changes from each to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refgrad.report.pages import Graded
from refgrad.report.runs.comparison import KINDS, Difference, differences


@dataclass(frozen=True)
class Stage:
    """A report, and its differences from the one before. The first report has none."""

    report: Graded
    changes: tuple[Difference, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of checks that differ, by the kind of the difference."""
        return {kind: sum(change.kind == kind for change in self.changes) for kind in KINDS}


def histories(folders: Sequence[Sequence[Graded]]) -> dict[str, list[Stage]]:
    """Return the stages of each engine in the last folder that is also in an earlier one, by the name of its report."""
    found: dict[str, list[Stage]] = {}
    for newest in folders[-1] if folders else ():
        reports = [each for folder in folders for each in folder if each.file == newest.file]
        if len(reports) > 1:
            found[newest.file] = [Stage(reports[0]), *map(_stage, reports, reports[1:])]
    return found


def _stage(old: Graded, new: Graded) -> Stage:
    return Stage(new, tuple(differences(old.document, new.document)))
