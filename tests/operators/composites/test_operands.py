"""Composites accept ordinary operands, not only arrays without entries."""

import pytest

from refgrad.generation import operator_scenario
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table

COMPOSITES = [name for name, row in operator_table().items() if row.composite is not None]
SEEDS = 8


@pytest.mark.parametrize("name", COMPOSITES)
def test_operands_have_entries(name: str) -> None:
    drawn = (evaluate(operator_scenario(seed, name), Float64()) for seed in range(SEEDS))
    assert sum(all(array.size for array in values.values()) for values in drawn) >= SEEDS / 4
