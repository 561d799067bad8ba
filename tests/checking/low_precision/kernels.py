"""Backwards of kernels in low precision, right ones with varied legitimate choices, and faults of them.

They are written after what kernel libraries do: the forward consists of operators of PyTorch, the backward is by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

Tensors = tuple[Any, ...]


@dataclass(frozen=True)
class Choices:
    """What a kernel computes in, what it saves, how it sums, whether its operators are hidden, and its fault.

    ``inside`` and ``saved`` are ``float32`` or ``low``, the dtype of the inputs. ``order`` is that of sums: ``plain``,
    ``reversed`` or ``chunks``. Products are added in one operator if they are ``fused``. ``constants`` are ``exact`` or
    ``rounded`` to bfloat16.
    """

    inside: str = "float32"
    saved: str = "float32"
    order: str = "plain"
    hidden: bool = False
    fault: str = ""
    fused: bool = False
    constants: str = "exact"

    def up(self, x: Any) -> Any:
        """Return a tensor in the precision of the computation."""
        return x.float() if self.inside == "float32" else x

    def keep(self, x: Any, low: Any) -> Any:
        """Return a statistic as it is saved."""
        return x.float() if self.saved == "float32" else x.to(low)

    def sum(self, x: Any, axis: int, *, keepdim: bool = False) -> Any:
        """Return a sum along an axis in some order."""
        if self.fault == "accumulate" and axis == 0:
            total = torch.zeros_like(x[0], dtype=torch.bfloat16)
            for part in x:
                total = (total + part.to(torch.bfloat16)).to(torch.bfloat16)
            return total.to(x.dtype)[None] if keepdim else total.to(x.dtype)
        if self.order == "reversed":
            x = x.flip(axis)
        if self.order == "chunks":
            return sum(part.float().sum(axis, keepdim=keepdim) for part in x.chunk(4, axis)).to(x.dtype)
        return x.sum(axis, keepdim=keepdim)

    def matmul(self, x: Any, y: Any) -> Any:
        """Return a product of matrices, whose terms are added in some order."""
        if self.order == "reversed":
            return x.flip(-1) @ y.flip(-2)
        if self.order == "chunks":
            return sum(a @ b for a, b in zip(x.chunk(4, -1), y.chunk(4, -2), strict=True))
        return x @ y

    def constant(self, number: float, like: Any) -> Any:
        """Return a constant of the dtype of a tensor."""
        if self.constants == "rounded":
            return torch.tensor(number).to(torch.bfloat16).to(like.dtype)
        return torch.tensor(number, dtype=like.dtype)

    def mean(self, x: Any, axis: int) -> Any:
        """Return a mean along an axis, which is kept."""
        return self.sum(x, axis, keepdim=True) / x.shape[axis]


@dataclass(frozen=True)
class Kernel:
    """A forward, which returns the output and what it saves, and a backward; shapes of the inputs, and own faults."""

    shapes: tuple[tuple[int, ...], ...]
    forward: Callable[..., tuple[Any, Tensors]]
    backward: Callable[..., Tensors]
    faults: tuple[str, ...] = ()


def swiglu_forward(c: Choices, a: Any, b: Any) -> tuple[Any, Tensors]:
    """Return silu(a) b."""
    return (torch.nn.functional.silu(c.up(a)) * c.up(b)).to(a.dtype), (a, b)


def swiglu_backward(c: Choices, g: Any, a: Any, b: Any) -> Tensors:
    """Compute the sigmoid again."""
    a, b, g = c.up(a), c.up(b), c.up(g)
    s = torch.sigmoid(a)
    return g * b * (s + a * s * (1 - s)), g * (a * s)


def geglu_forward(c: Choices, a: Any, b: Any) -> tuple[Any, Tensors]:
    """Return gelu(a) b with the approximation by tanh."""
    return (torch.nn.functional.gelu(c.up(a), approximate="tanh") * c.up(b)).to(a.dtype), (a, b)


def geglu_backward(c: Choices, g: Any, a: Any, b: Any) -> Tensors:
    """Compute the hyperbolic tangent again, with constants of float32 or rounded."""
    a, b, g = c.up(a), c.up(b), c.up(g)
    factor, cubic = c.constant(0.7978845608, a), c.constant(0.044715, a)
    t = torch.tanh(factor * (a + cubic * a * a * a))
    slope = 0.5 * (1 + t) + 0.5 * a * (1 - t * t) * factor * (1 + 3 * cubic * a * a)
    return g * b * slope, g * (0.5 * a * (1 + t))


def rms_forward(c: Choices, x: Any, w: Any) -> tuple[Any, Tensors]:
    """Return x w / the root mean square of the row."""
    up = c.up(x)
    r = torch.rsqrt(up.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (up * r * c.up(w)).to(x.dtype), (x, w, c.keep(r, x.dtype))


def rms_backward(c: Choices, g: Any, x: Any, w: Any, r: Any) -> Tensors:
    """Use the saved inverse root mean square."""
    low = x.dtype
    x, w, g, r = c.up(x), c.up(w), c.up(g), c.up(r) if c.inside == "float32" else r.to(low)
    y, gw = x * r, g * w
    inner = c.mean(gw * y, -1)
    return r * (gw if c.fault == "rank one" else gw - y * inner), c.sum(g * y, 0)


def layer_norm_forward(c: Choices, x: Any, w: Any, b: Any) -> tuple[Any, Tensors]:
    """Return the normalized rows, scaled and shifted."""
    up = c.up(x)
    mu = up.mean(-1, keepdim=True)
    r = torch.rsqrt((up - mu).pow(2).mean(-1, keepdim=True) + 1e-5)
    return ((up - mu) * r * c.up(w) + c.up(b)).to(x.dtype), (x, w, c.keep(mu, x.dtype), c.keep(r, x.dtype))


def layer_norm_backward(c: Choices, g: Any, *saved: Any) -> Tensors:
    """Use the saved statistics."""
    x, w, mu, r = saved
    low = x.dtype
    x, w, g = c.up(x), c.up(w), c.up(g)
    mu, r = (c.up(each) if c.inside == "float32" else each.to(low) for each in (mu, r))
    y, gw = (x - mu) * r, g * w
    dx = gw
    if c.fault != "mean":
        dx = dx - c.mean(gw, -1)
    if c.fault != "rank one":
        dx = dx - y * c.mean(gw * y, -1)
    return r * dx, c.sum(g * y, 0), c.sum(g, 0)


def softmax_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return the softmax of each row."""
    y = torch.softmax(c.up(x), -1)
    return y.to(x.dtype), (c.keep(y, x.dtype),)


