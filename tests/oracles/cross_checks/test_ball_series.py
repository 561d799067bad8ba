"""FLINT's own power series agree with the tape of balls."""

from __future__ import annotations

import numpy as np
from flint import arb, arb_series

from refgrad.generation import Profile, random_scenario
from refgrad.operators.differentiation import differentiate
from refgrad.operators.expression import Formula
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.balls import ball_functions, precision
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Scenario, parse
from tests.effort import each, seeds
from tests.oracles.agreement import only_backward
from tests.oracles.cross_checks.ball_series import (
    SERIES_FUNCTIONS,
    directional_derivative,
    lifted,
    series_of_length_two,
)

POINTS = {
    "arccosh": (1.75,),
    "polygamma": (2, 0.625),
    "besseli": (2, 0.625),
    "besselie": (2, 0.625),
    "sphericalj": (2, 0.625),
    "arctan2": (0.625, -1.5),
    "hypot": (0.625, -1.5),
    "maximum": (0.5, 2.0),
}


def the_two_derivatives(scenario: Scenario, seed: int) -> tuple[arb, arb]:
    """Return the derivative along a random direction by series, and by the tape's gradient."""
    ((output, weights),) = only_backward(scenario)
    random = np.random.default_rng(seed)
    leaves = [leaf for leaf in scenario.leaves if leaf.requires_grad]
    directions = {leaf.name: random.normal(size=leaf.value.shape) for leaf in leaves}
    oracle = CertifiedOracle(scenario)
    along = arb(0)
    with precision(128):
        for leaf in leaves:
            balls = oracle.gradient(leaf.name, ((output, weights),)).balls.ravel()
            along += sum((b * float(d) for b, d in zip(balls, directions[leaf.name].ravel(), strict=True)), arb(0))
    return directional_derivative(scenario, output, weights, directions), along


def test_series_agree_with_the_tape_on_generated_scenarios() -> None:
    widest = 0.0
    for seed in seeds(300):
        by_series, by_tape = the_two_derivatives(random_scenario(seed, Profile(max_backwards=1)), seed)
        with precision(128):
            assert by_series.overlaps(by_tape), f"seed {seed}: {by_series} and {by_tape}"
        widest = max(widest, *(float(ball.rad() / (1 + abs(ball))) for ball in (by_series, by_tape)))
    assert widest < 1e-10, "intervals that overlap because they are wide would say nothing"


def test_a_series_differentiates_a_program_by_itself() -> None:
    scenario = parse("x = leaf float64[] {0x1p+1} requires_grad\ny = square x\nl = exp y\nbackward l\n")
    derivative = directional_derivative(scenario, "l", None, {"x": np.ones(())})
    with precision(128):
        assert derivative.overlaps(4 * arb(4).exp())


@each("name", sorted(FUNCTIONS))
def test_the_vocabulary_s_derivatives_are_those_of_flint(name: str) -> None:
    function = FUNCTIONS[name]
    point = POINTS.get(name, (0.375, -0.5)[: len(function.parameters)])
    formula = Formula(f"{name}({', '.join(function.parameters)})")
    with series_of_length_two(128):
        _, *partials = differentiate(formula, function.parameters, (), ball_functions(128))(*map(arb, point))
        for place, by_rule in enumerate(partials):
            if function.parameters[place] in function.integers:
                continue
            operands = [arb_series([x, int(i == place)]) for i, x in enumerate(point)]
            by_series = lifted(SERIES_FUNCTIONS[name](*operands))[1]
            assert arb(by_rule).overlaps(by_series), f"{name} by argument {place}: {by_rule} and {by_series}"
            assert float(arb(by_rule).rad()) < 1e-30
