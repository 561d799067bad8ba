"""Wrong backwards of many kinds, each with what a hint about it must contain unless there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function whose gradient is wrong, its inputs, and a pattern of the hints that are right."""

    name: str
    function: Rule
    inputs: tuple[Any, ...]
    hint: str


def own(forward: Rule, backward: Rule) -> Rule:
    """Return a function with a backward that takes the cotangent and the inputs."""

    def run(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, torch.Tensor)))
        return forward(*inputs)

    def back(ctx: Any, *cotangents: Any) -> Any:
        return backward(*cotangents, *ctx.saved_tensors)

    members = {"forward": staticmethod(run), "backward": staticmethod(back)}
    rule: Rule = type("Own", (torch.autograd.Function,), members).apply  # type: ignore[attr-defined]
    return rule


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    """Return normal numbers that require a gradient, none of which is nearer to 0 than a twentieth."""
    drawn = np.random.default_rng([seed, *shape]).normal(size=shape)
    drawn = np.where(np.abs(drawn) < 0.05, 0.3, drawn)
    return torch.tensor(drawn).to(getattr(torch, dtype)).requires_grad_()


def positive(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    """Return numbers between 0.4 and 1.6 that require a gradient."""
    drawn = np.random.default_rng([seed, *shape]).uniform(0.4, 1.6, shape)
    return torch.tensor(drawn).to(getattr(torch, dtype)).requires_grad_()


def indices(*values: int) -> Any:
    """Return indices."""
    return torch.tensor(values)


def weights(n: int) -> Any:
    """Return fixed weights, none of which is a round number."""
    return torch.linspace(0.37, 1.93, n, dtype=torch.float64)


def in_float32(rule: Rule) -> Rule:
    """Return a rule whose result is rounded to float32."""

    def rounded(*arguments: Any) -> Any:
        return rule(*arguments).float().double()

    return rounded


def saved(forward: Rule, change: Rule, backward: Rule) -> Rule:
    """Return a function that keeps its input in an attribute and changes that after use."""

    class Saved(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.kept = x.detach().clone()
            y = forward(ctx.kept)
            change(ctx.kept)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, ctx.kept)

    return Saved.apply  # type: ignore[no-any-return]


def scratch() -> Rule:
    """Return a function that keeps its input in a buffer of all calls, which the backward changes."""
    buffer = {}

    class Scratch(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            del ctx
            buffer["x"] = x.detach().clone()
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            del ctx
            result = 2 * g * buffer["x"]
            buffer["x"] *= 2
            return result

    return Scratch.apply  # type: ignore[no-any-return]


# Shapes of mistakes


def overwritten(g: Any, index: Any, rows: int) -> Any:
    """Return rows in which the last of several contributions is kept."""
    result = torch.zeros(rows, *g.shape[1:], dtype=g.dtype)
    for at, row in zip(index.tolist(), g, strict=True):
        result[at] = row
    return result


def without(x: Any, start: int, stop: int | None = None, axis: int = 0) -> Any:
    """Return a tensor with zeros at some indices of an axis."""
    result = x.clone()
    result.movedim(axis, 0)[start:stop] = 0
    return result


def times(x: Any, factor: float, index: int, axis: int = 0) -> Any:
    """Return a tensor with an index of an axis multiplied by a factor."""
    result = x.clone()
    result.movedim(axis, 0)[index] *= factor
    return result


def bare(tensor: Any) -> Any:
    """Return what a kernel reads that takes memory for contiguous."""
    held = tensor.untyped_storage().nbytes() // tensor.element_size()
    return (
        torch.as_strided(tensor, tensor.shape, torch.empty(tensor.shape).stride()) if held >= tensor.numel() else tensor
    )


def normed(x: Any) -> Any:
    """Layer norm."""
    return (x - x.mean(-1, keepdim=True)) * deviation(x)


def deviation(x: Any) -> Any:
    """Inverse standard deviation of each row."""
    return (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()


def rms(x: Any) -> Any:
    """Inverse root mean square of each row."""
    return (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def norm_gradient(g: Any, x: Any, *, mean: float = 1, slope: float = 1, scale: float = 1) -> Any:
    """Return the gradient of layer norm, whose terms may be left out."""
    y = normed(x)
    inner = g - mean * g.mean(-1, keepdim=True) - slope * y * (g * y).mean(-1, keepdim=True)
    return inner * deviation(x) ** scale


def rms_gradient(g: Any, x: Any, *, slope: float = 1) -> Any:
    """Return the gradient of RMSNorm, whose second term may be left out."""
    y = x * rms(x)
    return (g - slope * y * (g * y).mean(-1, keepdim=True)) * rms(x)


def softmax_gradient(g: Any, x: Any, *, slope: float = 1) -> Any:
    """Return the gradient of softmax, whose second term may be left out."""
    y = x.softmax(-1)
    return y * (g - slope * (g * y).sum(-1, keepdim=True))


def dtypes(name: str, make: Callable[[str], tuple[Rule, tuple[Any, ...]]], hint: str, *of: str) -> list[Wrong]:
    """Return one wrong function in several dtypes."""
    return [Wrong(f"{name}, {dtype}", *make(dtype), hint) for dtype in of]


HALF = "factor of 2"
ARRIVES = "nothing arrives|no gradient arrives"

FACTORS = [
    Wrong("mean as sum", own(lambda x: x.mean(), lambda g, x: g.expand(x.shape)), (normal(7),), "7 times"),
    Wrong(
        "mean of rows as sum",
        own(lambda x: x.mean(1), lambda g, x: g[:, None].expand(x.shape)),
        (normal(4, 5),),
        "5 times too large",
    ),
    Wrong("sum as mean", own(lambda x: x.sum(), lambda g, x: (g / len(x)).expand(x.shape)), (normal(6),), "6 times"),
    Wrong(
        "squares without the 2",
        own(lambda a, b: ((a - b) ** 2).mean(), lambda g, a, b: (g * (a - b) / len(a), g * (b - a) / len(a))),
        (normal(5), normal(5, seed=1)),
        HALF,
    ),
    Wrong(
        "squares without the mean",
        own(lambda a, b: ((a - b) ** 2).mean(), lambda g, a, b: (2 * g * (a - b), 2 * g * (b - a))),
        (normal(8), normal(8, seed=1)),
        "8 times too large",
    ),
    Wrong(
        "without 1/T",
        own(lambda x: (x / 0.7).logsumexp(-1), lambda g, x: g[:, None] * (x / 0.7).softmax(-1)),
        (normal(3, 4),),
        r"0\.7 times",
    ),
    Wrong(
        "without 1/sqrt(d)",
        own(lambda q, k: q @ k.T / 4, lambda g, q, k: (g @ k, g.T @ q)),
        (normal(3, 16), normal(5, 16, seed=1)),
        "4 times",
    ),
    Wrong("three times", own(lambda x: 3 * x.sin(), lambda g, x: g * x.cos()), (normal(4),), "lacks a factor of 3"),
    Wrong("a third of a cube of three", own(lambda x: x**3, lambda g, x: g * x**2), (normal(2, 3),), "factor of 3"),
    Wrong(
        "a thousandth in float32",
        own(lambda x: x**3, lambda g, x: 3.003 * g * x**2),
        (positive(3, dtype="float32"),),
        r"1\.001 times",
    ),
    Wrong("half of a square", own(lambda x: x * x, lambda g, x: g * x), (normal(5),), HALF),
    Wrong("a third of a cube", own(lambda x: x**3, lambda g, x: g * x**2), (normal(5),), "lacks a factor of 3"),
    Wrong("1 % of a square", own(lambda x: x * x, lambda g, x: 2.02 * g * x), (normal(5),), r"1\.01 times"),
    Wrong("one entry, half", own(lambda x: (2 * x).exp(), lambda g, x: g * (2 * x).exp()), (normal(1),), HALF),
    Wrong("a number, three times", own(lambda x: x**3, lambda g, x: g * x**2), (normal(),), "lacks a factor of 3"),
    Wrong(
        "a number that is 2",
        own(lambda x: x**3, lambda g, x: g * 2 * x),
        (torch.tensor(2.0, dtype=torch.float64, requires_grad=True),),
        "silence",
    ),
    Wrong(
        "a square at 1",
        own(lambda x: x**4, lambda g, x: 4 * g * x * 2),
        (torch.ones(3, dtype=torch.float64, requires_grad=True),),
        "silence",
    ),
    Wrong(
        "bias averaged",
        own(lambda x, b: x + b, lambda g, x, b: (g, g.mean(0))),
        (normal(8, 3), normal(3)),
        "input 1 alone is wrong: .*8 times too small",
    ),
    Wrong(
        "unbiased variance",
        own(lambda x: x.var(), lambda g, x: 2 * g * (x - x.mean()) / len(x)),
        (normal(9),),
        r"0\.8889 times|0\.88",
    ),
    Wrong("twice", own(lambda x: x.tanh(), lambda g, x: 2 * g * (1 - x.tanh() ** 2)), (normal(2, 3),), "2 times"),
    *dtypes(
        "mean as sum",
        lambda dtype: (own(lambda x: x.mean(), lambda g, x: g.expand(x.shape)), (normal(64, dtype=dtype),)),
        "64 times too large",
        "float32",
        "bfloat16",
        "float16",
    ),
    *dtypes(
        "mean of 4,096 as sum",
        lambda dtype: (own(lambda x: x.mean(1), lambda g, x: g[:, None] + 0 * x), (normal(64, 64, dtype=dtype),)),
        "64 times too large",
        "float32",
        "float64",
    ),
    *dtypes(
        "a third of a cube",
        lambda dtype: (own(lambda x: x**3, lambda g, x: g * x**2), (positive(48, dtype=dtype),)),
        "lacks a factor of 3",
        "float32",
        "bfloat16",
    ),
    Wrong(
        "5 % in bfloat16",
        own(lambda x: x * x, lambda g, x: 2.1 * g * x),
        (positive(256, dtype="bfloat16"),),
        r"1\.0[45]\d* times the true one",
    ),
]

SIGNS = [
    Wrong("cosine", own(lambda x: x.cos(), lambda g, x: g * x.sin()), (normal(5),), "sign"),
    Wrong("cosine of a number", own(lambda x: x.cos(), lambda g, x: g * x.sin()), (normal(),), "sign"),
    Wrong(
        "difference", own(lambda a, b: a - b, lambda g, a, b: (g, g)), (normal(4), normal(4, seed=1)), "input 1.*sign"
    ),
    Wrong("log(1 - x)", own(lambda x: (2 - x).log(), lambda g, x: g / (2 - x)), (positive(3, 3),), "sign"),
    Wrong("sign of a row", own(lambda x: x.exp(), lambda g, x: times(g * x.exp(), -1, 2)), (normal(5, 6),), "index 2"),
    Wrong(
        "sign of an entry",
        own(lambda x: x.exp(), lambda g, x: times(g * x.exp(), -1, 3)),
        (normal(8),),
        "(entry|index) 3",
    ),
    *dtypes(
        "reciprocal",
        lambda dtype: (own(lambda x: 1 / x, lambda g, x: g / x**2), (positive(40, dtype=dtype),)),
        "sign",
        "float32",
        "bfloat16",
    ),
    *dtypes(
        "cosine of 4,096",
        lambda dtype: (own(lambda x: x.cos(), lambda g, x: g * x.sin()), (normal(4096, dtype=dtype),)),
        "sign",
        "float64",
        "float32",
        "bfloat16",
    ),
]

ORDERS = [
    Wrong(
        "weight transposed",
        own(lambda x, w: x @ w, lambda g, x, w: (g @ w.T, (x.T @ g).T)),
        (normal(3, 4), normal(4, 4, seed=1)),
        "input 1 alone is wrong: .*transposed",
    ),
    Wrong("transpose", own(lambda x: x.T.exp(), lambda g, x: g * x.T.exp()), (normal(5, 5),), "transposed"),
    Wrong(
        "transpose, not square",
        own(lambda x: x.T * 1, lambda g, x: g.reshape(x.shape)),
        (normal(3, 4),),
        "transposed",
    ),
    Wrong("flip", own(lambda x: x.flip(0) * 1, lambda g, _: g), (normal(6),), "reversed|passed on|unchanged"),
    Wrong("cumsum", own(lambda x: x.cumsum(0), lambda g, _: g.cumsum(0)), (normal(6),), "silence"),
    Wrong("roll", own(lambda x: x.roll(1) * 1, lambda g, _: g.roll(1)), (normal(7),), "moved|rolled"),
    Wrong(
        "permuted heads",
        own(lambda x: x.permute(1, 0, 2) * 1, lambda g, x: g.reshape(x.shape)),
        (normal(2, 3, 4),),
        "transposed|axes",
    ),
    *dtypes(
        "transpose",
        lambda dtype: (own(lambda x: x.T.exp(), lambda g, x: g * x.T.exp()), (normal(16, 16, dtype=dtype),)),
        "transposed",
        "float32",
        "bfloat16",
    ),
    Wrong(
        "transpose of 4,096",
        own(lambda x: x.T.exp(), lambda g, x: g * x.T.exp()),
        (normal(64, 64, dtype="float32"),),
        "transposed",
    ),
]

MASKS = [
    Wrong("relu", own(lambda x: x.relu(), lambda g, _: g * 1), (normal(20),), "only where the input is < |unchanged"),
    Wrong(
        "leaky relu",
        own(lambda x: torch.where(x > 0, x, 0.1 * x), lambda g, x: g * (x > 0)),
        (normal(16),),
        "only where the input is < ",
    ),
    Wrong(
        "clamp",
        own(lambda x: x.clamp(-0.5, 0.5), lambda g, _: g * 1),
        (normal(16),),
        "nothing should arrive|unchanged",
    ),
    Wrong("relu inverted", own(lambda x: x.relu(), lambda g, x: g * (x < 0)), (normal(16),), "silence"),
    Wrong(
        "mask of dropout",
        own(lambda x, m: x.exp() * m, lambda g, x, _: (g * x.exp(), None)),
        (normal(24), (torch.arange(24) % 3 > 0).double()),
        "nothing should arrive|input 1",
    ),
    Wrong(
        "scale of dropout",
        own(lambda x, m: x.exp() * m / 0.8, lambda g, x, m: (g * x.exp() * m, None)),
        (normal(24), (torch.arange(24) % 5 > 0).double()),
        r"0\.8 times",
    ),
    Wrong(
        "causal mask",
        own(
            lambda x: x.masked_fill(torch.ones(5, 5).triu(1).bool(), -30).softmax(-1),
            softmax_gradient,
        ),
        (normal(5, 5),),
        "silence",
    ),
    Wrong(
        "huber",
        own(lambda x: torch.where(x.abs() < 1, x * x / 2, x.abs() - 0.5), lambda g, x: g * x),
        (normal(30),),
        "silence",
    ),
    Wrong(
        "one side of huber",
        own(lambda x: torch.where(x < 0.5, x * x / 2, x / 2 - 0.125), lambda g, x: g * x),
        (normal(30),),
        "only where the input is > ",
    ),
    Wrong(
        "hinge of two numbers",
        own(lambda x: x.relu().square(), lambda g, x: 2 * g * x),
        (torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True),),
        "nothing should arrive",
    ),
    Wrong(
        "where",
        own(lambda a, b: torch.where(a.detach() > 0, a, b) * 1, lambda g, *_: (g, g)),
        (normal(9), normal(9, seed=1)),
        "nothing should arrive|unchanged",
    ),
    Wrong("abs", own(lambda x: x.abs(), lambda g, _: g * 1), (normal(14),), "only where the input is < |unchanged"),
    Wrong(
        "maximum to all",
        own(lambda x: x.max(), lambda g, x: g.expand(x.shape)),
        (normal(11),),
        "nothing should arrive|only where the input is <",
    ),
    *dtypes(
        "squared relu",
        lambda dtype: (own(lambda x: x.relu() ** 2, lambda g, x: 2 * g * x), (normal(64, dtype=dtype),)),
        "only where the input is < ",
        "float32",
        "bfloat16",
    ),
    Wrong(
        "squared relu of 4,096",
        own(lambda x: x.relu() ** 2, lambda g, x: 2 * g * x),
        (normal(4096, dtype="float32"),),
        "only where the input is < ",
    ),
]

REPEATED = [
    Wrong(
        "embedding",
        own(lambda w, i: w[i], lambda g, w, i: (overwritten(g, i, len(w)), None)),
        (normal(5, 3), indices(1, 3, 1, 0)),
        "several times in input 1",
    ),
    Wrong(
        "selection",
        own(lambda x, i: x[i] * 1, lambda g, x, i: (overwritten(g, i, len(x)), None)),
        (normal(8), indices(2, 2, 5, 7, 5, 2)),
        "several times in input 1",
    ),
    Wrong(
        "selection of few",
        own(lambda x, i: x[i] * 1, lambda g, x, i: (overwritten(g, i, len(x)), None)),
        (normal(2), indices(0, 1, 1)),
        "several times in input 1",
    ),
    *dtypes(
        "embedding",
        lambda dtype: (
            own(lambda w, i: w[i] * 1, lambda g, w, i: (overwritten(g, i, len(w)), None)),
            (normal(12, 8, dtype=dtype), indices(1, 3, 1, 0, 11, 3, 3)),
        ),
        "several times in input 1",
        "float32",
        "bfloat16",
    ),
    Wrong(
        "embedding of 4,096",
        own(lambda w, i: w[i] * 1, lambda g, w, i: (overwritten(g, i, len(w)), None)),
        (normal(256, 16, dtype="float32"), indices(*(7 * n % 50 for n in range(64)))),
        "several times in input 1",
    ),
    Wrong(
        "index_add",
        own(
            lambda x, i: torch.zeros(3, dtype=x.dtype).index_add(0, i, x), lambda g, x, i: (g.repeat(2)[: len(x)], None)
        ),
        (normal(5), indices(0, 2, 1, 0, 0)),
        "silence",
    ),
]

TAILS = [
    Wrong("tail", own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 8)), (normal(10),), "from index 8"),
    Wrong("last row", own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 6)), (normal(7, 3),), "index 6"),
    Wrong(
        "tail of rows",
        own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 8, axis=1)),
        (normal(4, 10),),
        "from index 8 .*axis 1",
    ),
    Wrong("first entry", own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 0, 1)), (normal(9),), "index 0"),
    Wrong(
        "first block only", own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 4)), (normal(12),), "from index 4"
    ),
    Wrong("last entry twice", own(lambda x: x.exp(), lambda g, x: times(g * x.exp(), 2, -1)), (normal(9),), "index 8"),
    Wrong(
        "tail of a block of 1,024",
        own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 1024)),
        (normal(1030, dtype="float32"),),
        "from index 1024",
    ),
    Wrong(
        "tail of a block in bfloat16",
        own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 128)),
        (normal(150, dtype="bfloat16"),),
        "from index 128",
    ),
    Wrong(
        "tail of a block in float16",
        own(lambda x: x.exp(), lambda g, x: without(g * x.exp(), 32, axis=1)),
        (normal(8, 40, dtype="float16"),),
        "from index 32 .*axis 1",
    ),
]

