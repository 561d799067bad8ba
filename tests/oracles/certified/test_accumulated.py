"""Tests of the rounding budget of what several backward calls add up in a leaf."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.oracles import Certified, CertifiedOracle, judge
from refgrad.scenario import Constant, parse
from refgrad.scenario.formats import FORMATS

PROGRAM = """\
a = leaf {dtype}[] {{{number}}} requires_grad
b = softplus a
c = multiply b b
d = multiply a a
e = subtract c d
backward e retain_graph
backward d
read grad a
"""


def accumulated(number: float, dtype: str) -> tuple[np.floating, Certified]:
    """Return what an engine finds in this dtype that adds up two gradients, most of which cancel, and the truth."""
    scenario = parse(PROGRAM.format(number=number.hex(), dtype=dtype))
    form = np.dtype(dtype).type
    x = form(number)
    b, slope = np.log1p(np.exp(x)), form(1) / (form(1) + np.exp(-x))
    first = form(2) * b * slope - form(2) * x
    return form(first + form(2) * x), CertifiedOracle(scenario, dtype).gradient("a", (("e", None), ("d", None)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(st.floats(-8, -1, width=16))
def test_what_cancels_between_two_calls_was_rounded_before(dtype: str, number: float) -> None:
    found, certified = accumulated(number, dtype)
    assert judge(np.asarray(found), certified).outcome == "passed"
    off = 64 * abs(number) * float(FORMATS[dtype].unit)
    assert judge(np.asarray(found.dtype.type(found + off)), certified).outcome in {"wrong", "inaccurate"}


def test_one_call_has_the_budget_of_its_own_gradient() -> None:
    oracle = CertifiedOracle(parse(PROGRAM.format(number=(-4.0).hex(), dtype="float64")))
    alone = oracle.gradient("a", (("c", None),))
    with_zeros = oracle.gradient("a", (("c", None), ("d", Constant.of(np.array(0.0)))))
    large = oracle.gradient("a", (("d", None),))
    assert with_zeros.budget.item() < 4 * alone.budget.item() < 0.01 * large.budget.item()
