"""Differences between two reports, and between the successive reports of an engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from refgrad.facts import Entry
from refgrad.grading.judging.verdict import FAILURES, Outcome, Verdict
from refgrad.native.text import plain_text
from refgrad.report.document import Report

if TYPE_CHECKING:
    from refgrad.report.pages import Graded

Kind = Literal["broken", "fixed", "changed", "accuracy", "new", "gone"]
"""Kind of a difference between two reports of a check.

A check is ``broken`` if it passed before and fails now, and ``fixed`` if it failed before and passes now. If its
verdict changed otherwise, it is ``changed``. If it fails with the same verdict, but with an error that is more than ten
times smaller or larger, the kind is ``accuracy``. A check that only one report has is ``new`` or ``gone``.
"""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

HOLDS: Final = frozenset({"passed", "convention"})
MUCH: Final = 10.0
"""Factor between two errors above which they count as different."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A check with its verdict in each of the two reports, None where a report has none."""

    kind: Kind
    old: Verdict | None
    new: Verdict | None

    @property
    def either(self) -> Verdict:
        """The newer verdict if both reports have one, else the only one."""
        verdict = self.new or self.old
        assert verdict is not None
        return verdict

    @property
    def outcomes(self) -> tuple[Outcome | None, Outcome | None]:
        """The outcomes of the check before and after."""
        return (self.old.verdict if self.old else None, self.new.verdict if self.new else None)

    @property
    def is_regression(self) -> bool:
        """Return True if the check passed before, and now fails, is unsupported, or is gone."""
        return self.kind == "broken" or (
            self.old is not None
            and self.old.verdict in HOLDS
            and (self.new is None or self.new.verdict == "unsupported")
        )

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        before, after = self.outcomes
        return {
            "kind": self.kind, "id": self.either.id, "level": self.either.level, "old": before, "new": after,
            "old_message": self.old.message if self.old else "", "new_message": self.new.message if self.new else "",
        }  # fmt: skip


def differences(old: Report, new: Report) -> list[Difference]:
    """Return the checks that differ between two reports, by kind and then in the order of the suite."""
    before = {verdict.id: verdict for verdict in old.verdicts}
    after = {verdict.id: verdict for verdict in new.verdicts}
    changes = [
        Difference(kind, before.get(name), after.get(name))
        for name in {**after, **before}
        if (kind := _kind(before.get(name), after.get(name))) is not None
    ]
    return sorted(changes, key=lambda difference: KINDS.index(difference.kind))


def _kind(old: Verdict | None, new: Verdict | None) -> Kind | None:
    if old is None or new is None:
        return "new" if old is None else "gone"
    if old.verdict in HOLDS and new.verdict in FAILURES:
        return "broken"
    if old.verdict in FAILURES and new.verdict in HOLDS:
        return "fixed"
    if old.verdict != new.verdict:
        return "changed"
    if old.verdict not in FAILURES:
        return None
    ratio = _error(new) / _error(old)
    return "accuracy" if ratio > MUCH or ratio * MUCH < 1 else None


def _error(verdict: Verdict) -> float:
    """Return the error of the entry in a verdict's evidence in rounding budgets, or NaN if there is none."""
    fact = verdict.fact
    error = float(fact.budgets) if isinstance(fact, Entry) else math.nan
    return error if math.isfinite(error) and error > 0 else math.nan


def comparison_text(old: Report, new: Report, changes: Sequence[Difference]) -> str:
    """Return the differences as lines of plain text, or a line which states that there are none."""
    from refgrad.report.pages import markdown_templates  # noqa: PLC0415 (`refgrad confirm` needs no Jinja)

    counts = [f"{count} {kind}" for kind, count in _counts(changes).items() if count]
    page = markdown_templates().get_template("comparison.txt.jinja")
    text = page.render(old=old, new=new, counts=counts, differences=changes).removesuffix("\n")
    return "\n".join(map(plain_text, text.split("\n")))


def _counts(changes: Sequence[Difference]) -> dict[str, int]:
    return {kind: sum(difference.kind == kind for difference in changes) for kind in KINDS}


@dataclass(frozen=True)
class Stage:
    """A report, and its differences from the one before. The first report has none."""

    report: Graded
    changes: tuple[Difference, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of checks that differ, by the kind of the difference."""
        return _counts(self.changes)


def histories(folders: Sequence[Sequence[Graded]]) -> dict[str, list[Stage]]:
    """Return the stages of each engine in the last folder that is also in an earlier one, by the name of its report."""
    stages: dict[str, list[Stage]] = {}
    for newest in folders[-1] if folders else ():
        reports = [each for folder in folders for each in folder if each.file == newest.file]
        if len(reports) > 1:
            changes = (tuple(differences(old.document, new.document)) for old, new in pairwise(reports))
            stages[newest.file] = list(map(Stage, reports, [(), *changes]))
    return stages
