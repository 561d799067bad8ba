"""What every fact has: its message, its sentence, its assertion and its severity.

A fact is what decides an outcome: a wrong number, a missing array, an error. Each kind of fact is one class, in
`arrays` or in `behaviour`, that overrides methods of `Fact`, and is listed in `KINDS`.

Numbers are stored as the text that Python prints of them, since JSON has neither infinities nor NaN. No code parses
messages and sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from refgrad.facts.assertion import Assertion, Output, ProgramEnd
from refgrad.facts.computed import Computed
from refgrad.native.observation import Raised
from refgrad.scenario import Grad

Severity = Literal[
    "wrong first derivative", "wrong higher derivative", "wrong value", "missing", "crash or hang", "wrong error",
    "other rule broken", "inaccurate",
]  # fmt: skip
"""Severity of a failure. The first three are silent: nothing shows a user that the number is wrong."""

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""All severities, worst first."""

MEMORY: Final = "memory that a backward shares or writes to"

NUMBERS: Final = re.compile(r"[\d.,\s\[\]()]+")

DIGITS: Final = 6
"""Number of digits of a number in a sentence. That two wrong numbers agree in more is no coincidence."""

Link: TypeAlias = tuple[str, str]
"""A kind of evidence, and what two findings have in common."""


class Fact:
    """A fact that decides an outcome. The methods stand for a fact of which nothing more than its message is known."""

    __slots__ = ()

    name: ClassVar[str] = ""
    """Name of the fault in two words, if it says more than the severity."""

    links_must_agree: ClassVar[bool] = False
    """True if findings with this fact have one cause only if their links agree."""

    template: ClassVar[str] = ""
    """Description of the fact in English, with fields for the members of the ``fact`` and for what was ``seen``."""

    def message(self) -> str:
        """Return the description of the fact in English."""
        return self.described(getattr(self, "seen", ""))

    def described(self, seen: object) -> str:
        """Return the description with a text in place of what was seen."""
        return self.template.format(fact=self, seen=seen)

    def sentence(self, computed: Computed, engine: str) -> str:
        """Return what was computed, what is right, and what the engine gives; the first letter may be a small one."""
        return f"{computed.before}{engine}: {self.message()}."

    def assertion(self, _: ProgramEnd) -> Assertion | None:
        """Return an assertion of the right result at the end of a program, or None if nothing can be asserted."""
        return None

    def is_printed(self, _: Output) -> bool | None:
        """Return True if the output of a program shows the fact, or None if no single value can show it."""
        return None

    def severity(self, _: Sequence[object]) -> Severity:
        """Return the severity of a wrong result in a scenario with these steps."""
        return "other rule broken"

    def title(self, severity: str) -> str:
        """Return what is wrong in a few words."""
        return self.name or severity.capitalize().replace("Other rule broken", "Violated")

    def links(self) -> tuple[Link, ...]:
        """Return what the fact may have in common with those of other findings of the same cause."""
        return ()

    @property
    def raised(self) -> Raised | None:
        """The error that the engine raised."""
        error: Raised | None = getattr(self, "error", None)
        return error

    @property
    def has_plain_names(self) -> bool:
        """Return True if names in the fact are identifiers: they become code, and an engine may have made them."""
        names = [getattr(self, member, None) for member in ("hook", "leaf", "node", "expected")]
        names += [each.name for each in (getattr(self, "subject", None), *getattr(self, "direction", ())) if each]
        return all(name.isidentifier() for name in names if name and isinstance(name, str))


def wrong_derivative(steps: Sequence[object]) -> Severity:
    """Return the severity of a wrong derivative in a scenario with these steps."""
    return "wrong higher derivative" if any(isinstance(step, Grad) for step in steps) else "wrong first derivative"


def error_link(error: Raised) -> Link:
    """Return the type and the message of an error, without numbers."""
    return "error", f"{error.type}: {NUMBERS.sub(' ', error.message)[:200].strip()}"


def number(value: float | str, *, exact: bool = False) -> str:
    """Return a number with a few digits, or, if it is to be ``exact``, with all."""
    value = float(value) + 0.0
    return repr(value) if exact or not math.isfinite(value) else f"{value:.{DIGITS}g}"


def interval(low: str, high: str, *, exact: bool = False) -> str:
    """Return the text of an interval, such as ``between 1 and 2``, or of its only number."""
    first, last = (number(each, exact=exact) for each in (low, high))
    return first if float(low) == float(high) or math.isnan(float(low)) else f"between {first} and {last}"
