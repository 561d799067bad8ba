"""Snapshots of what finite differences say of right and wrong gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refgrad.oracles import Discrepancy
from refgrad.oracles.slopes.claim import DifferencesJudge
from refgrad.oracles.slopes.curves import Floats
from refgrad.oracles.slopes.directions import Arrays, Seeds
from refgrad.oracles.slopes.slopes import SCALES
from tests.snapshots.placement import PlainText

Function = Callable[[Floats], Floats]


class Differentiated:
    """A function of one array, with its gradient."""

    positions: tuple[int, ...] = (0,)

    def __init__(self, function: Function, derivative: Function, at: Floats, precision: str = "float64") -> None:
        self.function, self.derivative, self.precision = function, derivative, precision
        self.scale, self.calls = SCALES[precision], 0
        self.arrays: Arrays = (at.astype(precision),)
        self.here = self.values(at)
        self.outputs: Arrays = (self.here.astype(precision),)

    def values(self, entries: Floats) -> Floats:
        self.calls += 1
        with np.errstate(all="ignore"):
            return np.asarray(self.function(entries.astype(self.precision)), np.float64)

    def gradient(self, entries: Floats, seeds: Seeds) -> Floats | None:
        (seed,) = seeds
        return None if seed is None else np.asarray(self.derivative(entries) * seed)

    def moved(self, entries: Floats) -> Differentiated:
        return Differentiated(self.function, self.derivative, entries, self.precision)


POINT, MANY = np.random.default_rng(0).uniform(0.5, 2.0, 5), np.random.default_rng(1).uniform(0.5, 2.0, 300)


def cubic(x: Floats) -> Floats:
    return np.asarray(x * x * x - x)


def of_8_bits(x: Floats) -> Floats:
    mantissas, exponents = np.frexp(x)
    return np.asarray(np.ldexp(np.round(mantissas * 256) / 256, exponents))


def slope_of_cubic(x: Floats) -> Floats:
    return np.asarray(3 * x * x - 1)


FUNCTIONS: dict[str, Differentiated] = {
    "sine": Differentiated(np.sin, np.cos, POINT),
    "steep": Differentiated(lambda x: np.exp(9 * x), lambda x: 9 * np.exp(9 * x), POINT),
    "kink": Differentiated(np.abs, np.sign, np.array([0.0, 1.0, -2.0])),
    "jump": Differentiated(np.floor, np.zeros_like, np.array([1.0, 1.5, -2.0])),
    "root": Differentiated(np.sqrt, lambda x: 0.5 / np.sqrt(x), np.array([1e-12, 1.0])),
    "constant": Differentiated(np.ones_like, np.zeros_like, POINT),
    "float32": Differentiated(np.sin, np.cos, POINT, "float32"),
    "many": Differentiated(np.sin, np.cos, MANY),
    "cubic": Differentiated(cubic, slope_of_cubic, POINT),
    "cubic of many": Differentiated(cubic, slope_of_cubic, MANY),
    "cubic in float16": Differentiated(cubic, slope_of_cubic, POINT, "float16"),
    "cubic that rounds": Differentiated(lambda x: cubic(x.astype(np.float32)), slope_of_cubic, POINT),
    "cubic of few digits": Differentiated(lambda x: of_8_bits(cubic(x)), slope_of_cubic, POINT),
    "saturating": Differentiated(lambda x: x / (1 + abs(x)), lambda x: (1 + abs(x)) ** -2.0, 200 * POINT, "float32"),
    "kink nearby": Differentiated(lambda x: abs(x - 1) * x, lambda x: np.sign(x - 1) * (2 * x - 1), 1 + POINT / 2**12),
    "edge of the domain": Differentiated(lambda x: np.where(x >= 1, x, np.nan), np.ones_like, np.array([1.0, 1.5])),
    "squares of tiny and large": Differentiated(lambda x: x * x, lambda x: 2 * x, np.array([1e-30, 1.0, 1e30])),
    "no entries": Differentiated(np.copy, np.ones_like, np.zeros(0)),
}
ROUNDED = {"sine", "steep", "float32", "many"}
"""Those whose last digits depend on the processor, and so how many values are needed."""
CHANGES: dict[str, Function] = {
    "right": lambda gradient: gradient,
    "one percent too large": lambda gradient: gradient * 1.01,
    "one entry too large": lambda gradient: gradient + 0.125 * (np.arange(gradient.size) == 1),
    "last entry with another sign": lambda gradient: gradient * np.where(np.arange(gradient.size)[::-1] == 0, -1, 1),
    "zeros": np.zeros_like,
    "not finite": lambda gradient: np.where(np.arange(gradient.size) == 1, np.nan, gradient),
}


def text(number: float, digits: int = 4) -> str:
    """Return a number with few digits, or 0 for what rounding leaves of it."""
    return f"{number:.{digits}g}" if not abs(number) < 1e-6 else "0"


def described(each: Discrepancy) -> str:
    bounds = f"{text(each.lower, 2)} to {text(each.upper, 2)}"
    numbers = f"{text(each.observed)} in {bounds}, off by {text(each.relative_error, 2)}"
    return " ".join(filter(None, (each.severity, each.cause, f"{each.entry}: {numbers}")))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_judgements_of_gradients(name: str, snapshot: Any) -> None:
    function = FUNCTIONS[name]
    seed = np.linspace(0.5, 1.5, function.here.size)
    seeds: Seeds = (seed,)
    gradient = function.gradient(function.arrays[0].astype(np.float64), seeds)
    assert gradient is not None
    lines = []
    for change, changed in CHANGES.items():
        judge = DifferencesJudge(function, np.random.default_rng(2))
        judgement = judge.judge(seeds, (changed(gradient),))
        lines.append(f"{change}: {'; '.join(map(described, judgement)) or 'right'}")
        again = judge.judge((seed * 2,), (changed(gradient),), judgement[0] if judgement else None)
        lines.append(f"  under a doubled seed: {'; '.join(map(described, again)) or 'right'}")
        lines.append(f"  rows: {' '.join(text(rate, 2) for rate in judge.row_scales()[:3])}")
        if name not in ROUNDED:
            lines.append(f"  by {function.calls} values, {len(judge.looked_at)} entries")
        function.calls = 0
    lines.append(f"truths: {' '.join(map(text, judge.truths(seeds)[0][:5]))}")
    assert "\n".join(lines) == snapshot(extension_class=PlainText)
