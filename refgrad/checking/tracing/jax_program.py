"""Functions of JAX: the program that JAX itself makes of a function, run on recorded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.recorder import (
    Array,
    Call,
    Recorder,
    Row,
    Translator,
    Untraceable,
)

Moving = Callable[[Translator, Any, Sequence[Any], Sequence[Array]], Sequence[Any]]


PROGRAMS: Mapping[str, str] = MappingProxyType({
    "jit": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
})
"""Primitives of JAX 0.10 that run a program of their own, and the parameter that holds it.

Their rules of derivatives are not read."""


@dataclass(frozen=True, slots=True)
class JaxValue:
    """A value of the program: the name of a recorded one, or an array that does not depend on the inputs."""

    name: str
    array: Any = None


def _cumulative(row: str) -> Call:
    def call(t: Translator, x: Any, *, axis: int, reverse: bool) -> str:
        if not reverse:
            return t.row(row, x, axis=axis)
        return t.row("flip", t.row(row, t.row("flip", x, axis=(axis,)), axis=axis), axis=(axis,))

    return call


def _power(t: Translator, x: Any, y: Any, **_: Any) -> str:
    exponent = y.item() if isinstance(y, np.ndarray) and y.size == 1 else y
    return t.power(x, exponent)


def _select(t: Translator, which: Any, *cases: Any) -> str:
    """Record a choice among cases by booleans or numbers, which are known."""
    result = cases[0]
    for number, case in enumerate(cases[1:], 1):
        chosen = np.broadcast_to(np.equal(which, number), t.shape(case))
        result = case if chosen.all() else result if not chosen.any() else t.row("where", chosen, case, result)
    return t.same(result)


def _broadcast(t: Translator, x: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> str:
    ones = [1] * len(shape)
    for axis, n in zip(broadcast_dimensions, t.shape(x), strict=True):
        ones[axis] = n
    return t.row("broadcast_to", t.row("reshape", x, shape=tuple(ones)), shape=tuple(shape))


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
    """Return the lengths of the other axes, and the operand with the axes that are summed last, or before those."""
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
    """Record a convolution as a product of the weight with patches, which hold entries of the array, or zeros."""
    if feature_group_count * batch_group_count != 1:
        raise Untraceable("it calls a convolution of groups")
    x, weight = (
        t.row("transpose", each, axes=axes) for each, axes in zip((x, weight), dimension_numbers, strict=False)
    )
    outputs, _channels, *kernel = t.shape(weight)
    patches = import_module("jax").lax.conv_general_dilated_patches(
        _labels(t.value(x)), kernel, window_strides, padding, lhs_dilation, rhs_dilation
    )
    batch, terms, *space = patches.shape
    taken = t.entries([x], np.asarray(patches).reshape(batch, terms, -1))
    product = t.row("matmul", t.row("reshape", weight, shape=(outputs, terms)), taken)
    shaped = t.row("reshape", product, shape=(batch, outputs, *space))
    return t.row("transpose", shaped, axes=tuple(int(axis) for axis in np.argsort(dimension_numbers.out_spec)))


def _rounded(t: Translator, x: Any, *, rounding_method: Any) -> str:
    if rounding_method.name != "TO_NEAREST_EVEN":
        raise Untraceable("it rounds halves away from zero")
    return t.row("round", x)


JAX: Mapping[str, Row] = MappingProxyType({
    **{f"reduce_{name}": name for name in ("sum", "prod", "max", "min")},
    **{name: _cumulative(name) for name in ("cumsum", "cumprod", "cummax", "cummin")},
    "cumlogsumexp": _cumulative("logcumsumexp"),
    "add_any": "add",
    "max": "maximum",
    "min": "minimum",
    "rem": "fmod",
    "logistic": "sigmoid",
    "erf_inv": "erfinv",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
    "pow": _power,
    "integer_pow": Translator.power,
    "clamp": lambda t, lower, x, upper: t.clip(x, lower, upper),
    "select_n": _select,
    "reshape": Translator.reshape,
    "squeeze": Translator.squeeze,
    "broadcast_in_dim": _broadcast,
    "transpose": "transpose",
    "concatenate": lambda t, *arrays, axis: t.row("concatenate", *arrays, axis=axis),
    "stack": lambda t, *arrays, axis: t.row("stack", *arrays, axis=axis),
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "round": _rounded,
    **dict.fromkeys(("copy", "stop_gradient", "convert_element_type"), Translator.same),
})
"""Primitives with one result: rows of operands and of the parameters of the equation."""

RENAMED: Mapping[str, str] = MappingProxyType({
    "axes": "axis",
    "dimension": "axis",
    "dimensions": "axis",
    "permutation": "axes",
    "new_sizes": "shape",
})
"""Parameters of JAX by the names of the table and of the functions that rows share."""


def _moved(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[str]:
    """Record where each entry comes from, as the primitive itself says of numbers of entries."""
    real = [k for k, variable in enumerate(equation.invars) if is_real(variable.aval.dtype)]
    labelled = list(arrays)
    for k, start in zip(real, accumulate((arrays[k].size for k in real), initial=1), strict=False):
        labelled[k] = _labels(arrays[k], start)
    return [t.entries([given[k] for k in real], np.asarray(each)) for each in _bound(equation, labelled)]


def _labels(array: Array, start: int = 1) -> Array:
    return np.arange(start, start + array.size, dtype=np.float64).reshape(np.shape(array))


def _bound(equation: Any, arrays: Sequence[Array]) -> Sequence[Any]:
    found = equation.primitive.bind(*arrays, **equation.params)
    return found if equation.primitive.multiple_results else [found]


def _sorted(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Record entries that are sorted together."""
    *sorted_arrays, order = _bound(equation, [*arrays, _labels(arrays[0])])
    return [
        t.entries([held], np.asarray(order)) if held.name else array
        for held, array in zip(given, sorted_arrays, strict=True)
    ]


