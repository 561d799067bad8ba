"""Are operands of several floating dtypes promoted before an operator, and its rule, compute with them?"""

from typing import Any

import numpy as np
import pytest

import refgrad.engine as torch
from refgrad.engine import Tensor
from refgrad.operators import Operator, operator_table
from tests.effort import each
from tests.engine.operators.test_every_row import inside
from tests.operators.example_attributes import example_attributes

PAIRS = [row for row in operator_table().values() if row.elementwise and len(row.differentiable_arguments) > 1]


def gradients(row: Operator, operands: list[Tensor]) -> tuple[Any, ...]:
    conditions = [np.array([True, False]) for argument in row.arguments if argument.dtype == "bool"]
    output = getattr(torch, row.name)(*conditions, *operands, **example_attributes(row))
    assert output.dtype == torch.float64
    return torch.grad(output.sum(), operands)


@each("narrow", [torch.float32, torch.float16])
@each("row", PAIRS)
def test_a_gradient_beside_a_narrower_operand_is_as_beside_the_same_numbers_in_float64(
    row: Operator, narrow: Any
) -> None:
    random = np.random.default_rng(0)
    arrays = [inside(row, name, (2,), random) for name in row.differentiable_arguments]
    mixed = [torch.tensor(arrays[0], requires_grad=True)]
    mixed += [torch.tensor(array, dtype=narrow, requires_grad=True) for array in arrays[1:]]
    alike = [torch.tensor(x.detach().numpy().astype(float), requires_grad=True) for x in mixed]
    first, *rest = gradients(row, mixed)
    expected_first, *expected_rest = gradients(row, alike)
    assert first.tolist() == expected_first.tolist()
    for found, expected in zip(rest, expected_rest, strict=True):
        assert found.dtype == narrow
        assert found.tolist() == expected.to(narrow).tolist()


@pytest.mark.parametrize("shape", [(), (3,)])
def test_an_interior_gradient_has_the_dtype_of_its_tensor(shape: tuple[int, ...]) -> None:
    narrow = torch.ones(shape, dtype=torch.float32, requires_grad=True)
    interior = narrow * 2
    seen = []
    interior.register_hook(lambda gradient: seen.append(gradient.dtype))
    (interior * torch.ones(shape, dtype=torch.float64)).sum().backward()
    assert seen == [torch.float32]


def test_a_python_number_widens_nothing() -> None:
    narrow = torch.ones(2, dtype=torch.float32, requires_grad=True)
    product = narrow * 0.5
    assert product.dtype == torch.float32
    assert product.node is not None
    assert [node for node, _ in product.node.next_functions if node] == [narrow.node]


def test_two_python_numbers_stand_beside_a_condition() -> None:
    assert torch.where(torch.tensor([True, False]), 1.0, 2.0).tolist() == [1.0, 2.0]
