"""Under which further names does PyTorch have the operators that its adapter spells?

Which functions are one under two names is what ``refgrad coverage torch`` finds; methods and Python's operators are
here where they are what users write.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LP_NORM: Final = "torch.norm({{x}}, {order}, dim=all_axes({{x}}, {{axis}}), keepdim={{keepdims}})"

MAX_POOL2D: Final = (
    "torch.max_pool2d({x}, ({height}, {width}), ({stride_h}, {stride_w}), ({padding_h}, {padding_w}), {dilation}, "
    "{ceil_mode})"
)

METHODS: Final = (
    "abs", "ceil", "cos", "cosh", "digamma", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log", "log10",
    "log1p", "log2", "logit", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
)  # fmt: skip
"""Operators of one tensor alone that are a method too."""

SPECIAL: Final = ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "round", "sinc")
"""Operators of one tensor alone that are in torch.special too."""

OTHERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "add": ("{x} + {y}",),
    "subtract": ("{x} - {y}",),
    "multiply": ("{x} * {y}",),
    "divide": ("{x} / {y}",),
    "power": ("{x} ** {y}",),
    "negative": ("-{x}",),
    "digamma": ("torch.special.psi({x})",),
    "lgamma": ("torch.special.gammaln({x})",),
    "sigmoid": ("torch.special.expit({x})",),
    "trunc": ("torch.fix({x})",),
    "integer_power": ("{x} ** {n}", "torch.float_power({x}, {n}).to({x}.dtype)"),
    "relu": ("torch.nn.functional.relu({x})",),
    "polygamma": ("torch.special.polygamma({n}, {x})",),
    "xlogy": ("torch.special.xlogy({x}, {y})",),
    "clip": ("torch.clip({x}, {lower}, {upper})", "{x}.clamp({lower}, {upper})"),
    "celu": ("torch.nn.functional.celu({x}, alpha={alpha})",),
    "selu": ("torch.nn.functional.selu({x})",),
    "threshold": ("torch.threshold({x}, {threshold}, {value})",),
    "matmul": ("{x} @ {y}", "torch.linalg.matmul({x}, {y})"),
    "outer": ("torch.ger({x}, {y})",),
    "cross": ("torch.cross({x}, {y}, dim={axis})",),
    "det": ("torch.det({x})",),
    "logabsdet": ("torch.slogdet({x}).logabsdet",),
    "inv": ("torch.inverse({x})", "torch.linalg.inv_ex({x}).inverse"),
    "solve": ("torch.linalg.solve_ex({x}, {y}).result",),
    "pinv": ("torch.pinverse({x})",),
    "matrix_exp": ("torch.matrix_exp({x})",),
    "matrix_power": ("torch.matrix_power({x}, {n})",),
    "matrix_norm": ("torch.linalg.norm({x}, {order} if {order} in ('fro', 'nuc') else float({order}), dim=(-2, -1))",),
    "svdvals": ("torch.linalg.svd({x}).S", "torch.svd({x}).S"),
    "eigvalsh": ("torch.linalg.eigh(({x} + {x}.mT) / 2).eigenvalues",),
    "cholesky_gram": ("torch.linalg.cholesky_ex({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype)).L",),
    "sum": (
        "{x}.sum(dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "torch.nansum({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
    ),
    "mean": (
        "{x}.mean(dim=all_axes({x}, {axis}), keepdim={keepdims})",
        "torch.nanmean({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",
    ),
    "mvlgamma": ("torch.special.multigammaln({x}, {p})",),
    "logsumexp": ("torch.special.logsumexp({x}, dim=all_axes({x}, {axis}), keepdim={keepdims})",),
    "l1_norm": (LP_NORM.format(order="1"),),
    "l2_norm": (LP_NORM.format(order="2"),),
    "max_norm": (LP_NORM.format(order="float('inf')"),),
    "softmax": ("torch.nn.functional.softmax({x}, dim={axis})", "torch.special.softmax({x}, dim={axis})"),
    "log_softmax": ("torch.log_softmax({x}, dim={axis})", "torch.special.log_softmax({x}, dim={axis})"),
    "layer_norm": ("torch.layer_norm({x}, {x}.shape[-1:], {weight}, {bias}, {eps})",),
    "rms_norm": ("torch.rms_norm({x}, {x}.shape[-1:], {weight}, {eps})",),
    "group_norm": ("torch.group_norm({x}, {groups}, {weight}, {bias}, {eps})",),
    "max_pool1d": ("torch.max_pool1d({x}, {size}, {stride}, {padding}, {dilation}, {ceil_mode})",),
    "max_pool2d": (MAX_POOL2D,),
    "adaptive_max_pool1d": ("torch.adaptive_max_pool1d({x}, {size})[0]",),
    "trapezoid": ("torch.trapz({y}, {x}, dim={axis})",),
    "reshape": ("{x}.reshape({shape})",),
    "transpose": ("{x}.permute({axes} if {axes} is not None else tuple(range({x}.ndim))[::-1])",),
    "broadcast_to": ("{x}.expand({shape})",),
    "concatenate": ("torch.concat({arrays}, dim={axis})", "torch.concatenate({arrays}, dim={axis})"),
    "vstack": ("torch.row_stack({arrays})",),
    "swapaxes": ("torch.swapdims({x}, {axis1}, {axis2})", "torch.transpose({x}, {axis1}, {axis2})"),
    "moveaxis": ("torch.moveaxis({x}, {source}, {destination})",),
    "diagonal": ("torch.linalg.diagonal({x}, offset={offset}, dim1={axes}[0], dim2={axes}[1])",),
    "constant_pad": ("torch.constant_pad_nd({x}, [n for pair in reversed({pad_width}) for n in pair], {value})",),
})


def aliases() -> Mapping[str, tuple[str, ...]]:
    """Return the further spellings of each operator that has some."""
    found = dict(OTHERS)
    for name in METHODS:
        found[name] = (*found.get(name, ()), f"{{x}}.{name}()")
    for name in SPECIAL:
        found[name] = (*found.get(name, ()), f"torch.special.{name}({{x}})")
    return MappingProxyType(found)