DETACHED = [
    Wrong("detached half of a square", lambda x: x * x.detach(), (normal(4),), HALF),
    Wrong("a factor", lambda x: x * x.sin().detach(), (normal(6),), "silence"),
    Wrong("a whole input", lambda x, y: x * y.detach() + 0 * y.sum(), (normal(4), normal(4, seed=1)), ARRIVES),
    Wrong("an unused input", lambda x, y: x * y.detach(), (normal(4), normal(4, seed=1)), ARRIVES),
    Wrong("norm", lambda x: x / x.norm().detach(), (normal(6),), "multiple of (input|output) 0"),
    Wrong(
        "sum of softmax",
        lambda x: x.exp() / x.exp().sum(-1, keepdim=True).detach(),
        (normal(3, 5),),
        "multiple of output 0",
    ),
    Wrong("item", lambda x: x * x.sum().item(), (normal(5),), "same number|constant"),
    Wrong("copy", lambda x, y: x.exp() * torch.tensor(y.tolist()), (normal(3), normal(3, seed=1)), ARRIVES),
    Wrong(
        "statistics without gradient",
        lambda x: (x - x.mean(0).detach()) * x.std(0).reciprocal().detach(),
        (normal(6, 3),),
        "silence",
    ),
    *dtypes(
        "detached half of a square",
        lambda dtype: (lambda x: x * x.detach(), (normal(64, dtype=dtype),)),
        HALF,
        "float32",
        "bfloat16",
    ),
    Wrong("an input of 4,096", lambda x, y: x * y.detach(), (normal(64, 64), normal(64, 64, seed=1)), ARRIVES),
]

