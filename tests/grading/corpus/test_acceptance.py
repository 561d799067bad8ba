"""The interval that is published of an entry holds what the judge lets pass, and nothing that it fails."""

import numpy as np
import pytest

from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.certified.certified import HIGHEST_BITS, Certified
from refgrad.scenario import parse
from tests.grading.corpus.acceptance import accepted

FAILED = {"wrong", "inaccurate"}

SMOOTH = """
x = leaf float64[3] {0x1p-1 0x1.8p+0 0x1.4p+1} requires_grad
y = exp x
z = multiply y x
backward z
"""
KINK = """
x = leaf float64[2] {0x0p+0 0x1p+0} requires_grad
y = relu x
backward y
"""
CLOSE_TO_A_POLE = """
x = leaf float64[1] {0x1p-1022} requires_grad
y = log x
z = sin y
w = sin z
backward w
"""


def gradient(text: str) -> Certified:
    """Return the certified gradient of the first leaf with a seed of ones."""
    scenario = parse(text)
    output = scenario.applications[-1].name
    seed = CertifiedOracle(scenario).value(output)
    ones = parse(f"s = leaf float64[{seed.shape[0]}] {{{' '.join(['0x1p+0'] * seed.shape[0])}}}").leaves[0].value
    return CertifiedOracle(scenario).gradient("x", ((output, ones),), HIGHEST_BITS)


@pytest.mark.parametrize("text", [SMOOTH, KINK, CLOSE_TO_A_POLE])
def test_the_ends_pass_and_what_is_past_them_fails(text: str) -> None:
    certified = gradient(text)
    lower, upper = accepted(certified)
    for end, outwards in ((lower, -1), (upper, 1)):
        step = outwards * 4 * np.spacing(np.maximum(np.abs(end), np.abs(certified.midpoint)))
        inside, outside = end - step, end + step
        for index in range(len(end)):
            at_end, past = certified.midpoint.copy(), certified.midpoint.copy()
            at_end[index], past[index] = inside[index], outside[index]
            assert judge(at_end, certified).outcome not in FAILED
            assert judge(past, certified).outcome in FAILED


def test_at_a_kink_every_legal_slope_is_accepted() -> None:
    lower, upper = accepted(gradient(KINK))
    assert lower[0] <= 0
    assert upper[0] >= 1
    assert upper[0] - lower[0] < 1.001
    assert upper[1] - lower[1] < 1e-14


def test_nothing_is_said_of_what_has_no_value() -> None:
    lower, upper = accepted(CertifiedOracle(parse("x = leaf float64[2] {-0x1p+0 0x1p+0}\ny = log x")).value("y"))
    assert np.isnan(lower).tolist() == np.isnan(upper).tolist() == [True, False]
