"""Composites accept ordinary operands, not only arrays without entries."""

from itertools import islice

from refgrad.generation import operator_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from tests.effort import each

COMPOSITES = [name for name, row in operator_table().items() if row.composite is not None]


@each("name", COMPOSITES)
def test_operands_have_entries(name: str) -> None:
    drawn = (evaluate(operator_scenario(seed, name), Float64()).values() for seed in range(8))
    full = (values for values in drawn if all(array.size for array in values))
    assert len(list(islice(full, 2))) == 2
