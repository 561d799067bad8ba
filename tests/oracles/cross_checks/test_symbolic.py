"""SymPy finds what the certified oracle encloses, to thirty digits, and refuses what it cannot do."""

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from flint import arb

from refgrad.generation import Choices, Profile, operator_scenario, random_scenario
from refgrad.operators import Operator, operator_table
from refgrad.operators.functions.balls import precision
from refgrad.oracles import Certified, CertifiedOracle
from refgrad.oracles.certified.series import scalar_derivative
from refgrad.scenario import Constant, Scenario, parse
from tests.effort import each, sampled
from tests.operators.example_attributes import example_attributes
from tests.oracles.cross_checks.symbolic import DIGITS, SymbolicRefusedError, Symbols, symbolic_gradient
from tests.oracles.programs import program

pytestmark = pytest.mark.turns(2)

SMALL = Profile(max_backwards=1, length=(1, 4), dimensions=(1, 2), max_rank=2)
ELEMENTWISE = [row for row in operator_table().values() if row.elementwise]


def contributions(scenario: Scenario) -> tuple[tuple[str, Constant | None], ...]:
    return tuple((backward.output, backward.seed) for _, backward in scenario.backwards)


def near(number: object, ball: arb) -> bool:
    """Whether a number of thirty digits is in a ball of 128 bits, but for its last digits."""
    with precision(256):
        digits = arb(str(number))
        return bool(abs(digits - ball) < arb("1e-27") * (1 + abs(ball)))


def holds(found: np.ndarray[tuple[int, ...], np.dtype[np.object_]], certified: Certified) -> bool:
    pairs = zip(found.ravel().tolist(), certified.balls.ravel().tolist(), strict=True)
    return found.shape == certified.shape and all(near(number, ball) for number, ball in pairs)


@pytest.mark.parametrize(
    "name", sampled((name for name, row in operator_table().items() if row.composite is None), 6, turns=3)
)
def test_every_operator_agrees_with_the_certified_oracle_to_thirty_digits(name: str) -> None:
    asked = 0
    for seed in range(8):
        scenario = operator_scenario(seed, name, Profile(max_backwards=1))
        try:
            found = symbolic_gradient(scenario, contributions(scenario))
        except SymbolicRefusedError:
            continue
        asked += 1
        oracle = CertifiedOracle(scenario)
        assert all(holds(slopes, oracle.gradient(leaf, contributions(scenario))) for leaf, slopes in found.items())
        if asked == 3:
            break
    assert asked >= 2


def test_composites_that_are_short_agree_with_the_certified_oracle_to_thirty_digits() -> None:
    asked: set[str] = set()
    for name in (name for name, row in operator_table().items() if row.composite is not None):
        scenario = operator_scenario(0, name, Profile(max_backwards=1, dimensions=(1, 2)))
        try:
            found = symbolic_gradient(scenario, contributions(scenario))
        except SymbolicRefusedError:
            continue
        oracle = CertifiedOracle(scenario)
        assert all(holds(slopes, oracle.gradient(leaf, contributions(scenario))) for leaf, slopes in found.items())
        asked.add(name)
    assert len(asked) >= 50


def test_small_graphs_agree_with_the_certified_oracle_to_thirty_digits() -> None:
    asked = 0
    for seed in range(40):
        scenario = random_scenario(seed, SMALL)
        try:
            found = symbolic_gradient(scenario, contributions(scenario))
        except SymbolicRefusedError:
            continue
        asked += 1
        oracle = CertifiedOracle(scenario)
        assert all(holds(slopes, oracle.gradient(leaf, contributions(scenario))) for leaf, slopes in found.items())
    assert asked >= 20


def formula_derivative(operator: Operator, argument: str, point: Mapping[str, float]) -> Any:
    """Return the derivative of an elementwise operator's formula by one argument at a point, as a SymPy number.

    ``point`` names every argument and attribute; truth values among them are given as such. Raises
    SymbolicRefusedError at a kink.
    """
    assert operator.formula is not None
    system = Symbols(DIGITS)
    exact = {name: x if isinstance(x, bool) else system.sympy.Rational(x) for name, x in point.items()}
    symbols = {name: exact[name] if isinstance(exact[name], bool) else system.sympy.Symbol(name) for name in exact}
    system.point.update({symbols[name]: exact[name] for name in exact if not isinstance(exact[name], bool)})
    parameters = (*operator.argument_names, *operator.attribute_names)
    expression = operator.formula.function(parameters, system.functions)(**symbols)
    return system.at(system.sympy.diff(expression, symbols[argument]))


