"""Functions that answer by a bool, or by numbers without derivatives."""

from __future__ import annotations

import pytest

import refgrad.engine as torch


@pytest.mark.parametrize(
    ("other", "same"), [([1.0, 2.0], True), ([1.0, 2.5], False), ([1.0], False), ([[1.0, 2.0]], False)]
)
def test_tensors_are_equal_in_shape_and_entries(other: list[float], *, same: bool) -> None:
    assert torch.equal(torch.tensor([1.0, 2.0]), torch.tensor(other)) is same
