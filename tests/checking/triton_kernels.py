# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, PLR0913, PLR0917
"""Kernels in Triton as people write them: root mean square norm, gated SiLU and cross-entropy, with their faults.

They run on a GPU, or on the CPU in Triton's interpreter (`TRITON_INTERPRET=1`, set before the import).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch.nn import functional as F  # noqa: N812 (its usual name)

EPSILON = 1e-6
"""Number that is added to the mean of squares."""


@triton.jit
def norm_forward(x, weight, y, rstd, columns, epsilon, BLOCK: tl.constexpr):
    """Normalize a row and save the reciprocal of its root mean square in float32."""
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    mask = index < columns
    values = tl.load(x + row * columns + index, mask=mask, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + epsilon)
    weights = tl.load(weight + index, mask=mask, other=0.0).to(tl.float32)
    tl.store(rstd + row, scale)
    tl.store(y + row * columns + index, (values * scale * weights).to(y.dtype.element_ty), mask=mask)


@triton.jit
def norm_backward(x, weight, rstd, dy, dx, dw, columns, factor, tail, BLOCK: tl.constexpr):
    """Return the gradient of a row, and that of the weights, in float32, for each row."""
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    mask = index < columns - tail
    values = tl.load(x + row * columns + index, mask=mask, other=0.0).to(tl.float32)
    weights = tl.load(weight + index, mask=mask, other=0.0).to(tl.float32)
    cotangent = tl.load(dy + row * columns + index, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(rstd + row)
    normed, weighted = values * scale, cotangent * weights
    mean = tl.sum(normed * weighted, axis=0) / columns
    gradient = (weighted - normed * mean * factor) * scale
    tl.store(dx + row * columns + index, gradient.to(dx.dtype.element_ty), mask=mask)
    tl.store(dw + row * columns + index, cotangent * normed, mask=mask)


@triton.jit
def gate_forward(a, b, c, count, BLOCK: tl.constexpr):
    """Multiply `silu(a)` by `b`."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    x = tl.load(a + index, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(b + index, mask=mask, other=0.0).to(tl.float32)
    tl.store(c + index, (x * tl.sigmoid(x) * y).to(c.dtype.element_ty), mask=mask)


@triton.jit
def gate_backward(dc, a, b, da, db, count, factor, BLOCK: tl.constexpr):
    """Return the gradients of both factors."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    x = tl.load(a + index, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(b + index, mask=mask, other=0.0).to(tl.float32)
    cotangent = tl.load(dc + index, mask=mask, other=0.0).to(tl.float32)
    sigmoid = tl.sigmoid(x)
    slope = sigmoid * (1 + factor * x * (1 - sigmoid))
    tl.store(da + index, (cotangent * y * slope).to(da.dtype.element_ty), mask=mask)
    tl.store(db + index, (cotangent * x * sigmoid).to(db.dtype.element_ty), mask=mask)


@triton.jit
def entropy_forward(logits, target, loss, gradient, classes, factor, BLOCK: tl.constexpr):
    """Return the loss of a row and its gradient for a cotangent of one."""
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    mask = index < classes
    x = tl.load(logits + row * classes + index, mask=mask, other=float("-inf")).to(tl.float32)
    wanted = tl.load(target + row)
    largest = tl.max(x, axis=0)
    exponentials = tl.exp(x - largest)
    total = tl.sum(exponentials, axis=0)
    own = tl.sum(tl.where(index == wanted, x, 0.0), axis=0)
    tl.store(loss + row, tl.log(total) + largest - own)
    slope = factor * exponentials / total - tl.where(index == wanted, 1.0, 0.0)
    tl.store(gradient + row * classes + index, slope.to(gradient.dtype.element_ty), mask=mask)


def block(count: int) -> int:
    """Return the smallest power of two that holds a row."""
    return int(triton.next_power_of_2(count))


class Norm(torch.autograd.Function):
    """Root mean square norm of rows; of its faults, `factor` changes the mean term and `tail` drops columns."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, factor: float, tail: int) -> Any:
        """Normalize rows."""
        x, y = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        rows, columns = x.shape
        rstd = torch.empty(rows, device=x.device, dtype=torch.float32)
        norm_forward[rows,](x, weight, y, rstd, columns, EPSILON, BLOCK=block(columns))
        ctx.save_for_backward(x, weight, rstd)
        ctx.fault = factor, tail
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        """Return the gradients of rows and weights."""
        x, weight, rstd = ctx.saved_tensors
        rows, columns = x.shape
        dx, dw = torch.zeros_like(x), torch.zeros(x.shape, device=x.device, dtype=torch.float32)
        norm_backward[rows,](x, weight, rstd, dy.contiguous(), dx, dw, columns, *ctx.fault, BLOCK=block(columns))
        return dx, dw.sum(0).to(weight.dtype), None, None


