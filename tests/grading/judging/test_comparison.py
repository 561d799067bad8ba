"""Tests of where comparisons end: what rounding may have left of a zero of third order, and how errors are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from refgrad.facts import Entry, Subject
from refgrad.grading.judging.comparison import Expected, _may_cancel, _ulps, compare_array
from refgrad.grading.judging.verdict import Finding
from refgrad.lifecycle import ExpectedValue, Gradient, predict
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.observation import Observation
from refgrad.oracles import CertifiedOracle, EntryError
from refgrad.scenario import Constant, parse
from refgrad.scenario.formats import FLOAT64, FORMATS
from tests.native.reference import ADAPTER

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
FREED = -5.872761767629815e-21
"""A float64 each byte of which is 0xBB."""


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


@pytest.mark.parametrize(("roundings", "outcome"), [(3.0, "inconclusive"), (3e3, "inaccurate"), (3e5, "wrong")])
def test_the_tangent_of_a_zero_may_be_left_of_terms_that_cancel(roundings: float, outcome: str) -> None:
    scenario = parse(PUSHED)
    oracle = CertifiedOracle(scenario)
    tangent = oracle.value("t").midpoint.copy()
    assert tangent[1, 0] == 0
    tangent[1, 0] = roundings * 2.0**-53
    (prediction,) = (each for each in predict(scenario) if isinstance(each, ExpectedValue) and each.name == "t")
    adapter = FunctionalAdapter(name="dual", setup="", leaf="{array}", vjp="{function}{primals}")
    expected = Expected(oracle, prediction, adapter)
    finding = compare_array(Subject("value", "t"), Observation(tangent, dtype="float64"), expected)
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
    (prediction,) = (each for each in predict(scenario) if isinstance(each, Gradient))
    adapter = FunctionalAdapter(name="dual", setup="", leaf="{array}", vjp="{function}{primals}", forward_only=forward)
    seen = Observation(np.array((0.2 / 9 + 1.0) - 1.0), dtype="float64")
    found = compare_array(Subject("gradient", "y"), seen, Expected(CertifiedOracle(scenario), prediction, adapter))
    assert found.outcome == outcome


SCALED = """\
x = leaf float64[3] {0x1p+0 0x1.8p+0 0x1p+1} requires_grad
z = leaf float64[3] {0x0p+0 0x1p+0 0x0.0000000000001p-1022}
y = multiply x z
backward y seed SEED
read grad x
"""


def judged(seed: float, shown: Sequence[float], text: str = SCALED) -> Finding:
    """Judge a gradient by x, the truth of which is 0 times the seed, the seed, and a subnormal."""
    scenario = parse(text.replace("SEED", Constant.of(np.full(3, seed)).to_text()))
    (prediction,) = (each for each in predict(scenario) if isinstance(each, Gradient))
    array = np.asarray(shown, dtype=np.float64)
    expected = Expected(CertifiedOracle(scenario), prediction, ADAPTER)
    return compare_array(Subject("gradient", "x"), Observation(array, dtype="float64"), expected)


@pytest.mark.parametrize("seed", [1.0, -2.0, 2.0**-60, 2.0**40])
@pytest.mark.parametrize(
    ("share", "outcome"), [(0.0, "passed"), (5.6e-17, "inaccurate"), (0.9e-12, "inaccurate"), (1.1e-12, "wrong")]
)
@pytest.mark.parametrize("entry", [0, 2])
def test_an_error_where_nothing_is_expected_is_seen_beside_the_seed(
    seed: float, share: float, outcome: str, entry: int
) -> None:
    shown = [0.0, seed, 0.0]
    shown[entry] = share * seed
    found = judged(seed, shown)
    assert found.outcome == outcome
    if share:
        assert isinstance(found.fact, Entry)
        assert float(found.fact.scaled_error) == pytest.approx(share)
        assert found.fact.qualifier == ("negligible" if outcome == "inaccurate" else "")


def test_numbers_of_the_issue_are_negligible() -> None:
    assert judged(1.0, [2.8e-308, 1.0, 0.0]).outcome == "inaccurate"
    assert "off by 5.6e-17 of the largest seed" in judged(1.0, [5.6e-17, 1.0, 0.0]).message


@pytest.mark.parametrize(
    ("seed", "shown"),
    [
        (1e-3, [0.0, 0.0, 0.0]),
        (1.0, [0.0, -1.0, 0.0]),
        (1e-13, [0.0, 0.0, 0.0]),
        (1e-13, [1e-13, 1e-13, 0.0]),
        (1.0, [FREED, 1.0, 0.0]),
    ],
    ids=["lost", "sign", "lost, of a tiny seed", "leaked, of a tiny seed", "read after it was freed"],
)
def test_what_is_a_mistake_stays_wrong(seed: float, shown: list[float]) -> None:
    assert judged(seed, shown).outcome == "wrong"


def test_nothing_is_negligible_where_nothing_was_sent() -> None:
    assert judged(0.0, [1e-20, 0.0, 0.0]).outcome == "wrong"


def test_the_scale_of_a_gradient_to_which_nothing_is_sent_is_0() -> None:
    scenario = parse("x = leaf float64[] {1.0} requires_grad\nread grad x\n")
    prediction = Gradient("x", (), certain=True)
    assert Expected(CertifiedOracle(scenario), prediction, ADAPTER).scale == 0


def test_the_scale_of_a_recorded_gradient_is_that_of_all_seeds_on_the_way() -> None:
    tiny = Constant.of(np.full(3, 1e-13)).to_text()
    text = SCALED.replace("backward y", f"w = multiply y x\nh = grad w x seed {tiny}\nbackward h")
    assert judged(1.0, [1e-27, 2e-13, 0.0], text).outcome == "inaccurate"
    assert judged(1.0, [1e-20, 2e-13, 0.0], text).outcome == "wrong"


def test_no_seed_of_a_recorded_gradient_makes_the_scale_larger() -> None:
    scenario = parse(
        "x = leaf float64[] {0x1p+0} requires_grad\ny = multiply x x\nh = grad y x seed float64[] {8.0}\nread value h"
    )
    (prediction,) = (each for each in predict(scenario) if isinstance(each, ExpectedValue))
    assert Expected(CertifiedOracle(scenario), prediction, ADAPTER).scale == 1.0


@pytest.mark.parametrize(("size", "outcome"), [(1.0, "inaccurate"), (1e6, "passed"), (1e-10, "wrong")])
def test_a_value_is_seen_beside_its_operands(size: float, outcome: str) -> None:
    number = Constant.of(np.full(1, size)).to_text()
    scenario = parse(f"x = leaf {number} requires_grad\ny = subtract x x\nread value y\n")
    (prediction,) = (each for each in predict(scenario) if isinstance(each, ExpectedValue))
    expected = Expected(CertifiedOracle(scenario), prediction, ADAPTER)
    shown = Observation(np.array([1e-13]), dtype="float64")
    assert compare_array(Subject("value", "y"), shown, expected).outcome == outcome
