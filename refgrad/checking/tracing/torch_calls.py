"""Calls of PyTorch that are spelled in another way than a row of the table, or that several rows make up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.tracing.calls import CALLS, Call, Translator, positions, same, swap_axes
from refgrad.checking.tracing.recorder import Untraceable
from refgrad.scenario.formats import FORMATS

SIGNATURES: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "topk": lambda input, k, dim=-1, largest=True, sorted=True: ...,  # noqa: A006, ARG005
    "median": lambda input, dim=None, keepdim=False: ...,  # noqa: A006, ARG005
    "index_add": lambda input, dim, index, source, *, alpha=1: ...,  # noqa: A006, ARG005
    "repeat_interleave": lambda input, repeats, dim=None, output_size=None: ...,  # noqa: A006, ARG005
    "threshold": lambda input, threshold, value, inplace=False: ...,  # noqa: A006, ARG005
    "scaled_dot_product_attention": (
        lambda query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False: ...  # noqa: ARG005
    ),
})
"""Signatures that PyTorch does not tell, or tells otherwise than they are."""

IN_PLACE: Mapping[str, str] = MappingProxyType({
    "__iadd__": "add",
    "__isub__": "sub",
    "__imul__": "mul",
    "__itruediv__": "div",
    "__ipow__": "pow",
})
"""What Python's operators of assignment do."""


def written_in_place(name: str) -> str | None:
    """Return the call whose result a call writes to its first argument, if it is such a call."""
    if name in IN_PLACE:
        return IN_PLACE[name]
    return name[:-1] if name.endswith("_") and not name.endswith("__") and not name.startswith("_") else None


@cache
def _told(torch: Any) -> Mapping[Any, Callable[..., Any]]:
    told: Mapping[Any, Callable[..., Any]] = torch.overrides.get_testing_overrides()
    return told


def signature_of(torch: Any, function: Any) -> inspect.Signature | None:
    """Return the signature of a function or a method of PyTorch, if it can be had."""
    own = SIGNATURES.get(getattr(function, "__name__", ""))
    told = own or _told(torch).get(function)
    return None if told is None else inspect.signature(told)


def _spread(row: str) -> Call:
    """Record the variance, or its root."""

    def call(  # noqa: PLR0913, PLR0917 (PyTorch's arguments)
        t: Translator, x: Any, axis: Any = None, unbiased: Any = None, keepdims: Any = None, correction: Any = None
    ) -> str:
        if isinstance(axis, bool):
            axis, unbiased = None, axis
        if correction is None:
            correction = 0 if unbiased is False else 1
        return t.row(row, x, axis=_axes(axis), correction=correction, keepdims=bool(keepdims))

    return call


def _norm(t: Translator, x: Any, p: Any = "fro", axis: Any = None, keepdims: Any = None, **_: Any) -> str:
    """Record a norm of entries; that of matrices but for Frobenius' is another one."""
    axis = _axes(axis)
    if p in ("fro", None) or p == 2:  # noqa: PLR2004 (Euclid's)
        return t.row("l2_norm", x, axis=axis, keepdims=bool(keepdims))
    if p == 1:
        return t.row("l1_norm", x, axis=axis, keepdims=bool(keepdims))
    if p == float("inf"):
        return t.row("max_norm", x, axis=axis, keepdims=bool(keepdims))
    if isinstance(p, int | float) and p > 0:
        return t.row("vector_norm", x, order=float(p), axis=axis, keepdims=bool(keepdims))
    raise Untraceable(f"it calls norm with the order {p}, which the operator table does not have")


def _axes(axis: Any) -> Any:
    return tuple(map(int, axis)) if isinstance(axis, tuple | list) else None if axis is None else int(axis)


def _set_item(t: Translator, x: Any, index: Any, source: Any) -> str:
    """Record an assignment to a part."""
    place, new_axes = positions(index, len(t.shape(x)))
    if new_axes:
        raise Untraceable("it assigns to an index with None")
    return t.row("set_at", x, source, index=place)


def _pad(t: Translator, x: Any, pad: Any, mode: str = "constant", value: Any = None) -> str:
    """Record padding by a number; PyTorch names the last axis first."""
    if mode != "constant" or any(width < 0 for width in pad):
        raise Untraceable(f"it calls pad with the mode {mode} and the widths {tuple(pad)}")
    pairs = [(int(a), int(b)) for a, b in zip(pad[::2], pad[1::2], strict=True)][::-1]
    widths = ((0, 0),) * (len(t.shape(x)) - len(pairs)) + tuple(pairs)
    return t.row("pad", x, pad_width=widths, value=float(value or 0.0))


def _nan_to_num(t: Translator, x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> str:
    """Record the replacement of what is not finite, by the largest numbers of the dtype if nothing else is said."""
    largest = FORMATS[str(x.dtype).removeprefix("torch.")].largest
    upper, lower = (given if given is not None else end for given, end in ((posinf, largest), (neginf, -largest)))
    return t.row("nan_to_num", x, nan=float(nan or 0.0), posinf=float(upper), neginf=float(lower))


def _diagonal(t: Translator, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    return t.row("diagonal", x, offset=int(offset), axes=(int(dim1), int(dim2)))


def _like(t: Translator, x: Any, other: Any) -> str:
    return t.row("reshape", x, shape=tuple(other.shape))


def _expanded_like(t: Translator, x: Any, other: Any) -> str:
    return t.row("broadcast_to", x, shape=tuple(other.shape))


def _batch_norm(  # noqa: PLR0913, PLR0917 (PyTorch's arguments)
    t: Translator, x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, training: Any = None,
    momentum: Any = 0.1, eps: float = 1e-5,
) -> str:  # fmt: skip
    """Record the normalization by the batch, or by means and variances that are given."""
    del momentum
    channels = t.shape(x)[1]
    if training:
        weight, bias = (np.full(channels, v) if each is None else each for v, each in ((1.0, weight), (0.0, bias)))
        batch = x if len(t.shape(x)) > 2 else t.row("expand_dims", x, axis=2)  # noqa: PLR2004 (batch and channels)
        result = t.row("batch_norm", batch, weight, bias, eps=float(eps))
        return result if batch is x else t.row("reshape", result, shape=t.shape(x))
    along = (1, channels, *(1,) * (len(t.shape(x)) - 2))
    center, spread = (t.row("reshape", each, shape=along) for each in (mean, var))
    root = t.row("sqrt", t.row("add", spread, float(eps)))
    result = t.row("divide", t.row("subtract", x, center), root)
    if weight is not None:
        result = t.row("multiply", result, t.row("reshape", weight, shape=along))
    return result if bias is None else t.row("add", result, t.row("reshape", bias, shape=along))


TORCH_CALLS: Mapping[str, Call] = MappingProxyType({
    **CALLS,
    "transpose": swap_axes,
    "t": lambda t, x: t.row("transpose", x, axes=None),
    "var": _spread("var"),
    "std": _spread("std"),
    "norm": _norm,
    "setitem": _set_item,
    "batch_norm": _batch_norm,
    "pad": _pad,
    "nan_to_num": _nan_to_num,
    "swapdims": swap_axes,
    "special_psi": lambda t, x: t.row("digamma", x),
    **dict.fromkeys(("diagonal", "linalg_diagonal"), _diagonal),
    **dict.fromkeys(("view_as", "reshape_as"), _like),
    "expand_as": _expanded_like,
    **dict.fromkeys(("clone", "contiguous", "detach", "data", "to", "double", "float", "cpu", "positive"), same),
})