SAVED = [
    Wrong(
        "moved by one",
        saved(lambda x: x * x, lambda x: x.add_(1), lambda g, x: 2 * g * x),
        (normal(5),),
        "multiple of the cotangent .*saved value that changed",
    ),
    Wrong("doubled", saved(lambda x: x * x, lambda x: x.mul_(2), lambda g, x: 2 * g * x), (normal(5),), "2 times"),
    Wrong(
        "relu in place",
        saved(lambda x: x * x, lambda x: x.relu_(), lambda g, x: 2 * g * x),
        (normal(12),),
        "< |where it is wrong",
    ),
    Wrong(
        "sorted in place",
        saved(lambda x: x * x, lambda x: x.copy_(x.sort()[0]), lambda g, x: 2 * g * x),
        (normal(6),),
        "silence",
    ),
    Wrong("a buffer of all calls", scratch(), (normal(4),), "silence|differs between two backward calls"),
]

GROUPS = [
    Wrong(
        "deviation of each row",
        own(normed, lambda g, x: norm_gradient(g, x, scale=0)),
        (normal(4, 6),),
        "axis 0 have factors of their own",
    ),
    Wrong(
        "scale of each head",
        own(lambda x: x.sin() * weights(3)[None, :, None], lambda g, x: g * x.cos()),
        (normal(2, 3, 5),),
        "axis 1 have factors of their own",
    ),
    Wrong(
        "one head",
        own(lambda x: x.sin(), lambda g, x: times(g * x.cos(), 1.3, 1, axis=1)),
        (normal(2, 3, 5),),
        r"index 1 .*axis 1.*1\.3",
    ),
    Wrong("one row is zero", own(lambda x: x.sin(), lambda g, x: times(g * x.cos(), 0, 2)), (normal(5, 4),), "index 2"),
    Wrong(
        "weights of columns",
        own(lambda x: x * weights(4), lambda g, _: g * 1),
        (normal(6, 4),),
        "axis 1 have factors of their own|unchanged",
    ),
    Wrong(
        "rows in bfloat16",
        own(lambda x: x.sin() * weights(6).bfloat16()[:, None], lambda g, x: g * x.cos()),
        (normal(6, 32, dtype="bfloat16"),),
        "axis 0 have factors of their own",
    ),
    Wrong(
        "one row of bfloat16 by 6 %",
        own(lambda x: x * x, lambda g, x: times(2 * g * x, 1.06, 3)),
        (positive(8, 128, dtype="bfloat16"),),
        r"\[3, :\]",
    ),
    Wrong(
        "one row of 4,096",
        own(lambda x: x.sin(), lambda g, x: times(g * x.cos(), 1.3, 17)),
        (normal(64, 64),),
        r"index 17 .*axis 0.*1\.3",
    ),
]

