"""Tests of the screen: it passes right gradients, and never one with an error that it promises to see."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.generation import operator_scenario
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.judgement import ALLOWANCE
from refgrad.oracles.screening import (
    ROUNDING,
    Contributions,
    Duals,
    Expanded,
    Rounding,
    Sweep,
    missed_below,
    random_signed,
    row_scales,
    slope,
    tolerance,
    weights_by_entry,
    weights_by_mean,
)
from refgrad.scenario import Constant, Scenario, parse
from tests.benchmarks.checked_graphs import Array, Graph, generated, sized
from tests.effort import each

GRAPHS = 150


def gradients(graph: Graph) -> dict[str, Array]:
    """The true gradients, rounded."""
    oracle = CertifiedOracle(graph.scenario)
    contributions = ((graph.output, graph.cotangent),)
    return {leaf.name: oracle.gradient(leaf.name, contributions).midpoint for leaf in graph.leaves}


def passes(scenario: Scenario, contributions: Contributions, gradients: dict[str, Array], seed: int) -> bool:
    sweep = Sweep(Expanded(scenario), gradients, np.random.default_rng(seed))
    return sweep.passes(contributions, ROUNDING)


def screened(graph: Graph, claimed: dict[str, Array], seed: int = 0) -> bool:
    cotangent = graph.cotangent.to_numpy()
    return passes(graph.scenario, ((graph.output, cotangent),), claimed, seed)


def test_almost_every_right_gradient_passes() -> None:
    passed = sum(screened(graph, gradients(graph)) for graph in generated(GRAPHS, near=False))
    assert passed > 0.9 * GRAPHS


@each("operator", [row.name for row in operator_table().values() if row.formula is not None])
def test_the_slope_of_every_formula_is_that_of_the_certified_gradient(operator: str) -> None:
    """At the first drawn point whose numbers are neither large nor small."""
    assert any(slopes_agree(operator_scenario(number, operator)) for number in range(50))


def slopes_agree(scenario: Scenario) -> bool:
    """Whether the numbers are of usual size. Raises AssertionError where the slopes differ."""
    sizes = np.concatenate([np.abs(leaf.value.to_numpy().astype(float)).ravel() for leaf in scenario.leaves])
    if not np.all((sizes > 1e-3) & (sizes < 1e2)):
        return False
    output, oracle = scenario.applications[-1].name, CertifiedOracle(scenario)
    seed = Constant.of(np.ones(oracle.value(output).shape))
    varying = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
    gradients = {name: oracle.gradient(name, ((output, seed),)) for name in varying}
    size = sum(float(np.sum(np.abs(gradient.midpoint))) for gradient in gradients.values())
    direction = {name: np.full(gradient.shape, 0.75) for name, gradient in gradients.items()}
    due = sum(0.75 * float(np.sum(gradient.midpoint)) for gradient in gradients.values())
    assert abs(slope(Expanded(scenario), direction, ((output, seed.to_numpy()),)) - due) <= 1e-9 * size
    return True


def test_an_error_in_one_entry_is_never_missed_however_small_the_entry() -> None:
    for seed, graph in enumerate(generated(GRAPHS, near=False)):
        claimed = gradients(graph)
        choices = np.random.default_rng(seed)
        name = choices.choice(list(claimed))
        entry = choices.integers(claimed[name].size)
        count = sum(gradient.size for gradient in claimed.values())
        if claimed[name].flat[entry] != 0:
            claimed[name].flat[entry] *= 1 + 4 * missed_below(len(graph.scenario.applications), count)
            assert not screened(graph, claimed, seed)


def test_a_zero_that_should_not_be_one_is_not_missed() -> None:
    graph = sized(10)
    claimed = gradients(graph)
    claimed["x"][3] = 0.0
    assert not screened(graph, claimed)


@pytest.mark.parametrize("count", [10, 1_000, 10_000])
def test_what_is_missed_is_small_whatever_the_size(count: int) -> None:
    assert missed_below(len(sized(count).scenario.applications), count) < 1e-11
    assert screened(sized(count), gradients(sized(count))) or count > 1_000


def test_errors_that_would_cancel_with_equal_weights_are_seen() -> None:
    graph = sized(10)
    claimed = gradients(graph)
    claimed["x"][0] *= 1 + 1e-6
    claimed["x"][1] *= 1 - 1e-6
    assert not any(screened(graph, claimed, seed) for seed in range(200))


@pytest.mark.parametrize("error", [2e-13, -2e-13])
def test_an_error_of_a_thousand_roundings_is_seen_behind_twenty_operators(error: float) -> None:
    """That is what ten entries and twenty operators come to: 64 times 2⁻⁵² times the root of 400."""
    graph = sized(10)
    assert len(graph.scenario.applications) == 20
    assert missed_below(len(graph.scenario.applications), 10) < abs(error)
    for entry in range(10):
        claimed = gradients(graph)
        assert all(screened(graph, claimed, seed) for seed in range(20))
        claimed["x"][entry] *= 1 + error
        assert not any(screened(graph, claimed, seed) for seed in range(20))


def test_an_error_in_the_largest_entry_is_seen_from_twice_the_tolerance_on() -> None:
    graph = sized(10)
    error = missed_below(len(graph.scenario.applications), 10) / 4
    claimed = gradients(graph)
    claimed["x"][np.argmax(np.abs(claimed["x"]))] *= 1 + error
    assert not any(screened(graph, claimed, seed) for seed in range(20))


@pytest.mark.parametrize(("claimed", "right"), [(3.0, True), (1.0, False)])
def test_the_gradient_of_what_was_broadcast_is_the_sum_over_all_copies(claimed: float, *, right: bool) -> None:
    scenario = parse(
        "x = leaf float64[1] {0x1p+0} requires_grad\nc = leaf float64[3] {0x1p+0 0x1p+1 0x1p+2}\ny = add x c\n"
    )
    assert passes(scenario, (("y", None),), {"x": np.array([claimed])}, 0) == right


def test_weights_of_entries_alike_differ_by_a_third_at_most_and_in_sign() -> None:
    weights = weights_by_entry(np.ones(1000), np.random.default_rng(0))
    sizes = np.abs(weights)
    assert 0.75 < sizes.min() / sizes.max() < 0.77
    assert set(np.sign(weights)) == {-1.0, 1.0}


def test_by_mean_an_entry_below_the_mean_adds_as_much_less_to_the_sum() -> None:
    gradient = np.array([8.0, 8.0, 8.0, 0.8, 0.0])
    parts = np.abs(weights_by_mean(gradient, np.random.default_rng(0)) * gradient)
    assert np.all((parts[:3] >= 1.5) & (parts[:3] < 2))
    assert 0 < parts[3] < 2 * 0.8 / gradient.mean()
    assert parts[4] == 0


@pytest.mark.parametrize(("scale", "right"), [(1.0, True), (1 + 1e-9, False)])
def test_zeros_widen_no_tolerance(scale: float, *, right: bool) -> None:
    """Two entries among thousands, whose sum may be small."""
    graph = parse(
        "x = leaf float64[2,3000] {" + " ".join(["0x1p+0"] * 6000) + "} requires_grad\ny = index x index=(0:2,0:1)\n"
    )
    gradient = np.zeros((2, 3000))
    gradient[:, 0] = scale
    assert all(passes(graph, (("y", None),), {"x": gradient}, seed) == right for seed in range(20))


def test_the_terms_of_sums_are_counted() -> None:
    swept = Expanded(parse("x = leaf float64[4] {0x0p+0 0x0p+0 0x0p+0 0x0p+0} requires_grad\ny = exp x\nz = sum y\n"))
    assert swept.operations == 2
    assert swept.terms(swept.evaluated(Duals({}))) == 1 + 4


def test_slopes_and_rates_along_a_direction_are_these() -> None:
    swept = Expanded(parse("x = leaf float64[2] {1 -2} requires_grad\ny = square x\nz = sign x\n"))
    direction = {"x": np.array([0.5, 3.0])}
    assert slope(swept, direction, [("y", None)]) == 2 * 0.5 - 4 * 3.0
    assert slope(swept, direction, [("y", np.array([2.0, 0.0])), ("z", None), ("y", None)]) == 2.0 - 11.0
    drawn = np.abs(random_signed((2,), np.random.default_rng(0)))
    rates = row_scales(swept, {"x": (2,)}, ["y", "z"], np.random.default_rng(0))
    assert rates.tolist() == [2 * drawn[0], 4 * drawn[1], 1.0, 1.0]


def test_directions_have_entries_of_either_sign_between_a_half_and_one() -> None:
    drawn = random_signed((1000,), np.random.default_rng(0))
    assert np.round([drawn.min(), drawn[drawn < 0].max(), drawn[drawn > 0].min(), drawn.max()], 2).tolist() == [
        *(-1.0, -0.5, 0.5, 1.0),
    ]


@pytest.mark.parametrize(("operations", "terms", "roundings"), [(0, 0, 2), (100, 0, 200), (100, 150, 300)])
def test_what_rounding_explains_grows_with_the_root_of_the_roundings(
    operations: int, terms: int, roundings: int
) -> None:
    least = 2 * ALLOWANCE * 2.0**-53 * np.sqrt(4 * roundings)
    assert tolerance(operations, 4, Rounding(terms=terms)) == pytest.approx(least)
    assert missed_below(operations, 4, Rounding(terms=terms)) == pytest.approx(8 * least)


def test_random_numbers_may_be_drawn_from_a_wider_range() -> None:
    drawn = random_signed((1000,), np.random.default_rng(0), 1.5)
    assert np.round([abs(drawn).min(), abs(drawn).max(), drawn.min(), drawn.max()], 1).tolist() == [0.5, 2, -2, 2]
