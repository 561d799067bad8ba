"""Third and fourth derivatives are certified rightly: against SymPy, against series alone, and against rounding."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import sympy
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.generation import Profile, random_scenario
from refgrad.operators.functions.balls import BALL_FUNCTIONS, precision, series_precision
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.certified.arithmetic import assembled, exponents, length, parts
from refgrad.scenario import Constant, Grad, Scenario, parse
from tests.oracles.agreement import only_backward
from tests.oracles.certified.test_second_order import (
    LEAVES,
    PLACE,
    PROGRAMS,
    Floats,
    constant,
    contains,
    each_program,
    the_ball,
    weighted_sum,
    x,
    y,
)
from tests.oracles.cross_checks.derivatives_along import derivatives_along

SYMBOLS = {"x": x, "y": y}
SMALL = Profile(max_backwards=1, length=(1, 5), max_rank=1, empty=0.0)


@each_program
@pytest.mark.parametrize("leaves", list(product("xy", repeat=3)), ids="".join)
def test_third_derivatives_are_what_sympy_finds(formula: str, leaves: tuple[str, str, str]) -> None:
    first, second, third = leaves
    text = f"{LEAVES}{PROGRAMS[formula]}h = grad l {first} seed float64[] {{1.25}}\ng = grad h {second}\n"
    oracle = CertifiedOracle(parse(text))
    gradient = oracle.gradient(third, (("g", constant(-0.5)),))
    truth = sympy.diff(sympy.sympify(formula), *(SYMBOLS[leaf] for leaf in leaves)).subs(PLACE)
    assert contains(gradient.balls[()], truth * sympy.Rational(-5, 8))
    assert gradient.budget < 1e-12


@each_program
@pytest.mark.parametrize("leaves", ["xxxx", "xyxy", "yyxx", "yyyy"])
def test_fourth_derivatives_are_what_sympy_finds(formula: str, leaves: str) -> None:
    recorded = zip("hgf", "lhg", leaves[:3], strict=True)
    text = LEAVES + PROGRAMS[formula] + "".join(f"{name} = grad {of} {by}\n" for name, of, by in recorded)
    gradient = CertifiedOracle(parse(text)).gradient(leaves[3], (("f", None),))
    assert contains(gradient.balls[()], sympy.diff(sympy.sympify(formula), *map(SYMBOLS.get, leaves)).subs(PLACE))


@each_program
def test_what_is_made_of_a_gradient_of_a_gradient_goes_on_through_it(formula: str) -> None:
    penalty = "h = grad l x\nq = multiply h h\ns = multiply q y\ng = grad s x\nr = multiply g h\n"
    slope = sympy.diff(sympy.sympify(formula), x)
    result = sympy.diff(slope**2 * y, x) * slope
    oracle = CertifiedOracle(parse(f"{LEAVES}{PROGRAMS[formula]}{penalty}"))
    for leaf, symbol in SYMBOLS.items():
        assert contains(oracle.gradient(leaf, (("r", None),)).balls[()], sympy.diff(result, symbol).subs(PLACE))


@given(number=st.integers(0, 2**32))
def test_the_tape_agrees_with_series_alone_at_order_three(number: int) -> None:
    scenario = random_scenario(number, SMALL)
    ((output, seed),) = only_backward(scenario)
    leaves = [leaf for leaf in scenario.leaves if leaf.requires_grad]
    assume(len(leaves) <= 4)
    random = np.random.default_rng(number)
    directions = {leaf.name: random.normal(size=leaf.value.shape) for leaf in leaves}
    by_tape = third_derivative(scenario, output, seed, directions)
    with precision(128):
        weights = np.ones(()) if seed is None else seed.to_numpy()
        by_series = weighted_sum(derivatives_along(scenario, directions, 3)[output], weights)
        assume(by_series.is_finite() and by_tape.is_finite())
        assert by_series.overlaps(by_tape)
        assert float(by_tape.rad()) <= 1e-15 * (1 + float(abs(by_tape)))


def third_derivative(scenario: Scenario, output: str, seed: Constant | None, directions: dict[str, Floats]) -> arb:
    """Return seed · d³output / dt³ along the directions: every gradient is dotted with its leaf's direction."""
    along = {name: Constant.of(direction) for name, direction in directions.items()}
    first = [Grad(f"h_{n}", output, n, seed) for n in along]
    second = [Grad(f"g_{n}_{m}", f"h_{n}", m, along[n]) for n in along for m in along]
    oracle = CertifiedOracle(Scenario((*scenario.steps, *first, *second)))
    contributions = tuple((gradient.name, along[gradient.leaf]) for gradient in second)
    with precision(128):
        return sum((weighted_sum(oracle.gradient(n, contributions).balls, d) for n, d in directions.items()), arb(0))


whole_numbers = st.integers(-1000, 1000)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@given(data=st.data())
def test_series_multiply_as_numbers_with_infinitesimals_do(count: int, data: st.DataObject) -> None:
    size = 2**count
    a, b = (data.draw(st.lists(whole_numbers, min_size=size, max_size=size)) for _ in range(2))
    expected = [sum(a[part] * b[whole ^ part] for part in range(size) if part & whole == part) for whole in range(size)]
    with series_precision(128, length(count)):
        found = parts(assembled(list(map(arb, a))) * assembled(list(map(arb, b))), count)
    assert [int(ball.unique_fmpz()) for ball in found] == expected