TERMS = [
    Wrong(
        "centred",
        own(lambda x: x - x.mean(-1, keepdim=True), lambda g, _: g * 1),
        (normal(4, 6),),
        "same number along axis 1|constant along axis 1|unchanged",
    ),
    Wrong(
        "layer norm without mean",
        own(normed, lambda g, x: norm_gradient(g, x, mean=0)),
        (normal(4, 6),),
        "same number along axis 1|constant along axis 1",
    ),
    Wrong(
        "layer norm without slope",
        own(normed, lambda g, x: norm_gradient(g, x, slope=0)),
        (normal(4, 6),),
        "multiple of output 0",
    ),
    Wrong(
        "RMSNorm without slope",
        own(lambda x: x * rms(x), lambda g, x: rms_gradient(g, x, slope=0)),
        (normal(4, 6),),
        "multiple of (input|output) 0",
    ),
    Wrong(
        "softmax without slope",
        own(lambda x: x.softmax(-1), lambda g, x: softmax_gradient(g, x, slope=0)),
        (normal(4, 6),),
        "multiple of output 0",
    ),
    Wrong("log_softmax", own(lambda x: x.log_softmax(-1), lambda g, _: g * 1), (normal(4, 6),), "unchanged"),
    Wrong(
        "cross-entropy without target",
        own(
            torch.nn.functional.cross_entropy,
            lambda g, x, t: (g * x.softmax(-1) / len(t), None),
        ),
        (normal(5, 7), indices(1, 0, 6, 3, 3)),
        "silence",
    ),
    Wrong(
        "cross-entropy without mean",
        own(
            torch.nn.functional.cross_entropy,
            lambda g, x, t: (g * (x.softmax(-1) - torch.nn.functional.one_hot(t, 7)), None),
        ),
        (normal(5, 7), indices(1, 0, 6, 3, 3)),
        "5 times too large",
    ),
    Wrong(
        "centred in bfloat16",
        own(lambda x: x - x.mean(-1, keepdim=True), lambda g, _: g * 1),
        (positive(8, 128, dtype="bfloat16"),),
        "the true one plus|unchanged|same number",
    ),
    Wrong(
        "a multiple of the cotangent",
        own(lambda x: x.exp(), lambda g, x: g * x.exp() + 0.05 * g),
        (positive(8, 128, dtype="bfloat16"),),
        r"plus 0\.05\d* \* the cotangent of output 0|times the true one",
    ),
    Wrong(
        "a multiple of the input",
        own(lambda x: x.exp(), lambda g, x: g * x.exp() + 0.05 * x),
        (positive(8, 128, dtype="bfloat16"),),
        r"plus 0\.0[45]\d* \* input 0|plus the constant|the true one plus",
    ),
    Wrong("product rule", own(lambda x: x * x.sin(), lambda g, x: g * x.sin()), (normal(8),), "silence"),
    Wrong(
        "centred 4,096",
        own(lambda x: (x - x.mean(-1, keepdim=True)).exp(), lambda g, x: g * (x - x.mean(-1, keepdim=True)).exp()),
        (normal(32, 128, dtype="float32"),),
        "same number along axis 1|constant along axis 1",
    ),
    *dtypes(
        "softmax without slope",
        lambda dtype: (
            own(lambda x: x.softmax(-1), lambda g, x: softmax_gradient(g, x, slope=0)),
            (normal(6, 32, dtype=dtype),),
        ),
        "multiple of output 0|output 0",
        "float32",
        "bfloat16",
    ),
    *dtypes(
        "RMSNorm without slope",
        lambda dtype: (
            own(lambda x: x * rms(x.float()).to(x.dtype), lambda g, x: rms_gradient(g, x.float(), slope=0).to(x.dtype)),
            (normal(8, 64, dtype=dtype),),
        ),
        "(input|output) 0",
        "bfloat16",
        "float16",
    ),
]

