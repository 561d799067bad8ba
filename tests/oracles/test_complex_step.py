"""Is the complex step right where operators are analytic, and refused where they are not?"""

import numpy as np
import pytest

from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.complex_step import ComplexStepRefusedError, complex_step, obstacle
from refgrad.scenario import Constant, Scenario, parse
from refgrad.strategies import Profile, operator_scenario, random_scenario

NOT_ANALYTIC = {"abs", "arctan2", "clip", "max", "maximum", "min", "minimum", "relu"}
ANALYTIC = frozenset(operator_table()) - NOT_ANALYTIC


def contributions(scenario: Scenario) -> tuple[tuple[str, Constant | None], ...]:
    return tuple((backward.output, backward.seed) for _, backward in scenario.backwards)


def assert_close(scenario: Scenario, tolerance: float = 1e-12) -> None:
    oracle = CertifiedOracle(scenario)
    for name, slopes in complex_step(scenario, contributions(scenario)).items():
        truth = oracle.gradient(name, contributions(scenario)).midpoint
        assert slopes.shape == truth.shape
        assert np.all(np.abs(slopes - truth) <= tolerance * np.maximum(1.0, np.abs(truth)))


def test_what_is_not_analytic_follows_from_the_rows() -> None:
    assert {name for name, row in operator_table().items() if obstacle(row) is not None} == NOT_ANALYTIC


@pytest.mark.parametrize("name", sorted(ANALYTIC))
def test_every_analytic_operator_agrees_with_the_certified_oracle(name: str) -> None:
    for seed in range(6):
        assert_close(operator_scenario(seed, name, Profile(max_backwards=1)))


def test_graphs_of_analytic_operators_agree_with_the_certified_oracle() -> None:
    for seed in range(100):
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
    assert complex_step(scenario, contributions(scenario))["x"].tolist() == [1.0, 2.0]


def test_what_the_output_does_not_depend_on_may_have_kinks() -> None:
    scenario = parse("""
        x = leaf float64[] {-0x1p+0} requires_grad
        y = leaf float64[] {-0x1p+0} requires_grad
        unused = abs x
        l = square x
        backward l
    """)
    assert complex_step(scenario, contributions(scenario)) == {"x": np.array(-2.0), "y": np.array(0.0)}


def test_a_branch_on_a_constant_condition_is_analytic() -> None:
    scenario = parse("""
        c = leaf bool[2] {true false}
        x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
        y = square x
        l = where c y x
        backward l seed float64[2] {0x1p+0 0x1p+0}
    """)
    assert complex_step(scenario, contributions(scenario))["x"].tolist() == [2.0, 1.0]


def test_a_large_leaf_is_stepped_through_in_batches() -> None:
    array = np.linspace(-1, 1, 700)
    text = f"x = leaf float64[700] {{{' '.join(x.hex() for x in array.tolist())}}} requires_grad\ny = tanh x\nl = sum y"
    scenario = parse(f"{text}\nbackward l\n")
    np.testing.assert_allclose(complex_step(scenario, (("l", None),))["x"], 1 - np.tanh(array) ** 2, rtol=1e-13)
