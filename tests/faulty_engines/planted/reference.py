"""The faults of these kinds that tests plant into the reference engine, each with the check that is to find it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from refgrad.grading.checks.behaviours import all_behaviours
from tests.faulty_engines.planted.fault import Kind, Plant, PlantedFault
from tests.faulty_engines.planted.graphs import GRAPH_FAULTS_OF_REFERENCE
from tests.grading.checks.operators import (
    test_exceptional,
    test_fixed_cases,
    test_half_precision,
    test_large_arrays,
    test_repetition,
)
from tests.grading.measurements import test_exercises
from tests.native.reference import ADAPTER

SUBSET: Final = "where the first operand alone wants a gradient"
ONE_TENSOR: Final = "where one tensor is both operands"
CERTIFIED_SLOWLY: Final = frozenset({"where an index wraps at 2**15", "where a long gradient has seven digits"})
"""That an array of so many entries differs is seen at once; to certify all of them takes minutes on each seed."""

OF_PRECISION: Final = frozenset({"where long sums are of float32", "where a long gradient has seven digits"})


def _spelled(name: str, kind: Kind, check: str, spelling: str, setup: str) -> PlantedFault:
    return PlantedFault(name, kind, check, Plant(setup, {check.partition("/")[2]: spelling}, engine="refgrad"))


def _of_fixed_cases() -> Iterator[PlantedFault]:
    for name, text in test_fixed_cases.EXP.items():
        yield _spelled(f"is wrong {name}", "sizes and ranks", "operators/exp", text, test_fixed_cases.BENT)
    kinds: dict[str, Kind] = {SUBSET: "which inputs want gradients", ONE_TENSOR: "memory"}
    for name, text in test_fixed_cases.LOGADDEXP.items():
        kind = kinds.get(name, "sizes and ranks")
        yield _spelled(f"is wrong {name}", kind, "operators/logaddexp", text, test_fixed_cases.BENT)


def _of_large_arrays() -> Iterator[PlantedFault]:
    for name, (operator, text) in test_large_arrays.FAULTS.items():
        if name in CERTIFIED_SLOWLY:
            continue
        kind: Kind = "precision" if name in OF_PRECISION else "sizes and ranks"
        yield _spelled(f"is wrong {name}", kind, f"operators/{operator}", text, test_large_arrays.SETUP)


def _of_values() -> Iterator[PlantedFault]:
    for fault in test_exceptional.FAULTS:
        yield _spelled(fault.name, "values", fault.check, fault.spelling, test_exceptional.SETUP)


def _of_precision() -> Iterator[PlantedFault]:
    name, check = "is wrong in float16 alone", "half_precision/exp"
    yield _spelled(name, "precision", check, "coarse({x})", test_half_precision.SETUP)


def _of_time() -> Iterator[PlantedFault]:
    name, check = "is wrong in one application of a hundred", "operators/exp"
    yield _spelled(name, "time and order", check, "wrong_by_chance({x})", test_repetition.COUNTED)
    for case, (setup, changes) in test_exercises.BROKEN.items():
        name, templates = f"does the exercise {case!r} wrong", dict(changes)
        operators = {o: text for o, text in templates.pop("operators", {}).items() if text != ADAPTER.operators[o]}
        plant = Plant(setup, operators, templates, engine="refgrad")
        yield PlantedFault(name, "time and order", _behaviour_of(case), plant)


def _behaviour_of(case: str) -> str:
    """Return the id of the first behaviour of which an exercise is a case."""
    measured = ((each.id, each.measurement) for each in all_behaviours() if each.measurement is not None)
    return next(name for name, measurement in measured if case in measurement.parameters.get("cases", ()))


REFERENCE_FAULTS: Final = (
    *_of_fixed_cases(),
    *_of_large_arrays(),
    *_of_values(),
    *_of_precision(),
    *_of_time(),
    *GRAPH_FAULTS_OF_REFERENCE,
)