IDENTITIES = [
    Wrong("round", own(lambda x: x.round(), lambda g, _: g * 1), (normal(6),), "unchanged"),
    Wrong("sign", own(lambda x: x.sign(), lambda g, x: g * (x.abs() < 1)), (normal(8),), "nothing should arrive"),
    Wrong("identity for tanh", own(lambda x: x.tanh(), lambda g, _: g * 1), (normal(5),), "unchanged"),
    Wrong(
        "quantised in bfloat16",
        own(lambda x: (x * 8).round() / 8, lambda g, _: g * 1),
        (normal(40, dtype="bfloat16"),),
        "unchanged",
    ),
]

SWAPPED = [
    Wrong(
        "product",
        own(lambda a, b: a * b, lambda g, a, b: (g * a, g * b)),
        (normal(4), normal(4, seed=1)),
        "swapped",
    ),
    Wrong(
        "quotient",
        own(lambda a, b: a / b, lambda g, a, b: (g / b, g / b)),
        (normal(4), normal(4, seed=1)),
        "input 1 gets the gradient of input 0",
    ),
    Wrong(
        "swapped difference",
        own(lambda a, b: a - b, lambda g, a, b: (-g, g)),
        (normal(4), normal(4, seed=1)),
        "swapped|sign",
    ),
    Wrong(
        "second and third",
        own(
            lambda a, b, c: a * b.exp() * c, lambda g, a, b, c: (g * b.exp() * c, g * a * b.exp(), g * a * b.exp() * c)
        ),
        (normal(5), normal(5, seed=1), normal(5, seed=2)),
        "inputs 1 and 2 are swapped",
    ),
    *dtypes(
        "product of 1,024",
        lambda dtype: (
            own(lambda a, b: a * b, lambda g, a, b: (g * a, g * b)),
            (normal(1024, dtype=dtype), normal(1024, seed=1, dtype=dtype)),
        ),
        "swapped",
        "float32",
        "bfloat16",
    ),
]

