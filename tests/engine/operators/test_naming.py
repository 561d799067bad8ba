"""Tests of the names of nodes, which are PyTorch's."""

import pytest

from refgrad.engine.operators.naming import node_name
from refgrad.operators import operator_table


@pytest.mark.parametrize(
    ("operator", "name"),
    [("multiply", "MulBackward0"), ("exp", "ExpBackward0"), ("concatenate", "CatBackward0"), ("matmul", "MmBackward0")],
)
def test_a_node_has_the_name_that_it_has_in_pytorch(operator: str, name: str) -> None:
    assert node_name(operator_table()[operator]) == name
