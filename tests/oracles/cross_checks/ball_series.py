"""A scenario's derivative along a direction, by FLINT's own power series.

The interpreter runs on object arrays of ``arb_series`` a + b·t: FLINT, not this project, differentiates. Nothing is
shared with the tape of balls but the interpreter and the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_series, ctx

from refgrad.interpreter import evaluate, expanded
from refgrad.operators import Operator, operator_table
from refgrad.operators.functions.balls import BALL_FUNCTIONS, Decision
from refgrad.scenario import Apply, Constant, Leaf, Scenario

Objects = npt.NDArray[np.object_]
Floats = npt.NDArray[np.float64]


@contextmanager
def series_of_length_two(bits: int) -> Iterator[None]:
    """Compute with series a + b·t of ``bits`` bits inside the block."""
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = bits, 2
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


def lifted(x: Any) -> arb_series:
    """Return a number as a constant series."""
    return x if isinstance(x, arb_series) else arb_series([x])


def decided(name: str) -> Callable[[Any, Any], Decision]:
    """Return a comparison of two series at t = 0: None where it cannot be decided."""
    return lambda x, y: BALL_FUNCTIONS[name](lifted(x)[0], lifted(y)[0])


def chosen(condition: Decision, x: Any, y: Any) -> Any:
    """Return one of two series, or the hulls of their coefficients."""
    if condition is None:
        a, b = lifted(x), lifted(y)
        return arb_series([a[0].union(b[0]), a[1].union(b[1])])
    return x if condition else y


def by_exponentials(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a function of e^x and e^-x."""
    return lambda x: function(lifted(x).exp(), (-lifted(x)).exp())


def angle(y: Any, x: Any) -> Any:
    """The angle of (x, y): arctan of y / x for positive x, else a quarter turn away from that of (y, -x)."""
    y, x = lifted(y), lifted(x)
    if x[0] > 0:
        return (y / x).atan()
    assert y[0] != 0, "a series stands on the negative axis"
    quarter = arb.pi() / 2
    return (quarter if y[0] > 0 else -quarter) - (x / y).atan()


def straight(x: Any, value: Callable[[arb], arb], slope: Callable[[arb], arb]) -> arb_series:
    """Return a function of a series of length two, of which the value and the slope are known."""
    start, speed = lifted(x)[0], lifted(x)[1]
    return arb_series([value(start), slope(start) * speed])


def polygamma(order: int, x: Any) -> arb_series:
    """By Hurwitz' zeta function (DLMF 25.11.12); digamma is the only one that zeta has no value for."""

    def of_order(n: int) -> Callable[[arb], arb]:
        return arb.digamma if n == 0 else lambda a: (-1) ** (n + 1) * arb(n).fac() * arb(n + 1).zeta(a)

    return straight(x, of_order(order), of_order(order + 1))


def besseli(order: int, x: Any) -> arb_series:
    """By its recurrence (DLMF 10.29.1)."""
    return straight(
        x,
        lambda a: a.bessel_i(arb(order)),
        lambda a: (a.bessel_i(arb(order - 1)) + a.bessel_i(arb(order + 1))) / 2,
    )


def sphericalj(order: int, x: Any) -> arb_series:
    """By Bessel functions of half an order (DLMF 10.47.3, 10.51.2)."""

    def of_order(n: int) -> Callable[[arb], arb]:
        return lambda a: (arb.pi() / (2 * a)).sqrt() * a.bessel_j(arb(n) + arb(1) / 2)

    n = order
    below, above = of_order(n - 1), of_order(n + 1)
    return straight(x, of_order(n), lambda a: (n * below(a) - (n + 1) * above(a)) / (2 * n + 1))


