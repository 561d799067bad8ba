"""Tests of where comparisons end: what rounding may have left of a zero of third order, and how errors are counted."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.grading.judging.comparison import Due, _may_cancel, _ulps, compare_array
from refgrad.grading.judging.evidence import Subject
from refgrad.lifecycle import Gradient, Value, predict
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.observation import Observation
from refgrad.oracles import CertifiedOracle, EntryError
from refgrad.scenario import parse
from refgrad.scenario.formats import FLOAT64, FORMATS

ONCE = "x = leaf float64[] {8.0} requires_grad\ny = multiply x x\nh = grad y x\n"
TWICE = f"{ONCE}g = grad h x\n"
CANCELLING = """x = leaf float64[] {-0.2} requires_grad
y = leaf float64[] {3.0} requires_grad
a = divide x y
b = add a y
l = subtract b y
backward l
read grad y
"""
ROUNDING = 2.0**-53 * 64.0
"""Of the largest number, which is y."""


def error(observed: float, truth: str = "0") -> EntryError:
    return EntryError((), observed, truth, truth, 1.0, 1.0)


@pytest.mark.parametrize(("roundings", "expected"), [(3.9, True), (-3.9, True), (4.1, False), (-4.1, False)])
def test_of_a_zero_of_third_order_four_roundings_of_the_largest_number_may_be_left(
    roundings: float, *, expected: bool
) -> None:
    assert _may_cancel(error(roundings * ROUNDING), CertifiedOracle(parse(TWICE))) is expected


def test_neither_of_another_number_nor_of_second_order_is_anything_left() -> None:
    assert not _may_cancel(error(ROUNDING, "1"), CertifiedOracle(parse(TWICE)))
    assert not _may_cancel(error(ROUNDING), CertifiedOracle(parse(ONCE)))


PUSHED = """\
x = leaf float64[2, 2] {0x1p+0 0x1p+1 0x1.8p+1 0x1p+0} requires_grad
y = qr_r x
t = jvp y x float64[2, 2] {0x1p+0 0x1p+0 0x1p+0 0x1p+0}
read value t
"""


@pytest.mark.parametrize(("roundings", "outcome"), [(3.0, "inconclusive"), (3e3, "wrong")])
def test_the_tangent_of_a_zero_may_be_left_of_terms_that_cancel(roundings: float, outcome: str) -> None:
    scenario = parse(PUSHED)
    oracle = CertifiedOracle(scenario)
    tangent = oracle.value("t").midpoint.copy()
    assert tangent[1, 0] == 0
    tangent[1, 0] = roundings * 2.0**-53
    (due,) = (each for each in predict(scenario) if isinstance(each, Value) and each.name == "t")
    adapter = FunctionalAdapter(name="dual", setup="", leaf="{array}", vjp="{function}{primals}")
    finding = compare_array(Subject("value", "t"), Observation(tangent, dtype="float64"), Due(oracle, due, adapter))
    assert finding.outcome == outcome


@pytest.mark.parametrize(("dtype", "last_place"), [("float64", 2.0**-52), ("float32", 2.0**-23), ("bfloat16", 2.0**-7)])
def test_errors_are_counted_in_units_of_the_last_place(dtype: str, last_place: float) -> None:
    assert _ulps(error(1.0 + 3 * last_place, "1"), FORMATS[dtype]) == 3.0
    assert _ulps(error(1.0, "1"), FORMATS[dtype]) == 0.0


def test_errors_of_an_interval_are_counted_from_its_nearer_end() -> None:
    interval = EntryError((), 4.0 + 2.0**-50, "-1", "4", 1.0, 1.0)
    assert _ulps(interval, FLOAT64) == 1.0


@pytest.mark.parametrize(("forward", "outcome"), [(True, "passed"), (False, "inaccurate")])
def test_gradients_of_engines_that_carry_tangents_forward_round_in_that_order(*, forward: bool, outcome: str) -> None:
    scenario = parse(CANCELLING)
    (due,) = (each for each in predict(scenario) if isinstance(each, Gradient))
    adapter = FunctionalAdapter(name="dual", setup="", leaf="{array}", vjp="{function}{primals}", forward_only=forward)
    seen = Observation(np.array((0.2 / 9 + 1.0) - 1.0), dtype="float64")
    found = compare_array(Subject("gradient", "y"), seen, Due(CertifiedOracle(scenario), due, adapter))
    assert found.outcome == outcome
