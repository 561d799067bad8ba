"""The rows of the operator table that the primitives of JAX amount to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.checking.tracing.calls import CALLS, Call, Translator, same
from refgrad.checking.tracing.recorder import Untraceable

Array = npt.NDArray[Any]
Moving = Callable[[Translator, Any, Sequence[Any], Sequence[Array]], Sequence[Any]]

NAMES: Mapping[str, str] = MappingProxyType({
    **{
        name: name
        for name in (
            *("exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "cbrt", "square", "abs", "sign", "floor"),
            *("ceil", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "erfc", "lgamma", "digamma"),
        )
    },
    "neg": "negative",
    "add": "add",
    "add_any": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "rem": "fmod",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "logistic": "sigmoid",
    "erf_inv": "erfinv",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
})
"""Primitives of one entry each, and their rows."""


def _named(row: str) -> Call:
    return lambda t, *arguments, **_: t.row(row, *arguments)


def _reduction(row: str) -> Call:
    return lambda t, x, *, axes, **_: t.row(row, x, axis=tuple(axes), keepdims=False)


def _cumulative(row: str) -> Call:
    def call(t: Translator, x: Any, *, axis: int, reverse: bool) -> str:
        if not reverse:
            return t.row(row, x, axis=axis)
        return t.row("flip", t.row(row, t.row("flip", x, axis=(axis,)), axis=axis), axis=(axis,))

    return call


def _power(t: Translator, x: Any, y: Any, **_: Any) -> str:
    exponent = y.item() if isinstance(y, np.ndarray) and y.size == 1 else y
    return CALLS["power"](t, x, exponent)


def _clamp(t: Translator, lower: Any, x: Any, upper: Any) -> str:
    return t.row("minimum", t.row("maximum", x, lower), upper)


def _select(t: Translator, which: Any, *cases: Any) -> str:
    """Record a choice among cases by truth values or numbers, which are known."""
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        chosen = np.broadcast_to(np.equal(which, number), t.shape(case))
        result = case if chosen.all() else result if not chosen.any() else t.row("where", chosen, case, result)
    return same(t, result)


def _reshaped(t: Translator, x: Any, *, new_sizes: Sequence[int], dimensions: Any = None, **_: Any) -> str:
    if dimensions is not None:
        raise Untraceable("it reshapes in an order of its own")
    return t.row("reshape", x, shape=tuple(new_sizes))


def _squeezed(t: Translator, x: Any, *, dimensions: Sequence[int]) -> str:
    return t.row("reshape", x, shape=tuple(n for axis, n in enumerate(t.shape(x)) if axis not in dimensions))


def _broadcast(t: Translator, x: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> str:
    ones = [1] * len(shape)
    for axis, n in zip(broadcast_dimensions, t.shape(x), strict=True):
        ones[axis] = n
    return t.row("broadcast_to", t.row("reshape", x, shape=tuple(ones)), shape=tuple(shape))


def _transposed(t: Translator, x: Any, *, permutation: Sequence[int]) -> str:
    return t.row("transpose", x, axes=tuple(permutation))


def _product(t: Translator, x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> str:
    """Record sums of products along some axes as one product of matrices, or of stacks of them."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    batch = tuple(t.shape(x)[axis] for axis in left_batch)
    terms = prod(t.shape(x)[axis] for axis in left)
    rows, a = _matrices(t, x, left_batch, left, (*batch, -1, terms), last=True)
    columns, b = _matrices(t, y, right_batch, right, (*batch, terms, -1), last=False)
    return t.row("reshape", t.row("matmul", a, b), shape=(*batch, *rows, *columns))


