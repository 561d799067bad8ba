"""Operators below autograd compute in float64 in this mode, and write where they are told to."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.checking.libraries.torch_tensors import raised_mode

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

THIRD = 1 / 3


def test_every_argument_is_raised() -> None:
    one, three = torch.tensor(1.0), torch.tensor(3.0)
    with raised_mode(torch)():
        quotients = one / three, torch.cat([one.reshape(1), three.reshape(1)])[:1] / three
    assert [each.dtype for each in quotients] == [torch.float64] * 2
    assert [each.item() for each in quotients] == [THIRD, THIRD]


def test_what_is_written_to_keeps_its_dtype_and_the_rest_is_raised() -> None:
    target, source = torch.zeros(1, dtype=torch.float64), torch.tensor([1.0], dtype=torch.float16)
    halves = torch.zeros(1, dtype=torch.float16)
    with raised_mode(torch)():
        target.add_(source / 3)
        halves.add_(source / 3)
    assert target.item() == THIRD
    assert halves.dtype == torch.float16
    assert halves.item() == pytest.approx(THIRD, rel=1e-3)
