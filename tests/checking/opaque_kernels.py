"""Kernels that nothing can look into: operators that compute in a low precision inside of tensors of any dtype.

The forward leaves PyTorch for NumPy, so that the function can be judged by differences only. The backward is PyTorch's
own in the same precision, times a factor that is 1 if it is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 (its usual name)
from torch.utils._python_dispatch import _disable_current_modes

Shapes = tuple[tuple[int, ...], ...]
Draw = Callable[..., int]
"""Function that returns a random number from 1 to the largest size, or to its argument."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator of PyTorch and the shapes of its operands; ``positive`` if they must be."""

    compute: Callable[..., Any]
    shapes: Callable[[Draw], Shapes]
    positive: bool = False


def one(draw: Draw) -> Shapes:
    """Return the shape of one matrix."""
    return ((draw(), draw() + 1),)


def pair(draw: Draw) -> Shapes:
    """Return the shapes of two matrices of one shape."""
    return one(draw) * 2


def product(draw: Draw) -> Shapes:
    """Return the shapes of the factors of a matrix product."""
    rows, inner, columns = draw(), draw() + 1, draw()
    return (rows, inner), (inner, columns)


def linear(draw: Draw) -> Shapes:
    """Return the shapes of inputs, weights and biases."""
    rows, inner, columns = draw(), draw() + 1, draw()
    return (rows, inner), (columns, inner), (columns,)


def normed(draw: Draw) -> Shapes:
    """Return the shapes of rows, weights and biases."""
    rows, width = draw(), draw() + 3
    return (rows, width), (width,), (width,)


def heads(draw: Draw) -> Shapes:
    """Return the shapes of queries, keys and values."""
    queries, keys, width = draw(), draw() + 1, draw() + 1
    return (queries, width), (keys, width), (keys, width)


def rms_norm(x: Any, w: Any) -> Any:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w


def rotary(x: Any) -> Any:
    angles = torch.arange(x.shape[0], dtype=x.dtype)[:, None] * 0.3
    other = torch.roll(x, 1, -1)
    return x * angles.cos() + other * angles.sin()


def attention(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1) @ v


def labels(x: Any) -> Any:
    return torch.arange(x.shape[0]) % x.shape[1]


KERNELS: Mapping[str, Kernel] = MappingProxyType({
    "square": Kernel(torch.square, one),
    "cube": Kernel(lambda x: x * x * x, one),
    "sin": Kernel(torch.sin, one),
    "exp": Kernel(torch.exp, one),
    "tanh": Kernel(torch.tanh, one),
    "sigmoid": Kernel(torch.sigmoid, one),
    "gelu": Kernel(F.gelu, one),
    "gelu, tanh": Kernel(lambda x: F.gelu(x, approximate="tanh"), one),
    "silu": Kernel(F.silu, one),
    "mish": Kernel(F.mish, one),
    "softplus": Kernel(F.softplus, one),
    "erf": Kernel(torch.erf, one),
    "log": Kernel(torch.log, one, positive=True),
    "log1p": Kernel(torch.log1p, one, positive=True),
    "sqrt": Kernel(torch.sqrt, one, positive=True),
    "rsqrt": Kernel(torch.rsqrt, one, positive=True),
    "reciprocal": Kernel(torch.reciprocal, one, positive=True),
    "elu": Kernel(F.elu, one),
    "relu": Kernel(F.relu, one),
    "squared relu": Kernel(lambda x: F.relu(x) ** 2, one),
    "huber": Kernel(F.huber_loss, pair),
    "add": Kernel(lambda x, y: x + 0.5 * y, pair),
    "mul": Kernel(torch.mul, pair),
    "div": Kernel(torch.div, pair, positive=True),
    "atan2": Kernel(torch.atan2, pair, positive=True),
    "hypot": Kernel(torch.hypot, pair, positive=True),
    "logaddexp": Kernel(torch.logaddexp, pair),
    "swiglu": Kernel(lambda x, y: F.silu(x) * y, pair),
    "geglu": Kernel(lambda x, y: F.gelu(x) * y, pair),
    "mse": Kernel(F.mse_loss, pair),
    "cosine": Kernel(lambda x, y: F.cosine_similarity(x, y, dim=-1), pair),
    "matmul": Kernel(torch.matmul, product),
    "linear": Kernel(F.linear, linear),
    "bilinear": Kernel(lambda x, w, b: torch.tanh(x @ w.T + b), linear),
    "softmax": Kernel(lambda x: torch.softmax(x, -1), one),
    "log_softmax": Kernel(lambda x: torch.log_softmax(x, -1), one),
    "logsumexp": Kernel(lambda x: torch.logsumexp(x, -1), one),
    "cross entropy": Kernel(lambda x: F.cross_entropy(x, labels(x)), one),
    "layer norm": Kernel(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), normed),
    "rms norm": Kernel(rms_norm, lambda draw: normed(draw)[:1] * 2),
    "normalize": Kernel(lambda x: F.normalize(x, dim=-1), one),
    "norm": Kernel(torch.linalg.vector_norm, one),
    "variance": Kernel(lambda x: torch.var(x, -1), one),
    "mean": Kernel(lambda x: x.mean(0), one),
    "sum": Kernel(lambda x: x.sum(), one),
    "cumsum": Kernel(lambda x: torch.cumsum(x, -1), one),
    "cumprod": Kernel(lambda x: torch.cumprod(x, -1), one, positive=True),
    "product": Kernel(lambda x: x.prod(-1), one, positive=True),
    "rotary": Kernel(rotary, one),
    "attention": Kernel(attention, heads),
    "outer": Kernel(lambda x, y: x[:, 0, None] * y[0], pair),
    "divergence": Kernel(lambda x, y: F.kl_div(F.log_softmax(x, -1), torch.softmax(y, -1)), pair),
    "convolution": Kernel(lambda x, w: F.conv1d(x[None], w), lambda draw: ((2, 5 + draw()), (draw(), 2, 3))),
})
"""Kernels by name."""