@each("row", ELEMENTWISE)
def test_the_derivative_of_every_formula_is_what_sympy_says(row: Operator) -> None:
    choices = Choices(0)
    for _ in range(3):
        point: dict[str, float] = {}
        for argument in row.arguments:
            interval = row.samples.get(argument.name)
            point[argument.name] = choices.decimals(*interval, 1)[0] if interval else choices.boolean(0.5)
        point |= example_attributes(row)
        with precision(128):
            values = [x if isinstance(x, bool) else arb(x) for x in (point[n] for n in row.argument_names)]
            attributes = {name: point[name] for name in row.attribute_names}
            _, *slopes = scalar_derivative(row, 128, "truth")(*values, **attributes)
        for name, slope in zip(row.argument_names, slopes, strict=True):
            if name in row.differentiable_arguments:
                assert near(formula_derivative(row, name, point), arb(slope))


def test_a_kink_is_refused() -> None:
    scenario = parse("x = leaf float64[] {0x0p+0} requires_grad\nl = relu x\nbackward l\n")
    with pytest.raises(SymbolicRefusedError, match="kink"):
        symbolic_gradient(scenario, (("l", None),))


def test_what_is_large_is_refused() -> None:
    scenario = parse(f"x = leaf float64[13] {{{' '.join(['0x1p+0'] * 13)}}} requires_grad\nl = sum x\nbackward l\n")
    with pytest.raises(SymbolicRefusedError, match="more than 12 entries"):
        symbolic_gradient(scenario, (("l", None),))


def test_what_has_a_large_number_is_refused() -> None:
    scenarios = [program({"x": number}, ["l = tanh x"]) for number in (30.0, -30.5)]
    assert symbolic_gradient(scenarios[0], (("l", None),))["x"].shape == ()
    with pytest.raises(SymbolicRefusedError, match="a number is larger than 30"):
        symbolic_gradient(scenarios[1], (("l", None),))


def test_what_is_long_is_refused() -> None:
    lines = [
        "x = leaf float64[] {0x1p-1} requires_grad",
        *(f"x{n + 1} = sin {f'x{n}' if n else 'x'}" for n in range(9)),
    ]
    scenario = parse("\n".join(lines))
    assert symbolic_gradient(scenario, (("x8", None),))["x"].shape == ()
    with pytest.raises(SymbolicRefusedError, match="or 8 operators"):
        symbolic_gradient(scenario, (("x9", None),))


def test_what_grows_large_on_the_way_is_refused() -> None:
    """The entries of the sixteenth power of a matrix are written out."""
    lines = [f"x{n + 1} = matmul {f'x{n} x{n}' if n else 'x x'}" for n in range(4)]
    scenario = program({"x": np.eye(3) + 0.5}, [*lines, "l = sum x4"])
    with pytest.raises(SymbolicRefusedError, match="the expression has more than 5000 operations"):
        symbolic_gradient(scenario, (("l", None),))


def test_a_leaf_that_nothing_uses_has_no_slope() -> None:
    scenario = parse("x = leaf float64[] {0x1p+0} requires_grad\ny = leaf float64[2] {0x1p+0 0x1p+0} requires_grad\n"
                     "l = exp x\nbackward l\n")  # fmt: skip
    assert symbolic_gradient(scenario, (("l", None),))["y"].tolist() == [0, 0]


def test_sympy_is_not_imported_until_it_is_asked() -> None:
    code = "import sys, tests.oracles.cross_checks.cross_checks; sys.exit('sympy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_limit_is_refused_where_the_formula_is_a_quotient_of_zeros() -> None:
    scenario = parse("x = leaf float64[] {0x0p+0} requires_grad\na = sinc x\nbackward a\n")
    with pytest.raises(SymbolicRefusedError, match="an operator has a limit there"):
        symbolic_gradient(scenario, (("a", None),))


@pytest.mark.parametrize(("operator", "number"), [("round", 0.5), ("round", 2.5), ("round", -1.5), ("trunc", -2.25)])
def test_a_stepped_function_is_the_integer_that_numpy_has(operator: str, number: float) -> None:
    """Of x times the integer, the integer is the derivative."""
    scenario = parse(
        f"x = leaf float64[] {{{number.hex()}}} requires_grad\nn = {operator} x\nl = multiply x n\nbackward l\n"
    )
    found = symbolic_gradient(scenario, (("l", None),))["x"]
    assert float(found[()]) == getattr(np, operator)(number)
    assert holds(found, CertifiedOracle(scenario).gradient("x", (("l", None),)))


def test_expressions_are_equal_where_they_are_the_same_and_not_where_their_values_differ() -> None:
    system = Symbols()
    x, y = system.sympy.symbols("x y")
    system.point.update({x: system.sympy.Integer(2), y: system.sympy.Integer(3)})
    assert system.equal(x + 1, 1 + x)
    assert not system.equal(x, y)
    with pytest.raises(SymbolicRefusedError, match="kink"):
        system.equal(x + 1, y)
