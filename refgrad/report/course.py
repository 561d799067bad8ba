"""Scores and feedback for the engines of a course: as pages, and as JSON for Gradescope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

from refgrad.documents import DocumentError, read_toml
from refgrad.errors import suggestion
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import FAILURES, Verdict
from refgrad.report.pages import Graded

CREDITS: Final = MappingProxyType(dict.fromkeys(FAILURES, 0.0) | {"inaccurate": 0.5, "convention": 1.0, "passed": 1.0})
"""Share of its points that a check gives by its verdict. A check with another verdict does not apply to the engine."""

DEEP: Final = "scale/long_"
"""Prefix of the ids of the checks of deep graphs, in which a recursive backward ends in a RecursionError."""


@dataclass(frozen=True, slots=True)
class Part:
    """Points that checks share evenly, or, with ``recursion``, that a RecursionError in any of the checks costs.

    ``required`` are the checks that also apply to an engine that does not offer their operator.
    """

    name: str
    select: str
    points: float
    checks: frozenset[str]
    required: frozenset[str] = frozenset()
    recursion: bool = False

    def credit(self, verdict: Verdict) -> float | None:
        """Return the share of its points that a check gives, or None if it does not apply to the engine."""
        credit = CREDITS.get(verdict.verdict) if verdict.id in self.checks else None
        if verdict.verdict == "unsupported" and verdict.id in self.required:
            return 0.0
        raised = getattr(getattr(verdict.fact, "error", None), "bases", ())
        recursive = verdict.id.startswith(DEEP) and "RecursionError" in raised
        return float(recursive != self.recursion) if credit is not None and (recursive or self.recursion) else credit

    def test(self, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """Return the points of an engine, and the checks that cost it points, as a test of Gradescope."""
        credited = [(each, credit) for each in verdicts if (credit := self.credit(each)) is not None]
        share = (min if self.recursion else fmean)([credit for _, credit in credited] or [0.0])
        lines = [f"{each.id}: {each.verdict}" for each, credit in credited if credit < 1]
        output = "\n".join(lines) or "no check applies to the engine" * (share < 1 and bool(verdicts))
        test = {"name": self.name, "score": round(self.points * share, 2), "max_score": round(self.points, 2)}
        return test | {"status": "passed" if share == 1 else "failed", "output": output}


def results_of(parts: Sequence[Part], report: Graded | None, problem: str) -> dict[str, Any]:
    """Return the content of a results.json of Gradescope: the score, feedback, and a test for each part.

    Feedback is a line for each cause of failures and for each required operator that is not offered. Without a report
    it is the problem that prevents one.
    """
    tests = [part.test(report.verdicts if report else ()) for part in parts]
    lines = [] if report else [problem]
    if report:
        required = {name for part in parts for name in part.required}
        missing = [each.id for each in report.those("unsupported") if each.id in required]
        lines += [f"{name}: required, but not offered, or its values are wrong" for name in missing]
        lines += [f"{cause.best.verdict.id}: {cause.best.sentence}" for cause in report.causes]
    return {"score": round(sum(test["score"] for test in tests), 2), "output": "\n".join(lines), "tests": tests}


def read_points(path: Path) -> list[Part]:
    """Read the parts of a score. Raises DocumentError where the file is malformed, or a part has no check."""
    table = read_toml(path, "points")
    every = [check.id for check in all_checks()]
    required = {f"operators/{name}" for name in table.get("required", ())}
    parts, left = [], set(every)
    for row in table["points"]:
        checks = frozenset(matching(left, row["select"]))
        if not checks:
            raise DocumentError(f"{path}: {row['select']!r} matches no check, or none that has no points yet")
        parts.append(Part(row.get("name", row["select"]), row["select"], row["points"], checks, checks & required))
        left -= checks
    for name in sorted(required.difference(*(part.checks for part in parts))):
        raise DocumentError(f"{path}: required: no [[points]] selects {name!r}{suggestion(name, every)}")
    if points := table.get("recursion"):
        parts.append(Part("recursion", f"{DEEP}*", points, frozenset(matching(every, f"{DEEP}*")), recursion=True))
    return parts
