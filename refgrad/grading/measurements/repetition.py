"""The same program run again and again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from refgrad.facts import Measured
from refgrad.grading.checks.settings import Settings
from refgrad.grading.measurements.programs import LIMITS, MeasuredProgram, Reading, filled, rows
from refgrad.grading.measurements.release import (
    RESIDENT,
    TRACED,
    Meter,
    forward_text,
    is_traced,
    measured,
    program_of,
    run_measuring,
)
from refgrad.native.engine import Engine
from refgrad.native.library import Library, function

ROUNDS: Final = 4
"""Number of rounds of iterations. The first round fills caches; a leak grows in all others."""

WARM_UP: Final = 10
"""Number of iterations of a round when their time is measured."""

LONGER: Final = 8
"""Factor by which a round has more iterations when growth is to be confirmed.

Growth that only looks like a leak is bounded: a cache that fills, or blocks that a library frees without tracemalloc
noticing, whose traces disappear when their addresses are used again. Those of torch.func come to some 20,000 bytes in
2,000 iterations, and to 30 in each further 200.
"""

CONFIRMATIONS: Final[Mapping[str, int]] = MappingProxyType({"traced": 1, "resident": 3})
"""Number of times that growth must be confirmed, by meter: other activity of the process moves its resident set."""

MOST_SECONDS: Final = LIMITS["standard"]
"""Seconds that iterations which confirm growth may take, unless the profile allows more: a program has a minute."""

GROWTH: Final = Measured(quantity="growth")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAction(MeasuredProgram):
    """A repeated action on the leaf ``x`` and ``function``, and the lines ``before`` all iterations."""

    before: str = ""


REPETITIONS: Final = MappingProxyType({name: RepeatedAction(**row) for name, row in rows("repetitions").items()})
"""Repetitions by the name that rows of behaviours use."""


def measure_repetition(engine: Engine, parameters: Mapping[str, Any], settings: Settings) -> Reading:
    """Repeat an action many times, and check that memory does not keep growing."""
    repetition, library = REPETITIONS[parameters["case"]], Library(engine)
    operators = ("add", "multiply") if engine.adapter.scalars_only else ("add", "multiply", "sum")
    lacking = library.lacks(operators, repetition.features)
    if not lacking and library.tape is None and repetition.functional is None:
        lacking = "tape"
    if lacking:
        return Reading("unsupported", f"the engine has no {lacking}")
    smoke = settings.profile == "smoke"
    trial = _Trial(repetition, library, parameters["smoke" if smoke else "iterations"], LIMITS[settings.profile])
    meters = [TRACED] if is_traced(library, "multiply") else [TRACED, RESIDENT]
    results = [trial.measured(meter) for meter in meters]
    return next((each for each in results if each.outcome != "passed"), results[-1])


def repetition_script(engine: Engine, parameters: Mapping[str, Any]) -> str:
    """Return the program that repeats the action and measures memory."""
    trial = _Trial(REPETITIONS[parameters["case"]], Library(engine), parameters["iterations"], math.inf)
    return trial.program(TRACED)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A repeated action, with the number of iterations and a limit of their time."""

    repetition: RepeatedAction
    library: Library
    iterations: int
    limit: float

    def measured(self, meter: Meter) -> Reading:
        """Return the result of whether memory keeps growing by a meter."""
        seconds = self.seconds(meter)
        each = affordable(self.iterations, self.limit, seconds)
        readings = self.readings(meter, each)
        growth = least_growth(readings, each)
        longer = max(each, affordable(self.iterations * LONGER, min(self.limit * LONGER, MOST_SECONDS), seconds))
        for _ in range(CONFIRMATIONS[meter.name]):
            if not is_leak(growth, meter, each):
                break
            each = longer
            readings = self.readings(meter, each)
            growth = min(growth, least_growth(readings, each))
        held = {each * number: held for number, held in enumerate(readings, 1)}
        figures = f"{meter.name}: {growth:.1f} bytes an iteration, {ROUNDS} times {each:,} iterations"
        if not is_leak(growth, meter, each):
            message = f"{self.repetition.what}, again and again: no more is held than before"
            return Reading("passed", message, examples=self.iterations, figures=figures, held=held)
        message = f"{self.repetition.what}, again and again: every iteration leaves memory behind"
        return Reading("wrong", message, self.program(meter), None, self.iterations, figures, None, held, GROWTH)

    def readings(self, meter: Meter, each: int) -> Sequence[int]:
        """Return the bytes that are held after each round, after a few iterations that are not evaluated."""
        return list(measured(self.library, meter, self.text, WARM_UP, each)[-1])

    def program(self, meter: Meter) -> str:
        """Return the program in a form that runs without refgrad."""
        return program_of(self.library, meter, self.text, f"attempt({self.iterations // ROUNDS})")

    def seconds(self, meter: Meter) -> float:
        """Return the seconds that one iteration of every round takes while it is measured."""
        (seen,) = run_measuring(self.library, meter, self.text, WARM_UP)
        return seen.seconds / WARM_UP

    @property
    def text(self) -> str:
        """Text of the functions of the program."""
        library, repetition = self.library, self.repetition
        lines = [
            *filled("x = {ones:500}", library),
            *filled(repetition.before, library),
            "readings = []",
            f"for _ in range({ROUNDS}):",
            "    for _ in range(n):",
            *(f"        {line}" for line in repetition.lines(library)),
            "    readings.append(held())",
            "return readings",
        ]
        return forward_text(library, "multiply", 4) + "\n\n" + function("attempt(n)", lines)


def affordable(iterations: int, limit: float, seconds: float) -> int:
    """Return the number of iterations of a round within ``limit``, given the time of one iteration of every round."""
    return max(WARM_UP, min(iterations // ROUNDS, int(limit / max(seconds, 1e-9))))


def is_leak(growth: float, meter: Meter, each: int) -> bool:
    """Return True if a growth in bytes per iteration is more than the noise of the meter."""
    return growth > meter.noise and growth * each > meter.least


def least_growth(readings: Sequence[int], each: int) -> float:
    """Return the bytes per iteration by which memory grew in the round that grew least."""
    return min((after - before) / each for before, after in itertools.pairwise(readings))
