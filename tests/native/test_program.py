"""Tests of what an output depends on."""

from refgrad.native.program import relevant_leaves
from refgrad.scenario import parse


def test_leaves_of_an_output_are_those_that_it_uses_and_that_require_grad() -> None:
    scenario = parse(
        "used = leaf float64[] {0x1p+0} requires_grad\n"
        "constant = leaf float64[] {0x1p+0}\n"
        "unused = leaf float64[] {0x1p+0} requires_grad\n"
        "a = multiply used constant\n"
        "b = exp a\n"
        "other = exp unused\n"
    )
    assert relevant_leaves(scenario, "b") == ["used"]
    assert relevant_leaves(scenario, "unused") == ["unused"]
