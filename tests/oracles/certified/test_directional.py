"""The tangent that is pushed over the tape is the truth, and its budget is what rounding can do to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.generation import forward_scenario, random_scenario
from refgrad.generation.profile import Profile
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.operators import operator_table
from refgrad.operators.functions.balls import precision
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.certified.directional import Moving, directional_derivative
from refgrad.scenario import Constant, Jvp, Scenario, parse
from refgrad.scenario.rewrite import without_tangents
from tests.oracles.cross_checks.derivatives_along import derivatives_along

OPERATORS = [name for name, row in operator_table().items() if row.differentiable_arguments]
SEEDS = st.integers(0, 2**64 - 1)


def test_a_product_moves_by_both_factors() -> None:
    oracle = CertifiedOracle(
        parse("""
        x = leaf float64[2] {1 2} requires_grad
        z = leaf float64[] {3} requires_grad
        y = multiply x z
        t = jvp y x float64[2] {1 0} z float64[] {2}
        s = jvp y z float64[] {2}
        """)
    )
    assert oracle.value("t").midpoint.tolist() == [5.0, 4.0]  # 3 · 1 + 1 · 2 and 3 · 0 + 2 · 2
    assert oracle.value("s").midpoint.tolist() == [2.0, 4.0]
    assert 0 < oracle.value("t").budget[0] < 1e-14


def test_a_power_of_zero_moves_as_its_partial_derivative_says() -> None:
    """The formula for pairs needs the logarithm of the base, which 0 does not have."""
    scenario = parse(
        """
        x = leaf float64[2] {0 0} requires_grad
        c = leaf float64[] {1}
        y = power x c
        """
    )
    moved = directional_derivative(scenario, (("y", Constant.of(np.ones(2))),), {"x": np.array([3.0, -4.0])})
    assert float(moved.mid()) == -1.0


def test_what_does_not_depend_on_a_leaf_that_moves_stands_still() -> None:
    text = "x = leaf float64[2] {1 2} requires_grad\nc = leaf float64[] {1}\nb = exp c\nt = jvp b x float64[2] {1 1}"
    assert CertifiedOracle(parse(text)).value("t").balls.tolist() == arb(0)


@given(name=st.sampled_from(OPERATORS), seed=SEEDS)
def test_the_tangent_is_that_of_pairs_of_values_and_speeds(name: str, seed: int) -> None:
    scenario = forward_scenario(seed, name)
    tangents = CertifiedOracle(scenario).value("t")
    (step,) = scenario.jvps
    directions = directions_of(step)
    for index in np.ndindex(tangents.shape):
        unit = np.zeros(tangents.shape)
        unit[index] = 1.0
        one = directional_derivative(scenario, ((step.output, Constant.of(unit)),), directions)
        assert one.is_nan() or one.overlaps(tangents.balls[index])


@given(name=st.sampled_from(OPERATORS), seed=SEEDS)
def test_the_tangent_is_the_first_coefficient_of_a_series(name: str, seed: int) -> None:
    scenario = forward_scenario(seed, name)
    (step,) = scenario.jvps
    along = derivatives_along(without_tangents(scenario), directions_of(step), order=1)[step.output]
    tangents = CertifiedOracle(scenario).value("t").balls
    for one, other in zip(along.ravel().tolist(), tangents.ravel().tolist(), strict=True):
        assert not one.is_finite() or one.overlaps(other)


@given(seed=SEEDS, data=st.data())
def test_a_cotangent_meets_the_tangent_as_the_tangents_meet_what_it_sends_back(seed: int, data: st.DataObject) -> None:
    """⟨u, J v⟩ = ⟨Jᵀ u, v⟩, for graphs with sharing and fan-out."""
    graph = random_scenario(seed, Profile(length=(1, 8), max_backwards=1, empty=0.0))
    ((_, backward),) = graph.backwards
    leaves = [leaf for leaf in graph.leaves if leaf.requires_grad]
    moving = data.draw(st.lists(st.sampled_from(leaves), min_size=1, unique_by=lambda leaf: leaf.name))
    numbers = np.random.default_rng(seed)
    tangents = tuple((leaf.name, Constant.of(np.asarray(numbers.normal(size=leaf.value.shape)))) for leaf in moving)
    step = Jvp("pushed", backward.output, tangents)
    oracle = CertifiedOracle(Scenario((*graph.steps, step)))
    pushed = oracle.value("pushed").balls
    weights = np.ones(pushed.shape) if backward.seed is None else backward.seed.to_numpy()
    sent = [oracle.gradient(name, ((backward.output, backward.seed),)).balls for name, _ in tangents]
    with precision(128):
        left = product(pushed, weights)
        right = sum((product(s, v.to_numpy()) for s, (_, v) in zip(sent, tangents, strict=True)), arb(0))
    assume(left.is_finite())
    assert left.overlaps(right)
    assert left.rad() < 1e-20 * max(1.0, abs(float(left.mid())))


def product(balls: npt.NDArray[Any], weights: npt.NDArray[np.float64]) -> arb:
    return sum((b * arb(w) for b, w in zip(balls.ravel(), weights.ravel().tolist(), strict=True)), arb(0))


def directions_of(step: Jvp) -> dict[str, npt.NDArray[np.float64]]:
    return {leaf: tangent.to_numpy() for leaf, tangent in step.tangents}


@given(seed=SEEDS)
def test_central_differences_in_float64_are_near(seed: int) -> None:
    """(f(x + hv) - f(x - hv)) / 2h, which no oracle has a part in."""
    scenario = forward_scenario(seed, "multiply")
    (step,) = scenario.jvps
    h = 2.0**-17
    ahead, behind = (moved(scenario, step, h), moved(scenario, step, -h))
    assert np.allclose((ahead - behind) / (2 * h), CertifiedOracle(scenario).value("t").midpoint, atol=1e-6)


def moved(scenario: Scenario, step: Jvp, h: float) -> Any:
    directions = directions_of(step)
    leaves = {
        leaf.name: replace(leaf, value=Constant.of(leaf.value.to_numpy() + h * directions[leaf.name]))
        for leaf in scenario.leaves
        if leaf.name in directions
    }
    steps = [leaves.get(s.defines or "", s) for s in without_tangents(scenario).steps]
    return evaluate(Scenario(tuple(steps)), Float64())[step.output]


def test_rounding_of_the_tangents_themselves_is_in_the_budget() -> None:
    text = "x = leaf float64[] {1} requires_grad\ny = positive x\nt = jvp y x float64[] {0x1.8p+0}"
    budget = CertifiedOracle(parse(text)).value("t").budget
    assert 1.5 * 2.0**-53 <= budget <= 1.5 * 2.0**-52
    single = CertifiedOracle(parse(text.replace("float64", "float32")), "float32").value("t").budget
    assert 1.5 * 2.0**-24 <= single <= 1.5 * 2.0**-23


def test_a_step_off_by_one_part_in_a_million_is_wrong_and_the_right_one_passes() -> None:
    text = "x = leaf float64[2] {1 2} requires_grad\ny = exp x\nt = jvp y x float64[2] {1 -1}"
    certified = CertifiedOracle(parse(text)).value("t")
    right = np.exp([1.0, 2.0]) * [1.0, -1.0]
    assert judge(right, certified).outcome == "passed"
    assert judge(right * (1 + 1e-6), certified).outcome == "inaccurate"
    assert judge(-right, certified).outcome == "wrong"


def test_at_a_kink_every_choice_is_legal() -> None:
    text = "x = leaf float64[] {0} requires_grad\ny = relu x\nt = jvp y x float64[] {2}"
    certified = CertifiedOracle(parse(text)).narrowest_value("t")
    assert [judge(np.array(s), certified).outcome for s in (0.0, 1.0, 2.0, 2.5)] == [*3 * ["convention"], "wrong"]


def test_by_way_of_recorded_gradients_nothing_is_said() -> None:
    text = "x = leaf float64[] {1} requires_grad\ny = exp x\nh = grad y x\nz = exp h\nt = jvp z x float64[] {1}"
    assert CertifiedOracle(parse(text)).value("t").balls.item().is_nan()


def test_what_has_no_value_has_no_tangent() -> None:
    text = "x = leaf float64[] {-1} requires_grad\ny = log x\nt = jvp y x float64[] {1}"
    assert CertifiedOracle(parse(text)).value("t").balls.item().is_nan()


def test_a_tangent_is_a_constant_to_what_is_made_of_it() -> None:
    text = """
    x = leaf float64[] {3} requires_grad
    y = square x
    t = jvp y x float64[] {1}
    z = multiply t x
    backward z
    """
    assert CertifiedOracle(parse(text)).gradient("x", (("z", None),)).midpoint == 6.0


def test_number_systems_without_tangents_say_so() -> None:
    class Bare:
        leaf = staticmethod(Float64().leaf)
        apply = staticmethod(Float64().apply)

    text = "x = leaf float64[] {1} requires_grad\nt = jvp x x float64[] {1}"
    with pytest.raises(ScenarioEvaluationError, match="step 2: Bare numbers have no tangent of x"):
        evaluate(parse(text), Bare())


def test_a_series_says_nothing_of_tangents() -> None:
    text = "x = leaf float64[2] {1 2} requires_grad\ny = exp x\nt = jvp y x float64[2] {1 0}\nz = multiply t x"
    found = derivatives_along(parse(text), {"x": np.ones(2)}, order=1)
    assert all(ball.is_nan() for name in ("t", "z") for ball in found[name])
    assert all(ball.is_finite() for ball in found["y"])


def test_a_number_that_stands_still_moves_nothing_and_scales_what_moves() -> None:
    moving = Moving(arb(3), arb(5))
    for found, value, speed in ((moving * 2, 6, 10), (2 * moving, 6, 10), (moving + 1, 4, 5), (moving / 2, 1.5, 2.5)):
        assert (found.value, found.speed) == (value, speed)
