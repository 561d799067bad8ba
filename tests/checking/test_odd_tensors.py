"""Tensors of PyTorch that hold no plain numbers, and operators without a derivative, are told as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from refgrad import check_gradients

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

ODD: Final[Mapping[str, Callable[[], Any]]] = {
    "complex32": lambda: torch.ones(3).to(torch.complex32),
    "mkldnn": lambda: torch.ones(2, 3).to_mkldnn(),
    "meta": lambda: torch.empty(2, device="meta"),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ODD)
def test_what_is_no_array_of_numbers_is_unsupported(name: str) -> None:
    report = check_gradients(lambda x: x * 2, ODD[name](), strict=False, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")
    assert str(report).startswith(
        f"there is a tensor of {name}" if name == "complex32" else f"there is a {name} tensor"
    )


@pytest.mark.parametrize("function", [lambda x: x.chalf(), lambda x: x.to_mkldnn()])
def test_so_is_what_gives_such_tensors(function: Callable[[Any], Any]) -> None:
    report = check_gradients(function, torch.ones(2, 3), strict=False, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")


@pytest.mark.parametrize(
    "function",
    [lambda x: torch.heaviside(x, x), lambda x: torch.floor_divide(x, x), lambda x: torch.binomial(x + 1, x)],
)
def test_an_operator_whose_derivative_pytorch_does_not_have_is_not_called_wrong(function: Callable[[Any], Any]) -> None:
    report = check_gradients(function, torch.tensor([0.5, 0.75]), strict=False, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "unsupported")
    assert "is not implemented" in str(report)


def test_slopes_that_deny_one_another_call_no_solution_wrong() -> None:
    """Of A x = A rounding is smaller at the point than anywhere beside it; one of A is far from regular."""
    choices = torch.Generator().manual_seed(0)
    _, matrices = (torch.rand(shape, generator=choices, dtype=torch.float64) for shape in ((3, 3), (1, 2, 4, 4)))
    inputs = (matrices + 0.1, matrices + 0.1)
    assert check_gradients(torch.linalg.solve, inputs, strict=False, raise_exception=False).outcome != "wrong"
