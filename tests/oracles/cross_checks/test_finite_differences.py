"""Tests of finite differences of scenarios: the error bound holds, and is infinite where nothing can be known."""

from __future__ import annotations

import sys
from collections import Counter
from types import MappingProxyType

import numpy as np
import pytest
from scipy.differentiate import derivative, jacobian

from refgrad.generation import Profile, operator_scenario, random_scenario
from refgrad.interpreter import ScenarioEvaluationError, evaluate
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.slopes.curves import TYPICAL_SIZES, Floats, Positions, Samples
from refgrad.scenario import Constant, Scenario, parse
from tests.effort import each, seeds
from tests.interpreter.batched import BatchedFloat64
from tests.oracles.agreement import compare, only_backward
from tests.oracles.cross_checks.finite_differences import (
    SECOND_SMALLEST_OF_EIGHT,
    STEPS,
    Difference,
    _Entries,
    _Function,
    finite_differences,
)
from tests.oracles.cross_checks.one_sided import ChosenSamples, on_sides
from tests.oracles.programs import FEW_CANCEL, leaf, program


def difference(lines: list[str], **leaves: object) -> dict[str, Difference]:
    """Return the finite differences of a program's last value."""
    scenario = program(leaves, lines, lines[-1].split()[0])  # type: ignore[arg-type]
    return finite_differences(scenario, only_backward(scenario))


def test_the_bound_holds_and_is_narrow_on_generated_scenarios() -> None:
    for seed in seeds(300):
        scenario = random_scenario(seed, Profile(max_backwards=1, operators=FEW_CANCEL))
        comparison = compare(scenario)
        assert not comparison.disagree.any(), f"seed {seed}"
        assert comparison.conclusive.all(), f"seed {seed}"


def test_the_bound_holds_whatever_the_operators() -> None:
    entries = Counter[str]()
    for seed in seeds(300):
        comparison = compare(random_scenario(seed, Profile(max_backwards=1)))
        assert not comparison.disagree.any(), f"seed {seed}"
        entries["all"] += comparison.conclusive.size
        entries["conclusive"] += int(comparison.conclusive.sum())
    assert entries["conclusive"] >= 0.99 * entries["all"]


def test_several_contributions_with_seeds_add_up() -> None:
    scenario = parse(leaf("x", [2.0, 3.0]) + "y = square x\nz = sum y\n")
    seed = Constant.of(np.array([1.0, -0.5]))
    found = finite_differences(scenario, (("y", seed), ("z", None)))["x"]
    assert np.abs(found.value - [4 + 4, -3 + 6]) == pytest.approx(0, abs=1e-10)
    assert (found.error < 1e-8).all()


@pytest.mark.parametrize("operator", ["relu", "abs"])
def test_on_a_kink_the_error_is_infinite_and_next_to_it_is_not(operator: str) -> None:
    tiny = STEPS[-1] / 16
    found = difference([f"y = {operator} x", "l = sum y"], x=[0.0, tiny, 1e-4, -1.0])["x"]
    assert np.isinf(found.error).tolist() == [True, False, False, False]
    assert found.value[1:].tolist() == pytest.approx([1.0, 1.0, 0.0 if operator == "relu" else -1.0])
    assert (found.error[1:] < 2.0**-40 / tiny).all(), "rounding over a stencil that fits beside the kink"


@pytest.mark.parametrize(
    "lines",
    [
        ["y = relu x", "l = sum y"],
        ["a = negative x", "y = relu a", "l = sum y"],
        ["y = abs x", "l = sum y"],
        ["y = clip x lower=0x0p+0 upper=0x1p+0", "l = sum y"],
        ["a = square x", "l = sqrt a"],
        ["a = negative x", "l = maximum x a"],
    ],
)
def test_the_slope_on_one_side_of_a_kink_is_never_given_out(lines: list[str]) -> None:
    found = difference(lines, x=0.0)["x"]
    truth = {-1.0, 0.0, 1.0}
    assert np.isinf(found.error) or abs(found.value) not in truth


@pytest.mark.parametrize("kink", ["abs x", "relu x", "relu m"])
def test_nor_is_it_where_the_other_side_is_outside_of_the_domain(kink: str) -> None:
    found = difference(["m = negative x", "a = power x y", f"b = {kink}", "l = add a b"], x=0.0, y=1.5)["x"]
    assert np.isinf(found.error)


def test_two_sides_of_a_choice_that_agree_make_a_derivative() -> None:
    """A relu minus the relu of the other sign is the identity, though both choose at 0."""
    found = difference(["a = relu x", "m = negative x", "b = relu m", "l = subtract a b"], x=0.0)["x"]
    assert abs(found.value - 1) <= found.error < 1e-9