COTANGENTS = [
    Wrong("ignored", own(lambda x: x * x, lambda _, x: 2 * x), (normal(5),), "does not depend"),
    Wrong("squared", own(lambda x: x * x, lambda g, x: 2 * x * g * g), (normal(5),), "multiplies twice"),
    Wrong("clipped", own(lambda x: 4 * x, lambda g, _: (4 * g).clamp(-1, 1)), (normal(9),), "silence"),
    Wrong("its magnitude", own(lambda x: x.exp(), lambda g, x: g.abs() * x.exp()), (normal(9),), "silence"),
    Wrong(
        "ignored in bfloat16",
        own(lambda x: x * x, lambda _, x: 2 * x),
        (normal(50, dtype="bfloat16"),),
        "does not depend",
    ),
]

PRECISION = [
    Wrong("in float32", own(lambda x: x.exp(), in_float32(lambda g, x: g * x.exp())), (normal(8),), "leading digits"),
    Wrong(
        "a rounded constant",
        own(lambda x: math.pi * x.sin(), lambda g, x: 3.14159 * g * x.cos()),
        (normal(8),),
        "0.9999|a rounded constant",
    ),
    Wrong("not a number", own(lambda x: x.exp(), lambda g, x: g * x.exp() * math.nan), (normal(3),), "not a finite"),
]


