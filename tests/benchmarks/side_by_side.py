"""The time of grades, of a start and of drawn scenarios in two checkouts, measured in turn in one run.

    python -m tests.benchmarks.side_by_side OTHER [--engines torch,autograd] [--only TEXT] [--whole]

OTHER is a checkout of another commit, with refgrad and the engines installed in its `.venv`, as in that of this one. A
row of the table is run in the other and then in this one, and shows seconds by the clock, in brackets those of the
processors. The machine must have nothing else to do.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.repository.sources import ROOT

PYTHON: Final = ".venv/bin/python"
REFGRAD: Final = (PYTHON, "-m", "refgrad")
PROFILES: Final = ("standard", "smoke")
WORKERS: Final = (2, 1)
FEW: Final = 5
"""How often is run what takes seconds; the shortest counts."""

DRAWN: Final = """
from hypothesis import HealthCheck, Phase, given, seed, settings
from refgrad.strategies import scenarios
@seed(0)
@settings(max_examples=300, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(scenarios())
def draw(scenario): pass
draw()
"""
SEEDED: Final = """
try:
    from refgrad.generation import random_scenario
except ImportError:  # an older commit
    from refgrad.strategies import random_scenario
for number in range(300): random_scenario(number)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What is run: its name, the command in the checkout, how often, and the statuses that it may exit with."""

    name: str
    command: Sequence[str]
    rounds: int = 1
    endings: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Seconds:
    """What a run took by the clock, and of the processors."""

    clock: float
    processors: float

    def __str__(self) -> str:
        return f"{self.clock:.4g} s ({self.processors:.4g})"


WHOLE: Final = (
    Row("the README's command for tests", ("bash", "-c", 'bash -c "$(python3 .ci/readme_command.py tests)"')),
    Row(".ci/run", ("bash", ".ci/run")),
)
"""What takes minutes, installations among them."""


def rows(engines: Sequence[str]) -> Iterator[Row]:
    """Yield what takes seconds or a few minutes."""
    for engine in engines:
        for profile in PROFILES:
            for workers in WORKERS:
                options = ("--profile", profile, "--workers", str(workers), "--output", "out/side-by-side")
                yield Row(
                    f"grade {engine}, {profile}, {workers} worker{'s' * (workers > 1)}",
                    (*REFGRAD, "grade", engine, *options),
                    endings=(0, 1),
                )
    yield Row("refgrad --help", (*REFGRAD, "--help"), FEW)
    yield Row("refgrad grade nonsense", (*REFGRAD, "grade", "nonsense"), FEW, endings=(2,))
    yield Row("300 drawn scenarios", (PYTHON, "-c", DRAWN), FEW)
    yield Row("300 seeded scenarios", (PYTHON, "-c", SEEDED), FEW)


def taken(checkout: Path, row: Row) -> Seconds:
    """Return the least that a row takes in a checkout. Raises RuntimeError if it fails there."""
    return min((_run(checkout, row) for _ in range(row.rounds)), key=lambda each: each.clock)


def _run(checkout: Path, row: Row) -> Seconds:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(row.command, cwd=checkout, check=False, capture_output=True, text=True)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in row.endings:
        raise RuntimeError(
            f"{row.name!r} exits with {done.returncode} in {checkout}: {(done.stdout + done.stderr)[-500:]}"
        )
    return Seconds(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compared(row: Row, other: Path, here: Path = ROOT) -> str:
    """Return a line of the table: a row in the other checkout, in this one, and the ratio of their clocks."""
    theirs, ours = taken(other, row), taken(here, row)
    return f"| {row.name} | {theirs} | {ours} | {ours.clock / theirs.clock:.2f} |"


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.side_by_side", description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--engines", default="torch,autograd")
    parser.add_argument("--only", default="", help="the rows whose names contain this")
    parser.add_argument("--whole", action="store_true", help="run all tests and .ci/run of each, too")
    options = parser.parse_args()
    for checkout in (options.other, ROOT):
        if not (checkout / PYTHON).exists():
            parser.error(f"{checkout} has no {PYTHON}: install refgrad and the engines there")
    wanted = [*rows(options.engines.split(",")), *(WHOLE if options.whole else ())]
    sys.stdout.write("| | other | here | here / other |\n|---|---:|---:|---:|\n")
    for row in wanted:
        if options.only in row.name:
            sys.stdout.write(compared(row, options.other.resolve()) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
