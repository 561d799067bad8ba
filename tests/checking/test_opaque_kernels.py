"""Kernels that nothing can look into: right ones are never called wrong, and wrong ones are found."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import pytest
from scipy.special import erf

from refgrad import check_gradients

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

from tests.checking.opaque_kernels import KERNELS, SEVERAL_OUTPUTS, drawn, opaque  # noqa: E402 (only where PyTorch is installed)
from tests.effort import in_turns  # noqa: E402

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

FORMATS: Final = [
    (inner, dtype) for inner in ("float32", "bfloat16", "float16") for dtype in sorted({"float64", inner})
]
FACTORS: Final = (1.05, 0.5, 1.1, 0.0, 0.9, 2.0, 1.3, -1.0)


def outcome(number: int, factor: float, largest: int) -> str:
    """Return the outcome for one of many kernels with a gradient that is wrong by a factor."""
    random = np.random.default_rng(number)
    kernel = KERNELS[sorted(KERNELS)[number % len(KERNELS)]]
    inner, dtype = FORMATS[number % len(FORMATS)]
    function = opaque(kernel.compute, inner, factor, stepwise=bool(random.integers(2)))
    inputs = drawn(kernel, random, dtype, largest)
    return str(check_gradients(function, inputs, raise_exception=False).outcome)


def counted(numbers: range, largest: int) -> tuple[Counter[str], Counter[str]]:
    """Return the outcomes of many kernels that are right, and of as many that are wrong."""
    right = Counter(outcome(number, 1.0, largest) for number in numbers)
    wrong = Counter(outcome(number, FACTORS[number % len(FACTORS)], largest) for number in numbers)
    return right, wrong


@pytest.mark.parametrize(
    ("numbers", "largest"),
    [*in_turns([(range(4), 1), (range(4, 8), 1)]), pytest.param(range(500), 4, marks=pytest.mark.slow)],
)
def test_no_right_kernel_is_called_wrong_and_nearly_all_wrong_ones_are(numbers: range, largest: int) -> None:
    right, wrong = counted(numbers, largest)
    assert right["wrong"] == wrong["right"] == 0
    assert right["right"] >= len(numbers) / 2
    assert wrong["wrong"] >= 0.9 * len(numbers)


class Gelu(torch.autograd.Function):  # type: ignore[misc]
    """gelu by NumPy in float32. It adds 1 to erf, so that its relative error is large far left of 0."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        normal = 1 + erf(x.detach().numpy() / np.float32(np.sqrt(2)))
        return x * torch.from_numpy(normal / np.float32(2))

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        x = ctx.saved_tensors[0].numpy()
        normal = (1 + erf(x / np.float32(np.sqrt(2)))) / np.float32(2)
        return cotangent * torch.from_numpy(normal + x * np.exp(-x * x / 2) / np.float32(np.sqrt(2 * np.pi)))


@pytest.mark.parametrize("seed", range(2))
def test_an_entry_that_is_small_beside_others_may_have_their_rounding(seed: int) -> None:
    numbers = (2 * torch.randn(64, generator=torch.Generator().manual_seed(seed))).requires_grad_()
    report = check_gradients(Gelu.apply, numbers, raise_exception=False)
    assert report.outcome == "right", str(report)


@pytest.mark.parametrize("name", ["tanh", "matmul", "layer norm"])
def test_an_error_of_5_percent_in_float32_is_wrong(name: str) -> None:
    inputs = drawn(KERNELS[name], np.random.default_rng(0))
    function = opaque(KERNELS[name].compute, "float32", 1.05)
    assert check_gradients(function, inputs, raise_exception=False).outcome == "wrong"


@pytest.mark.parametrize("inner", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("factor", "outcomes"), [(1.0, {"right", "inconclusive"}), (0.5, {"wrong"})])
def test_a_kernel_with_several_outputs(inner: str, factor: float, outcomes: set[str]) -> None:
    inputs = drawn(SEVERAL_OUTPUTS, np.random.default_rng(1), largest=1)
    function = opaque(SEVERAL_OUTPUTS.compute, inner, factor)
    assert check_gradients(function, inputs, raise_exception=False).outcome in outcomes


@pytest.mark.parametrize(("factor", "outcomes"), [(1.0, {"right"}), (1.05, {"wrong", "inconclusive"})])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_probabilities_that_are_5_percent_too_large(seed: int, factor: float, outcomes: set[str]) -> None:
    """Larger entries of the other sign, those of the targets, hide the error, and the only output has 16 bits."""

    class Entropy(torch.autograd.Function):  # type: ignore[misc]
        """Cross-entropy of one row, whose target is its first entry."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            array = np.exp(x.detach().float().numpy().astype(np.float64))
            ctx.probabilities = array / array.sum()
            return torch.tensor(-np.log(ctx.probabilities[0])).to(x.dtype)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            gradient = factor * ctx.probabilities
            gradient[0] -= 1
            return cotangents[0] * torch.tensor(gradient).to(cotangents[0].dtype)

    inputs = torch.randn(8, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16).requires_grad_()
    assert check_gradients(Entropy.apply, inputs, raise_exception=False).outcome in outcomes
