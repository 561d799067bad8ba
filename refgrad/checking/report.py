"""The result of a check of gradients, and its text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from refgrad.checking.discrepancy import Discrepancy

Outcome = Literal["right", "wrong", "inconclusive"]
Method = Literal["certified", "differences", "directions", "none"]

CAUSES = frozenset({"kink", "pole", "noise", "domain", "time", "raises", "changes", "unsupported"})
"""Why nothing can be said: where the point lies, how the function is rounded, or that it cannot be checked at all."""


class GradientError(AssertionError):
    """A gradient is wrong; ``report`` has the details, the message all that is needed to see it."""

    def __init__(self, report: GradientReport) -> None:
        """Carry the report."""
        super().__init__(str(report))
        self.report = report

    @staticmethod
    def of(report: GradientReport) -> GradientError:
        """Return the error that a report calls for."""
        return GradientError(report) if report.outcome == "wrong" else InconclusiveError(report)


class InconclusiveError(GradientError):
    """Nothing can be said of a gradient, and it is not allowed by name that this be so."""


class Told(Protocol):
    """What is said of a gradient beside its outcome."""

    @property
    def message(self) -> str:
        """The whole text; nothing where the outcome says it."""

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The entry that is wrong, if one is."""


@dataclass(frozen=True, slots=True)
class Text:
    """What is known without running anything again."""

    message: str = ""
    discrepancy: Discrepancy | None = None


@dataclass(frozen=True, slots=True)
class Introduced:
    """What is told, behind a few words."""

    words: str
    told: Told

    @property
    def message(self) -> str:
        """The words and the text."""
        return self.words + self.told.message

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The entry that is wrong, if one is."""
        return self.told.discrepancy


NOTHING = Text()


@dataclass(frozen=True, slots=True)
class GradientReport:
    """The outcome of one check; true in a condition if the gradient is right.

    ``method`` is how the truth was found: ``certified`` (an interval, from the operator table), ``differences`` (by
    directions, and entry by entry where these leave anything open) or ``directions`` (where there are many entries);
    ``reason`` says why it was not certified. ``looked_at`` is of how many of the ``entries``
    an error in one alone would have shown.
    ``sees_from`` is the relative error from which on a single wrong entry of the gradient under a seed is
    never missed, as far as that is known beforehand; ``chance_to_miss`` bounds the probability that errors in several
    entries cancel unseen. ``inconclusive`` holds entries of which nothing can be said, or at a kink only that their
    value is legal, ``cause`` one of ``CAUSES`` why, and ``discrepancy`` the entry that is wrong. That and the text are
    looked for when somebody asks for them, which runs the function again. A report that is inconclusive for a cause
    that was ``allowed`` is true, too. ``points`` is at how many inputs of a search the gradient was right, or how
    many were tried until the smallest wrong ones were found. ``raised`` is the exception that ended the check, with its
    traceback: of the function, of its backward, or of a mistake of the check itself.
    """

    engine: str
    outcome: Outcome
    method: Method
    entries: int
    seeds: int
    reason: str = ""
    sees_from: float | None = None
    chance_to_miss: float = 0.0
    told: Told = field(default=NOTHING, compare=False, repr=False)
    inconclusive: tuple[Discrepancy, ...] = ()
    cause: str = ""
    looked_at: int = 0
    allowed: bool = False
    points: int = 1
    raised: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def message(self) -> str:
        """The whole text on what is wrong, or why nothing can be said; nothing where the outcome says it."""
        return self.told.message

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The entry that is wrong, as the text shows it."""
        return self.told.discrepancy

    def __bool__(self) -> bool:
        """Whether the gradient was found right, or what keeps one from knowing is allowed."""
        return self.outcome == "right" or self.allowed

    def allowing(self, causes: Collection[str]) -> GradientReport:
        """Return the report as it is if these causes are allowed."""
        allowed = self.outcome == "inconclusive" and self.cause in causes
        return replace(self, allowed=True) if allowed else self

    def __str__(self) -> str:
        """Return the message, or the outcome in a few lines."""
        return self.message or "\n".join(self._lines())

    def _lines(self) -> list[str]:
        entries = f"{self.entries} {'entry' if self.entries == 1 else 'entries'}"
        seeds = f"{self.seeds} seed{'s' if self.seeds != 1 else ''}"
        where = f"at {self.points} points, " if self.points > 1 else ""
        lines = [f"gradient {self.outcome}: {where}{entries} under {seeds}, {HOW[self.method]}"]
        if self.looked_at < self.entries and self.points == 1:
            lines.append(
                f"an error in one of {self.looked_at} entries would have shown alone, in the rest only with others"
            )
        if self.reason:
            lines.append(f"not certified, because {self.reason}")
        if self.chance_to_miss:
            lines.append(
                f"errors in several entries cancel unseen with a probability of at most {self.chance_to_miss:.0e}"
            )
        lines += [describe_inconclusive(discrepancy) for discrepancy in self.inconclusive]
        return lines


HOW = {
    "certified": "held against certified intervals",
    "differences": "held against finite differences",
    "directions": "held against finite differences along random directions",
    "none": "not checked",
}
"""What the truth was, by the method."""


def instead_of(report: GradientReport, **tolerances: float | None) -> GradientReport:
    """Return the report with what was used instead of the tolerances that somebody gave: those that are not None."""
    given = [name for name, value in tolerances.items() if value is not None]
    if not given:
        return report
    told = f"{', '.join(given)} not used: the gradient was {HOW[report.method]}, within what rounding explains"
    return replace(report, told=Text(f"{report}\n{told}", report.discrepancy))


def unsupported(engine: str, why: str, raised: BaseException | None = None) -> GradientReport:
    """Return the report on what cannot be checked."""
    return GradientReport(engine, "inconclusive", "none", 0, 0, told=Text(why), cause="unsupported", raised=raised)


def describe_inconclusive(discrepancy: Discrepancy) -> str:
    """Say where nothing can be said, and why."""
    place, observed, truth = entry_text(discrepancy), repr(discrepancy.observed), discrepancy.truth
    if discrepancy.severity == "convention":
        return f"{place} is at a kink: {observed} is one of the legal answers, {truth}"
    if not np.isfinite(discrepancy.lower + discrepancy.upper):
        return f"{place} is inconclusive: {observed}, at a pole or at the border of a domain"
    if "between" in truth:
        return f"{place} is inconclusive at a kink: {observed}, and the one-sided slopes leave {truth}"
    return f"{place} is inconclusive: {observed}, and all that is known of the truth is {truth}"


def entry_text(discrepancy: Discrepancy) -> str:
    """Name an entry of an input: ``input 0, entry (1, 2)``."""
    if discrepancy.entry is None:
        return "a direction through all inputs"
    return f"input {discrepancy.input}" + (f", entry {discrepancy.entry}" if discrepancy.entry else "")
