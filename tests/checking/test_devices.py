"""Tensors on a GPU are checked there: inputs, cotangents and random numbers stay on their device."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from refgrad import check_gradients
from refgrad.checking.libraries import library_of
from refgrad.checking.libraries.trees import Kind
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

from tests.checking.functions.torch_table import CASES  # noqa: E402 (only where PyTorch is installed)

pytestmark = pytest.mark.engines
needs_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def moved(value: Any) -> Any:
    """Return inputs with their tensors on the GPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().cuda().requires_grad_(value.requires_grad)
    return tuple(map(moved, value)) if type(value) is tuple else value


def numbers() -> Any:
    """Return inputs on the GPU."""
    return torch.randn(4, 3, dtype=torch.float64, device="cuda", requires_grad=True)


class Cube(torch.autograd.Function):  # type: ignore[misc]
    """A cube whose gradient is wrong by a factor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Return the cube."""
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        """Return the wrong gradient."""
        (x,) = ctx.saved_tensors
        return 3.001 * x**2 * cotangent


def test_the_code_of_a_tensor_names_its_device() -> None:
    library = library_of(Engine(find_adapter("torch")))
    assert library.dtype_code(Kind("float32")) == "float32"
    assert library.dtype_code(Kind("float32", device="cuda:1")) == "float32, device='cuda:1'"


@needs_a_gpu
def test_a_printed_program_makes_its_tensors_on_the_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    x = numbers()
    report = check_gradients(Cube.apply, x, raise_exception=False)
    assert report.outcome == "wrong"
    assert report.discrepancy is not None
    program = str(report).partition("to see it:\n")[2]
    assert "device='cuda:0'" in program
    exec(dedent(program), {"function": Cube.apply})
    assert float(capsys.readouterr().out) == pytest.approx(report.discrepancy.observed)


@needs_a_gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kernel", ["flash", "efficient", "cudnn", "norm"])
def test_kernels_of_a_gpu_are_certified(kernel: str, dtype: str) -> None:
    functional, low = torch.nn.functional, getattr(torch, dtype)
    if kernel == "norm":
        x = torch.randn(8, 16, device="cuda").to(low).requires_grad_()
        report = check_gradients(lambda x: functional.rms_norm(x, (16,)), x)
    else:
        names = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
        backend = getattr(torch.nn.attention.SDPBackend, names[kernel])
        x = torch.randn(1, 2, 16, 64, device="cuda").to(low).requires_grad_()

        def attention(x: Any) -> Any:
            with torch.nn.attention.sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(x, x * 0.5, x, is_causal=True)

        if dtype == "float32" and kernel != "efficient":
            pytest.skip("the kernel takes numbers of 16 bits only")
        report = check_gradients(attention, x)
    assert "held against certified intervals" in str(report), str(report)


@needs_a_gpu
def test_random_numbers_of_the_gpu_repeat() -> None:
    assert check_gradients(lambda x: torch.nn.functional.dropout(x, 0.5).square(), numbers()).outcome == "right"


@needs_a_gpu
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_functions_have_the_outcome_that_they_have_on_the_cpu(case: Any) -> None:
    inputs = moved(case.inputs())
    try:
        case.function(*inputs)
    except Exception as error:  # noqa: BLE001 (the function may make tensors on the CPU)
        pytest.skip(f"the function does not run on a GPU: {error}")
    report = check_gradients(case.function, moved(case.inputs()), case.library, raise_exception=False, **case.options)
    assert report.outcome == ("right" if case.right else "wrong"), str(report)
