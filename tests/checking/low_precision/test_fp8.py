"""Kernels that round to 8 bits: right ones are not called wrong, and errors above what the report says are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from tests.checking.low_precision.fp8_kernels import EIGHT_BITS
from tests.checking.low_precision.kernels import Choices, function_of, inputs_of, torch
from tests.checking.low_precision.table import HIDDEN, outcome
from tests.checking.opaque_kernels import KERNELS, drawn, opaque
from tests.effort import turn

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

PAIRS = (
    (torch.bfloat16, Choices()),
    (torch.float32, HIDDEN),
    (torch.bfloat16, HIDDEN),
    (torch.float32, Choices()),
)
"""Dtypes and choices: first those for kernels of e4m3fn, then those for e5m2, then those that are slow for both."""

FORMATS = (torch.float8_e4m3fn, torch.float8_e5m2)


@pytest.mark.parametrize(
    ("name", "dtype", "choices"),
    [
        pytest.param(
            name, *pair, marks=[pytest.mark.slow] * (pair is not PAIRS[name.endswith("e5m2")] or (n + turn()) % 2)
        )
        for n, name in enumerate(EIGHT_BITS)
        for pair in PAIRS
    ],
)
def test_right_kernels_pass(name: str, dtype: Any, choices: Choices) -> None:
    report = outcome(EIGHT_BITS[name], choices, dtype, 3, contexts=())
    assert report.outcome == "right", str(report)


@pytest.mark.parametrize("name", ["linear, e4m3fn", "SwiGLU, e5m2", "RMSNorm, e4m3fn"])
def test_errors_above_what_the_report_says_are_found(name: str) -> None:
    class Scaled(torch.autograd.Function):  # type: ignore[misc]
        """The identity, whose gradient has a factor."""

        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return cotangents[0] * ctx.factor, None

    right = outcome(EIGHT_BITS[name], Choices(), torch.float32, 3, contexts=())
    limit = right.detectable["0"]
    assert limit < 0.2
    function, inputs = function_of(EIGHT_BITS[name], Choices()), inputs_of(EIGHT_BITS[name], torch.float32, 3)

    def wrong(x: Any, *others: Any) -> Any:
        return function(Scaled.apply(x, 1 + 1.5 * limit), *others)

    assert check_gradients(wrong, inputs, seed=3, raise_exception=False, contexts=()).outcome == "wrong"


@pytest.mark.parametrize("dtype", FORMATS)
def test_inputs_and_outputs_may_have_8_bits(dtype: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 8, generator=generator)
    for function, given in ((lambda x: x.float().sin(), x.to(dtype)), (lambda x: (2 * x).to(dtype), x.bfloat16())):
        report = check_gradients(function, given.requires_grad_(), raise_exception=False)
        assert report.outcome == "right", str(report)
        assert report.detectable["0"] < 0.5


@pytest.mark.parametrize(("factor", "outcomes"), [(1.0, {"right", "inconclusive"}), (3.0, {"wrong", "inconclusive"})])
@pytest.mark.parametrize(("name", "inner"), [("add", "float8_e4m3fn"), ("matmul", "float8_e5m2")])
def test_opaque_kernels_may_round_to_8_bits(name: str, factor: float, outcomes: set[str], inner: str) -> None:
    inputs = drawn(KERNELS[name], np.random.default_rng(0), "bfloat16", 2)
    report = check_gradients(opaque(KERNELS[name].compute, inner, factor), inputs, raise_exception=False)
    assert report.outcome in outcomes, str(report)