@given(data=st.data(), order=st.integers(1, 3))
def test_a_function_of_the_sum_of_infinitesimals_has_its_derivatives(data: st.DataObject, order: int) -> None:
    speeds = data.draw(st.lists(st.integers(1, 5), min_size=order, max_size=order))
    with series_precision(128, length(order)):
        start = [arb(0.5), *[arb(0)] * (2**order - 1)]
        for place, speed in enumerate(speeds):
            start[2**place] = arb(speed)
        assert parts(assembled(start).exp(), order)[-1].overlaps(arb(0.5).exp() * math.prod(speeds))


def test_one_infinitesimal_is_a_series_of_length_two() -> None:
    assert (length(0), length(1)) == (1, 2)
    assert exponents(2) == (0, 2, 3, 5)


def third_of(program: str, at: float) -> str:
    return f"x = leaf float64[] {{{at.hex()}}} requires_grad\n{program}\nh = grad l x\ng = grad h x\n"


def outcome(program: str, engine: float, at: float, error: float = 0.0) -> str:
    """What is said of an engine whose third derivative is this number, relatively wrong by ``error``."""
    certified = CertifiedOracle(parse(third_of(program, at))).narrowest_gradient("x", (("g", None),))
    return judge(np.asarray(engine * (1 + error)), certified).outcome


@pytest.mark.parametrize("at", [0.3, 2.0, 5.0, 9.0, 17.0])
def test_formulas_that_round_differently_pass_and_errors_of_1e_6_do_not(at: float) -> None:
    z, t = 1 / (1 + math.exp(-at)), math.tanh(at)
    for program, third in (
        ("l = softplus x", z * (1 - z) * (1 - 2 * z)),
        ("l = sigmoid x", z * (1 - z) * (1 - 6 * z + 6 * z * z)),
        ("l = tanh x", (1 - t * t) * (6 * t * t - 2)),
        ("l = exp x", math.exp(at)),
        ("l = log x", 2 / at / at / at),
    ):
        assert outcome(program, third, at) == "passed"
        if at < 10:
            assert outcome(program, third, at, 1e-6) in {"wrong", "inaccurate"}
            assert outcome(program, third, at, -1e-6) in {"wrong", "inaccurate"}


def test_slopes_that_were_found_as_quotients_pass() -> None:
    for program in ("l = abs x", "l = prod x"):
        assert outcome(program, 2.0**-52, 0.7) == "passed"
        assert outcome(program, 1e-12, 0.7) == "wrong"


@pytest.mark.parametrize("at", [9.0, 17.0, 36.5])
def test_a_slope_that_is_multiplied_with_its_operand_rounds_by_so_much_more(at: float) -> None:
    z = 1 / (1 + math.exp(-at))
    second = z * (1 - z) * (2 + at * (1 - 2 * z))
    scenario = parse(f"x = leaf float64[] {{{at.hex()}}} requires_grad\nl = silu x\nh = grad l x\n")
    certified = CertifiedOracle(scenario).narrowest_gradient("x", (("h", None),))
    assert judge(np.asarray(second), certified).outcome == "passed"
    assert certified.budget < 1e-13


@pytest.mark.parametrize("program", ["l = softplus x", "l = silu x", "l = sigmoid x"])
def test_a_smooth_function_has_a_budget_where_its_usual_program_branches(program: str) -> None:
    certified = CertifiedOracle(parse(third_of(program, 0.0))).gradient("x", (("g", None),))
    assert float(certified.radius) < 1e-30
    assert certified.budget < 1e-14


@pytest.mark.parametrize("program", ["l = relu x", "l = abs x", "l = maximum x x"])
def test_at_a_kink_nothing_is_said_of_the_third_derivative(program: str) -> None:
    certified = CertifiedOracle(parse(third_of(program, 0.0))).gradient("x", (("g", None),))
    assert not np.isfinite(certified.radius)
    assert judge(np.asarray(0.0), certified).outcome == "inconclusive"


@pytest.mark.parametrize("exponent", [0.7, -2.5])
def test_nothing_is_said_of_a_power_at_its_pole(exponent: float) -> None:
    text = f"x = leaf float64[] {{0}} requires_grad\ny = leaf float64[] {{{exponent.hex()}}} requires_grad\n"
    oracle = CertifiedOracle(parse(f"{text}l = power x y\nh = grad l y\ng = grad h x\n"))
    assert not the_ball(oracle.value("g").balls).is_finite()


@pytest.mark.parametrize("name", sorted(name for name in BALL_FUNCTIONS if name in {"exp", "sqrt", "tanh", "floor"}))
def test_functions_take_plain_numbers(name: str) -> None:
    assert BALL_FUNCTIONS[name](0.5).overlaps(BALL_FUNCTIONS[name](arb(0.5)))


def test_a_direction_of_another_leaf_leaves_a_leaf_where_it_is() -> None:
    scenario = parse(f"{LEAVES}l = multiply x x\nh = grad l x\ng = grad h x\n")
    oracle = CertifiedOracle(scenario)
    assert the_ball(oracle.gradient("x", (("g", None),)).balls).is_zero()
    assert the_ball(oracle.gradient("y", (("g", None),)).balls).is_zero()


@pytest.mark.parametrize(("operator", "third"), [("i1", 3 / 8), ("i0", 0.0), ("sinh", 1.0), ("tanh", -2.0)])
def test_a_third_derivative_at_zero_is_that_of_the_function_and_not_of_a_branch_at_zero(
    operator: str, third: float
) -> None:
    """I₁(x) = x / 2 + x³ / 16 + … (DLMF 10.25.2)."""
    text = f"x = leaf float64[] {{0x0p+0}} requires_grad\ny = {operator} x\nh = grad y x\ng = grad h x\n"
    (ball,) = CertifiedOracle(parse(text)).gradient("x", (("g", None),)).balls.ravel()
    assert ball.overlaps(arb(third))
    assert float(ball.rad()) < 1e-20
