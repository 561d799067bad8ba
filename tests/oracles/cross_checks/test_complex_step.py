"""Is the complex step right where operators are analytic, and refused where they are not?"""

import numpy as np
import pytest

from refgrad.generation import Profile, operator_scenario, random_scenario
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Constant, Scenario, parse
from tests.effort import each, seeds
from tests.generation.scenario_audit import has_stress_values
from tests.oracles.cross_checks.complex_step import ComplexStepRefusedError, Slopes, complex_step, obstacle
from tests.oracles.cross_checks.page import scenario_of
from tests.oracles.programs import program

NOT_ANALYTIC = {"abs", "arctan2", "clip", "max", "maximum", "min", "minimum", "relu"}
NEARLY_SINGULAR = {"cdist"}
"""What generated scenarios have beside a singularity: two points that nearly coincide."""

ANALYTIC = frozenset(name for name, row in operator_table().items() if row.composite is None and obstacle(row) is None)


def contributions(scenario: Scenario) -> tuple[tuple[str, Constant | None], ...]:
    return tuple((backward.output, backward.seed) for _, backward in scenario.backwards)


def stepped(text: str) -> dict[str, Slopes]:
    return complex_step(parse(text), (("l", None),))


def assert_close(scenario: Scenario, tolerance: float = 1e-12) -> None:
    """Assert that the error is honest wherever it is told, and narrow on ordinary numbers."""
    oracle = CertifiedOracle(scenario)
    for name, slopes in complex_step(scenario, contributions(scenario)).items():
        truth = oracle.gradient(name, contributions(scenario)).midpoint
        size = np.maximum(1.0, np.abs(truth))
        told = np.isfinite(slopes.error)
        assert slopes.value.shape == slopes.error.shape == truth.shape
        assert np.all(np.abs(slopes.value - truth)[told] <= (slopes.error + 2.0**-53 * np.abs(truth))[told])
        assert has_stress_values(scenario) or np.all(slopes.error <= tolerance * size)


def test_what_is_not_analytic_follows_from_the_rows() -> None:
    assert all(obstacle(operator_table()[name]) for name in NOT_ANALYTIC)
    assert not any(obstacle(operator_table()[name]) for name in ("add", "power", "sinc", "sigmoid", "where", "matmul"))


@each("name", sorted(ANALYTIC))
def test_every_analytic_operator_agrees_with_the_certified_oracle(name: str) -> None:
    for seed in range(6):
        assert_close(operator_scenario(seed, name, Profile(max_backwards=1)))


def test_graphs_of_analytic_operators_agree_with_the_certified_oracle() -> None:
    for seed in seeds(250):
        assert_close(random_scenario(seed, Profile(operators=ANALYTIC, max_backwards=2)), 1e-11)


@pytest.mark.parametrize("name", sorted(NOT_ANALYTIC))
def test_what_is_not_analytic_is_refused_by_name(name: str) -> None:
    scenario = operator_scenario(0, name, Profile(max_backwards=1))
    with pytest.raises(ComplexStepRefusedError, match=f"{name} is not analytic"):
        complex_step(scenario, contributions(scenario))


def test_what_no_leaf_moves_may_have_kinks() -> None:
    scenario = parse("""
        c = leaf float64[2] {-0x1p+0 0x1p+1}
        x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
        size = abs c
        l = multiply size x
        backward l seed float64[2] {0x1p+0 0x1p+0}
    """)
    assert complex_step(scenario, contributions(scenario))["x"].value.tolist() == [1.0, 2.0]


def test_what_the_output_does_not_depend_on_may_have_kinks() -> None:
    scenario = parse("""
        x = leaf float64[] {-0x1p+0} requires_grad
        y = leaf float64[] {-0x1p+0} requires_grad
        unused = abs x
        l = square x
        backward l
    """)
    found = complex_step(scenario, contributions(scenario))
    assert {name: float(slopes.value) for name, slopes in found.items()} == {"x": -2.0, "y": 0.0}
    assert found["y"].error == 0


def test_a_branch_on_a_constant_condition_is_analytic() -> None:
    scenario = parse("""
        c = leaf bool[2] {true false}
        x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
        y = square x
        l = where c y x
        backward l seed float64[2] {0x1p+0 0x1p+0}
    """)
    assert complex_step(scenario, contributions(scenario))["x"].value.tolist() == [2.0, 1.0]


def test_a_large_leaf_is_stepped_through_in_batches() -> None:
    array = np.linspace(-1, 1, 700)
    text = f"x = leaf float64[700] {{{' '.join(x.hex() for x in array.tolist())}}} requires_grad\ny = tanh x\nl = sum y"
    scenario = parse(f"{text}\nbackward l\n")
    found = complex_step(scenario, (("l", None),))["x"]
    np.testing.assert_allclose(found.value, 1 - np.tanh(array) ** 2, rtol=1e-13)
    assert (found.error < 1e-13).all()


