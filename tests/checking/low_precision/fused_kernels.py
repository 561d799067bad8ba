"""Further backwards of kernels in 16 bits: normalizations, losses, linear layers, attention, convolution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.checking.low_precision.kernels import Choices, Kernel, Tensors, targets, torch

EPSILON = 1e-5
SMOOTHING = 0.1
TEMPERATURE = 2.0
CAP = 4.0
GROUPS = 4


def working(c: Choices, low: Any, *tensors: Any) -> list[Any]:
    """Return saved tensors in the precision of the computation."""
    return [x.float() if c.inside == "float32" else x.to(low) for x in tensors]


def add_norm_forward(c: Choices, x: Any, r: Any, w: Any) -> tuple[Any, Tensors]:
    """Return the normalized sum of x and a residual, and the sum."""
    h = (c.up(x) + c.up(r)).to(x.dtype)
    up = c.up(h)
    s = torch.rsqrt(up.pow(2).mean(-1, keepdim=True) + EPSILON)
    return ((up * s * c.up(w)).to(x.dtype), h), (h, w, c.keep(s, x.dtype))


def add_norm_backward(c: Choices, g: Any, gh: Any, *saved: Any) -> Tensors:
    """Add the gradient of the residual stream to that of the normalization."""
    g, gh, h, w, s = working(c, g.dtype, g, gh, *saved)
    y, gw = h * s, g * w
    inner = c.mean(gw * y, -1)
    dh = gh + s * (gw if c.fault == "rank one" else gw - y * inner)
    return (dh if c.fault != "residual" else dh - gh), dh, c.sum(g * y, 0)


def group_norm_forward(c: Choices, x: Any, w: Any, b: Any) -> tuple[Any, Tensors]:
    """Return channels normalized in groups, scaled and shifted."""
    up = c.up(x).reshape(len(x), GROUPS, -1)
    mu = up.mean(-1, keepdim=True)
    s = torch.rsqrt((up - mu).pow(2).mean(-1, keepdim=True) + EPSILON)
    y = ((up - mu) * s).reshape(x.shape) * c.up(w)[:, None] + c.up(b)[:, None]
    return y.to(x.dtype), (x, w, c.keep(mu, x.dtype), c.keep(s, x.dtype))


def group_norm_backward(c: Choices, g: Any, *saved: Any) -> Tensors:
    """Subtract the mean and the projection within each group."""
    g, x, w, mu, s = working(c, g.dtype, g, *saved)
    y = (x.reshape(len(x), GROUPS, -1) - mu) * s
    gw = (g * w[:, None]).reshape(y.shape)
    dx = gw if c.fault == "mean" else gw - c.mean(gw, -1)
    dx = s * (dx - y * c.mean(gw * y, -1))
    parts = (g * y.reshape(x.shape), g)
    return dx.reshape(x.shape), *(c.sum(part.transpose(1, 2).flatten(0, 1), 0) for part in parts)


def normalize_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return rows of length 1."""
    s = torch.rsqrt(c.up(x).pow(2).sum(-1, keepdim=True))
    return (c.up(x) * s).to(x.dtype), (x, c.keep(s, x.dtype))


def normalize_backward(c: Choices, g: Any, x: Any, s: Any) -> Tensors:
    """Project on what is orthogonal to the row."""
    g, x, s = working(c, x.dtype, g, x, s)
    y = x * s
    return (s * (g if c.fault == "rank one" else g - y * c.sum(g * y, -1, keepdim=True)),)


def shares(x: Any) -> Any:
    """Return a target in (0, 1) for each entry, or of sum 1 in each row."""
    return torch.sigmoid(torch.sin(torch.arange(x.numel(), dtype=torch.float64))).reshape(x.shape).float()


def binary_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return the binary cross-entropy with logits."""
    up = c.up(x)
    return torch.nn.functional.binary_cross_entropy_with_logits(up, shares(x).to(up.dtype)), (x,)


def binary_backward(c: Choices, g: Any, x: Any) -> Tensors:
    """Subtract the targets from the probabilities."""
    up, g = working(c, x.dtype, x, g)
    count = x.shape[0] if c.fault == "count" else x.numel()
    return (g * ((torch.sigmoid(up) - shares(x).to(up.dtype)) / count),)


def smoothed_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return the cross-entropy with smoothed labels."""
    up = c.up(x)
    loss = torch.nn.functional.cross_entropy(up, targets(*x.shape), label_smoothing=SMOOTHING)
    return loss, (x, c.keep(torch.logsumexp(up.detach(), -1, keepdim=True), x.dtype))


def smoothed_backward(c: Choices, g: Any, x: Any, lse: Any) -> Tensors:
    """Subtract the smoothed labels from the probabilities."""
    up, g, lse = working(c, x.dtype, x, g, lse)
    rows, classes = x.shape
    labels = torch.nn.functional.one_hot(targets(rows, classes), classes).to(up.dtype)
    labels = labels if c.fault == "smoothing" else (1 - SMOOTHING) * labels + SMOOTHING / classes
    return (g * ((torch.exp(up - lse) - labels) / rows),)