def _matrices(  # noqa: PLR0913 (an operand and where its axes go)
    t: Translator, x: Any, batch: Sequence[int], summed: Sequence[int], shape: Sequence[int], *, last: bool
) -> tuple[tuple[int, ...], str]:
    """Return the lengths of the axes that stay, and the operand with those that are summed last, or before them."""
    lengths = t.shape(x)
    free = [axis for axis in range(len(lengths)) if axis not in batch and axis not in summed]
    stay = tuple(lengths[axis] for axis in free)
    order = (*batch, *free, *summed) if last else (*batch, *summed, *free)
    turned = t.row("transpose", x, axes=order)
    return stay, t.row("reshape", turned, shape=tuple(prod(stay) if n == -1 else n for n in shape))


def _convolution(  # noqa: PLR0913 (JAX's parameters)
    t: Translator, x: Any, weight: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
    dimension_numbers: Any, feature_group_count: int, batch_group_count: int, **_: Any,
) -> str:  # fmt: skip
    """Record a convolution as a product of the weight with patches, which are entries that are moved, or zeros."""
    if feature_group_count * batch_group_count != 1:
        raise Untraceable("it calls a convolution of groups")
    x, weight = (
        t.row("transpose", each, axes=axes) for each, axes in zip((x, weight), dimension_numbers, strict=False)
    )
    outputs, _channels, *kernel = t.shape(weight)
    labels = np.arange(1.0, prod(t.shape(x)) + 1).reshape(t.shape(x))
    patches = import_module("jax").lax.conv_general_dilated_patches(
        labels, kernel, window_strides, padding, lhs_dilation, rhs_dilation
    )
    batch, terms, *space = patches.shape
    flat = t.row("concatenate", np.zeros(1, labels.dtype), t.row("reshape", x, shape=(labels.size,)), axis=0)
    taken = _taken(t, flat, np.asarray(patches).reshape(batch, terms, -1), labels.size + 1)
    product = t.row("matmul", t.row("reshape", weight, shape=(outputs, terms)), taken)
    shaped = t.row("reshape", product, shape=(batch, outputs, *space))
    return t.row("transpose", shaped, axes=tuple(int(axis) for axis in np.argsort(dimension_numbers.out_spec)))


def _rounded(t: Translator, x: Any, *, rounding_method: Any) -> str:
    if rounding_method.name != "TO_NEAREST_EVEN":
        raise Untraceable("it rounds halves away from zero")
    return t.row("round", x)


JAX_CALLS: Mapping[str, Call] = MappingProxyType({
    **{name: _named(row) for name, row in NAMES.items()},
    **{f"reduce_{name}": _reduction(name) for name in ("sum", "prod", "max", "min")},
    **{name: _cumulative(name) for name in ("cumsum", "cumprod", "cummax", "cummin")},
    "cumlogsumexp": _cumulative("logcumsumexp"),
    "pow": _power,
    "integer_pow": lambda t, x, *, y: CALLS["power"](t, x, y),
    "clamp": _clamp,
    "select_n": _select,
    "reshape": _reshaped,
    "squeeze": _squeezed,
    "broadcast_in_dim": _broadcast,
    "transpose": _transposed,
    "concatenate": lambda t, *arrays, dimension: t.row("concatenate", *arrays, axis=dimension),
    "stack": lambda t, *arrays, axis: t.row("stack", *arrays, axis=axis),
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "round": _rounded,
    **dict.fromkeys(("copy", "stop_gradient", "convert_element_type"), same),
})
"""Primitives with one result, by their names: they take values and the parameters of the equation."""


