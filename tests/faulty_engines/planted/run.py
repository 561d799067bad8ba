"""The run of all planted faults and legal choices on several seeds, and what it finds of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from refgrad.grading.judging.verdict import FAILURES
from tests.faulty_engines.derived.grading import searches_kept_brief
from tests.faulty_engines.journal import journaled
from tests.faulty_engines.planted.faults import FAULTS, LEGAL
from tests.faulty_engines.planted.grading import SEEDS, right_verdict, verdict
from tests.faulty_engines.remembering import remembered_scenarios

BATCH: Final = 4
"""So many faults are graded with one memory of scenarios."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the standard profile finds: a verdict for each seed, and that of the engine as it is."""

    name: str
    verdicts: Sequence[str]
    right: str

    @property
    def killed(self) -> bool:
        """Whether the check fails on every seed, and passes on the engine as it is."""
        return self.right not in FAILURES and all(each in FAILURES for each in self.verdicts)

    @property
    def flagged(self) -> bool:
        """Whether the check fails on some seed."""
        return any(each in FAILURES for each in self.verdicts)


def result(name: str) -> Result:
    """Grade an engine with a fault, or with a choice."""
    fault = {**FAULTS, **LEGAL}[name]
    return Result(name, [verdict(fault, seed).verdict for seed in SEEDS], right_verdict(fault).verdict)


def results(journal: Path) -> dict[str, Result]:
    """Return the results by their names: those of a journal, and of what it lacks, noted there."""
    return journaled(journal, [*LEGAL, *FAULTS], grade=_of_batch, batches=batches, read=Result)


def batches(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield names in batches."""
    rest = list(names)
    yield from (rest[at : at + BATCH] for at in range(0, len(rest), BATCH))


def _of_batch(names: list[str]) -> list[Result]:
    with searches_kept_brief(), remembered_scenarios():
        return [result(name) for name in names]
