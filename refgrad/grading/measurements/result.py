"""The result of a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from refgrad.facts import Fact
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.growth import Growth
from refgrad.native.statements import Statement
from refgrad.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a measurement, the program of the engine's own library that shows it, and how much was tried.

    ``message`` does not depend on the speed or load of the machine. The measured ``figures``, ``growth`` and ``held``
    (bytes held by number of iterations) do, and are left out of reports. ``fact`` is the message as data, if the
    program shows it. One of the ``operators`` may be the cause of a failure.
    """

    outcome: Outcome
    message: str = ""
    program: str | tuple[Statement, ...] = ""
    scenario: Scenario | None = None
    examples: int = 1
    figures: str = ""
    growth: Growth | None = None
    held: Mapping[int, int] = field(default_factory=dict)
    fact: Fact | None = None
    operators: tuple[str, ...] = ()
