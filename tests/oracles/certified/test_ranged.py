"""Does the budget of a narrow format know that numbers may be too large, or too small, for it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import Profile, random_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import Operator
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.certified.ranged import Ranged
from refgrad.oracles.judgement import INACCURATE_BELOW, VAGUE_ABOVE, inaccurate_below, vague_above
from refgrad.scenario import Constant, parse
from refgrad.scenario.formats import FLOAT64, FORMATS, rounded

NARROW = ("float32", "float16", "bfloat16")


def oracle(dtype: str, operator: str, *numbers: float) -> CertifiedOracle:
    """Return the oracle of one operator applied to scalars of a dtype."""
    names = [f"x{place}" for place in range(len(numbers))]
    leaves = [f"{n} = leaf {dtype}[] {{{float(x)}}} requires_grad" for n, x in zip(names, numbers, strict=True)]
    return CertifiedOracle(parse("\n".join([*leaves, f"a = {operator} {' '.join(names)}"])))


@pytest.mark.parametrize("dtype", NARROW)
@given(st.integers(0, 2**32))
def test_values_that_are_rounded_after_every_operator_pass(dtype: str, seed: int) -> None:
    scenario = random_scenario(seed, Profile(dtype=dtype, length=(1, 8)))  # type: ignore[arg-type]

    class Rounding(Float64):
        def apply(self, operator: Operator, arguments: list[Any], attributes: Mapping[str, Any]) -> Any:
            value = super().apply(operator, [a.astype(np.float64) for a in arguments], attributes)
            return rounded(value, dtype)

    truth = CertifiedOracle(scenario)
    for step in scenario.applications:
        value = evaluate(scenario, Rounding())[step.name]
        assert judge(value, truth.value(step.name)).outcome in {"passed", "inconclusive"}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("error", [1e-1, -3e-1])
def test_a_coarse_error_is_found_in_every_format(dtype: str, error: float) -> None:
    certified = oracle(dtype, "multiply", 1.5, 2.5).value("a")
    assert judge(np.array(3.75 * (1 + error)), certified).outcome in {"wrong", "inaccurate"}


def test_an_error_of_bfloat16_is_found_in_float32() -> None:
    certified = oracle("float32", "exp", 1.0).gradient("x0", (("a", None),))
    assert judge(rounded(np.exp(1.0), "float32"), certified).outcome == "passed"
    assert judge(rounded(np.exp(1.0), "bfloat16"), certified).outcome in {"wrong", "inaccurate"}


@pytest.mark.parametrize("observed", [np.inf, np.nan, 0.0])
def test_nothing_is_said_of_what_may_overflow(observed: float) -> None:
    assert judge(np.array(observed), oracle("float16", "exp", 12.0).value("a")).outcome == "inconclusive"
    assert judge(np.array(observed), oracle("bfloat16", "exp", 12.0).value("a")).outcome == "wrong"


def test_nothing_is_said_where_a_formula_may_overflow_on_its_way() -> None:
    """A slope of arctan2 is x / (x * x + y * y), and the squares of 300 are more than float16 holds."""
    for dtype, outcome in (("float16", "inconclusive"), ("bfloat16", "wrong"), ("float32", "wrong")):
        slope = oracle(dtype, "arctan2", 300.0, 300.0).gradient("x0", (("a", None),))
        assert judge(np.array(0.0), slope).outcome == outcome


def test_a_result_that_is_subnormal_may_lose_its_bits() -> None:
    small = oracle("float16", "multiply", 2.0**-10, 1.5 * 2.0**-14).value("a")
    for observed in (2.0**-24, 2.0**-23, 0.0):
        assert judge(np.array(observed), small).outcome == "passed"
    assert judge(np.array(2.0**-18), small).outcome in {"wrong", "inaccurate"}


def test_the_coarsest_leaf_decides() -> None:
    text = "x = leaf float32[] {1.5} requires_grad\ny = leaf float64[] {2.5} requires_grad\na = multiply x y"
    assert CertifiedOracle(parse(text)).form == FORMATS["float32"]
    assert CertifiedOracle(parse(text), "bfloat16").form == FORMATS["bfloat16"]
    assert CertifiedOracle(parse(text.replace("float32", "float64"))).form == FLOAT64
    assert CertifiedOracle(parse(text.replace("float32", "float64")), "float32").form == FORMATS["float32"]


def test_thresholds_of_float64_are_what_they_were_and_others_leave_room_for_roundings() -> None:
    assert (vague_above(FLOAT64), inaccurate_below(FLOAT64)) == (VAGUE_ABOVE, INACCURATE_BELOW)
    for dtype in NARROW:
        assert 16 * FORMATS[dtype].unit < vague_above(FORMATS[dtype]) < inaccurate_below(FORMATS[dtype]) < 0.25


@given(st.integers(0, 2**32))
def test_the_budget_of_float32_is_that_of_plain_balls_where_nothing_is_large_or_small(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = rounded(generator.uniform(0.5, 2.0, (2, 3)), "float32")
    text = f"x = leaf float32[3] {{{' '.join(map(str, x))}}} requires_grad\ny = leaf float32[3] "
    text += f"{{{' '.join(map(str, y))}}} requires_grad\na = divide x y\nb = exp a\nc = sum b"
    contributions: tuple[tuple[str, Constant | None], ...] = (("c", None),)
    narrow = CertifiedOracle(parse(text)).gradient("x", contributions)
    plain = CertifiedOracle(parse(text.replace("float32", "float64"))).gradient("x", contributions)
    assert np.all(narrow.budget * 2.0**-29 < 2 * plain.budget)
    assert np.all(plain.budget < 2 * narrow.budget * 2.0**-29)


def test_an_engine_has_a_number_that_is_sixty_times_smaller_than_the_largest() -> None:
    assert judge(np.array(0.0), oracle("float16", "multiply", 40.0, 25.0).value("a")).outcome == "wrong"
    assert judge(np.array(0.0), oracle("float16", "multiply", 200.0, 200.0).value("a")).outcome == "inconclusive"


@pytest.mark.parametrize("exponent", [0, -4, -8, -12])
def test_the_budget_of_a_normal_number_scales_with_it(exponent: int) -> None:
    """The smallest normal number of float16 is 2⁻¹⁴: down to there nothing is lost to underflow."""
    large, small = (oracle("float16", "multiply", 1.25, 1.25 * scale).value("a") for scale in (1.0, 2.0**exponent))
    assert small.budget == large.budget * 2.0**exponent


@pytest.mark.parametrize(("number", "finite"), [(1.0, True), (1e300, True), (1.7e308, False)])
def test_a_number_that_an_engine_may_lose_to_overflow_is_not_certainly_one(number: float, *, finite: bool) -> None:
    assert Ranged(arb(number)).is_finite() is finite
