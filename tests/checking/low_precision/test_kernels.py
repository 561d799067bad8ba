"""Right backwards of low precision pass, whatever they choose, and faults of one percent are found."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle, product
from typing import Any

import pytest

from refgrad import check_gradients
from tests.checking.low_precision.kernels import FAULTS, KERNELS, Choices, torch
from tests.checking.low_precision.table import DTYPES, EVERY, HIDDEN, RIGHT, WRONG, outcome
from tests.effort import turn

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

QUICK = ("SwiGLU", "RMSNorm", "softmax")
"""Kernels that ordinary tests check; a LayerNorm is an RMSNorm that takes four times as long."""

MISSED = frozenset({
    ("RMSNorm", "x 1.01", "bfloat16", "low"), ("LayerNorm", "x 1.01", "bfloat16", "low"),
})  # fmt: skip
"""Faults below what the report says would have shown: a rounded statistic explains as much."""


def cases(names: Any) -> list[Any]:
    """Return kernels and dtypes; those that take long are slow, and each run takes every second one of the others."""
    return [
        pytest.param(
            name,
            dtype,
            marks=[pytest.mark.slow] * (name not in names or (row + column + turn()) % 2),
            id=f"{name} {str(dtype)[6:]}",
        )
        for row, name in enumerate(KERNELS)
        for column, dtype in enumerate(DTYPES)
    ]


@pytest.mark.parametrize(("name", "dtype"), cases(QUICK))
def test_right_kernels_pass(name: str, dtype: Any) -> None:
    reports = [outcome(KERNELS[name], choices, dtype, seed) for seed, choices in enumerate((*RIGHT[::3], HIDDEN))]
    assert [str(report) for report in reports if report.outcome != "right"] == []


def test_differences_that_a_kernel_computes_in_float16_are_allowed() -> None:
    """An entry of the slope of GeGLU is the difference of numbers that are ten times as large."""
    report = outcome(KERNELS["GeGLU"], Choices("low", "low", "chunks"), torch.float16, 7)
    assert report.outcome == "right"


def test_rounding_may_decide_the_order_of_sorted_entries() -> None:
    """Two probabilities of experts are equal in bfloat16, and are chosen in the order of their indices."""
    report = outcome(KERNELS["MoE routing"], Choices("low", "low"), torch.bfloat16, 2057, contexts=())
    assert report.outcome == "right"


def test_near_numbers_that_are_rounded_to_the_same_one_lose_their_differences() -> None:
    choices = Choices(order="reversed", hidden=True)
    report = outcome(EVERY["GroupNorm"], choices, torch.bfloat16, 100_370, contexts=())
    assert report.outcome == "right"


def test_rounded_constants_explain_errors_of_single_entries() -> None:
    choices = Choices(fused=True, constants="rounded")
    report = outcome(KERNELS["GeGLU"], choices, torch.float16, 100_775, contexts=())
    assert report.outcome == "right"


def test_masked_attention_is_compared() -> None:
    right, wrong = (outcome(EVERY["capped attention"], Choices(fault=f), DTYPES[0], 3) for f in ("", "x 1.01"))
    assert set(right.detectable) == {"0", "1", "2"}
    assert (right.outcome, wrong.outcome) == ("right", "wrong")


def test_an_error_barely_beyond_rounding_is_inconclusive() -> None:
    report = outcome(KERNELS["GeGLU"], Choices("low", "low", fault="x 1.01"), torch.bfloat16, 2)
    assert (report.outcome, report.cause) == ("inconclusive", "noise")
    assert "the gradient of input 0 is 1.0" in str(report)
    assert str(report).splitlines()[0].endswith("is explained by rounding): too little beyond it to be called wrong")


@pytest.mark.parametrize(("name", "dtype"), cases(QUICK))
def test_faults_are_found(name: str, dtype: Any) -> None:
    """Each fault with the choices in turn where the test is quick, and with all of them where it is slow."""
    faults = (*FAULTS, *KERNELS[name].faults)
    turns = cycle(WRONG if dtype is DTYPES[0] else WRONG[::-1])
    missed = {
        (name, fault, str(dtype)[6:], choices.inside)
        for fault, choices in (zip(faults, turns, strict=False) if name in QUICK else product(faults, WRONG))
        if outcome(KERNELS[name], replace(choices, fault=fault), dtype, 1).outcome != "wrong"
    }
    assert missed <= MISSED


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_right_kernels_pass_at_many_points(name: str) -> None:
    wrong = [
        (choices, seed)
        for seed in range(20)
        for choices in (*RIGHT, HIDDEN)
        if outcome(KERNELS[name], choices, DTYPES[seed % 2], seed).outcome == "wrong"
    ]
    assert wrong == []


def test_the_message_names_the_factor() -> None:
    report = outcome(KERNELS["SwiGLU"], Choices(fault="x 1.1"), DTYPES[0], 0)
    assert report.outcome == "wrong"
    assert str(report).startswith("the gradient of input 0 is 1.1 times the true one (0.")
    assert str(report).splitlines()[0].endswith("% is explained by rounding)")


def test_the_report_of_a_right_kernel_has_the_smallest_error_that_would_have_shown() -> None:
    report = outcome(KERNELS["SwiGLU"], Choices(), DTYPES[0], 0)
    assert report.outcome == "right"
    assert set(report.detectable) == {"0", "1"}
    assert all(0.001 < size < 0.01 for size in report.detectable.values())
    assert "% in input 1 would have shown" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("accumulate", "expected"), [("float32", "wrong"), ("bfloat16", "right")])
def test_a_sum_that_stagnates_is_wrong_unless_it_may(accumulate: str, expected: str) -> None:
    report = outcome(KERNELS["bias"], Choices(fault="accumulate"), DTYPES[0], 0, accumulate=accumulate)
    assert report.outcome == expected


def test_a_dtype_to_accumulate_in_is_known() -> None:
    with pytest.raises(ValueError, match="accumulate is 'int8'"):
        outcome(KERNELS["SwiGLU"], Choices(), DTYPES[0], 0, accumulate="int8")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to(torch.int64),
        lambda x: torch.ones(2, dtype=torch.float16) + 0 * x.detach().sum(),
        lambda x: (x * 0, torch.ones(2)),
        lambda x: (x > 0, x * x),
    ],
)
def test_there_need_be_nothing_to_compare(function: Any, shape: tuple[int, ...]) -> None:
    inputs = torch.zeros(shape, dtype=torch.float16, requires_grad=True)
    assert check_gradients(function, inputs, raise_exception=False).raised is None


def test_a_message_has_the_number_of_an_input_among_all_inputs() -> None:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        """The product of two arrays at some rows, whose gradient has a term too many."""

        @staticmethod
        def forward(ctx: Any, rows: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(rows, x, y)
            return x[rows] * y[rows]

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            rows, x, y = ctx.saved_tensors
            g = torch.zeros_like(x).index_add(0, rows, cotangents[0])
            return None, g * y + 0.005 * y, g * x

    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(16, 16, generator=generator).to(torch.bfloat16).requires_grad_() for _ in range(2))
    report = check_gradients(Product.apply, (torch.arange(16), x, y), raise_exception=False, contexts=())
    assert re.match(r"the gradient of input 1 is the true one plus \S+ \* input 2 ", str(report))
