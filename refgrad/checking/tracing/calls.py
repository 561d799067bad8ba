"""The rows of the operator table that a call of a library amounts to.

A call is looked up by the name that numpy or PyTorch give it. Elementwise rows are found in the table by their names
and aliases; only calls whose arguments are spelled in another way than the row's, or that several rows make up, stand
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.tracing.recorder import Array, Recorder, Untraceable
from refgrad.operators import Operator, operator_table
from refgrad.operators.structures.reductions import kept_shape

Call = Callable[..., str]

LARGEST_WHOLE_POWER = 16
"""A whole exponent up to this is recorded as products, which is how it is meant for a negative base."""

KEYWORDS: Mapping[str, str] = MappingProxyType({
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "input": "x",
    "a": "x",
    "other": "y",
    "exponent": "y",
    "a_min": "lower",
    "a_max": "upper",
    "min": "lower",
    "max": "upper",
    "tensors": "arrays",
    "newshape": "shape",
    "size": "shape",
})
"""What libraries call the arguments of the calls below."""

REFLECTED = frozenset({"add", "sub", "mul", "truediv", "div", "pow", "matmul"})
"""Python's operators whose ``__r…__`` takes its operands the other way round."""


class Translator:
    """Turns calls into steps. ``name_of`` gives the recorded name of a value that a call takes, recording constants."""

    def __init__(self, recorder: Recorder, name_of: Callable[[Any], str], calls: Mapping[str, Call]) -> None:
        """Translate the calls of one library."""
        self.recorder = recorder
        self.name_of = name_of
        self.calls = calls

    def translate(self, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        """Record a call and return the name of its result. Raises Untraceable where there is no row for it."""
        given = {KEYWORDS.get(key, key): value for key, value in keywords.items() if not _is_default(key, value)}
        plain = name.removeprefix("__").removesuffix("__") if name.startswith("__") else name
        swapped = (name.startswith("__r") or plain == "rsub") and plain[1:] in REFLECTED
        try:
            if swapped:
                plain, arguments = plain[1:], arguments[::-1]
            if plain in self.calls:
                return self.calls[plain](self, *arguments, **given)
            plain = plain.removeprefix("special_")
            if plain in elementwise_rows():
                return self.elementwise(elementwise_rows()[plain], arguments, given)
        except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            raise Untraceable(f"it calls {plain} in a way that is not known: {error}") from error
        raise Untraceable(f"it calls {name}, which the operator table does not have")

    def elementwise(self, row: Operator, arguments: Sequence[Any], given: Mapping[str, Any]) -> str:
        """Record a row whose arguments come in the row's order."""
        names = row.argument_names
        values = [*arguments, *(given[name] for name in names[len(arguments) :] if name in given)]
        if len(values) != len(names) or len(given) + len(arguments) != len(names):
            raise Untraceable(f"it calls {row.name} with other arguments than {list(names)}")
        return self.recorder.apply(row.name, [self.name_of(value) for value in values])

    def row(self, operator: str, *arguments: Any, **attributes: Any) -> str:
        """Record a row with its own attributes; arguments are recorded names or values."""
        names = [a if type(a) is str else self.name_of(a) for a in arguments]
        return self.recorder.apply(operator, names, attributes)

    def value(self, x: Any) -> Array:
        """Return the value of a recorded name or of an argument of a call."""
        return self.recorder.values[x if type(x) is str else self.name_of(x)]

    def shape(self, x: Any) -> tuple[int, ...]:
        """Return its shape."""
        return self.value(x).shape


@cache
def elementwise_rows() -> Mapping[str, Operator]:
    """Return the formulas without attributes, by every name that they have."""
    return MappingProxyType({
        name: row
        for row in operator_table().values()
        if row.elementwise and not row.attributes
        for name in (row.name, *row.aliases)
    })


def _is_default(key: str, value: Any) -> bool:
    """Whether a keyword says nothing: no dtype, no output array, the default of another."""
    absent = value is None or type(value).__name__ == "_NoValueType"
    return absent or (key in {"inplace", "copy"} and value is False) or (key == "where" and value is True)


def _axes(axis: Any) -> Any:
    if axis is None:
        return None
    return tuple(int(a) for a in axis) if isinstance(axis, tuple | list) else int(axis)


def _reduction(operator: str) -> Call:
    def reduce(t: Translator, x: Any, axis: Any = None, keepdims: Any = None) -> str:
        return t.row(operator, x, axis=_axes(axis), keepdims=bool(keepdims))

    return reduce


def _extremum(reduction: str, pairwise: str) -> Call:
    def call(t: Translator, x: Any, axis: Any = None, keepdims: Any = None, y: Any = None) -> str:
        if y is not None:
            return t.row(pairwise, x, y)
        if axis is not None and not isinstance(axis, int | tuple | list):
            return t.row(pairwise, x, axis)
        return t.row(reduction, x, axis=_axes(axis), keepdims=bool(keepdims))

    return call


def _sizes(first: Any, rest: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in (first if isinstance(first, tuple | list) else (first, *rest)))


def _reshape(t: Translator, x: Any, shape: Any, *more: Any) -> str:
    wanted = _sizes(shape, more)
    known = prod(n for n in wanted if n != -1)
    size = prod(t.shape(x))
    return t.row("reshape", x, shape=tuple(size // max(known, 1) if n == -1 else n for n in wanted))


def _flatten(t: Translator, x: Any, start_dim: int = 0, end_dim: int = -1) -> str:
    shape = t.shape(x)
    last = end_dim % len(shape) + 1 if shape else 0
    return t.row("reshape", x, shape=(*shape[:start_dim], prod(shape[start_dim:last]), *shape[last:]))


def _broadcast(t: Translator, x: Any, shape: Any, *more: Any) -> str:
    wanted = _sizes(shape, more)
    have = (1,) * (len(wanted) - len(t.shape(x))) + t.shape(x)
    return t.row("broadcast_to", x, shape=tuple(h if n == -1 else n for n, h in zip(wanted, have, strict=True)))


def swap_axes(t: Translator, x: Any, first: int, second: int) -> str:
    """Record the transposition of two axes."""
    order = list(range(len(t.shape(x))))
    order[first], order[second] = order[second], order[first]
    return t.row("transpose", x, axes=tuple(order))


def _reversed(t: Translator, x: Any) -> str:
    return t.row("transpose", x, axes=None)


def _matrices_transposed(t: Translator, x: Any) -> str:
    return swap_axes(t, x, -2, -1)


def _permute(t: Translator, x: Any, axis: Any = None, *more: Any, axes: Any = None) -> str:
    order = axis if axes is None else axes
    return t.row("transpose", x, axes=None if order is None else tuple(int(a) for a in _sizes(order, more)))


def _expand_dims(t: Translator, x: Any, axis: int) -> str:
    return t.row("expand_dims", x, axis=int(axis))


def _squeeze(t: Translator, x: Any, axis: Any = None) -> str:
    shape = t.shape(x)
    chosen = range(len(shape)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    gone = {a % len(shape) for a in chosen if shape and shape[a] == 1}
    return t.row("reshape", x, shape=tuple(n for a, n in enumerate(shape) if a not in gone))


def _flip(t: Translator, x: Any, axis: Any = None, *more: Any) -> str:
    return t.row("flip", x, axis=None if axis is None else tuple(int(a) for a in _sizes(axis, more)))


def _join(operator: str) -> Call:
    def join(t: Translator, arrays: Sequence[Any], axis: int = 0) -> str:
        return t.row(operator, *arrays, axis=int(axis))

    return join


def _index(t: Translator, x: Any, index: Any) -> str:
    """Record ``x[index]``."""
    place, new_axes = positions(index, len(t.shape(x)))
    result = t.row("index", x, index=place)
    for axis in new_axes:
        result = t.row("expand_dims", result, axis=axis)
    return result


def positions(index: Any, axes: int) -> tuple[tuple[Any, ...], list[int]]:
    """Return an index in integers and slices, what is None, ... or a boolean array spelled out, and where axes are new.

    Raises Untraceable where it is of another kind.
    """
    parts = [whole for part in (index if isinstance(index, tuple) else (index,)) for whole in _integers(part)]
    taken = sum(1 for part in parts if part is not None and part is not Ellipsis)
    if Ellipsis in [part for part in parts if part is Ellipsis]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (axes - taken)
    new_axes = [i for i, part in enumerate(parts) if part is None]
    place = tuple(_position(part) for part in parts if part is not None)
    if new_axes and any(type(position) is not slice for position in place):
        raise Untraceable("it indexes with None and integers at once")
    return place, new_axes


def _integers(part: Any) -> Sequence[Any]:
    """Return an index as it is, but a boolean array as the integer arrays that mean the same."""
    if part is None or part is Ellipsis or isinstance(part, bool | int | slice):
        return (part,)
    array = np.asarray(part)
    return np.nonzero(array) if array.dtype == np.bool_ and array.ndim else (part,)


def _position(part: Any) -> Any:
    if isinstance(part, slice):
        return part
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return int(part)
    array = np.asarray(part)
    if array.dtype.kind not in "iu":
        raise Untraceable(f"it indexes with {array.dtype}")
    return array.item() if array.ndim == 0 else _nested(array.tolist())


def _nested(items: Any) -> Any:
    return tuple(_nested(item) for item in items) if isinstance(items, list) else items


def _take(t: Translator, x: Any, indices: Any, axis: Any = None) -> str:
    if axis is None:
        x, axis = _reshape(t, x, -1), 0
    return t.row("take", x, axis=int(axis), indices=_position(indices))


def _index_select(t: Translator, x: Any, axis: int, index: Any) -> str:
    return t.row("take", x, axis=int(axis), indices=_position(index))


def _power(t: Translator, x: Any, y: Any) -> str:
    """Record a power; whole exponents as products, so that the base may be negative."""
    exponent = float(y) if isinstance(y, int | float | np.number) else 0.5
    if exponent.is_integer() and 1 <= abs(exponent) <= LARGEST_WHOLE_POWER:
        base = result = x if type(x) is str else t.name_of(x)
        for _ in range(int(abs(exponent)) - 1):
            result = t.row("multiply", result, base)
        return result if exponent > 0 else t.row("reciprocal", result)
    return t.row("power", x, y)


def _clip(t: Translator, x: Any, lower: Any = None, upper: Any = None) -> str:
    result = x if type(x) is str else t.name_of(x)
    if lower is not None:
        result = t.row("maximum", result, lower)
    return result if upper is None else t.row("minimum", result, upper)


def _softmax(t: Translator, x: Any, axis: int, _stacklevel: int = 3) -> str:
    powers = t.row("exp", x)
    return t.row("divide", powers, t.row("sum", powers, axis=int(axis), keepdims=True))


def _log_softmax(t: Translator, x: Any, axis: int, _stacklevel: int = 3) -> str:
    return t.row("subtract", x, _logsumexp(t, x, axis, keepdims=True))


def _logsumexp(t: Translator, x: Any, axis: Any, keepdims: Any = None) -> str:
    return t.row("log", t.row("sum", t.row("exp", x), axis=_axes(axis), keepdims=bool(keepdims)))


def _linear(t: Translator, x: Any, weight: Any, bias: Any = None) -> str:
    product = t.row("matmul", x, _reversed(t, weight))
    return product if bias is None else t.row("add", product, bias)


def _mse_loss(t: Translator, x: Any, target: Any, reduction: str = "mean") -> str:
    squares = t.row("square", t.row("subtract", x, target))
    return squares if reduction == "none" else t.row(reduction, squares)


def _variance(t: Translator, x: Any, axis: Any = None, keepdims: Any = None, ddof: Any = 0) -> str:
    """Record numpy's variance."""
    center = t.row("mean", x, axis=_axes(axis), keepdims=True)
    squares = t.row("sum", t.row("square", t.row("subtract", x, center)), axis=_axes(axis), keepdims=bool(keepdims))
    count = prod(t.shape(x)) // max(prod(kept_shape(t.shape(x), _axes(axis))), 1)
    return t.row("divide", squares, float(count - ddof))


def _softplus(t: Translator, x: Any, beta: float = 1, threshold: float = 20) -> str:
    if beta != 1:
        raise Untraceable("it calls softplus with beta")
    result = t.row("softplus", x)
    linear = t.value(x) > threshold
    return t.row("where", linear, x, result) if linear.any() else result


def same(t: Translator, x: Any, *_: Any, **__: Any) -> str:
    """Return the value itself: arguments for memory, devices, dtypes or recording do not change it."""
    return x if type(x) is str else t.name_of(x)


CALLS: Mapping[str, Call] = MappingProxyType({
    **{name: _reduction(name) for name in ("sum", "mean", "prod")},
    **dict.fromkeys(("max", "amax"), _extremum("max", "maximum")),
    **dict.fromkeys(("min", "amin"), _extremum("min", "minimum")),
    "reshape": _reshape,
    "view": _reshape,
    "flatten": _flatten,
    "ravel": _flatten,
    "broadcast_to": _broadcast,
    "expand": _broadcast,
    "swapaxes": swap_axes,
    "T": _reversed,
    "mT": _matrices_transposed,
    "permute": _permute,
    "expand_dims": _expand_dims,
    "unsqueeze": _expand_dims,
    "squeeze": _squeeze,
    "flip": _flip,
    "concatenate": _join("concatenate"),
    "concat": _join("concatenate"),
    "cat": _join("concatenate"),
    "stack": _join("stack"),
    "getitem": _index,
    "take": _take,
    "index_select": _index_select,
    "power": _power,
    "pow": _power,
    "clip": _clip,
    "clamp": _clip,
    **dict.fromkeys(("matmul", "mm", "mv", "bmm", "dot"), lambda t, x, y: t.row("matmul", x, y)),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "linear": _linear,
    "mse_loss": _mse_loss,
    "softplus": _softplus,
})
"""Calls that numpy and PyTorch give the same meaning, or that only one of them has."""

NUMPY_CALLS: Mapping[str, Call] = MappingProxyType({
    **CALLS,
    "transpose": _permute,
    "view": lambda t, x, kind=None: same(t, x) if isinstance(kind, type) else _reshape(t, x, kind),
    "var": _variance,
    "copy": same,
})