def _moved(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[str]:
    """Record where each entry comes from, as the primitive itself says of the entries' numbers."""
    real = [k for k, variable in enumerate(equation.invars) if is_real(variable.aval.dtype)]
    sizes = [arrays[k].size for k in real]
    labelled = list(arrays)
    for k, start in zip(real, accumulate(sizes[:-1], initial=0), strict=True):
        labelled[k] = np.arange(start, start + arrays[k].size, dtype=np.float64).reshape(np.shape(arrays[k]))
    labels = _bound(equation, labelled)
    flat = [t.row("reshape", given[k], shape=(size,)) for k, size in zip(real, sizes, strict=True)]
    joined = flat[0] if len(flat) == 1 else t.row("concatenate", *flat, axis=0)
    return [_taken(t, joined, np.asarray(each), sum(sizes)) for each in labels]


def _bound(equation: Any, arrays: Sequence[Array]) -> Sequence[Any]:
    found = equation.primitive.bind(*arrays, **equation.params)
    return found if equation.primitive.multiple_results else [found]


def _taken(t: Translator, flat: str, labels: Array, size: int) -> str:
    """Record the entries of a row that some labels stand for."""
    if not (np.isfinite(labels) & (labels >= 0) & (labels < size)).all():
        raise Untraceable("it reads beyond the end of an array")
    taken = t.row("take", flat, axis=0, indices=tuple(labels.ravel().astype(int).tolist()))
    return t.row("reshape", taken, shape=labels.shape)


def _sorted(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Record how entries are moved together."""
    labels = np.arange(arrays[0].size, dtype=np.float64).reshape(arrays[0].shape)
    *found, order = _bound(equation, [*arrays, labels])
    return [
        _taken(t, t.row("reshape", held, shape=(labels.size,)), np.asarray(order), labels.size) if held.name else array
        for held, array in zip(given, found, strict=True)
    ]


def _largest(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Record the largest entries along an axis."""
    _, places = _bound(equation, arrays)
    labels = np.arange(arrays[0].size, dtype=np.float64).reshape(arrays[0].shape)
    chosen = np.take_along_axis(labels, np.asarray(places, int), axis=equation.params["axis"])
    return [_taken(t, t.row("reshape", given[0], shape=(labels.size,)), chosen, labels.size), places]


def _added(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[str]:
    """Record entries that are added at places: those to which the transpose takes the numbers of the places."""
    onto, places, update = arrays
    labels = np.arange(1.0, onto.size + 1).reshape(onto.shape)
    jax = import_module("jax")  # which is there: the equation is one of its own
    how = {key: equation.params[key] for key in ("indices_are_sorted", "unique_indices", "mode")}
    onto_zeros = partial(jax.lax.scatter_add, np.zeros(onto.shape), places)
    numbers = equation.params["dimension_numbers"]
    _, reading = jax.vjp(lambda u: onto_zeros(u, numbers, **how), np.zeros(update.shape))
    (targets,) = reading(labels)
    flat = np.asarray(targets).ravel().astype(int) - 1
    if (flat < 0).any():
        raise Untraceable("it adds beyond the end of an array")
    source = t.row("reshape", given[2], shape=(update.size,))
    row = t.row("reshape", given[0], shape=(onto.size,))
    return [
        t.row("reshape", t.row("put", row, source, accumulate=True, indices=tuple(flat.tolist())), shape=onto.shape)
    ]


MOVING: Mapping[str, Moving] = MappingProxyType({
    **dict.fromkeys(("gather", "slice", "rev", "dynamic_slice", "dynamic_update_slice", "pad", "scatter"), _moved),
    **dict.fromkeys(("split", "tile", "unstack"), _moved),
    "sort": _sorted,
    "top_k": _largest,
    "scatter-add": _added,
})
"""Primitives that move entries alone: they take the equation, its values and the arrays that these are."""


def is_real(dtype: Any) -> bool:
    """Whether a dtype, which may be one that numpy does not have, is one of real numbers."""
    return bool(dtype.name.startswith(("float", "bfloat")))


def has_kink(name: str, parameters: Mapping[str, Any], arrays: Sequence[Array]) -> bool:
    """Whether a primitive is on a kink, which the function around it may not have."""
    if name in {"max", "min"}:
        return bool(np.any(np.equal(*arrays)))
    if name in {"abs", "sign"}:
        return not np.all(arrays[0])
    if name in {"reduce_max", "reduce_min"}:
        extremum = np.max if name == "reduce_max" else np.min
        axes = tuple(parameters["axes"])
        return bool(np.any(np.sum(arrays[0] == extremum(arrays[0], axis=axes, keepdims=True), axis=axes) > 1))
    return False