def distillation_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return the divergence of a student from a teacher, with a temperature."""
    up = c.up(x)
    teacher = torch.softmax(shares(x), -1).to(up.dtype)
    log = torch.log_softmax(up / TEMPERATURE, -1)
    loss = (teacher * (teacher.log() - log)).sum() * TEMPERATURE**2 / len(x)
    return loss, (x, c.keep(torch.exp(log.detach()), x.dtype))


def distillation_backward(c: Choices, g: Any, x: Any, p: Any) -> Tensors:
    """Use the saved probabilities."""
    g, p = working(c, x.dtype, g, p)
    factor = (1.0 if c.fault == "temperature" else TEMPERATURE) / len(x)
    return (g * factor * (p - torch.softmax(shares(x), -1).to(p.dtype)),)


def linear_gelu_forward(c: Choices, x: Any, w: Any, b: Any) -> tuple[Any, Tensors]:
    """Return gelu(x wᵀ + b)."""
    z = torch.addmm(c.up(b), c.up(x), c.up(w).T) if c.fused else c.up(x) @ c.up(w).T + c.up(b)
    return torch.nn.functional.gelu(z).to(x.dtype), (x, w, c.keep(z, x.dtype))


def linear_gelu_backward(c: Choices, g: Any, x: Any, w: Any, z: Any) -> Tensors:
    """Use what is saved before the activation."""
    g, x, w, z = working(c, x.dtype, g, x, w, z)
    density = torch.exp(-0.5 * z * z) * c.constant(1 / math.sqrt(2 * math.pi), z)
    below = 0.5 * (1 + torch.erf(z * c.constant(1 / math.sqrt(2), z)))
    slope = torch.addcmul(below, z, density) if c.fused else below + z * density
    dz = g * (below if c.fault == "product rule" else slope)
    return dz @ w, dz.T @ x, c.sum(dz, 0)


def adapter_forward(c: Choices, x: Any, a: Any, b: Any) -> tuple[Any, Tensors]:
    """Return the product with two matrices of low rank, times two."""
    h = c.up(x) @ c.up(a).T
    return (2 * (h @ c.up(b).T)).to(x.dtype), (x, a, b, c.keep(h, x.dtype))


def adapter_backward(c: Choices, g: Any, *saved: Any) -> Tensors:
    """Use the saved product of low rank."""
    g, x, a, b, h = working(c, g.dtype, g, *saved)
    dh = (1 if c.fault == "factor" else 2) * (g @ b)
    return dh @ a, dh.T @ x, 2 * (g.T @ h)


def capped_forward(c: Choices, q: Any, k: Any, v: Any) -> tuple[Any, Tensors]:
    """Return causal attention whose scores are bounded by a hyperbolic tangent."""
    scores = c.up(q) @ c.up(k).transpose(-1, -2) * q.shape[-1] ** -0.5
    scores = CAP * torch.tanh(scores / CAP)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    p = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    return (p @ c.up(v)).to(q.dtype), (q, k, v, c.keep(p, q.dtype))


def capped_backward(c: Choices, g: Any, *saved: Any) -> Tensors:
    """Use the saved probabilities, and compute the scores again."""
    g, q, k, v, p = working(c, g.dtype, g, *saved)
    scale = q.shape[-1] ** -0.5
    t = torch.tanh(q @ k.transpose(-1, -2) * scale / CAP)
    dp = g @ v.transpose(-1, -2)
    ds = p * (dp - c.sum(dp * p, -1, keepdim=True)) * scale
    ds = ds if c.fault == "cap" else ds * (1 - t * t)
    return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


def windows(x: Any, width: int) -> Any:
    """Return the entries from which each position of a causal convolution is computed, along a new last axis."""
    return torch.nn.functional.pad(x, (width - 1, 0)).unfold(-1, width, 1)


def causal_forward(c: Choices, x: Any, w: Any) -> tuple[Any, Tensors]:
    """Return silu of a causal convolution of each channel by itself."""
    z = (windows(c.up(x), w.shape[-1]) * c.up(w)[:, None]).sum(-1)
    return torch.nn.functional.silu(z).to(x.dtype), (x, w)


def causal_backward(c: Choices, g: Any, x: Any, w: Any) -> Tensors:
    """Compute the convolution again, and run it backward in time."""
    g, x, w = working(c, x.dtype, g, x, w)
    width = w.shape[-1]
    z = c.sum(windows(x, width) * w[:, None], -1)
    s = torch.sigmoid(z)
    dz = g * (s if c.fault == "product rule" else s + z * s * (1 - s))
    later = torch.nn.functional.pad(dz, (0, width - 1)).unfold(-1, width, 1)
    return c.sum(later * w.flip(-1)[:, None], -1), (windows(x, width) * dz[..., None]).sum((0, 2))


FUSED: Mapping[str, Kernel] = MappingProxyType({
    "add + RMSNorm": Kernel(
        ((8, 32), (8, 32), (32,)), add_norm_forward, add_norm_backward, ("rank one", "residual")
    ),
    "GroupNorm": Kernel(((4, 8, 12), (8,), (8,)), group_norm_forward, group_norm_backward, ("mean",)),
    "normalize": Kernel(((8, 32),), normalize_forward, normalize_backward, ("rank one",)),
    "binary cross-entropy": Kernel(((16, 16),), binary_forward, binary_backward, ("count",)),
    "smoothed labels": Kernel(((16, 16),), smoothed_forward, smoothed_backward, ("smoothing",)),
    "distillation": Kernel(((8, 32),), distillation_forward, distillation_backward, ("temperature",)),
    "linear + GELU": Kernel(
        ((16, 24), (12, 24), (12,)), linear_gelu_forward, linear_gelu_backward, ("product rule",)
    ),
    "LoRA": Kernel(((16, 24), (4, 24), (12, 4)), adapter_forward, adapter_backward, ("factor",)),
    "capped attention": Kernel(((2, 8, 8), (2, 8, 8), (2, 8, 8)), capped_forward, capped_backward, ("cap",)),
    "causal convolution": Kernel(((4, 6, 16), (6, 4)), causal_forward, causal_backward, ("product rule",)),
})  # fmt: skip
"""The kernels by their names."""
