"""Under which further names does JAX have the operators that its adapter spells?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LAX: Final = (
    "abs", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log1p", "reciprocal", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
"""Operators of one array that are in jax.lax too, under the same name."""

OVER_AXES: Final = ("max", "mean", "median", "min", "prod", "sum")
"""Reductions that have a variant in jax.numpy that leaves out what is not a number."""

OTHERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "add": ("{x} + {y}",),
    "subtract": ("{x} - {y}",),
    "multiply": ("{x} * {y}",),
    "divide": ("{x} / {y}",),
    "power": ("{x} ** {y}", "jnp.float_power({x}, {y}).astype(jnp.result_type({x}, {y}))"),
    "remainder": ("{x} % {y}",),
    "negative": ("-{x}", "lax.neg({x})"),
    "abs": ("jnp.fabs({x})",),
    "integer_power": ("lax.integer_pow({x}, {n})", "jnp.power({x}, {n})"),
    "square": ("{x} ** 2", "lax.integer_pow({x}, 2)"),
    "reciprocal": ("1 / {x}", "lax.integer_pow({x}, -1)"),
    "arcsin": ("lax.asin({x})",),
    "arccos": ("lax.acos({x})",),
    "arctan": ("lax.atan({x})",),
    "arcsinh": ("lax.asinh({x})",),
    "arccosh": ("lax.acosh({x})",),
    "arctanh": ("lax.atanh({x})",),
    "sigmoid": ("lax.logistic({x})", "jax.scipy.special.expit({x})"),
    "silu": ("jax.nn.swish({x})",),
    "hard_swish": ("jax.nn.hard_silu({x})",),
    "digamma": ("lax.digamma({x})",),
    "lgamma": ("lax.lgamma({x})",),
    "erfinv": ("lax.erf_inv({x})",),
    "i0e": ("lax.bessel_i0e({x})",),
    "i1e": ("lax.bessel_i1e({x})",),
    "clip": ("lax.clamp(np.array({lower}, {x}.dtype), {x}, np.array({upper}, {x}.dtype))",),
    "softmax": ("jax.scipy.special.softmax({x}, axis={axis})",),
    "log_softmax": ("jax.scipy.special.log_softmax({x}, axis={axis})",),
    "var": ("jnp.nanvar({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",),
    "std": ("jnp.nanstd({x}, axis={axis}, ddof={correction}, keepdims={keepdims})",),
    "quantile": ("jnp.nanquantile({x}, {q}, axis={axis}, keepdims={keepdims})",),
    "cumsum": ("lax.cumsum({x}, {axis} % {x}.ndim)", "jnp.nancumsum({x}, axis={axis})"),
    "cumprod": ("lax.cumprod({x}, {axis} % {x}.ndim)", "jnp.nancumprod({x}, axis={axis})"),
    "sort": ("(-lax.sort(-{x}, {axis}) if {descending} else lax.sort({x}, {axis}))",),
    "matmul": ("{x} @ {y}",),
    "bmm": ("jnp.matmul({x}, {y})",),
    "inv": ("jax.scipy.linalg.inv({x})",),
    "det": ("jax.scipy.linalg.det({x})",),
    "solve": ("jax.scipy.linalg.solve({x}, {y})",),
    "cholesky_gram": ("jax.scipy.linalg.cholesky({x} @ {x}.mT + jnp.eye({x}.shape[-2], dtype={x}.dtype), lower=True)",),
    "eigvalsh": (
        "jnp.linalg.eigh(({x} + {x}.mT) / 2)[0]",
        "jax.scipy.linalg.eigh(({x} + {x}.mT) / 2, eigvals_only=True)",
    ),
    "svdvals": ("jnp.linalg.svd({x})[1]", "jax.scipy.linalg.svd({x}, compute_uv=False)"),
    "matrix_norm": ("jnp.linalg.norm({x}, {order} if {order} in ('fro', 'nuc') else float({order}), (-2, -1))",),
    "take": ("{x}[(slice(None),) * ({axis} % {x}.ndim) + (np.array({indices}, dtype=int),)]",),
    "embedding": ("{weight}[np.array({indices}, dtype=int)]",),
    "transpose": ("{x}.transpose({axes})",),
    "reshape": ("{x}.reshape({shape})", "lax.reshape({x}, jnp.reshape({x}, {shape}).shape)"),
})


def aliases() -> Mapping[str, tuple[str, ...]]:
    """Return further spellings of operators of the table."""
    spelled = {name: (f"lax.{name}({{x}})",) for name in LAX}
    spelled |= {name: (f"jnp.nan{name}({{x}}, axis={{axis}}, keepdims={{keepdims}})",) for name in OVER_AXES}
    for name, texts in OTHERS.items():
        spelled[name] = (*spelled.get(name, ()), *texts)
    return MappingProxyType(spelled)
