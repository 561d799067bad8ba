"""Second derivatives are certified rightly: against SymPy, against series without a tape, and against rounding."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from flint import arb, arb_series

from refgrad.generation import Profile, random_scenario
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.balls import precision, series_precision
from refgrad.operators.functions.series import SERIES_FUNCTIONS, coefficient
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import Constant, Grad, Scenario, parse
from tests.effort import each, seeds
from tests.oracles.agreement import only_backward
from tests.oracles.cross_checks.ball_series import SERIES_FUNCTIONS as WRITTEN_ANEW
from tests.oracles.cross_checks.derivatives_along import derivatives_along

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

PROGRAMS = {
    "sin(x*x*y)": "m = multiply x x\np = multiply m y\nl = sin p\n",
    "exp(x)/y": "a = exp x\nl = divide a y\n",
    "tanh(x*y)*x": "p = multiply x y\na = tanh p\nl = multiply a x\n",
    "log(1+exp(x))*sqrt(y)": "a = softplus x\nb = sqrt y\nl = multiply a b\n",
    "atan2(x, y)": "l = arctan2 x y\n",
    "y**x": "l = power y x\n",
}
X, Y, SEED, COTANGENT = 0.75, 1.5, 1.25, -0.5
LEAVES = f"x = leaf float64[] {{{X.hex()}}} requires_grad\ny = leaf float64[] {{{Y.hex()}}} requires_grad\n"
x, y, t = sympy.symbols("x y t")
PLACE = {x: sympy.Rational(X), y: sympy.Rational(Y)}

each_program = pytest.mark.parametrize("formula", PROGRAMS)


def constant(number: float) -> Constant:
    return Constant.of(np.asarray(number))


def the_ball(balls: object) -> arb:
    """Return the one entry of an array without axes."""
    return np.asarray(balls, dtype=object).item()


def contains(ball: arb, expression: sympy.Expr) -> bool:
    digits = sympy.N(expression, 60)
    with precision(190):
        return bool(ball.overlaps(arb(str(digits), arb("1e-50")))) and float(ball.rad()) < 1e-30


@each_program
def test_what_a_cotangent_of_a_gradient_sends_to_the_leaves_is_what_sympy_finds(formula: str) -> None:
    oracle = CertifiedOracle(parse(f"{LEAVES}{PROGRAMS[formula]}h = grad l x seed float64[] {{{SEED.hex()}}}\n"))
    slope = sympy.diff(sympy.sympify(formula), x) * sympy.Rational(SEED)
    assert contains(oracle.value("h").balls[()], slope.subs(PLACE))
    for leaf, symbol in (("x", x), ("y", y)):
        gradient = oracle.gradient(leaf, (("h", constant(COTANGENT)),))
        assert contains(gradient.balls[()], sympy.Rational(COTANGENT) * sympy.diff(slope, symbol).subs(PLACE))


@each_program
def test_gradients_go_on_through_what_is_made_of_a_gradient(formula: str) -> None:
    text = f"{LEAVES}{PROGRAMS[formula]}h = grad l x\nq = multiply h h\nr = multiply q y\ng = grad r y\n"
    oracle = CertifiedOracle(parse(text))
    penalty = sympy.diff(sympy.sympify(formula), x) ** 2 * y
    assert contains(oracle.value("g").balls[()], sympy.diff(penalty, y).subs(PLACE))
    assert contains(oracle.gradient("x", (("r", None),)).balls[()], sympy.diff(penalty, x).subs(PLACE))


@each_program
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_series_find_derivatives_of_any_order_as_sympy_does(formula: str, order: int) -> None:
    direction = {"x": np.asarray(0.5), "y": np.asarray(-0.25)}
    found = derivatives_along(parse(f"{LEAVES}{PROGRAMS[formula]}"), direction, order)["l"][()]
    moved = sympy.sympify(formula).subs({x: PLACE[x] + t / 2, y: PLACE[y] - t / 4}, simultaneous=True)
    assert contains(found, sympy.diff(moved, t, order).subs(t, 0))


def weighted_sum(balls: object, weights: Floats) -> arb:
    entries = np.asarray(balls, dtype=object).ravel().tolist()
    return sum((ball * float(w) for ball, w in zip(entries, weights.ravel(), strict=True)), arb(0))


def test_the_tape_and_the_series_agree_at_order_one_and_two_on_generated_scenarios() -> None:
    widest = 0.0
    for number in seeds(300):
        scenario = random_scenario(number, Profile(max_backwards=1))
        ((output, seed),) = only_backward(scenario)
        random = np.random.default_rng(number)
        leaves = [leaf for leaf in scenario.leaves if leaf.requires_grad]
        directions = {leaf.name: random.normal(size=leaf.value.shape) for leaf in leaves}
        gradients = tuple(Grad(f"h_{name}", output, name, seed) for name in directions)
        oracle = CertifiedOracle(Scenario((*scenario.steps, *gradients)))
        weights = np.ones(()) if seed is None else seed.to_numpy()
        contributions = tuple((g.name, Constant.of(directions[g.leaf])) for g in gradients)
        with precision(128):
            pairs = [
                sum((weighted_sum(oracle.value(f"h_{n}").balls, d) for n, d in directions.items()), arb(0)),
                sum((weighted_sum(oracle.gradient(n, contributions).balls, d) for n, d in directions.items()), arb(0)),
            ]
            for order, by_tape in enumerate(pairs, 1):
                by_series = weighted_sum(derivatives_along(scenario, directions, order)[output], weights)
                if by_series.is_finite() and by_tape.is_finite():
                    assert by_series.overlaps(by_tape), f"seed {number}, order {order}: {by_series} and {by_tape}"
                    widest = max(widest, float(by_series.rad()), float(by_tape.rad()))
    assert 0 < widest < 1e-12, "intervals that overlap because they are wide would say nothing"


def test_second_derivatives_are_symmetric() -> None:
    text = f"{LEAVES}{PROGRAMS['tanh(x*y)*x']}h = grad l x\ng = grad l y\n"
    oracle = CertifiedOracle(parse(text))
    one_way, other_way = oracle.gradient("y", (("h", None),)), oracle.gradient("x", (("g", None),))
    assert the_ball(one_way.balls).overlaps(the_ball(other_way.balls))


BY_SLOPE = {"erfinv", "digamma", "i0", "i1", "i0e", "i1e"}
"""What is written anew for series of length two alone."""

POINTS = {"arccosh": (1.75,), "arctan2": (0.625, -1.5), "hypot": (0.625, -1.5), "maximum": (0.5, 2.0)}


@each("name", [name for name, row in FUNCTIONS.items() if not row.integers and name not in BY_SLOPE])
def test_series_functions_agree_with_others_that_were_written_anew(name: str) -> None:
    both = SERIES_FUNCTIONS[name], WRITTEN_ANEW[name]
    points = POINTS.get(name, (0.375, -0.5)[: len(FUNCTIONS[name].parameters)])
    with series_precision(128, 4):
        operands = [arb_series([point, 1 + place, -0.5, 0.25]) for place, point in enumerate(points)]
        ours, theirs = (function(*operands) for function in both)
        for order in range(4):
            assert coefficient(ours, order).overlaps(coefficient(theirs, order))


@pytest.mark.parametrize("name", ["tanh", "arctan", "sigmoid"])
def test_a_saturated_slope_is_certified(name: str) -> None:
    scenario = parse(f"x = leaf float64[] {{40}} requires_grad\nl = {name} x\nh = grad l x\n")
    certified = CertifiedOracle(scenario).narrowest_gradient("x", (("h", None),))
    assert 0 < abs(float(certified.midpoint)) < 1e-4
    assert float(certified.radius) < 1e-15 * abs(float(certified.midpoint))


@pytest.mark.parametrize(
    "program",
    ["l = relu x", "l = abs x", "l = maximum x x", "m = leaf float64[] {0}\nl = minimum x m"],
)
def test_at_a_kink_nothing_is_said_of_the_second_derivative(program: str) -> None:
    scenario = parse(f"x = leaf float64[] {{0}} requires_grad\n{program}\nh = grad l x\n")
    certified = CertifiedOracle(scenario).gradient("x", (("h", None),))
    assert not np.isfinite(certified.radius)
    assert judge(np.asarray(0.0), certified).outcome == "inconclusive"
    assert not the_ball(derivatives_along(scenario, {"x": np.ones(())}, 1)["l"]).is_finite()


@pytest.mark.parametrize("program", ["l = divide x x", "l = reciprocal x", "l = log x", "l = sqrt x", "l = power x x"])
def test_where_flint_would_shift_or_refuse_a_series_nothing_is_said(program: str) -> None:
    scenario = parse(f"x = leaf float64[] {{0}} requires_grad\n{program}\nh = grad l x\n")
    assert not np.isfinite(CertifiedOracle(scenario).gradient("x", (("h", None),)).radius)
    assert not the_ball(derivatives_along(scenario, {"x": np.ones(())}, 1)["l"]).is_finite()


def test_directions_have_the_shapes_of_their_leaves() -> None:
    scenario = parse(LEAVES)
    with pytest.raises(ValueError, match="direction of 'x'"):
        derivatives_along(scenario, {"x": np.ones(2)}, 1)
    with pytest.raises(ValueError, match="direction of 'z'"):
        derivatives_along(scenario, {"z": np.ones(())}, 1)
    with pytest.raises(ValueError, match="order"):
        derivatives_along(scenario, {}, -1)


def outcome(program: str, engine: float, at: float, error: float = 0.0) -> str:
    """What is said of an engine whose second derivative is this number, relatively wrong by ``error``."""
    scenario = parse(f"x = leaf float64[] {{{at.hex()}}} requires_grad\n{program}\nh = grad l x\n")
    certified = CertifiedOracle(scenario).narrowest_gradient("x", (("h", None),))
    return judge(np.asarray(engine * (1 + error)), certified).outcome


@pytest.mark.parametrize("at", [0.3, 2.0, 5.0, 9.0, 17.0])
def test_formulas_that_round_differently_pass_and_errors_of_1e_6_do_not(at: float) -> None:
    z, y = 1 / (1 + np.exp(-at)), np.tanh(at)
    for program, second in (
        ("l = softplus x", z * (1 - z)),
        ("l = sigmoid x", z * (1 - z) * (1 - 2 * z)),
        ("l = tanh x", -2 * y * (1 - y * y)),
        ("l = exp x", np.exp(at)),
    ):
        assert outcome(program, second, at) == "passed"
        if at < 10:
            assert outcome(program, second, at, 1e-6) in {"wrong", "inaccurate"}


def test_slopes_that_were_found_as_quotients_pass() -> None:
    at = 0.7
    assert outcome("l = abs x", 2.0**-53, at) == "passed"
    assert outcome("l = prod x", 2.0**-53, at) == "passed"
    assert outcome("l = abs x", 1e-12, at) == "wrong"
    assert outcome("l = prod x", 1e-12, at) == "wrong"


def test_a_gradient_whose_seed_does_not_fit_has_no_value() -> None:
    steps = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\ny = multiply x x\n"
    scenario = parse(f"{steps}h = grad y x seed float64[3] {{0x1p+0 0x1p+0 0x1p+0}}\n")
    assert np.isnan(CertifiedOracle(scenario).value("h").midpoint).tolist() == [True, True]
