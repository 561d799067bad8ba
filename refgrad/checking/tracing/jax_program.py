"""Functions of JAX: the program that JAX itself makes of a function, run on recorded values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.recorder import Array, Recorder, Translator, Untraceable

Value = Any
"""A value of a program: the name of a recorded one, or an array that does not depend on the inputs."""


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Record the program that JAX makes of the function, and return the names of its outputs."""
    library = subject.library
    assert isinstance(library, JaxArrays)
    closed = library.program(subject)
    leaves = [recorder.leaf(recorder.fresh("x"), array, requires_grad=True) for array in subject.point]
    program = JaxProgram(recorder)
    outputs = program.run(closed.jaxpr, closed.consts, leaves)
    recorder.sealed = True  # a jaxpr depends on its inputs in no other way
    return tuple(map(program.named, outputs))


class JaxProgram(Translator):
    """Runs programs on values in float64. The dtype to which JAX rounds the values is determined elsewhere.

    Its methods are rows of ``specs``, for calls or for equations.
    """

    library = "jax"
    depth = 0
    """Nesting depth of the running program."""

    def name_of(self, value: Any) -> str:
        """Return the name of a new constant."""
        array = np.asarray(value)
        return self.recorder.constant(array.astype(np.float64) if is_real(array.dtype) else array)

    def arrays(self, equation: Any, operands: Sequence[Value]) -> list[Any]:
        """Return the arrays that an equation takes, in the dtypes of its variables."""
        return [
            self.recorder.values[value].astype(variable.aval.dtype) if is_recorded(value) else value
            for value, variable in zip(operands, equation.invars, strict=True)
        ]

    def run(self, program: Any, constants: Sequence[Any], operands: Sequence[Value]) -> list[Value]:
        """Run a program on values. Its constants are arrays."""
        values: dict[Any, Value] = {}

        def read(variable: Any) -> Value:
            return variable.val if hasattr(variable, "val") else values[variable]

        values.update(zip(program.constvars, constants, strict=True))
        values.update(zip(program.invars, operands, strict=True))
        for equation in program.eqns:
            outputs = self.results(equation, [read(variable) for variable in equation.invars])
            values.update(zip(equation.outvars, outputs, strict=True))
        return [read(variable) for variable in program.outvars]

    def results(self, equation: Any, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the results of an equation. Raise Untraceable if it has no row."""
        name, parameters, known = equation.primitive.name, equation.params, self.call_names
        if equation.effects:
            raise Untraceable(f"it calls {name}, which does something beside what it returns")
        if name in known.programs:
            return self.inside(parameters[known.programs[name]], operands)
        results = [variable for variable in equation.outvars if _is_continuous(variable)]
        if not results or not any(map(is_recorded, operands)):
            return _bound(equation, self.arrays(equation, operands))
        if not all(is_real(variable.aval.dtype) for variable in results):
            raise Untraceable(f"it calls {name}, which gives complex numbers")
        if self.depth and has_kink(name, parameters, self.arrays(equation, operands)):
            raise Untraceable(f"it meets a kink of {name} inside of a function of its own")
        if name in known.equations:
            return getattr(self, known.equations[name])(equation, operands)  # type: ignore[no-any-return]
        if name in known.moves:
            return self.moved(equation, operands)
        arguments = [value if is_recorded(value) else np.asarray(value) for value in operands]
        return [self.translate(name, arguments, parameters)]

    def inside(self, program: Any, operands: Sequence[Value]) -> list[Value]:
        """Run a program inside another one."""
        self.depth += 1
        outputs = self.run(getattr(program, "jaxpr", program), getattr(program, "consts", ()), operands)
        self.depth -= 1
        return outputs

    def branch(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Run the branch that the value of the index selects."""
        return self.inside(equation.params["branches"][int(operands[0])], operands[1:])

    def scan(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Unroll a loop over rows."""
        parameters = equation.params
        fixed, carried = parameters["num_consts"], parameters["num_carry"]
        constants, carry, rows = operands[:fixed], list(operands[fixed : fixed + carried]), operands[fixed + carried :]
        steps = range(parameters["length"])
        stacked: list[list[Value]] = []
        for step in reversed(steps) if parameters["reverse"] else steps:
            row = [self.row("index", each, index=(step,)) if is_recorded(each) else each[step] for each in rows]
            outputs = self.inside(parameters["jaxpr"], [*constants, *carry, *row])
            carry = outputs[:carried]
            stacked.append(outputs[carried:])
        columns = zip(*(reversed(stacked) if parameters["reverse"] else stacked), strict=True)
        return [*carry, *map(self.stacked, columns)]

    def stacked(self, column: Sequence[Value]) -> Value:
        """Return rows as one array."""
        return self.row("stack", *column, axis=0) if any(map(is_recorded, column)) else np.stack(column)

    def repeat(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Repeat a program while its condition is true of the values."""
        parameters = equation.params
        tests, bodies = parameters["cond_nconsts"], parameters["body_nconsts"]
        of_test, of_body, carry = operands[:tests], operands[tests : tests + bodies], list(operands[tests + bodies :])
        while bool(self.inside(parameters["cond_jaxpr"], [*of_test, *carry])[0]):
            carry = self.inside(parameters["body_jaxpr"], [*of_body, *carry])
        return carry

    def moved(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Record where each entry comes from, found by applying the primitive to the numbers of the entries."""
        real = [k for k, variable in enumerate(equation.invars) if is_real(variable.aval.dtype)]
        labelled = self.arrays(equation, operands)
        for k, start in zip(real, accumulate((np.size(labelled[k]) for k in real), initial=1), strict=False):
            labelled[k] = _labels(labelled[k], start)
        return [self.entries([operands[k] for k in real], np.asarray(each)) for each in _bound(equation, labelled)]

    def in_order(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Record entries that are sorted together."""
        arrays = self.arrays(equation, operands)
        *sorted_arrays, order = _bound(equation, [*arrays, _labels(arrays[0])])
        return [
            self.entries([value], np.asarray(order)) if is_recorded(value) else array
            for value, array in zip(operands, sorted_arrays, strict=True)
        ]

    def largest(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Record the largest entries along an axis."""
        arrays = self.arrays(equation, operands)
        _, indices = _bound(equation, arrays)
        chosen = np.take_along_axis(_labels(arrays[0]), np.asarray(indices, int), axis=equation.params["axis"])
        return [self.entries(operands, chosen), indices]

    def added(self, equation: Any, operands: Sequence[Value]) -> list[Value]:
        """Record entries that are added at indices. The transpose, applied to numbers of entries, gives the indices."""
        onto, indices, update = self.arrays(equation, operands)
        jax = import_module("jax")  # the module exists, since the equation is one of JAX
        how = {key: equation.params[key] for key in ("indices_are_sorted", "unique_indices", "mode")}
        onto_zeros = partial(jax.lax.scatter_add, np.zeros(onto.shape), indices)
        numbers = equation.params["dimension_numbers"]
        _, reading = jax.vjp(lambda u: onto_zeros(u, numbers, **how), np.zeros(update.shape))
        (targets,) = reading(_labels(onto))
        flat = np.asarray(targets).ravel().astype(int) - 1
        if (flat < 0).any():
            raise Untraceable("it adds beyond the end of an array")
        row, source = self.ravel(operands[0]), self.ravel(operands[2])
        result = self.row("put", row, source, accumulate=True, indices=tuple(flat.tolist()))
        return [self.row("reshape", result, shape=onto.shape)]

    def cumulative(self, x: Any, *, axis: int, reverse: bool, operator: str) -> str:
        """Record a cumulative sum or the like, which may begin at the end."""
        if not reverse:
            return self.row(operator, x, axis=axis)
        return self.row("flip", self.row(operator, self.row("flip", x, axis=(axis,)), axis=axis), axis=(axis,))

    def power_by_array(self, x: Any, y: Any, **_: Any) -> str:
        """Record a power whose exponent may be an array of one number."""
        return self.power(x, y.item() if isinstance(y, np.ndarray) and y.size == 1 else y)

    def clamp(self, lower: Any, x: Any, upper: Any) -> str:
        """Record bounds."""
        return self.clip(x, lower, upper)

    def choice(self, which: Any, *cases: Any) -> str:
        """Record a choice among cases by booleans or numbers, which are known."""
        result = cases[0]
        for number, case in enumerate(cases[1:], 1):
            chosen = np.broadcast_to(np.equal(which, number), self.shape(case))
            result = case if chosen.all() else result if not chosen.any() else self.row("where", chosen, case, result)
        return self.named(result)

    def broadcast_in_axes(self, x: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> str:
        """Record an array that is repeated along new axes, or along its axes of length 1."""
        ones = [1] * len(shape)
        for axis, n in zip(broadcast_dimensions, self.shape(x), strict=True):
            ones[axis] = n
        return self.row("broadcast_to", self.row("reshape", x, shape=tuple(ones)), shape=tuple(shape))

    def product(self, x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> str:
        """Record sums of products along some axes as one product of matrices, or of stacks of them."""
        (left, right), (left_batch, right_batch) = dimension_numbers
        batch = tuple(self.shape(x)[axis] for axis in left_batch)
        terms = prod(self.shape(x)[axis] for axis in left)
        rows, a = self.matrices(x, left_batch, left, (*batch, -1, terms), last=True)
        columns, b = self.matrices(y, right_batch, right, (*batch, terms, -1), last=False)
        return self.row("reshape", self.row("matmul", a, b), shape=(*batch, *rows, *columns))

    def matrices(
        self, x: Any, batch: Sequence[int], summed: Sequence[int], shape: Sequence[int], *, last: bool
    ) -> tuple[tuple[int, ...], str]:
        """Return the lengths of the other axes, and the operand with the axes that are summed last, or before those."""
        lengths = self.shape(x)
        free = [axis for axis in range(len(lengths)) if axis not in batch and axis not in summed]
        stay = tuple(lengths[axis] for axis in free)
        order = (*batch, *free, *summed) if last else (*batch, *summed, *free)
        turned = self.row("transpose", x, axes=order)
        return stay, self.row("reshape", turned, shape=tuple(prod(stay) if n == -1 else n for n in shape))

    def convolution(  # noqa: PLR0913 (JAX's parameters)
        self, x: Any, weight: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
        dimension_numbers: Any, feature_group_count: int, batch_group_count: int, **_: Any,
    ) -> str:  # fmt: skip
        """Record a convolution as a product of the weight with patches, which hold entries of the array, or zeros."""
        if feature_group_count * batch_group_count != 1:
            raise Untraceable("it calls a convolution of groups")
        x, weight = (
            self.row("transpose", each, axes=axes) for each, axes in zip((x, weight), dimension_numbers, strict=False)
        )
        outputs, _channels, *kernel = self.shape(weight)
        patches = import_module("jax").lax.conv_general_dilated_patches(
            _labels(self.value(x)), kernel, window_strides, padding, lhs_dilation, rhs_dilation
        )
        batch, terms, *space = patches.shape
        taken = self.entries([x], np.asarray(patches).reshape(batch, terms, -1))
        product = self.row("matmul", self.row("reshape", weight, shape=(outputs, terms)), taken)
        shaped = self.row("reshape", product, shape=(batch, outputs, *space))
        return self.row("transpose", shaped, axes=tuple(int(axis) for axis in np.argsort(dimension_numbers.out_spec)))

    def rounded(self, x: Any, *, rounding_method: Any) -> str:
        """Record rounding to the nearest whole number, halves to even."""
        if rounding_method.name != "TO_NEAREST_EVEN":
            raise Untraceable("it rounds halves away from zero")
        return self.row("round", x)


def is_recorded(value: Value) -> bool:
    """Return True for the name of a value, False for an array."""
    return isinstance(value, str)


def is_real(dtype: Any) -> bool:
    """Return True if a dtype, which NumPy may lack, holds real numbers."""
    return bool(dtype.name.startswith(("float", "bfloat")))


def _is_continuous(variable: Any) -> bool:
    """Return True if a variable holds real or complex numbers, through which a derivative goes."""
    return is_real(variable.aval.dtype) or variable.aval.dtype.name.startswith("complex")


def _labels(array: Array, start: int = 1) -> Array:
    return np.arange(start, start + np.size(array), dtype=np.float64).reshape(np.shape(array))


def _bound(equation: Any, arrays: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an equation applied to other arrays."""
    outputs = equation.primitive.bind(*arrays, **equation.params)
    return outputs if equation.primitive.multiple_results else [outputs]


def has_kink(name: str, parameters: Mapping[str, Any], arrays: Sequence[Array]) -> bool:
    """Return True if a primitive is at a kink. A custom rule around the primitive may have none there."""
    if name in {"max", "min"}:
        return bool(np.any(np.equal(*arrays)))
    if name in {"abs", "sign"}:
        return not np.all(arrays[0])
    if name in {"reduce_max", "reduce_min"}:
        extremum = np.max if name == "reduce_max" else np.min
        axes = tuple(parameters["axes"])
        return bool(np.any(np.sum(arrays[0] == extremum(arrays[0], axis=axes, keepdims=True), axis=axes) > 1))
    return False
