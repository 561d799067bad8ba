"""The result of a check of gradients, and its text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from refgrad.oracles import Discrepancy

Outcome = Literal["right", "wrong", "inconclusive"]
Method = Literal["certified", "differences", "directions", "none"]

CAUSES = frozenset({"kink", "pole", "noise", "domain", "time", "raises", "changes", "unsupported"})
"""Causes of an inconclusive report. They concern the point, the rounding of the function, or its kind."""

OUT_OF_TIME = "no gradient could be held against the truth in the time that there was: raise the budget"
"""Message of a check that ended before it had judged a gradient."""

HOW = {
    "certified": "held against certified intervals",
    "differences": "held against finite differences",
    "directions": "held against finite differences along random directions",
    "none": "not checked",
}
"""Descriptions of the methods."""

MOST_REFUSED = 3
"""Largest number of lines about contexts that a function does not support."""


class GradientError(AssertionError):
    """A gradient is wrong. ``report`` has the details; the message has all that is needed to reproduce it."""

    def __init__(self, report: GradientReport) -> None:
        """Store the report, and find its message."""
        self.report = report.explained()
        super().__init__(str(self.report))

    @staticmethod
    def of(report: GradientReport) -> GradientError:
        """Return the error for a report."""
        return GradientError(report) if report.outcome == "wrong" else InconclusiveError(report)


class InconclusiveError(GradientError):
    """A check is inconclusive, for a cause that is not allowed."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The message about a gradient, and the wrong entry that it shows."""

    message: str = ""
    discrepancy: Discrepancy | None = None

    def __call__(self) -> Explanation:
        """Return itself: a report calls its explanation, which may still have to be computed."""
        return self