SEVERAL_OUTPUTS = Kernel(lambda x, y: (x * y, torch.tanh(x) + y), pair)
"""A kernel with two outputs."""


def opaque(compute: Callable[..., Any], inner: str, factor: float = 1.0, *, stepwise: bool = False) -> Any:
    """Return a kernel that computes in the dtype ``inner``, with a gradient that is wrong by a factor.

    bfloat16 rounds after every operation if it goes ``stepwise``, else its inputs, outputs and gradients.
    """
    low = getattr(torch, inner)
    working = low if stepwise else torch.float32

    def run(arrays: list[Any], *cotangents: Any) -> list[Any]:
        """Return the outputs, or the gradients, as arrays of float64."""
        with _disable_current_modes(), torch.set_grad_enabled(bool(cotangents)):
            leaves = [torch.from_numpy(a).to(low).to(working).requires_grad_(bool(cotangents)) for a in arrays]
            outputs = compute(*leaves)
            found = outputs if isinstance(outputs, tuple) else (outputs,)
            if cotangents:
                seeds = [torch.from_numpy(cotangent).to(working) for cotangent in cotangents]
                found = torch.autograd.grad(found, leaves, seeds)
            return [np.array(each.detach().to(low).double().numpy()) for each in found]

    def array(tensor: Any) -> Any:
        return np.array(tensor.detach().double().numpy())

    class Opaque(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            found = [torch.from_numpy(each).to(inputs[0].dtype) for each in run([array(x) for x in inputs])]
            return found[0] if len(found) == 1 else tuple(found)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            inputs = ctx.saved_tensors
            found = run([array(x) for x in inputs], *map(array, cotangents))
            return tuple(torch.from_numpy(factor * g).to(x.dtype) for g, x in zip(found, inputs, strict=True))

    return Opaque.apply


def drawn(kernel: Kernel, random: np.random.Generator, dtype: str = "float64", largest: int = 4) -> tuple[Any, ...]:
    """Return random operands of a kernel."""

    def draw(most: int = largest) -> int:
        return int(random.integers(1, most + 1))

    arrays = [random.normal(size=shape) for shape in kernel.shapes(draw)]
    if kernel.positive:
        arrays = [np.abs(array) + 0.4 for array in arrays]
    return tuple(torch.tensor(array).to(getattr(torch, dtype)).requires_grad_() for array in arrays)