@pytest.mark.parametrize(("y", "goal"), [(1.5, 1e-8), (1.19, 1e-8), (2.5, 1e-8), (7.25, 1e-8)])
def test_on_the_border_of_a_domain_the_one_sided_derivative_is_found(y: float, goal: float) -> None:
    scenario = program({"x": 0.0, "y": y}, ["l = power x y"])
    found = finite_differences(scenario, only_backward(scenario))["x"]
    assert abs(found.value) <= found.error < goal


@each("x", [1e-6, 1e-9, 1e-12, 1e-14])
@each("operator", ["sqrt", "log", "log2"])
def test_near_zero_the_steps_are_as_small_as_the_leaf(operator: str, x: float) -> None:
    scenario = program({"x": x}, [f"l = {operator} x"])
    found = finite_differences(scenario, only_backward(scenario))["x"]
    truth = CertifiedOracle(scenario).gradient("x", only_backward(scenario)).midpoint
    assert abs(found.value - truth) <= found.error < 1e-8 * abs(truth)


@each("distance", [1e-4, 1e-6, 1e-8, 1e-10])
@each("operator", ["arcsin", "arccos", "arctanh"])
def test_near_one_the_bound_of_an_inverse_function_holds(operator: str, distance: float) -> None:
    scenario = program({"x": 1 - distance}, [f"l = {operator} x"])
    found = finite_differences(scenario, only_backward(scenario))["x"]
    truth = CertifiedOracle(scenario).gradient("x", only_backward(scenario)).midpoint
    assert abs(found.value - truth) <= found.error < 0.01 * abs(truth)


@pytest.mark.parametrize(
    ("lines", "x"), [(["l = power y x"], 0.0), (["a = add x c", "b = subtract a c", "l = log b"], 1e-3)]
)
def test_a_jump_or_a_staircase_is_not_taken_for_a_slope(lines: list[str], x: float) -> None:
    scenario = program({"x": x, "y": 0.0, "c": 1e8}, lines)
    found = finite_differences(scenario, only_backward(scenario))["x"]
    assert np.isinf(found.error) or abs(found.value - 1000) <= found.error


def test_a_tie_of_a_reduction_is_a_kink_for_those_that_tie() -> None:
    found = difference(["l = max x"], x=[2.0, 2.0, 1.0])["x"]
    assert np.isinf(found.error).tolist() == [True, True, False]


def test_a_tie_among_those_that_are_not_picked_is_none() -> None:
    found = difference(["l = max x axis=(0, 1)"], x=[[0.0, 0.0], [2.0, 1.0]])["x"]
    assert (found.error < 1e-9).all()


def test_a_kink_off_the_path_is_no_obstacle() -> None:
    found = difference(["a = relu x", "b = max a", "l = exp x"], x=0.0)["x"]
    assert found.error < 1e-9


def test_a_step_smaller_than_the_first_avoids_a_near_kink() -> None:
    found = difference(["l = abs x"], x=1e-4)["x"]
    assert found.value == pytest.approx(1.0)
    assert found.error < 1e-9


def test_near_a_pole_the_bound_still_holds() -> None:
    found = difference(["l = reciprocal x"], x=1e-3)["x"]
    further = difference(["l = reciprocal x"], x=0.05)["x"]
    assert abs(further.value + 400) <= further.error < 1e-3
    assert abs(found.value + 1e6) <= found.error


@pytest.mark.parametrize("x", [1e-7, 1e-12])
def test_steps_are_smaller_than_the_distance_of_a_near_pole(x: float) -> None:
    found = difference(["l = reciprocal x"], x=x)["x"]
    assert abs(found.value + x**-2) <= found.error < 1e-8 * x**-2


@pytest.mark.parametrize(("operator", "x"), [("log", -1.0), ("sqrt", 0.0), ("arcsin", 1.0), ("exp", 800.0)])
def test_outside_of_the_domain_the_error_is_infinite(operator: str, x: float) -> None:
    assert np.isinf(difference([f"l = {operator} x"], x=x)["x"].error)


@pytest.mark.parametrize("large", [1e8, 1e12])
def test_rounding_noise_is_part_of_the_bound(large: float) -> None:
    """What is added to 1e8 is cut into steps of 1e-8, and the slope of such stairs is known to a few digits."""
    found = difference(["a = exp x", "b = add a c", "l = subtract b c"], x=0.3, c=large)["x"]
    assert abs(found.value - np.exp(0.3)) <= found.error
    assert found.error > 1e-16 * large


