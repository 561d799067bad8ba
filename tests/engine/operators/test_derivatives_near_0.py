"""Tests of derivatives of special functions at points where the terms of their usual formulas cancel."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refgrad import engine
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import parse

DIGITS = 80
ORDERS = (1, 2, 3)


def derivative(function: Callable[[Any], Any], x: float, order: int) -> float:
    """Return a derivative of some order by backward calls through recorded ones."""
    leaf = engine.tensor(np.array(x), requires_grad=True)
    found = function(leaf)
    for _ in range(order):
        (found,) = engine.grad(found, leaf, create_graph=True)
    return float(found.detach().numpy())


def bessel(n: int, x: Any, order: int) -> Any:
    """The derivative of a modified Bessel function (DLMF 10.29.5)."""
    terms = (comb(order, j) * mpmath.besseli(abs(n - order + 2 * j), x) for j in range(order + 1))
    return mpmath.fsum(terms) / 2**order


def scaled_bessel(n: int, x: Any, order: int) -> Any:
    """The derivative of a product, e to the -x being one of the factors."""
    terms = (comb(order, j) * (-1) ** (order - j) * bessel(n, x, j) for j in range(order + 1))
    return mpmath.fsum(terms) * mpmath.exp(-x)


def spherical_bessel(n: int, y: Any) -> Any:
    """DLMF 10.53.1."""
    return y**n / mpmath.fac2(2 * n + 1) * mpmath.hyp0f1(n + mpmath.mpf(3) / 2, -y * y / 4)


def sinc(x: Any, order: int) -> Any:
    """The spherical Bessel function of the order 0 at pi x, which changes by those of higher orders (DLMF 10.51.2)."""
    j0, j1, j2, j3, j4 = (spherical_bessel(n, mpmath.pi * x) for n in range(5))
    found = (-j1, (2 * j2 - j0) / 3, (3 * j1 - 2 * j3) / 5, (7 * j0 - 20 * j2 + 8 * j4) / 35)
    return mpmath.pi**order * found[order - 1]


def log_normal_distribution(x: Any, order: int) -> Any:
    """With r for the density over the distribution, r' is -r (x + r)."""
    r = mpmath.npdf(x) / mpmath.ncdf(x)
    return (r, -r * (x + r), r * ((x + r) * (x + 2 * r) - 1))[order - 1]


TRUTHS = {
    "i0": lambda x, order: bessel(0, x, order),
    "i1": lambda x, order: bessel(1, x, order),
    "i0e": lambda x, order: scaled_bessel(0, x, order),
    "i1e": lambda x, order: scaled_bessel(1, x, order),
    "sinc": sinc,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", TRUTHS)
@given(exponent=st.floats(-300, 0.3))
def test_no_digit_is_lost_near_0(name: str, order: int, exponent: float) -> None:
    x = 10.0**exponent
    with mpmath.workdps(DIGITS):
        truth = float(TRUTHS[name](mpmath.mpf(x), order))
        size = float(abs(TRUTHS[name](mpmath.mpf(x), order + 1)) * x)  # near a root a number keeps fewer
    assert derivative(getattr(engine, name), x, order) == pytest.approx(truth, rel=1e-14, abs=1e-14 * size)


@pytest.mark.parametrize("order", ORDERS)
@given(x=st.floats(0, 36))
@example(x=20.0)
def test_log_ndtr_has_its_derivatives_where_its_slope_vanishes(order: int, x: float) -> None:
    with mpmath.workdps(DIGITS):
        truth = log_normal_distribution(mpmath.mpf(x), order)
        after = abs(log_normal_distribution(mpmath.mpf(x), 3)) * max(x, 1.0)
    ulps = 64 * (1 + x * x)  # of a number that is e to the -x² / 2
    assert derivative(engine.log_ndtr, x, order) == pytest.approx(
        float(truth), rel=ulps * 2.0**-52, abs=float(after) * 2.0**-50
    )


def test_the_usual_formula_of_a_bessel_function_is_inaccurate_near_0() -> None:
    """PyTorch's and JAX's i0 change by i1, which changes by i0(x) - i1(x) / x: that has 9 digits here."""
    text = "a = leaf float64[] {0x1.0624dd2f1a9fcp-10} requires_grad\nb = i0 a\nc = grad b a\nd = grad c a\n"
    oracle = CertifiedOracle(parse(f"{text}backward d\nread grad a\n"))
    certified = oracle.gradient("a", (("d", None),))
    assert judge(np.array(0.0003750000523723429), certified).outcome == "inaccurate"
    assert judge(certified.midpoint, certified).outcome == "passed"
