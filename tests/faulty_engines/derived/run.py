"""The run of all derived faults, and what it finds of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from refgrad.grading.judging.verdict import FAILURES, Verdict
from tests.faulty_engines.derived.faults import DerivedFault
from tests.faulty_engines.derived.grading import FAULTS, brief_grading, verdicts
from tests.faulty_engines.journal import journaled
from tests.faulty_engines.remembering import remembered_scenarios

BATCH: Final = 40
"""So many faults, at least, are graded with one memory of scenarios."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the standard profile found of a fault: its check's verdict, and those of the lower ones of the operator.

    ``at_smoke`` says whether the smoke profile finds it, too.
    """

    name: str
    verdict: str
    examples: int
    at_smoke: bool
    message: str
    cause: str
    lower: Mapping[str, str]

    @property
    def killed(self) -> bool:
        """Whether the check fails."""
        return self.verdict in FAILURES

    @property
    def blamed(self) -> list[str]:
        """The checks that fail though the fault is not theirs."""
        return [check for check, verdict in self.lower.items() if verdict in FAILURES]


def result(fault: DerivedFault) -> Result:
    """Grade an engine with a fault."""
    found = verdicts(fault, "standard")
    own = found.pop(fault.check.id)
    message = "" if own.failed else own.message
    return Result(fault.name, own.verdict, own.examples, at_smoke(fault, own), message, own.cause, _outcomes(found))


def at_smoke(fault: DerivedFault, verdict: Verdict) -> bool:
    """Whether the smoke profile finds what the standard one has found, whose first scenarios it tries."""
    return verdict.failed and verdicts(fault, "smoke")[fault.check.id].failed


def _outcomes(found: Mapping[str, Verdict]) -> dict[str, str]:
    return {check: verdict.verdict for check, verdict in found.items()}


def results(journal: Path, names: Iterable[str] | None = None) -> dict[str, Result]:
    """Return the results of faults by their names: those of a journal, and of what it lacks, noted there."""
    wanted = FAULTS if names is None else names
    return journaled(journal, wanted, grade=_of_batch, batches=batches, read=Result)


def batches(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield names in batches, those of an operator in one of them."""
    batch: list[str] = []
    for _, group in groupby(names, lambda name: FAULTS[name].row.name):
        batch += group
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _of_batch(names: list[str]) -> list[Result]:
    with brief_grading(), remembered_scenarios():
        return [result(FAULTS[name]) for name in names]
