"""Where the time of a grade goes: scenarios, programs, the engine, predictions, and the certified judgement.

    python -m tests.benchmarks.grade_phases torch standard 20

grades every twentieth check of an operator in one process, the engine in its own, and prints the share of each phase in
wall time. What is measured is the time within a phase less that of the phases that it calls.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final
from unittest.mock import patch

from refgrad import generation, lifecycle
from refgrad.grading import search
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging import examination
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, Isolation, launch
from refgrad.native.runner import ProcessRunner

PHASES: Final = {
    "scenarios": ((search, "find_counterexample"), (generation, "fixed_cases")),
    "programs": ((Engine, "program"),),
    "engine": ((ProcessRunner, "run_until_ended"), (ProcessRunner, "run")),
    "predictions": ((lifecycle, "lower"),),
    "oracle and judgement": ((examination, "confront"),),
    "further of a check": ((search.CheckSearch, "fails"), (search.CheckSearch, "prepare")),
}
"""The functions of each phase. What draws scenarios calls those that run and judge them, which are counted apart."""


class Clock:
    """Seconds by phase, each less what is spent in the phases that it calls."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner: list[float] = []

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its time counted."""

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                passed = time.perf_counter() - start
                self.seconds[phase] += passed - self._inner.pop()
                if self._inner:
                    self._inner[-1] += passed

        return call


@contextmanager
def clocked() -> Iterator[Clock]:
    """Count the time of all phases."""
    clock = Clock()
    patches = [
        patch.object(owner, name, clock.timed(phase, getattr(owner, name)))
        for phase, functions in PHASES.items()
        for owner, name in functions
    ]
    for each in patches:
        each.start()
    try:
        yield clock
    finally:
        for each in patches:
            each.stop()


def shares(engine: str, profile: str, step: int) -> dict[str, float]:
    """Grade every so many checks of operators, and return the share of each phase."""
    checks = [check for check in all_checks() if check.operator_name][::step]
    bench = Bench(launch(find_adapter(engine), Isolation()), Settings(profile))
    with clocked() as clock:
        start = time.perf_counter()
        for check in checks:
            bench.grade(check)
        whole = time.perf_counter() - start
    found = {phase: clock.seconds[phase] / whole for phase in PHASES}
    return found | {"else": 1 - sum(found.values())}


def main() -> None:
    """Print a table."""
    engine, profile, step = sys.argv[1:]
    for phase, share in shares(engine, profile, int(step)).items():
        sys.stdout.write(f"{share:6.1%}  {phase}\n")


if __name__ == "__main__":
    main()
