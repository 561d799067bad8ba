"""The result of a check of gradients, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from refgrad.checking.discrepancy import Discrepancy

Outcome = Literal["right", "wrong", "inconclusive"]
Method = Literal["certified", "differences", "directions", "none"]


class GradientError(AssertionError):
    """A gradient is wrong; ``report`` has the details, the message all that is needed to see it."""

    def __init__(self, report: GradientReport) -> None:
        """Carry the report."""
        super().__init__(report.message)
        self.report = report


@dataclass(frozen=True, slots=True)
class GradientReport:
    """The outcome of one check; true in a condition unless the gradient is wrong.

    ``method`` is how the truth was found: ``certified`` (an interval, from the operator table), ``differences`` (entry
    by entry) or ``directions`` (along random directions, where there are many entries); ``reason`` says why it was not
    certified. ``sees_from`` is the relative error from which on a single wrong entry of the gradient under a seed is
    never missed, as far as that is known beforehand; ``chance_to_miss`` bounds the probability that errors in several
    entries cancel unseen. ``inconclusive`` holds entries of which nothing can be said, or at a kink only that their
    value is legal, and ``discrepancy`` the entry that is wrong.
    """

    engine: str
    outcome: Outcome
    method: Method
    entries: int
    seeds: int
    reason: str = ""
    sees_from: float | None = None
    chance_to_miss: float = 0.0
    message: str = ""
    discrepancy: Discrepancy | None = None
    inconclusive: tuple[Discrepancy, ...] = ()

    def __bool__(self) -> bool:
        """Whether nothing wrong was found."""
        return self.outcome != "wrong"

    def __str__(self) -> str:
        """Return the message, or the outcome in a few lines."""
        return self.message or "\n".join(self._lines())

    def _lines(self) -> list[str]:
        how = {
            "certified": "held against certified intervals",
            "differences": "held against finite differences, entry by entry",
            "directions": "held against finite differences along random directions",
            "none": "not checked",
        }[self.method]
        entries = f"{self.entries} {'entry' if self.entries == 1 else 'entries'}"
        seeds = f"{self.seeds} seed{'s' if self.seeds != 1 else ''}"
        lines = [f"gradient {self.outcome}: {entries} under {seeds}, {how}"]
        if self.reason:
            lines.append(f"not certified, because {self.reason}")
        if self.chance_to_miss:
            lines.append(
                f"errors in several entries cancel unseen with a probability of at most {self.chance_to_miss:.0e}"
            )
        lines += [describe_inconclusive(discrepancy) for discrepancy in self.inconclusive]
        return lines


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