SERIES_FUNCTIONS: Mapping[str, Any] = {
    **{name: decided(name) for name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")},
    **{name: BALL_FUNCTIONS[name] for name in ("logical_and", "logical_or", "logical_not")},
    **{
        name: (lambda x, method=method: getattr(lifted(x), method)())
        for name, method in {
            "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan",
            "arcsin": "asin", "arccos": "acos", "arctan": "atan",
        }.items()
    },
    "expm1": lambda x: lifted(x).exp() - 1,
    "sigmoid": lambda x: lifted(x).exp() / (lifted(x).exp() + 1),
    "exp2": lambda x: (lifted(x) * arb.const_log2()).exp(),
    "log1p": lambda x: (1 + lifted(x)).log(),
    "log2": lambda x: lifted(x).log() / arb.const_log2(),
    "log10": lambda x: lifted(x).log() / arb.const_log10(),
    "sinh": by_exponentials(lambda up, down: (up - down) / 2),
    "cosh": by_exponentials(lambda up, down: (up + down) / 2),
    "tanh": by_exponentials(lambda up, down: (up - down) / (up + down)),
    "arcsinh": lambda x: (x + (lifted(x) * x + 1).sqrt()).log(),
    "arccosh": lambda x: (x + (lifted(x) * x - 1).sqrt()).log(),
    "arctanh": lambda x: ((1 + lifted(x)) / (1 - lifted(x))).log() / 2,
    "abs": lambda x: chosen(decided("greater")(x, 0), x, -x),
    "sign": lambda x: chosen(decided("greater")(x, 0), 1, -1),
    "floor": lambda x: lifted(x)[0].floor(),
    "maximum": lambda x, y: chosen(decided("greater")(x, y), x, y),
    "minimum": lambda x, y: chosen(decided("greater")(x, y), y, x),
    "arctan2": angle,
    "hypot": lambda x, y: (lifted(x) * x + lifted(y) * y).sqrt(),
    "trunc": lambda x: BALL_FUNCTIONS["trunc"](lifted(x)[0]),
    "round": lambda x: BALL_FUNCTIONS["round"](lifted(x)[0]),
    "cbrt": lambda x: (lifted(x).log() / 3).exp() if lifted(x)[0] > 0 else -((-lifted(x)).log() / 3).exp(),
    "erf": lambda x: lifted(x).erf(),
    "erfc": lambda x: lifted(x).erfc(),
    "erfcx": lambda x: (lifted(x) * x).exp() * lifted(x).erfc(),
    "erfinv": lambda x: straight(x, arb.erfinv, lambda a: 1 / arb_series([a.erfinv(), 1]).erf()[1]),
    "lgamma": lambda x: lifted(x).lgamma(),
    "digamma": lambda x: polygamma(0, x),
    "besseli": lambda n, x: besseli(int(lifted(n)[0].unique_fmpz()), x),
    "besselie": lambda n, x: SERIES_FUNCTIONS["besseli"](n, x) * (-SERIES_FUNCTIONS["abs"](x)).exp(),
    "sphericalj": lambda n, x: sphericalj(int(lifted(n)[0].unique_fmpz()), x),
    "polygamma": lambda n, x: polygamma(int(lifted(n)[0].unique_fmpz()), x),
    "i0": lambda x: straight(x, lambda a: a.bessel_i(arb(0)), lambda a: a.bessel_i(arb(1))),
    "i1": lambda x: straight(x, lambda a: a.bessel_i(arb(1)), lambda a: (a.bessel_i(arb(0)) + a.bessel_i(arb(2))) / 2),
    "i0e": lambda x: SERIES_FUNCTIONS["i0"](x) * (-SERIES_FUNCTIONS["abs"](x)).exp(),
    "i1e": lambda x: SERIES_FUNCTIONS["i1"](x) * (-SERIES_FUNCTIONS["abs"](x)).exp(),
    "number": arb,
    "where": chosen,
    "pi": arb.pi(),
}  # fmt: skip


@cache
def series_function(operator: Operator) -> Any:
    """Compile a row's formula to a function of object arrays."""
    assert operator.formula is not None
    parameters = (*operator.argument_names, *operator.attribute_names)
    formula = operator.formula.function(parameters, SERIES_FUNCTIONS)
    return np.frompyfunc(lambda *operands: lifted(formula(*operands)), len(parameters), 1)


class BallSeries:
    """The number system: every entry is a series, of which t moves the leaves along a direction."""

    def __init__(self, directions: Mapping[str, Floats]) -> None:
        """Take the direction of each leaf that moves."""
        self.directions = directions
        table = operator_table()
        self.maximum, self.minimum = (series_function(table[name]) for name in ("maximum", "minimum"))

    def leaf(self, leaf: Leaf) -> Objects:
        """Return the leaf's entries as series; boolean leaves stay plain."""
        array = leaf.value.to_numpy()
        if array.dtype == np.bool_:
            return array.astype(object)
        direction = self.directions.get(leaf.name, np.zeros(array.shape))
        entries = [arb_series([float(x), float(d)]) for x, d in zip(array.ravel(), direction.ravel(), strict=True)]
        return _filled(array.shape, entries)

    def apply(self, operator: Operator, arguments: list[Objects], attributes: Mapping[str, Any]) -> Objects:
        """Return the operator's entries."""
        if operator.structure is None:
            result = series_function(operator)(*arguments, *attributes.values())
        else:
            result = operator.structure.forward(self)(*arguments, **attributes)
        if not isinstance(result, np.ndarray):  # numpy unwraps arrays without axes, and would take a series for a list
            return _filled((), [lifted(result)])
        return _filled(result.shape, [lifted(entry) for entry in result.ravel().tolist()])


def directional_derivative(
    scenario: Scenario, output: str, seed: Constant | None, directions: Mapping[str, Floats], bits: int = 128
) -> arb:
    """Return seed · ∂output/∂t where every leaf moves along its direction."""
    with series_of_length_two(bits):
        entries = evaluate(up_to(expanded(scenario), output), BallSeries(directions))[output].ravel()
        weights = np.ones(entries.size) if seed is None else seed.to_numpy().ravel()
        return sum((arb(float(w)) * lifted(e)[1] for w, e in zip(weights, entries, strict=True)), arb(0))


def up_to(scenario: Scenario, output: str) -> Scenario:
    """Return the leaves and applications that the output depends on: what fails elsewhere is no matter."""
    needed = {output}
    kept: list[Leaf | Apply] = []
    for step in reversed([s for s in scenario.steps if isinstance(s, Leaf | Apply)]):
        if step.name in needed:
            needed.update(step.uses)
            kept.append(step)
    return Scenario(tuple(reversed(kept)))


def _filled(shape: tuple[int, ...], entries: list[Any]) -> Objects:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)