def softmax_backward(c: Choices, g: Any, y: Any) -> Tensors:
    """Use the saved output."""
    g, y = c.up(g), c.up(y) if c.inside == "float32" else y.to(g.dtype)
    return (y * g if c.fault == "rank one" else y * (g - c.sum(g * y, -1, keepdim=True)),)


def targets(count: int, classes: int) -> Any:
    """Return the classes of some rows."""
    return (torch.arange(count) * 7 + 3) % classes


def cross_entropy_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Return the mean over the rows that are not ignored."""
    t = targets(*x.shape)
    t[::5] = -100
    up = c.up(x)
    loss = torch.nn.functional.cross_entropy(up, t)
    return loss, (x, c.keep(torch.logsumexp(up.detach(), -1, keepdim=True), x.dtype))


def cross_entropy_backward(c: Choices, g: Any, x: Any, lse: Any) -> Tensors:
    """Use the saved logarithm of the sum."""
    rows, classes = x.shape
    kept = torch.arange(rows) % 5 != 0
    p = torch.exp(c.up(x) - (c.up(lse) if c.inside == "float32" else lse.to(x.dtype)))
    p = p - torch.nn.functional.one_hot(targets(rows, classes), classes).to(p.dtype)
    return (c.up(g) * (p / (rows if c.fault == "count" else int(kept.sum()))) * kept[:, None].to(p.dtype),)


def linear_cross_entropy_forward(c: Choices, x: Any, w: Any) -> tuple[Any, Tensors]:
    """Return the loss of logits x wᵀ, whose gradient is computed at once."""
    logits = c.up(x) @ c.up(w).T
    loss = torch.nn.functional.cross_entropy(logits, targets(len(x), len(w)))
    p = torch.softmax(logits.detach(), -1) - torch.nn.functional.one_hot(targets(len(x), len(w)), len(w))
    return loss, (x, w, c.keep(p / len(x), x.dtype))


def linear_cross_entropy_backward(c: Choices, g: Any, x: Any, w: Any, p: Any) -> Tensors:
    """Multiply what was computed in the forward."""
    p = (c.up(p) if c.inside == "float32" else p.to(x.dtype)) * g.to(x.dtype if c.inside == "low" else torch.float32)
    return p @ c.up(w), p.T @ c.up(x)


def rope_tables(c: Choices, x: Any) -> Tensors:
    """Return cosines and sines of the angles, rounded if they are saved so."""
    length, width = x.shape[-2:]
    angles = torch.arange(length)[:, None] * 10.0 ** (-torch.arange(width // 2) / 4)
    return c.keep(torch.cos(angles), x.dtype), c.keep(torch.sin(angles), x.dtype)


def rope_forward(c: Choices, x: Any) -> tuple[Any, Tensors]:
    """Rotate pairs of entries by angles that grow with the position."""
    cos, sin = (each.to(c.up(x).dtype) for each in rope_tables(c, x))
    one, two = c.up(x).chunk(2, -1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], -1).to(x.dtype), (x,)


def rope_backward(c: Choices, g: Any, x: Any) -> Tensors:
    """Rotate back."""
    cos, sin = (each.to(c.up(x).dtype) for each in rope_tables(c, x))
    one, two = c.up(g).chunk(2, -1)
    return (torch.cat([one * cos + two * sin, two * cos - one * sin], -1),)


def attention_forward(c: Choices, q: Any, k: Any, v: Any) -> tuple[Any, Tensors]:
    """Return attention in which two heads share keys and values."""
    repeated = [c.up(each).repeat_interleave(2, 0) for each in (k, v)]
    scores = c.up(q) @ repeated[0].transpose(-1, -2) * q.shape[-1] ** -0.5
    p = torch.softmax(scores, -1)
    out = (p @ repeated[1]).to(q.dtype)
    return out, (q, k, v, out, c.keep(torch.logsumexp(scores.detach(), -1, keepdim=True), torch.float32))


def attention_backward(c: Choices, g: Any, *saved: Any) -> Tensors:
    """Compute the probabilities again."""
    q, k, v, out, lse = saved
    scale = q.shape[-1] ** -0.5
    q, g, out = c.up(q), c.up(g), c.up(out)
    kk, vv = (c.up(each).repeat_interleave(2, 0) for each in (k, v))
    p = torch.exp((q @ kk.transpose(-1, -2)).float() * scale - lse).to(q.dtype)
    dp = g @ vv.transpose(-1, -2)
    delta = c.sum(g * out, -1, keepdim=True)
    ds = p * (dp if c.fault == "rank one" else dp - delta) * (1 if c.fault == "temperature" else scale)
    dk, dv = (each.unflatten(0, (-1, 2)).sum(1) for each in (ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g))
    return ds @ kk, dk, dv


def routing_forward(c: Choices, x: Any, h: Any) -> tuple[Any, Tensors]:
    """Return the sum of the outputs of the two likeliest experts, weighted by their probabilities."""
    p, chosen = torch.softmax(c.up(x), -1).topk(2, -1)
    picked = c.up(h).gather(1, chosen[..., None].expand(-1, -1, h.shape[-1]))
    return (p[..., None] * picked).sum(1).to(x.dtype), (x, h, chosen)


def routing_backward(c: Choices, g: Any, x: Any, h: Any, chosen: Any) -> Tensors:
    """Scatter to the experts that were chosen."""
    g, full = c.up(g), torch.softmax(c.up(x), -1)
    index = chosen[..., None].expand(-1, -1, h.shape[-1])
    dp = torch.zeros_like(full).scatter(1, chosen, c.sum(g[:, None] * c.up(h).gather(1, index), -1))
    dx = full * (dp if c.fault == "rank one" else dp - c.sum(dp * full, -1, keepdim=True))
    dh = torch.zeros_like(c.up(h)).scatter(1, index, full.gather(1, chosen)[..., None] * g[:, None])
    return dx, dh


def embedding_forward(c: Choices, w: Any) -> tuple[Any, Tensors]:
    """Return rows of a table."""
    del c
    return w[targets(96, len(w))], (w,)


def embedding_backward(c: Choices, g: Any, w: Any) -> Tensors:
    """Add the rows in float32, or in the dtype of the inputs if the kernel does so."""
    total = torch.zeros_like(w, dtype=torch.float32)
    return (total.index_add(0, targets(96, len(w)), g.float()).to(c.up(w).dtype),)


def conv_forward(c: Choices, x: Any, w: Any, b: Any) -> tuple[Any, Tensors]:
    """Return a convolution with a bias."""
    return torch.nn.functional.conv1d(c.up(x), c.up(w), c.up(b), padding=1).to(x.dtype), (x, w)


def conv_backward(c: Choices, g: Any, x: Any, w: Any) -> Tensors:
    """Use the transposed convolution and one over windows."""
    g, x, w = c.up(g), c.up(x), c.up(w)
    windows = torch.nn.functional.pad(x, (1, 1)).unfold(-1, 3, 1)
    dw = torch.einsum("bol,bilk->oik", g, windows)
    return torch.nn.functional.conv_transpose1d(g, w, padding=1), dw, c.sum(g.transpose(1, 2).flatten(0, 1), 0)


def quantized_forward(c: Choices, x: Any, s: Any) -> tuple[Any, Tensors]:
    """Return a product with integers of 8 bits, scaled by row."""
    q = (torch.arange(s.shape[0] * x.shape[-1]) * 37 % 255 - 127).reshape(s.shape[0], -1).to(c.up(x).dtype)
    return (c.up(x) @ (q * c.up(s)).T).to(x.dtype), (x, s, q)


def quantized_backward(c: Choices, g: Any, x: Any, s: Any, q: Any) -> Tensors:
    """Scale the weights again."""
    g = c.up(g)
    return g @ (q * c.up(s)), c.sum(c.sum(g[:, :, None] * q[None] * c.up(x)[:, None], -1), 0)[:, None]


def bias_forward(c: Choices, x: Any, b: Any) -> tuple[Any, Tensors]:
    """Return x + b."""
    return (c.up(x) + c.up(b)).to(x.dtype), ()


def bias_backward(c: Choices, g: Any) -> Tensors:
    """Sum over the rows."""
    return c.up(g), c.sum(c.up(g), 0)


KERNELS: Mapping[str, Kernel] = MappingProxyType({
    "SwiGLU": Kernel(((4, 32), (4, 32)), swiglu_forward, swiglu_backward),
    "GeGLU": Kernel(((4, 32), (4, 32)), geglu_forward, geglu_backward),
    "RMSNorm": Kernel(((8, 32), (32,)), rms_forward, rms_backward, ("rank one",)),
    "LayerNorm": Kernel(((8, 32), (32,), (32,)), layer_norm_forward, layer_norm_backward, ("mean", "rank one")),
    "softmax": Kernel(((8, 32),), softmax_forward, softmax_backward, ("rank one",)),
    "cross-entropy": Kernel(((16, 16),), cross_entropy_forward, cross_entropy_backward, ("count",)),
    "linear + cross-entropy": Kernel(((16, 24), (12, 24)), linear_cross_entropy_forward, linear_cross_entropy_backward),
    "RoPE": Kernel(((2, 8, 16),), rope_forward, rope_backward),
    "GQA attention": Kernel(
        ((4, 8, 8), (2, 8, 8), (2, 8, 8)), attention_forward, attention_backward, ("rank one", "temperature")
    ),
    "MoE routing": Kernel(((24, 6), (24, 6, 8)), routing_forward, routing_backward, ("rank one",)),
    "embedding": Kernel(((12, 16),), embedding_forward, embedding_backward),
    "convolution": Kernel(((4, 3, 16), (6, 3, 3), (6,)), conv_forward, conv_backward),
    "quantized linear": Kernel(((16, 16), (12, 1)), quantized_forward, quantized_backward),
    "bias": Kernel(((512, 16), (16,)), bias_forward, bias_backward, ("accumulate",)),
})  # fmt: skip
"""The kernels by their names."""

SCALES = {"x 1.01": 1.01, "x 1.03": 1.03, "x 1.1": 1.1, "sign": -1.0, "zeros": 0.0}
"""Factors of the gradient."""

FAULTS = (*SCALES, "one row", "one block", "one entry", "constant", "tail")
"""Faults of the gradient of the first input that every kernel may have.