def opaque(x: Any) -> Any:
    """Return the sine by NumPy, which cannot be recorded."""
    return torch.from_numpy(np.sin(x.detach().numpy()))


class Scaled(torch.nn.Module):  # type: ignore[misc]
    """A layer with a scale whose gradient is that of a mean."""

    def __init__(self) -> None:
        """Take fixed scales."""
        super().__init__()
        self.scale = torch.nn.Parameter(weights(5))

    def forward(self, x: Any) -> Any:
        """Return the scaled input."""
        rule = own(lambda x, scale: x * scale, lambda g, x, scale: (g * scale, (g * x).mean(0)))
        return rule(x, self.scale)


two_outputs = own(lambda x: (x.sin(), x.cos()), lambda g, h, x: g * x.cos() + h * x.sin())

FORMS = [
    Wrong("opaque", own(opaque, lambda g, x: -g * x.cos()), (normal(7),), "sign"),
    Wrong("opaque of 300", own(opaque, lambda g, x: -g * x.cos()), (normal(300),), "silence"),
    Wrong(
        "opaque tail",
        own(opaque, lambda g, x: without(g * x.cos(), 8)),
        (normal(10),),
        "from index 8",
    ),
    Wrong("dictionary", lambda p: p["w"].detach() * p["b"] ** 2, ({"w": normal(3), "b": normal(3)},), ARRIVES),
    Wrong("large dictionary", lambda p: p["w"] * p["w"].detach(), ({"w": normal(300)},), HALF),
    Wrong("module", Scaled(), (normal(6, 5),), "parameter 'scale' alone is wrong: every entry is 6 times too small"),
    Wrong("two outputs", two_outputs, (normal(6),), "silence"),
    Wrong("two outputs of 4,096", two_outputs, (normal(64, 64),), "silence"),
    Wrong("second output", lambda x: (x.sin(), x.cos() * x.detach()), (normal(9),), "silence"),
    Wrong("layout", own(lambda x: x * x, lambda g, x: 2 * x * bare(g)), (normal(20, 30),), "right in the plain call"),
    Wrong("small layout", own(lambda x: x * x, lambda g, x: 2 * x * bare(g)), (normal(2, 3),), "right in the plain"),
]

WRONG: Sequence[Wrong] = [
    *FACTORS, *SIGNS, *ORDERS, *MASKS, *REPEATED, *TAILS, *DETACHED, *SAVED, *GROUPS, *TERMS, *IDENTITIES, *SWAPPED,
    *COTANGENTS, *PRECISION, *FORMS,
]  # fmt: skip
