"""One fault after the other, planted into one copy of the repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.mutation.faults import Fault
from tests.mutation.journal import Trial
from tests.mutation.killers import rounds
from tests.mutation.overlay import copied_to, replaced
from tests.mutation.reach import Reach
from tests.mutation.trial import first_failure
from tests.repository.sources import ROOT

SLOWER = 3.0
"""How many times as long as without it a fault may make tests take."""

STARTING = 10.0
"""Seconds for what a process does before its first test."""


class Planting:
    """A copy of the repository, and what is known of its tests."""

    def __init__(self, folder: Path, reach: Mapping[str, Reach]) -> None:
        """Copy the repository to a folder."""
        self.overlay = copied_to(folder)
        self.reach = reach

    def trial(self, fault: Fault) -> Trial:
        """Plant a fault, and run tests until one fails."""
        tests: dict[str, float] = {}
        source = (ROOT / fault.module).read_text(encoding="utf-8")
        with replaced(self.overlay, fault.module, fault.planted(source)):
            for chosen in rounds(fault, self.reach):
                tests |= chosen
                limit = STARTING + SLOWER * sum(chosen.values())
                killer = first_failure(self.overlay, chosen, limit) if chosen else None
                if killer is not None:
                    return Trial(fault, killer, len(tests), sum(tests.values()))
        return Trial(fault, None, len(tests), sum(tests.values()))