class Gate(torch.autograd.Function):
    """`silu(a) * b`; of its faults, `factor` changes the slope, and `strides` ignores those of the cotangent."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, factor: float, strides: bool) -> Any:  # noqa: FBT001
        """Multiply."""
        a, b = a.contiguous(), b.contiguous()
        c = torch.empty_like(a)
        gate_forward[triton.cdiv(a.numel(), 128),](a, b, c, a.numel(), BLOCK=128)
        ctx.save_for_backward(a, b)
        ctx.fault = factor, strides
        return c

    @staticmethod
    def backward(ctx: Any, dc: Any) -> Any:
        """Return the gradients of both factors."""
        a, b = ctx.saved_tensors
        factor, strides = ctx.fault
        dc = dc if strides else dc.contiguous()
        da, db = torch.empty_like(a), torch.empty_like(b)
        gate_backward[triton.cdiv(a.numel(), 128),](dc, a, b, da, db, a.numel(), factor, BLOCK=128)
        return da, db, None, None


class Entropy(torch.autograd.Function):
    """Mean cross-entropy of rows, whose gradient the forward computes; `factor` changes the probabilities."""

    @staticmethod
    def forward(ctx: Any, logits: Any, target: Any, factor: float, mean: bool) -> Any:  # noqa: FBT001
        """Return the mean loss."""
        logits = logits.contiguous()
        rows, classes = logits.shape
        loss = torch.empty(rows, device=logits.device, dtype=torch.float32)
        gradient = torch.empty_like(logits)
        entropy_forward[rows,](logits, target, loss, gradient, classes, factor, BLOCK=block(classes))
        ctx.save_for_backward(gradient)
        ctx.rows = rows if mean else 1
        return loss.mean().to(logits.dtype)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        """Scale the gradient."""
        (gradient,) = ctx.saved_tensors
        return gradient * (cotangent / ctx.rows), None, None, None


def norm(factor: float = 1.0, tail: int = 0) -> Any:
    """Return the norm with a fault."""
    return lambda x, weight: Norm.apply(x, weight, factor, tail)


def gate(factor: float = 1.0, *, strides: bool = False) -> Any:
    """Return the gated SiLU with a fault."""
    return lambda a, b: Gate.apply(a, b, factor, strides)


def entropy(factor: float = 1.0, *, mean: bool = True) -> Any:
    """Return the cross-entropy with a fault."""
    return lambda logits, target: Entropy.apply(logits, target, factor, mean)


def plain_norm(x: Any, weight: Any) -> Any:
    """Return the norm by operators of PyTorch."""
    return x * (x.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * weight


def plain_gate(a: Any, b: Any) -> Any:
    """Return the gated SiLU by operators of PyTorch."""
    return F.silu(a) * b


def plain_entropy(logits: Any, target: Any) -> Any:
    """Return the cross-entropy by operators of PyTorch."""
    return F.cross_entropy(logits, target)


def inputs_of(name: str, dtype: Any, device: str, seed: int = 0) -> tuple[Any, ...]:
    """Return random inputs of a kernel. Rows of 24 columns leave a tail in a block of 32."""
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(6, 24, generator=generator).to(device, dtype).requires_grad_() for _ in range(2))
    target = torch.randint(24, (6,), generator=generator).to(device)
    weight = (1 + torch.rand(24, generator=generator)).to(device, dtype).requires_grad_()
    return {"norm": (x, weight), "gate": (x, y), "entropy": (x, target)}[name]


RIGHT = {"norm": (norm(), plain_norm), "gate": (gate(), plain_gate), "entropy": (entropy(), plain_entropy)}
"""Each kernel without a fault, and the same function by operators of PyTorch."""

WRONG = {
    "norm: mean term 5 % too large": ("norm", norm(1.05)),
    "norm: mean term missing": ("norm", norm(0.0)),
    "norm: last column missing": ("norm", norm(tail=1)),
    "gate: slope term 5 % too large": ("gate", gate(1.05)),
    "gate: slope term missing": ("gate", gate(0.0)),
    "gate: strides of the cotangent ignored": ("gate", gate(strides=True)),
    "entropy: probabilities 5 % too large": ("entropy", entropy(1.05)),
    "entropy: no division by the number of rows": ("entropy", entropy(mean=False)),
}
