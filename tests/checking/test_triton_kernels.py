"""Kernels in Triton: on a GPU where there is one, else in Triton's interpreter."""

from __future__ import annotations

import os
from typing import Any

import pytest

from refgrad import check_gradients

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")
pytest.importorskip("triton", reason="needs Triton: pip install triton")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

from tests.checking.triton_kernels import RIGHT, WRONG, inputs_of  # noqa: E402 (only where Triton is installed)

pytestmark = pytest.mark.engines

DTYPES = ("float32", "bfloat16", "float16")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_not_called_wrong(name: str, dtype: str) -> None:
    if (DEVICE, dtype) == ("cpu", "bfloat16"):
        pytest.skip("Triton's interpreter rounds to bfloat16 towards zero, so its kernels are wrong")
    kernel, plain = RIGHT[name]
    inputs = inputs_of(name, getattr(torch, dtype), DEVICE)
    isolated = check_gradients(kernel, inputs, raise_exception=False)
    compared = check_gradients(kernel, inputs, reference=plain, raise_exception=False)
    assert (isolated.outcome != "wrong", compared.outcome) == (True, "right"), f"{isolated}\n{compared}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_kernel_is_called_wrong(fault: str, dtype: str) -> None:
    name, kernel = WRONG[fault]
    inputs = inputs_of(name, getattr(torch, dtype), DEVICE)
    report = check_gradients(kernel, inputs, reference=RIGHT[name][1], raise_exception=False)
    assert report.outcome == "wrong", str(report)