SMOOTH = MappingProxyType({"exp": np.exp, "tanh": np.tanh, "arctan": np.arctan, "log": np.log, "sqrt": np.sqrt})


@pytest.mark.parametrize("operator", sorted(SMOOTH))
def test_scipy_finds_the_same_derivative_of_a_smooth_function(operator: str) -> None:
    x = np.array([0.9, 1.7, 3.1])
    reference = derivative(SMOOTH[operator], x, initial_step=0.25, tolerances={"rtol": 1e-10})
    found = difference([f"y = {operator} x", "l = sum y"], x=x)["x"]
    assert reference.success.all()
    assert (np.abs(found.value - reference.df) <= found.error + 1e-8 * np.abs(reference.df)).all()


def test_scipy_finds_the_same_derivative_on_the_border_of_a_domain() -> None:
    """Told to step to the right alone, as ours finds out by itself."""
    reference = derivative(np.vectorize(lambda x: x**2.5), 0.0, step_direction=1)
    found = difference(["l = power x y"], x=0.0, y=2.5)["x"]
    assert abs(found.value - reference.df) <= found.error + 1e-6


def test_scipy_finds_the_same_jacobian_of_a_product() -> None:
    x = np.array([0.4, 1.3])
    reference = jacobian(lambda p: np.exp(p[0]) * np.sin(p[1]), x)
    found = difference(["a = exp p", "b = sin q", "l = multiply a b"], p=x[0], q=x[1])
    for name, slope in zip("pq", reference.df.ravel(), strict=True):
        assert abs(found[name].value - slope) <= found[name].error + 1e-8


def test_arrays_without_entries_have_differences_without_entries() -> None:
    found = difference(["l = sum x"], x=np.zeros((2, 0)))["x"]
    assert found.value.shape == found.error.shape == (2, 0)


def test_leaves_that_do_not_require_grad_are_left_out() -> None:
    scenario = parse(leaf("x", 2.0) + leaf("c", 3.0, requires_grad=False) + "l = multiply x c\nbackward l\n")
    assert list(finite_differences(scenario, (("l", None),))) == ["x"]


def test_a_scenario_without_leaves_that_require_grad_has_no_differences() -> None:
    scenario = parse(leaf("c", 3.0, requires_grad=False) + "l = exp c\n")
    assert finite_differences(scenario, (("l", None),)) == {}


def test_a_leaf_of_float32_that_does_not_vary_is_computed_with_in_float64() -> None:
    text = leaf("x", 0.3) + leaf("c", [0.1, 0.7], "float32", requires_grad=False)
    scenario = parse(text + "a = exp c\nb = multiply a x\nl = sum b\nbackward l\n")
    found = finite_differences(scenario, (("l", None),))["x"]
    truth = float(np.exp(np.array([0.1, 0.7], dtype=np.float32).astype(np.float64)).sum())
    assert abs(found.value - truth) <= found.error < 1e-9


def test_a_large_leaf_is_differentiated_in_several_batches() -> None:
    x = np.linspace(0.1, 2.0, 300)
    found = difference(["a = log x", "b = multiply a a", "l = sum b"], x=x)["x"]
    assert np.abs(found.value - 2 * np.log(x) / x).max() < 1e-8
    assert (np.abs(found.value - 2 * np.log(x) / x) <= found.error).all()


def test_where_rounding_is_all_that_is_left_no_smaller_step_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    points = Counter[str]()
    module = sys.modules[finite_differences.__module__]

    def counted(scenario: Scenario, system: BatchedFloat64) -> object:
        points["evaluated"] += next(iter(system.points.values())).shape[-1]
        return evaluate(scenario, system)

    monkeypatch.setattr(module, "evaluate", counted)
    size = 200
    found = difference(["a = exp x", "l = sum a"], x=np.full(size, 2.0))["x"]
    assert (found.error < 1e-6 * found.value).all()
    assert (found.error > 1e-9 * found.value).all()
    assert points["evaluated"] < 10 * size, "eight points an entry, and those that show the noise"


def test_shapes_that_do_not_fit_are_an_error() -> None:
    scenario = parse(leaf("x", [1.0, 2.0]) + leaf("y", [1.0, 2.0, 3.0]) + "z = add x y\n")
    with pytest.raises(ScenarioEvaluationError, match=r"^step 3: add of shapes "):
        finite_differences(scenario, (("z", None),))


def test_a_matrix_product_is_differentiated_in_every_combination_of_ranks() -> None:
    for seed in range(40):
        scenario = operator_scenario(seed, "matmul")
        contributions = only_backward(scenario)
        oracle = CertifiedOracle(scenario)
        for name, found in finite_differences(scenario, contributions).items():
            assert (np.abs(found.value - oracle.gradient(name, contributions).midpoint) <= found.error).all()


