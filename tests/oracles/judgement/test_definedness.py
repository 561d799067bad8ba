"""Nothing is claimed about what an engine makes of a value that does not exist."""

from __future__ import annotations

from flint import arb

from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.operators.functions import FUNCTIONS
from refgrad.operators.functions.balls import ball_functions
from refgrad.oracles import CertifiedOracle, undefined_between
from refgrad.scenario import parse
from tests.effort import each

OUTSIDE = """\
x = leaf float64[2] {-0x1p-40 0x1p+0} requires_grad
y = leaf float64[2] {0x1.8p+0 0x1.8p+0}
a = power x y
b = index a index=(1:1,)
backward b seed float64[0] {}
read grad x
"""


@each("name", [name for name, row in FUNCTIONS.items() if not row.integers])
def test_what_is_not_a_number_stays_so(name: str) -> None:
    """Whole parameters, as the first of polygamma, are numbers that formulas write down."""
    function, count = ball_functions(64)[name], len(FUNCTIONS[name].parameters)
    for which in range(1, 2**count):
        arguments = [arb.nan() if which >> place & 1 else arb("0.3") for place in range(count)]
        assert not arb(function(*arguments)).is_finite()


def test_the_value_that_does_not_exist_is_named() -> None:
    oracle = CertifiedOracle(parse(OUTSIDE))
    assert undefined_between(oracle, "x", {"b"}) == "a"
    assert undefined_between(CertifiedOracle(parse(OUTSIDE.replace("-0x1p-40", "0x1p-40"))), "x", {"b"}) is None


def test_an_engine_that_multiplies_zeros_by_it_is_not_blamed() -> None:
    finding = examine(parse(OUTSIDE), start(find_adapter("refgrad")))
    assert finding.outcome == "inconclusive"
    assert finding.message == "the gradient of x is not a number, and a has no value at this point"
