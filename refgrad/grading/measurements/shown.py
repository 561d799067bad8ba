"""The result of a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from refgrad.grading.judging.evidence import Fact
from refgrad.grading.judging.verdict import Outcome
from refgrad.grading.measurements.growth import Growth
from refgrad.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Shown:
    """What a measurement found, the program of the engine's own library that shows it, and how much was tried.

    A message says nothing that depends on how fast or how busy the machine was. What was measured does, ``figures``,
    ``growth`` and ``held``, the bytes that were held after so many iterations: reports do not have it. ``fact`` is what
    a message says, as data, where its program shows that. What is wrong may be the fault of one of the ``operators``.
    """

    outcome: Outcome
    message: str = ""
    program: str = ""
    scenario: Scenario | None = None
    examples: int = 1
    figures: str = ""
    growth: Growth | None = None
    held: Mapping[int, int] = field(default_factory=dict)
    fact: Fact | None = None
    operators: tuple[str, ...] = ()
