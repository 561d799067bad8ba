"""The certified oracle encloses the truth, and says so where there is none."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

from refgrad.interpreter import ScenarioEvaluationError
from refgrad.operators.functions.balls import precision
from refgrad.oracles import Certified, CertifiedOracle, judge
from refgrad.oracles.certified.certified import narrowest
from refgrad.scenario import Constant, parse
from tests.effort import each
from tests.oracles.programs import certified_gradient, gradient_of, leaf, program

PROGRAMS: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "a product and a logarithm": (
        ["z = multiply x y", "w = log x", "l = add z w"],
        lambda x, y: x * y + mpmath.log(x),
    ),
    "a cube and a sine": (
        ["b = square y", "c = multiply b y", "d = multiply x y", "e = sin d", "l = subtract c e"],
        lambda x, y: y**3 - mpmath.sin(x * y),
    ),
    "a chain of exponentials": (
        ["a = exp x", "b = tanh a", "c = divide b y", "l = exp c"],
        lambda x, y: mpmath.exp(mpmath.tanh(mpmath.exp(x)) / y),
    ),
    "a power": (["l = power x y"], lambda x, y: x**y),
    "an angle and a length": (
        ["a = arctan2 x y", "b = hypot x y", "l = multiply a b"],
        lambda x, y: mpmath.atan2(x, y) * mpmath.hypot(x, y),
    ),
    "a logistic function": (
        ["a = sigmoid x", "b = softplus y", "l = multiply a b"],
        lambda x, y: mpmath.log1p(mpmath.exp(y)) / (1 + mpmath.exp(-x)),
    ),
}
POINT = (1.25, 0.7)


def holds(certified: Certified, truth: Any, index: tuple[int, ...] = ()) -> bool:
    with precision(400), mpmath.workdps(80):
        near = arb(mpmath.nstr(mpmath.mpf(truth), 60)) * arb(1, 1e-55)
        ball: Any = certified.balls[index]
        return bool(ball.overlaps(near))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_certified_gradient_encloses_what_mpmath_finds(name: str) -> None:
    lines, function = PROGRAMS[name]
    scenario = program(dict(zip("xy", POINT, strict=True)), lines)
    with mpmath.workdps(70):
        point = tuple(mpmath.mpf(number) for number in POINT)
        truths = {"x": mpmath.diff(function, point, (1, 0)), "y": mpmath.diff(function, point, (0, 1))}
        value = function(*point)
        for leaf_name, truth in truths.items():
            gradient = certified_gradient(scenario, leaf_name)
            assert holds(gradient, truth)
            assert gradient.radius < 1e-30
        assert holds(CertifiedOracle(scenario).value("l"), value)


IN_MPMATH: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "add": (lambda x, y: x + y, (1.5, -0.3)),
    "subtract": (lambda x, y: x - y, (1.5, -0.3)),
    "multiply": (lambda x, y: x * y, (1.5, -0.3)),
    "divide": (lambda x, y: x / y, (1.5, -0.3)),
    "power": (lambda x, y: x**y, (1.5, -0.3)),
    "maximum": (max, (1.5, -0.3)),
    "minimum": (min, (1.5, -0.3)),
    "arctan2": (mpmath.atan2, (1.5, -0.3)),
    "hypot": (mpmath.hypot, (1.5, -0.3)),
    "logaddexp": (lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), (1.5, -0.3)),
    "negative": (lambda x: -x, (0.7,)),
    "abs": (abs, (-0.7,)),
    "exp": (mpmath.exp, (0.7,)),
    "expm1": (mpmath.expm1, (1e-9,)),
    "exp2": (lambda x: mpmath.mpf(2) ** x, (0.7,)),
    "log": (mpmath.log, (0.7,)),
    "log1p": (mpmath.log1p, (1e-9,)),
    "log2": (lambda x: mpmath.log(x, 2), (0.7,)),
    "log10": (mpmath.log10, (0.7,)),
    "sqrt": (mpmath.sqrt, (0.7,)),
    "square": (lambda x: x * x, (-0.7,)),
    "reciprocal": (lambda x: 1 / x, (-0.7,)),
    "sin": (mpmath.sin, (2.7,)),
    "cos": (mpmath.cos, (2.7,)),
    "tan": (mpmath.tan, (0.7,)),
    "arcsin": (mpmath.asin, (0.7,)),
    "arccos": (mpmath.acos, (0.7,)),
    "arctan": (mpmath.atan, (0.7,)),
    "sinh": (mpmath.sinh, (0.7,)),
    "cosh": (mpmath.cosh, (0.7,)),
    "tanh": (mpmath.tanh, (0.7,)),
    "arcsinh": (mpmath.asinh, (-2.7,)),
    "arccosh": (mpmath.acosh, (2.7,)),
    "arctanh": (mpmath.atanh, (0.7,)),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), (-2.7,)),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), (-2.7,)),
    "relu": (lambda x: max(x, 0), (2.7,)),
    "silu": (lambda x: x / (1 + mpmath.exp(-x)), (-2.7,)),
}
"""What mathematics calls each operator, and a point."""


@each("name", IN_MPMATH)
def test_an_operator_s_derivative_is_that_of_the_function_of_its_name(name: str) -> None:
    function, point = IN_MPMATH[name]
    names = ["x", "y"][: len(point)]
    scenario = program(dict(zip(names, point, strict=True)), [f"l = {name} {' '.join(names)}"])
    with mpmath.workdps(60):
        for place, argument in enumerate(names):
            order = tuple(int(place == i) for i in range(len(point)))
            truth = mpmath.diff(function, tuple(map(mpmath.mpf, point)), order)
            certified = certified_gradient(scenario, argument)
            assert abs(float(truth) - certified.midpoint) <= 1e-15 * max(1.0, abs(float(truth)))


def test_a_seed_weighs_the_outputs() -> None:
    text = leaf("x", [2.0, 3.0]) + "y = square x\nbackward y seed float64[2] {0x1p+0 -0x1p-1}\n"
    scenario = parse(text)
    assert certified_gradient(scenario, "x").midpoint.tolist() == [4.0, -3.0]


def test_several_contributions_add_up() -> None:
    scenario = parse(leaf("x", 3.0) + "y = square x\nz = exp y\nw = add x x\n")
    gradient = CertifiedOracle(scenario).gradient("x", (("y", None), ("y", None), ("w", None)))
    assert float(gradient.midpoint) == 6.0 + 6.0 + 2.0


def test_a_leaf_that_the_output_does_not_depend_on_gets_zeros() -> None:
    scenario = parse(leaf("x", [1.0, 2.0]) + leaf("y", 3.0) + "l = exp y\nbackward l\n")
    gradient = certified_gradient(scenario, "x")
    assert gradient.midpoint.tolist() == [0.0, 0.0]
    assert gradient.budget.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("operator", "point", "interval"),
    [
        ("relu", 0.0, (0, 1)),
        ("relu", -0.0, (0, 1)),
        ("abs", 0.0, (-1, 1)),
        ("clip", -1.0, (0, 1)),
        ("clip", 2.0, (0, 1)),
    ],
)
def test_at_a_kink_the_certified_interval_is_the_hull_of_the_slopes(
    operator: str, point: float, interval: tuple[int, int]
) -> None:
    attributes = "lower=-0x1p+0 upper=0x1p+1" if operator == "clip" else ""
    (gradient,) = gradient_of(operator, point, attributes=attributes)
    low, high = interval
    ball: Any = gradient.balls[()]
    assert ball.contains(low)
    assert ball.contains(high)
    assert not ball.contains(high + 1e-6)
    assert not ball.contains(low - 1e-6)


@pytest.mark.parametrize("operator", ["maximum", "minimum"])
def test_at_a_tie_either_operand_may_have_all(operator: str) -> None:
    for gradient in gradient_of(operator, 1.5, 1.5):
        assert (float(gradient.midpoint), float(gradient.radius)) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("operator", ["max", "min"])
def test_tied_entries_may_have_anything_from_nothing_to_all(operator: str) -> None:
    array = [2.0, -3.0, 2.0, -3.0]
    (gradient,) = gradient_of(operator, array)
    tied = np.array(array) == (max(array) if operator == "max" else min(array))
    assert gradient.midpoint[tied] == pytest.approx(0.5)
    assert gradient.radius[tied] == pytest.approx(0.5)
    assert gradient.midpoint[~tied].tolist() == [0.0, 0.0]
    assert gradient.radius[~tied].tolist() == [0.0, 0.0]


def test_next_to_a_kink_the_slope_is_certain() -> None:
    (gradient,) = gradient_of("relu", [5e-324, -5e-324])
    assert gradient.midpoint.tolist() == [1.0, 0.0]
    assert gradient.radius.tolist() == [0.0, 0.0]


@each(
    ("operator", "arrays"),
    [
        ("log", [-1.0]),
        ("log", [0.0]),
        ("sqrt", [-1.0]),
        ("sqrt", [0.0]),
        ("reciprocal", [0.0]),
        ("arcsin", [1.5]),
        ("arccosh", [0.5]),
        ("arctanh", [1.0]),
        ("log1p", [-1.0]),
        ("arctan2", [0.0, 0.0]),
        ("divide", [1.0, 0.0]),
        ("power", [-2.0, 0.5]),
    ],
)
def test_outside_of_the_domain_nothing_is_certain_and_nothing_is_judged(operator: str, arrays: list[float]) -> None:
    for gradient in gradient_of(operator, *arrays):
        assert not np.isfinite(gradient.radius)
        assert judge(np.array(1.0), gradient).outcome == "inconclusive"


def test_precision_is_raised_where_cancellation_eats_it() -> None:
    """e^(x + 300) · e^-300 - e^x is exactly zero, but its balls are not."""
    lines = ["b = add x c", "a = exp b", "d = exp n", "p = multiply a d", "e = exp x", "f = subtract p e", "g = exp f"]
    text = leaf("x", 1.1) + leaf("c", 300.0, requires_grad=False) + leaf("n", -300.0, requires_grad=False)
    scenario = parse(text + "\n".join([*lines, "k = sin f", "h = multiply k g", "l = sum h", "backward l"]) + "\n")
    oracle = CertifiedOracle(scenario)
    coarse = oracle.gradient("x", (("l", None),), 53)
    narrow = oracle.narrowest_gradient("x", (("l", None),))
    assert coarse.radius > 1e-16
    assert narrow.radius <= narrow.budget
    assert narrow.radius < coarse.radius / 1e15
    assert holds(narrow, 0)
    assert holds(coarse, 0)


def test_precision_rises_until_the_interval_is_narrower_than_the_budget() -> None:
    """sin of e^90 needs 130 bits before anything is known of it."""
    text = leaf("x", 90.0, requires_grad=True) + "a = exp x\nb = sin a\nl = tanh b\nbackward l\n"
    oracle = CertifiedOracle(parse(text))
    assert not oracle.gradient("x", (("l", None),), 64).radius < 1.0
    narrow = oracle.narrowest_gradient("x", (("l", None),))
    with mpmath.workdps(120):
        inner = mpmath.exp(90)
        truth = inner * mpmath.cos(inner) * (1 - mpmath.tanh(mpmath.sin(inner)) ** 2)
    assert holds(narrow, truth)
    assert narrow.radius < 1e-10 * abs(narrow.midpoint)


def test_precision_is_raised_fourfold_up_to_the_highest() -> None:
    tried: list[int] = []

    def never_narrow(bits: int) -> Any:
        tried.append(bits)
        return SimpleNamespace(radius=1.0, budget=0.0)

    narrowest(never_narrow)
    assert tried == [128, 512, 2048]


def test_the_search_for_a_narrow_interval_ends_on_a_kink() -> None:
    scenario = program({"x": 0.0}, ["l = abs x"])
    assert CertifiedOracle(scenario).narrowest_gradient("x", (("l", None),)).radius >= 1.0


def test_the_budget_grows_with_the_engine_s_roundoff() -> None:
    scenario = program({"x": 0.3, "y": 1.7}, ["a = exp x", "b = multiply a y", "l = sin b"])
    double, single = (
        CertifiedOracle(scenario, dtype).gradient("x", (("l", None),)) for dtype in ("float64", "float32")
    )
    assert 2.0**28 < float(single.budget / double.budget) < 2.0**30
    assert single.midpoint == double.midpoint


def test_what_is_carried_forward_rounds_where_numbers_on_the_way_are_large() -> None:
    """Backward, 1 and -1 arrive one by one; forward, the slope of x / y is added to 1, and 1 is taken away again."""
    scenario = program({"x": -0.2, "y": 3.0}, ["a = divide x y", "b = add a y", "l = subtract b y"])
    backward = CertifiedOracle(scenario).gradient("y", (("l", None),))
    forward = CertifiedOracle(scenario).gradient("y", (("l", None),), forward=True)
    rounded = (0.2 / 9 + 1.0) - 1.0
    assert judge(np.array(rounded), backward).outcome == "inaccurate"
    assert judge(np.array(rounded), forward).outcome == "passed"
    assert judge(np.array(rounded + 8 * 2.0**-52), forward).outcome == "inaccurate"
    assert forward.midpoint == backward.midpoint


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_the_same_forward_and_backward(name: str) -> None:
    steps, _ = PROGRAMS[name]
    scenario = program(dict(zip("xy", POINT, strict=True)), steps)
    seed = Constant.of(np.array(2.5))
    for at in "xy":
        forward = CertifiedOracle(scenario).gradient(at, (("l", seed),), forward=True)
        assert forward.rounding().item().overlaps(forward.balls.item())


def test_what_does_not_depend_on_an_entry_moves_nothing() -> None:
    scenario = program({"x": [1.0, 2.0], "y": 3.0}, ["a = multiply x x", "l = sum a"])
    oracle = CertifiedOracle(scenario)
    moved = [oracle.gradient(at, (("l", None),), forward=True).rounding().ravel().tolist() for at in "xy"]
    assert [[float(ball) for ball in balls] for balls in moved] == [[2.0, 4.0], [0.0]]


def test_shapes_that_do_not_fit_are_an_error_that_names_the_step() -> None:
    scenario = parse(leaf("x", [1.0, 2.0]) + leaf("y", [1.0, 2.0, 3.0]) + "z = add x y\n")
    with pytest.raises(ScenarioEvaluationError, match=r"^step 3: add of shapes \(2,\), \(3,\): "):
        CertifiedOracle(scenario).value("z")


def test_arrays_without_entries_have_gradients_without_entries() -> None:
    scenario = program({"x": np.zeros((0, 3))}, ["y = exp x", "l = sum y"])
    assert certified_gradient(scenario, "x").shape == (0, 3)
    assert float(CertifiedOracle(scenario).value("l").midpoint) == 0.0


def test_an_output_reaches_what_it_depends_on_whatever_the_slope_is() -> None:
    scenario = program({"x": 0.0, "z": 1.0}, ["y = multiply x x", "l = multiply y y", "w = exp z"])
    oracle = CertifiedOracle(scenario)
    assert [oracle.reaches(*pair) for pair in (("l", "x"), ("l", "z"), ("w", "z"), ("w", "x"))] == [
        True,
        False,
        True,
        False,
    ]