@pytest.mark.parametrize("y", [1.25, 1.2, 1.5, 1.999])
def test_on_the_border_of_a_domain_nothing_is_told(y: float) -> None:
    """0 ** y with 1 < y < 2 has the slope 0 in x, by a limit: a branch point, where h ** (y - 1) is not small."""
    found = stepped(f"x = leaf float64[] {{0x0p+0}} requires_grad\ny = leaf float64[] {{{y.hex()}}}\nl = power x y\n")
    assert np.isinf(found["x"].error)


def test_a_power_of_zero_that_stays_zero_has_the_slope_zero_in_its_exponent() -> None:
    found = stepped("x = leaf float64[] {0x0p+0}\ny = leaf float64[] {0x1p+1} requires_grad\nl = power x y\n")["y"]
    assert found.value == 0.0
    assert found.error < 1e-270, "nothing but underflow"


def test_a_removable_singularity_beside_the_entry_that_moves_is_no_obstacle() -> None:
    found = stepped("x = leaf float64[2] {0x0p+0 0x1p-1} requires_grad\ny = sinc x\nl = sum y\n")["x"]
    np.testing.assert_allclose(found.value, [0.0, -4 / np.pi], rtol=1e-14)
    assert (found.error < 1e-13).all()


@pytest.mark.parametrize(("line", "x"), [("l = reciprocal x", 1e-26), ("l = log x", 1e-28), ("l = sqrt x", 1e-24)])
def test_near_a_singularity_the_error_holds(line: str, x: float) -> None:
    scenario = parse(f"x = leaf float64[] {{{x.hex()}}} requires_grad\n{line}\n")
    found = complex_step(scenario, (("l", None),))["x"]
    truth = CertifiedOracle(scenario).gradient("x", (("l", None),)).midpoint
    assert abs(found.value - truth) <= found.error


def test_a_direction_in_which_an_argument_moves_far_has_a_large_error() -> None:
    """The imaginary part of 1e30 x is near 1, where sin is no longer a straight line."""
    text = f"x = leaf float64[] {{0x1p+0}} requires_grad\nc = leaf float64[] {{{(1e30).hex()}}}\n"
    assert stepped(f"{text}a = multiply x c\nl = sin a\n")["x"].error > 1e28


def test_what_cancels_on_the_way_is_part_of_the_error() -> None:
    """Of x + c - c the last digits are lost, and with them those of the slope of its exponential."""
    text = f"x = leaf float64[] {{{(0.3).hex()}}} requires_grad\nc = leaf float64[] {{{(1e8).hex()}}}\n"
    found = stepped(f"{text}a = add x c\nb = subtract a c\nl = exp b\n")["x"]
    assert 1e-10 < abs(found.value - np.exp(0.3)) <= found.error < 1e-6


def test_a_small_logarithm_is_not_the_logarithm_of_a_rounded_sum() -> None:
    """The slope of 1 / log1p(x) at 1e-12 asks for log1p itself to all digits."""
    scenario = parse(
        f"x = leaf float64[] {{{(1e-12).hex()}}} requires_grad\na = log1p x\nl = reciprocal a\nbackward l\n"
    )
    found = complex_step(scenario, (("l", None),))["x"]
    truth = CertifiedOracle(scenario).gradient("x", (("l", None),)).midpoint
    assert abs(found.value - truth) <= 1e-14 * abs(truth)
    assert abs(found.value - truth) <= found.error <= 1e-12 * abs(truth)


def test_the_error_is_honest_and_narrow_on_generated_scenarios() -> None:
    """Operators and graphs, on their edges and off, as far as the certified value is narrow.

    Far outside of sample ranges, and near singularities, it is honest but need not be narrow.
    """
    errors: list[float] = []
    for seed in seeds(500):
        scenario = scenario_of(seed)
        try:
            found = complex_step(scenario, contributions(scenario))
        except ComplexStepRefusedError:
            continue
        for name, slopes in found.items():
            certified = CertifiedOracle(scenario).narrowest_gradient(name, contributions(scenario))
            told = np.isfinite(slopes.error) & np.isfinite(certified.radius)
            truth, value, error = (array[told] for array in (certified.midpoint, slopes.value, slopes.error))
            assert np.all(np.abs(value - truth) <= error + certified.radius[told] + 2.0**-53 * np.abs(truth)), seed
            if not (has_stress_values(scenario) or NEARLY_SINGULAR.intersection(scenario.operators)):
                errors += (error / np.maximum(1.0, np.abs(truth))).tolist()
    assert len(errors) > len(seeds(500))
    assert max(errors) < 1e-11


@pytest.mark.parametrize(
    ("operator", "x", "largest"),
    [("exp", 1.0, 1e-13), ("exp", -650.0, 1e-277), ("sqrt", 1e-20, 1e7)],
    ids=["rounding", "underflow", "near a border"],
)
def test_the_error_is_no_larger_than_its_reasons(operator: str, x: float, largest: float) -> None:
    scenario = program({"x": x}, [f"l = {operator} x"])
    assert complex_step(scenario, (("l", None),))["x"].error < largest
