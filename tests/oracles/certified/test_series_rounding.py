"""Functions as rules that call them see them have the derivatives of the functions themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flint import arb, arb_series, ctx

from refgrad.operators.functions.series import series_functions
from refgrad.oracles.certified.series import _usual_tanh

BITS = 200
ORDER = 3


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    before, ctx.prec = ctx.prec, BITS
    yield
    ctx.prec = before


@pytest.mark.parametrize("at", [2.0, -0.5, 10.0])
def test_the_derivatives_of_tanh_are_those_of_its_usual_form(at: float) -> None:
    x = arb_series([arb(at), arb(1)], ORDER + 1)
    known = series_functions(BITS)["tanh"](x)
    found = _usual_tanh(ORDER)(x)
    for order in range(ORDER + 1):
        assert found[order].overlaps(known[order])
        assert found[order].rad() < 1e-40