def _largest(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Record the largest entries along an axis."""
    _, places = _bound(equation, arrays)
    chosen = np.take_along_axis(_labels(arrays[0]), np.asarray(places, int), axis=equation.params["axis"])
    return [t.entries(given, chosen), places]


def _added(t: Translator, equation: Any, given: Sequence[Any], arrays: Sequence[Array]) -> list[str]:
    """Record entries that are added at indices: those to which the transpose takes their numbers."""
    onto, places, update = arrays
    jax = import_module("jax")  # which is there: the equation is one of its own
    how = {key: equation.params[key] for key in ("indices_are_sorted", "unique_indices", "mode")}
    onto_zeros = partial(jax.lax.scatter_add, np.zeros(onto.shape), places)
    numbers = equation.params["dimension_numbers"]
    _, reading = jax.vjp(lambda u: onto_zeros(u, numbers, **how), np.zeros(update.shape))
    (targets,) = reading(_labels(onto))
    flat = np.asarray(targets).ravel().astype(int) - 1
    if (flat < 0).any():
        raise Untraceable("it adds beyond the end of an array")
    row, source = t.ravel(given[0]), t.ravel(given[2])
    added = t.row("put", row, source, accumulate=True, indices=tuple(flat.tolist()))
    return [t.row("reshape", added, shape=onto.shape)]


MOVING: Mapping[str, Moving] = MappingProxyType({
    **dict.fromkeys(("gather", "slice", "rev", "dynamic_slice", "dynamic_update_slice", "pad", "scatter"), _moved),
    **dict.fromkeys(("split", "tile", "unstack"), _moved),
    "sort": _sorted,
    "top_k": _largest,
    "scatter-add": _added,
})
"""Primitives that only move entries: functions of the equation, its values and their arrays."""


def is_real(dtype: Any) -> bool:
    """Return True if a dtype, which may be one that NumPy lacks, is one of real numbers."""
    return bool(dtype.name.startswith(("float", "bfloat")))


def has_kink(name: str, parameters: Mapping[str, Any], arrays: Sequence[Array]) -> bool:
    """Return True if a primitive is at a kink, which the function around it may not have."""
    if name in {"max", "min"}:
        return bool(np.any(np.equal(*arrays)))
    if name in {"abs", "sign"}:
        return not np.all(arrays[0])
    if name in {"reduce_max", "reduce_min"}:
        extremum = np.max if name == "reduce_max" else np.min
        axes = tuple(parameters["axes"])
        return bool(np.any(np.sum(arrays[0] == extremum(arrays[0], axis=axes, keepdims=True), axis=axes) > 1))
    return False


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Record the program that JAX makes of the function, and return the names of its outputs."""
    library = subject.library
    assert isinstance(library, JaxArrays)
    closed = library.program(subject)
    leaves = [recorder.leaf(recorder.fresh("x"), array, requires_grad=True) for array in subject.point]
    program = _Program(recorder)
    outputs = program.run(closed.jaxpr, closed.consts, [JaxValue(name) for name in leaves])
    recorder.sealed = True  # a program has no other way to its inputs
    return tuple(map(program.name_of, outputs))


class _Program(Translator):
    """Runs programs on values in float64. The dtype to which JAX rounds them is found elsewhere."""

    rows = JAX
    renamed = RENAMED
    depth = 0
    """Number of programs around the one that runs."""

    def name_of(self, value: Any) -> str:
        """Return the name of a value, or of a new constant."""
        if isinstance(value, JaxValue):
            return value.name or self.name_of(value.array)
        array = np.asarray(value)
        return self.recorder.constant(array.astype(np.float64) if is_real(array.dtype) else array)

    def array(self, held: JaxValue, variable: Any) -> Any:
        """Return the array that a variable holds."""
        if not held.name:
            return held.array
        return self.recorder.values[held.name].astype(variable.aval.dtype)

    def run(self, program: Any, constants: Sequence[Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Run a program on values. Its constants are arrays."""
        values: dict[Any, JaxValue] = {}

        def read(variable: Any) -> JaxValue:
            return JaxValue("", variable.val) if hasattr(variable, "val") else values[variable]

        values.update(zip(program.constvars, (JaxValue("", array) for array in constants), strict=True))
        values.update(zip(program.invars, given, strict=True))
        for equation in program.eqns:
            found = self.results(equation, [read(variable) for variable in equation.invars])
            values.update(zip(equation.outvars, found, strict=True))
        return [read(variable) for variable in program.outvars]

    def results(self, equation: Any, given: Sequence[JaxValue]) -> Sequence[JaxValue]:
        """Return the results of an equation. Raise Untraceable if it has no row."""
        name = equation.primitive.name
        if equation.effects:
            raise Untraceable(f"it calls {name}, which does something beside what it returns")
        if name in PROGRAMS:
            return self.inside(equation.params[PROGRAMS[name]], given)
        if not any(held.name for held in given) or not any(_is_continuous(variable) for variable in equation.outvars):
            return self.computed(equation, given)
        if not all(is_real(variable.aval.dtype) for variable in equation.outvars if _is_continuous(variable)):
            raise Untraceable(f"it calls {name}, which gives complex numbers")
        if name in FLOW:
            return FLOW[name](self, equation.params, given)
        arrays = [np.asarray(self.array(*pair)) for pair in _pairs(equation, given)]
        if self.depth and has_kink(name, equation.params, arrays):
            raise Untraceable(f"it meets a kink of {name} inside of a function of its own")
        if name in MOVING:
            moved = MOVING[name](self, equation, given, arrays)
            return [JaxValue(each) if isinstance(each, str) else JaxValue("", each) for each in moved]
        arguments = [held if held.name else np.asarray(held.array) for held in given]
        return [JaxValue(self.translate(name, arguments, equation.params))]

    def computed(self, equation: Any, given: Sequence[JaxValue]) -> list[JaxValue]:
        """Return the results of an equation through which no derivative goes."""
        arrays = [self.array(*pair) for pair in _pairs(equation, given)]
        found = equation.primitive.bind(*arrays, **equation.params)
        several = equation.primitive.multiple_results
        return [JaxValue("", array) for array in (found if several else [found])]

    def inside(self, program: Any, given: Sequence[JaxValue]) -> list[JaxValue]:
        """Run a program inside another one."""
        self.depth += 1
        found = self.run(getattr(program, "jaxpr", program), getattr(program, "consts", ()), given)
        self.depth -= 1
        return found

    def cond(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Run the branch that the values choose."""
        return self.inside(parameters["branches"][int(given[0].array)], given[1:])

    def scan(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Unroll a loop over rows."""
        fixed, carried = parameters["num_consts"], parameters["num_carry"]
        constants, carry, rows = given[:fixed], list(given[fixed : fixed + carried]), given[fixed + carried :]
        steps = range(parameters["length"])
        made: list[list[JaxValue]] = []
        for step in reversed(steps) if parameters["reverse"] else steps:
            found = self.inside(parameters["jaxpr"], [*constants, *carry, *(self.step(each, step) for each in rows)])
            carry = found[:carried]
            made.append(found[carried:])
        columns = zip(*(reversed(made) if parameters["reverse"] else made), strict=True)
        return [*carry, *map(self.stacked, columns)]

    def stacked(self, column: Sequence[JaxValue]) -> JaxValue:
        """Return rows as one array."""
        if any(held.name for held in column):
            return JaxValue(self.row("stack", *column, axis=0))
        return JaxValue("", np.stack([held.array for held in column]))

    def step(self, held: JaxValue, step: int) -> JaxValue:
        """Return one row of an array."""
        if held.name:
            return JaxValue(self.row("index", held, index=(step,)))
        return JaxValue("", held.array[step])

    def repeat(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Repeat a program as long as the values say."""
        tests, bodies = parameters["cond_nconsts"], parameters["body_nconsts"]
        of_test, of_body, carry = given[:tests], given[tests : tests + bodies], list(given[tests + bodies :])
        while bool(self.inside(parameters["cond_jaxpr"], [*of_test, *carry])[0].array):
            carry = self.inside(parameters["body_jaxpr"], [*of_body, *carry])
        return carry


FLOW: Mapping[str, Callable[[_Program, Mapping[str, Any], Sequence[JaxValue]], list[JaxValue]]] = MappingProxyType({
    "cond": _Program.cond,
    "scan": _Program.scan,
    "while": _Program.repeat,
})
"""Primitives that choose or repeat programs."""


def _pairs(equation: Any, given: Sequence[JaxValue]) -> list[tuple[JaxValue, Any]]:
    return list(zip(given, equation.invars, strict=True))


def _is_continuous(variable: Any) -> bool:
    """Return True if a variable holds real or complex numbers, through which a derivative goes."""
    return is_real(variable.aval.dtype) or variable.aval.dtype.name.startswith("complex")
