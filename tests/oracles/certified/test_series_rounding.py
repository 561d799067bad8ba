"""Functions as rules that call them see them have the derivatives of the functions themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flint import arb, arb_series, ctx

from refgrad.operators.functions.series import series_functions
from refgrad.oracles.certified.series_rounding import _usual_i1, _usual_tanh

BITS = 200
ORDER = 3


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    before, ctx.prec = ctx.prec, BITS
    yield
    ctx.prec = before


@pytest.mark.parametrize("name", ["i1", "tanh"])
@pytest.mark.parametrize("at", [2.0, -0.5, 10.0])
def test_the_derivatives_of_a_function_are_those_of_its_usual_form(name: str, at: float) -> None:
    usual: dict[str, Callable[[Any], Any]] = {
        "i1": _usual_i1(ORDER, series_functions(BITS)),
        "tanh": _usual_tanh(ORDER),
    }
    x = arb_series([arb(at), arb(1)], ORDER + 1)
    known = series_functions(BITS)[name](x)
    found = usual[name](x)
    for order in range(ORDER + 1):
        assert found[order].overlaps(known[order])
        assert found[order].rad() < 1e-40