Rows and blocks are 10 % off. One entry, or the last eighth of the entries, is zero. The constant is 3 % of a typical
entry.
"""


def spoiled(gradient: Any, fault: str) -> Any:
    """Return the gradient of the first input with a fault, before it is rounded."""
    if fault in SCALES:
        return gradient * SCALES[fault]
    gradient = gradient.clone(memory_format=torch.contiguous_format)
    if fault == "one row":
        gradient[gradient.shape[0] // 2] *= 1.1
    if fault == "one block":
        gradient[..., : gradient.shape[-1] // 4] *= 1.1
    if fault == "one entry":
        gradient.view(-1)[gradient.abs().argmax()] = 0
    if fault == "constant":
        gradient += 0.03 * gradient.float().pow(2).mean().sqrt().to(gradient.dtype)
    if fault == "tail":
        gradient.view(-1)[-(gradient.numel() // 8) :] = 0
    return gradient


def function_of(kernel: Kernel, choices: Choices) -> Callable[..., Any]:
    """Return a kernel as a function of tensors."""

    class Function(torch.autograd.Function):  # type: ignore[misc]
        """The kernel."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            """Save what the kernel saves."""
            output, saved = kernel.forward(choices, *inputs)
            ctx.save_for_backward(*saved)
            ctx.dtypes = [x.dtype for x in inputs]
            return output

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            """Round the gradients at the end."""
            hide = torch.utils._python_dispatch._disable_current_modes  # noqa: SLF001 (what it has for that)
            with hide() if choices.hidden else nullcontext():
                first, *others = kernel.backward(choices, *cotangents, *ctx.saved_tensors)
                found = (spoiled(first, choices.fault), *others)
                return tuple(g.to(dtype) for g, dtype in zip(found, ctx.dtypes, strict=True))

    return Function.apply  # type: ignore[no-any-return]


def inputs_of(kernel: Kernel, dtype: Any, seed: int) -> Tensors:
    """Return random inputs."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(s, generator=generator).to(dtype).requires_grad_() for s in kernel.shapes)