@dataclass(frozen=True, slots=True)
class GradientReport:
    """The outcome of one check; true in a condition if the gradient is right.

    ``method`` is the source of the truth: ``certified`` (an interval, from the operator table), ``differences`` (by
    directions, and by entries where these leave anything open) or ``directions`` (if there are many entries);
    ``reason`` says why it was not certified. ``looked_at`` is the number of the ``entries`` in which a single error
    would have been visible.

    ``sees_from`` is the relative error above which a single wrong entry of the gradient under a seed is never missed,
    if that is known. ``chance_to_miss`` bounds the probability that errors in several entries cancel.

    ``detectable`` is the smallest relative error of scale in the gradient of each input, by its name, that would have
    been detected with a probability of 95 % in at most 16 bits.

    ``inconclusive`` holds the entries that could not be judged, and those at a kink whose value is legal; ``cause`` is
    one of ``CAUSES``. A report that is inconclusive for a cause that was ``allowed`` is true, too.

    ``message`` is the whole text about what is wrong or inconclusive; it is empty if the outcome alone is enough.
    ``discrepancy`` is the wrong entry that the message is about. Both come from the ``explanation``, which is computed
    when one of them is read first: the function is then run again, on copies of the inputs, for the rest of the budget.
    If the outputs of the function have changed, the message is that of the check itself. :meth:`explained` computes the
    explanation at once.

    ``contexts`` names the contexts in which the gradient is that of the plain call. ``refused`` has a line for each
    call in a context that raised an exception since it is not supported.

    ``derivatives`` has the outcomes for the derivatives of the ``program`` and of its ``equation``, if one was given.

    ``points`` is the number of inputs of a search at which the gradient was right, or that were tried until the
    smallest wrong ones were found. ``raised`` is the exception that ended the check, with its traceback: of the
    function, of its backward, or of the check itself.
    """

    engine: str
    outcome: Outcome
    method: Method
    entries: int
    seeds: int
    reason: str = ""
    sees_from: float | None = None
    chance_to_miss: float = 0.0
    inconclusive: tuple[Discrepancy, ...] = ()
    cause: str = ""
    looked_at: int = 0
    detectable: Mapping[str, float] = field(default_factory=dict, compare=False)
    allowed: bool = False
    points: int = 1
    derivatives: Mapping[str, Outcome] = field(default_factory=dict, compare=False, repr=False)
    contexts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    raised: BaseException | None = field(default=None, compare=False, repr=False)
    explanation: Callable[[], Explanation] = field(default=Explanation(), compare=False, repr=False)

    def __bool__(self) -> bool:
        """Return True if the gradient is right, or if the cause of an inconclusive check is allowed."""
        return self.outcome == "right" or self.allowed

    def allowing(self, causes: Collection[str]) -> GradientReport:
        """Return the report with these causes allowed."""
        allowed = self.outcome == "inconclusive" and self.cause in causes
        return replace(self, allowed=True) if allowed else self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the report with its explanation computed."""
        explained = self.explained()
        return GradientReport, tuple(getattr(explained, each.name) for each in fields(self))

    @property
    def message(self) -> str:
        """The text about what is wrong or inconclusive."""
        return self.explanation().message

    @property
    def discrepancy(self) -> Discrepancy | None:
        """The wrong entry that the message shows."""
        return self.explanation().discrepancy

    def explained(self) -> GradientReport:
        """Return the report with its explanation computed, so that the function is not run again."""
        return replace(self, explanation=self.explanation())

    def introduced(self, words: str) -> GradientReport:
        """Return the report with ``words`` before its text."""
        return replace(self, explanation=cache(lambda: Explanation(f"{words}{self}", self.discrepancy)))

    def __str__(self) -> str:
        """Return the message, or the outcome in a few lines."""
        return self.message or "\n".join(self._lines())

    def _lines(self) -> list[str]:
        entries = f"{self.entries} {'entry' if self.entries == 1 else 'entries'}"
        seeds = f"{self.seeds} seed{'s' if self.seeds != 1 else ''}"
        where = f"at {self.points} points, " if self.points > 1 else ""
        lines = [f"gradient {self.outcome}: {where}{entries} under {seeds}, {HOW[self.method]}"]
        if self.looked_at < self.entries and self.points == 1:
            words = f"an error in one of {self.looked_at} entries would have shown alone"
            lines.append(f"{words}, in the rest only with others")
        least = self.detectable.items()
        lines += [f"errors above {100 * size:.2g} % in input {name} would have shown" for name, size in least]
        lines += [f"{outcome} as the derivative of the {name}" for name, outcome in self.derivatives.items()]
        if self.reason:
            lines.append(f"not certified, because {self.reason}")
        if self.chance_to_miss:
            words = f"a probability of at most {self.chance_to_miss:.0e}"
            lines.append(f"errors in several entries cancel unseen with {words}")
        lines += [f"not compared when {call}" for call in self.refused[:MOST_REFUSED]]
        return lines + [describe_inconclusive(discrepancy) for discrepancy in self.inconclusive]


def answered(report: GradientReport, *, raise_exception: bool = True, **tolerances: float | None) -> bool:
    """Return the result of a checker that has the name and the arguments of another library's checker.

    Raise an error if the gradient is not right. Its message mentions given tolerances, which are not used.
    """
    if raise_exception and not report:
        names = ", ".join(name for name, value in tolerances.items() if value is not None)
        unused = f"\n{names} not used: the gradient was {HOW[report.method]}, within what rounding explains"
        explanation = Explanation(f"{report}{unused}", report.discrepancy)
        raise GradientError.of(replace(report, explanation=explanation) if names else report)
    return bool(report)


def unchecked(engine: str, why: str, outcome: Outcome = "inconclusive", **fields: Any) -> GradientReport:
    """Return a report in which no gradient was judged. The default cause is ``unsupported``."""
    fields.setdefault("cause", "unsupported")
    return GradientReport(engine, outcome, "none", 0, 0, explanation=Explanation(why), **fields)


def describe_inconclusive(discrepancy: Discrepancy) -> str:
    """Return a line about an entry that could not be judged, and why."""
    entry, observed, truth = entry_text(discrepancy), repr(discrepancy.observed), discrepancy.truth
    if discrepancy.severity == "convention":
        return f"{entry} is at a kink: {observed} is one of the legal answers, {truth}"
    if not np.isfinite(discrepancy.lower + discrepancy.upper):
        return f"{entry} is inconclusive: {observed}, at a pole or at the border of a domain"
    if "between" in truth:
        return f"{entry} is inconclusive at a kink: {observed}, and the one-sided slopes leave {truth}"
    return f"{entry} is inconclusive: {observed}, and all that is known of the truth is {truth}"


def entry_text(discrepancy: Discrepancy) -> str:
    """Return the name of an entry of an input: ``input 0, entry (1, 2)``."""
    if discrepancy.entry is None:
        return "a direction through all inputs"
    return f"input {discrepancy.input}" + (f", entry {discrepancy.entry}" if discrepancy.entry else "")
