"""Grading an engine with a planted fault by the check that is to find it, on several seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from refgrad.engine.graph.sweep import RECORDING
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from refgrad.report.document import read_report
from tests.faulty_engines.planted.fault import Plant, PlantedFault
from tests.grading.sparing import TrustingBench

SEEDS: Final = (0, 1, 2)

CHECKS: Final = {check.id: check for check in all_checks()}

REPORTS: Final = Path(__file__).parents[3] / "reports"


def verdict(fault: PlantedFault, seed: int) -> Verdict:
    """Return what the standard profile finds of a fault from a seed."""
    return graded(fault.plant, fault.check, fault.doubted, seed)


def right_verdict(fault: PlantedFault, seed: int = 0) -> Verdict:
    """Return the same of the engine as it is."""
    return _right(fault.plant.engine, fault.check, fault.doubted, seed)


@cache
def _right(engine: str, check: str, doubted: frozenset[str], seed: int) -> Verdict:
    return graded(Plant(engine=engine), check, doubted, seed)


def graded(plant: Plant, check: str, doubted: frozenset[str], seed: int) -> Verdict:
    """Grade one check of an engine that is changed in these operators alone, or the one that it is left to."""
    with modes_kept():
        engine = Engine(plant.adapter("an engine with a fault"))
        bench = TrustingBench(engine, Settings("standard", seed), doubted=doubted | wrong_by_itself(plant.engine))
        found = Bench.grade(bench, CHECKS[check])
        return Bench.grade(bench, CHECKS[found.cause]) if _is_left_to_another(found, check) else found


@cache
def wrong_by_itself(engine: str) -> frozenset[str]:
    """Return the operators that fail in the engine's committed report: graphs leave them out, as in a grade."""
    verdicts = read_report(REPORTS / f"{engine}.json").verdicts
    return frozenset(each.operator for each in verdicts if each.chapter == "operators" and each.failed)


def _is_left_to_another(found: Verdict, check: str) -> bool:
    """Whether nothing is said by a check because another one of the same operator fails."""
    other = CHECKS.get(found.cause)
    same = other is not None and other.operator_name and other.operator_name == CHECKS[check].operator_name
    return found.verdict == "inconclusive" and bool(same)


@contextmanager
def modes_kept() -> Iterator[None]:
    """Leave the block with recording switched on, as some of the engines do not."""
    mode = RECORDING.set(True)
    yield
    RECORDING.reset(mode)
    if "torch" in sys.modules:
        sys.modules["torch"].set_grad_enabled(True)
