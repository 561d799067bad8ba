"""Backwards of kernels that quantize what they multiply or save to 8 bits, with scales by tensor or by row.

PyTorch converts to these dtypes on every processor, and multiplies the converted numbers in float32, as hardware does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tests.checking.low_precision.kernels import Choices, Kernel, Tensors, targets, torch


def quantized(x: Any, dtype: Any, axis: int | None = None) -> Tensors:
    """Return numbers rounded to 8 bits and their scale, one for all or for each line along an axis.

    What has float64 stays as it is.
    """
    if x.dtype == torch.float64:
        return x, torch.ones((), dtype=torch.float64)
    size = x.detach().float().abs()
    largest = size.amax() if axis is None else size.amax(axis, keepdim=True)
    scale = largest.clamp_min(1e-12) / torch.finfo(dtype).max
    return (x.float() / scale).to(dtype), scale


def widened(q: Any, scale: Any) -> Any:
    """Return the numbers that are meant by rounded ones."""
    return q if q.dtype == torch.float64 else q.float() * scale


@dataclass(frozen=True)
class Linear:
    """A product of quantized operands, whose cotangent is quantized to 5 bits of exponent."""

    dtype: Any
    axis: int | None

    def forward(self, c: Choices, x: Any, w: Any) -> tuple[Any, Tensors]:
        """Save the quantized operands."""
        del c
        saved = *quantized(x, self.dtype, self.axis), *quantized(w, self.dtype, self.axis)
        return (widened(*saved[:2]) @ widened(*saved[2:]).T).to(x.dtype), saved

    def backward(self, c: Choices, g: Any, *saved: Any) -> Tensors:
        """Multiply with the quantized operands."""
        g = widened(*quantized(g, torch.float8_e5m2, self.axis))
        x, w = widened(*saved[:2]), saved[2].float() if c.fault == "scale" else widened(*saved[2:])
        return c.matmul(g, w), c.matmul(g.T, x)


@dataclass(frozen=True)
class Others:
    """Kernels that round to a dtype of 8 bits."""

    dtype: Any

    def swiglu_forward(self, c: Choices, a: Any, b: Any) -> tuple[Any, Tensors]:
        """Save the quantized inputs."""
        y = torch.nn.functional.silu(c.up(a)) * c.up(b)
        return y.to(a.dtype), (*quantized(a, self.dtype, -1), *quantized(b, self.dtype, -1))

    def swiglu_backward(self, c: Choices, g: Any, *saved: Any) -> Tensors:
        """Compute the sigmoid again."""
        a, b, g = widened(*saved[:2]), widened(*saved[2:]), g.float()
        s = torch.sigmoid(a)
        return g * b * (s if c.fault == "product rule" else s + a * s * (1 - s)), g * (a * s)

    def norm_forward(self, c: Choices, x: Any, w: Any) -> tuple[Any, Tensors]:
        """Save the quantized normalized rows."""
        up = c.up(x)
        r = torch.rsqrt(up.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (up * r * c.up(w)).to(x.dtype), (*quantized(up * r, self.dtype, -1), w, c.keep(r, x.dtype))

    def norm_backward(self, c: Choices, g: Any, *saved: Any) -> Tensors:
        """Use the quantized normalized rows."""
        y, w, r = widened(*saved[:2]), saved[2].float(), saved[3].float()
        gw = g.float() * w
        dx = gw if c.fault == "rank one" else gw - y * c.mean(gw * y, -1)
        return r * dx, c.sum(g.float() * y, 0)

    def attention_forward(self, c: Choices, *inputs: Any) -> tuple[Any, Tensors]:
        """Save the quantized queries, keys and values."""
        del c
        saved = tuple(part for x in inputs for part in quantized(x, self.dtype))
        q, k, v = (widened(*saved[i : i + 2]) for i in (0, 2, 4))
        p = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
        return (p @ v).to(inputs[0].dtype), saved

    def attention_backward(self, c: Choices, g: Any, *saved: Any) -> Tensors:
        """Compute the probabilities again."""
        q, k, v = (widened(*saved[i : i + 2]) for i in (0, 2, 4))
        g, root = g.float(), q.shape[-1] ** -0.5
        p = torch.softmax(q @ k.transpose(-1, -2) * root, -1)
        dp = g @ v.transpose(-1, -2)
        ds = p * (dp - c.sum(dp * p, -1, keepdim=True)) * (1 if c.fault == "temperature" else root)
        return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g

    def embedding_forward(self, c: Choices, w: Any) -> tuple[Any, Tensors]:
        """Return rows of a quantized table."""
        del c
        return widened(*quantized(w, self.dtype, -1))[targets(96, len(w))].to(w.dtype), (torch.empty(w.shape),)

    def embedding_backward(self, c: Choices, g: Any, like: Any) -> Tensors:
        """Add the rows of the quantized cotangent."""
        del c
        g = widened(*quantized(g, torch.float8_e5m2, -1))
        return (torch.zeros_like(like).index_add(0, targets(96, len(like)), g),)


def kernels_of(dtype: Any) -> dict[str, Kernel]:
    """Return the kernels that round to a dtype of 8 bits."""
    plain, by_row, own = Linear(dtype, None), Linear(dtype, -1), Others(dtype)
    return {
        "linear": Kernel(((32, 48), (64, 48)), plain.forward, plain.backward, ("scale",)),
        "linear by row": Kernel(((32, 48), (64, 48)), by_row.forward, by_row.backward, ("scale",)),
        "SwiGLU": Kernel(((16, 64), (16, 64)), own.swiglu_forward, own.swiglu_backward, ("product rule",)),
        "RMSNorm": Kernel(((16, 64), (64,)), own.norm_forward, own.norm_backward, ("rank one",)),
        "attention": Kernel(((4, 16, 8),) * 3, own.attention_forward, own.attention_backward, ("temperature",)),
        "embedding": Kernel(((12, 48),), own.embedding_forward, own.embedding_backward),
    }


EIGHT_BITS: Mapping[str, Kernel] = MappingProxyType({
    f"{name}, {str(dtype)[13:]}": kernel
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
    for name, kernel in kernels_of(dtype).items()
})
"""The kernels by their names, which end with the dtype of 8 bits."""