def test_slopes_that_converge_too_slowly_are_not_extrapolated() -> None:
    found = difference(["l = power x y"], x=0.0, y=1.01)["x"]
    assert np.isinf(found.error)


def test_the_bound_of_two_sides_that_agree_is_that_of_their_truncation_and_rounding() -> None:
    found = difference(["a = relu x", "m = negative x", "b = relu m", "c = subtract a b", "l = exp c"], x=0.0)["x"]
    assert abs(found.value - 1) <= found.error < 5e-10


def test_noise_is_found_where_every_line_leaves_the_domain() -> None:
    """The terms are ten times the sum, whose own roundoff says too little."""
    x, y = [2.0, 3.9, 0.0, -2.0, 1.3, -3.0], [9.2, 8.7, 0.0, 6.5, 0.1, 7.1]
    scenario = program({"x": x, "y": y}, ["a = xlogy x y", "l = sum a"])
    found = finite_differences(scenario, only_backward(scenario))["x"]
    truth = np.log(np.where(np.array(y) > 0, y, 1.0))
    assert (np.abs(found.value - truth) <= found.error)[np.array(y) > 0].all()


class Kink:
    """A function with a slope of 1 to the right and of another to the left, whose noise nobody may ask for."""

    batch = 1

    def __init__(self, left: float) -> None:
        self.left = left

    def choices(self, _places: Positions, distances: Floats) -> ChosenSamples:
        codes = np.sign(distances).astype(int)[None]
        return ChosenSamples(np.where(distances > 0, 1.0, self.left) * distances, distances, (codes,))

    def noise(self, _places: Positions, _samples: Samples) -> Floats:
        raise AssertionError


def test_noise_is_not_looked_for_where_sides_differ_by_a_tenth() -> None:
    with pytest.raises(AssertionError):
        on_sides(Kink(0.999), np.arange(1), np.array([2.0**-7]))
    assert np.isinf(on_sides(Kink(0.9), np.arange(1), np.array([2.0**-7])).error)


LARGE = 1e8
SPACING = 2.0**-26
"""Of float64 at a hundred million."""


def entries_of(lines: list[str], **leaves: object) -> _Entries:
    scenario = program(leaves, lines)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        return _Entries(_Function(scenario, (("l", None),)))


def test_the_noise_of_a_line_is_that_of_rounding_to_the_spacing_of_its_numbers() -> None:
    """Two roundings, each off by a uniform variable; x + 1e8 - 1e8 is rounded once."""
    entries = entries_of(["a = add x c", "b = subtract a c", "l = multiply b y"], x=0.7, y=1.0, c=LARGE)
    assert SPACING / 12 <= entries.deviation[0] <= 2 * SPACING


def test_the_noise_of_shaking_is_its_standard_deviation() -> None:
    entries = entries_of(["a = exp x", "b = add a c", "d = sin b", "l = sum d"], x=np.linspace(0, 1, 9), c=LARGE)
    moves = entries.function.shaken(entries.function.base[:, None], 1000)[:, 0] - entries.here[0]
    entries.shake()
    assert np.std(moves) / 5 <= entries.deviation[0] <= 5 * np.std(moves)


def test_the_noise_of_points_to_one_side_is_that_of_shaking_each() -> None:
    entries = entries_of(["a = exp x", "b = add a c", "d = sin b", "l = sum d"], x=np.linspace(0, 1, 9), c=LARGE)
    moves = entries.function.shaken(entries.function.base[:, None], 1000)[:, 0] - entries.here[0]
    places, distances = np.arange(2), np.array([[0.0, 0.0], [2.0**-30, 2.0**-30]])
    noise = entries.noise(places, entries.sample(places, distances))
    assert noise.shape == distances.shape
    assert (noise >= np.std(moves) / 5).all()
    assert (noise <= 5 * np.std(moves)).all()


def test_what_is_typical_of_the_smallest_of_some_normal_variables_is() -> None:
    """The medians of order statistics, by a hundred thousand of them."""
    normal = np.abs(np.random.default_rng(0).normal(size=(100_000, 8)))
    typical = [
        (SECOND_SMALLEST_OF_EIGHT, 8, 1),
        *((size, n, 1) for size, n in zip(TYPICAL_SIZES[1], (7, 5), strict=True)),
    ]
    typical += [(size, n, 2) for size, n in zip(TYPICAL_SIZES[2], (7, 5), strict=True)]
    for size, count, rank in typical:
        found = np.sort(normal[:, :count], axis=1)[:, rank]
        assert size == pytest.approx(float(np.median(found)), rel=0.15)
