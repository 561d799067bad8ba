"""An engine that carries tangents forward is not held to what only a recorded graph can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.measurements import Reading, take_measurement
from refgrad.grading.settings import Settings
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Isolation, launch

SETUP = """
class Dual:
    def __init__(self, number, slope=0.0):
        self.number = number
        self.slope = slope

    def __add__(self, other):
        return Dual(self.number + other.number, self.slope + other.slope)

    def __mul__(self, other):
        return Dual(self.number * other.number, self.slope * other.number + self.number * other.slope)


def value(x):
    return np.asarray(x.number)


def vjp(function, primals):
    slopes = []
    for i in range(len(primals)):
        x = list(primals)
        x[i] = Dual(x[i].number, 1.0)
        slopes.append(function(*x).slope)
    return function(*primals), lambda seed: [Dual(float(seed) * slope) for slope in slopes]
"""
ADAPTER = FunctionalAdapter(
    name="dual",
    setup="import numpy as np\n" + SETUP,
    leaf="Dual({scalar})",
    value="value({x})",
    vjp="vjp({function}, {primals})",
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}"},
    scalars_only=True,
    forward_only=True,
)


def measured(behaviour_id: str, *, forward_only: bool) -> Reading:
    (behaviour,) = (each for each in all_behaviours() if each.id == behaviour_id)
    assert behaviour.measurement is not None
    engine = launch(replace(ADAPTER, forward_only=forward_only), Isolation())
    return take_measurement(engine, behaviour.measurement, Settings("smoke"))


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("scale/many_leaves", "the engine carries tangents forward, of one leaf at a time"),
        ("release/kept_graphs_die_with_their_output", "the engine has no graph of its own"),
    ],
)
def test_graphs_that_are_not_recorded_are_not_weighed(behaviour: str, reason: str) -> None:
    assert measured(behaviour, forward_only=True) == Reading("unsupported", reason)
    assert measured(behaviour, forward_only=False).outcome != "unsupported"


def test_a_function_of_the_setup_may_be_called_value() -> None:
    assert measured("repetition/same_programs_give_the_same", forward_only=True).outcome == "passed"
