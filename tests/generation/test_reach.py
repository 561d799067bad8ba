"""What random graphs reach is counted."""

from __future__ import annotations

from hypothesis import given

from refgrad.generation import Reach
from refgrad.scenario import Scenario, parse
from refgrad.strategies import scenarios

GRAPH = """
x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
a = sin x
b = multiply a a
c = multiply b x
d = sum c
backward d
read grad x
"""


def test_pairs_shapes_uses_and_levels_are_counted() -> None:
    reach = Reach()
    reach.add(parse(GRAPH))
    assert reach.pairs == {("sin", "multiply"), ("multiply", "multiply"), ("multiply", "sum")}
    assert reach.shapes == {(2,), ()}
    assert (reach.uses, reach.levels) == (2, 4)
    assert str(reach) == "3 operators in 3 of 9 ordered pairs, on 2 shapes, up to 2 uses of one tensor and 4 levels"


@given(scenarios())
def test_the_same_graph_twice_reaches_nothing_more(scenario: Scenario) -> None:
    reach, again = Reach(), Reach()
    reach.add(scenario)
    again.add(scenario)
    again.add(scenario)
    assert reach == again
    assert reach.levels <= len(scenario.applications)
    assert reach.operators == scenario.operators
