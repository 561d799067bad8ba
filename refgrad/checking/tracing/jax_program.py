"""The scenario that a function of JAX amounts to: its program, as JAX itself writes it down, run on recorded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.libraries.jax_arrays import JaxArrays
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing.calls import CALLS, Translator
from refgrad.checking.tracing.jax_calls import JAX_CALLS, MOVING, has_kink, is_real
from refgrad.checking.tracing.recorder import Recorder, Untraceable

PROGRAMS: Mapping[str, str] = MappingProxyType({
    "jit": "jaxpr",
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
})
"""Primitives of JAX 0.10 that run a program of their own, and the parameter that has it.

Rules of derivatives are not looked at."""


@dataclass(frozen=True, slots=True)
class JaxValue:
    """A value of the program: a recorded one by its name, or one that does not depend on the inputs."""

    name: str
    array: Any = None


def trace(subject: CheckedFunction, recorder: Recorder) -> tuple[str, ...]:
    """Have JAX write the function down, record what that says, and return the names of its outputs."""
    library = subject.library
    assert isinstance(library, JaxArrays)
    closed = library.program(subject)
    leaves = [recorder.leaf(recorder.fresh("x"), array, requires_grad=True) for array in subject.point]
    program = _Program(recorder)
    outputs = program.run(closed.jaxpr, closed.consts, [JaxValue(name) for name in leaves])
    recorder.sealed = True  # a program has no other way to its inputs
    return tuple(map(program.name_of, outputs))


class _Program:
    """Runs programs on values as float64 arithmetic gives them; in which dtype JAX rounds them is asked elsewhere."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.translator = Translator(recorder, self.name_of, CALLS)
        self.depth = 0

    def name_of(self, value: Any) -> str:
        """Return the name of a value, which is recorded as a constant if it is not yet."""
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
        """Run a program on values; ``constants`` are arrays."""
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
        """Return what an equation gives. Raises Untraceable where no row says so."""
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
            moved = MOVING[name](self.translator, equation, given, arrays)
            return [JaxValue(each) if isinstance(each, str) else JaxValue("", each) for each in moved]
        if name not in JAX_CALLS:
            raise Untraceable(f"it calls {name}, which the operator table does not have")
        arguments = [held if held.name else np.asarray(held.array) for held in given]
        return [JaxValue(JAX_CALLS[name](self.translator, *arguments, **equation.params))]

    def computed(self, equation: Any, given: Sequence[JaxValue]) -> list[JaxValue]:
        """Return what an equation gives that the derivative does not go through."""
        arrays = [self.array(*pair) for pair in _pairs(equation, given)]
        found = equation.primitive.bind(*arrays, **equation.params)
        several = equation.primitive.multiple_results
        return [JaxValue("", array) for array in (found if several else [found])]

    def inside(self, program: Any, given: Sequence[JaxValue]) -> list[JaxValue]:
        """Run a program inside of another one."""
        self.depth += 1
        found = self.run(getattr(program, "jaxpr", program), getattr(program, "consts", ()), given)
        self.depth -= 1
        return found

    def cond(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Take the branch that the values take."""
        return self.inside(parameters["branches"][int(given[0].array)], given[1:])

    def scan(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Unroll a loop over rows."""
        fixed, carried = parameters["num_consts"], parameters["num_carry"]
        constants, carry, rows = given[:fixed], list(given[fixed : fixed + carried]), given[fixed + carried :]
        steps = range(parameters["length"])
        made: list[list[JaxValue]] = []
        for step in reversed(steps) if parameters["reverse"] else steps:
            found = self.inside(parameters["jaxpr"], [*constants, *carry, *(self.row(each, step) for each in rows)])
            carry = found[:carried]
            made.append(found[carried:])
        columns = zip(*(reversed(made) if parameters["reverse"] else made), strict=True)
        return [*carry, *map(self.stacked, columns)]

    def stacked(self, column: Sequence[JaxValue]) -> JaxValue:
        """Return rows as one array."""
        if any(held.name for held in column):
            return JaxValue(self.translator.row("stack", *column, axis=0))
        return JaxValue("", np.stack([held.array for held in column]))

    def row(self, held: JaxValue, step: int) -> JaxValue:
        """Return a row of an array."""
        if held.name:
            return JaxValue(self.translator.row("index", held, index=(step,)))
        return JaxValue("", held.array[step])

    def repeat(self, parameters: Mapping[str, Any], given: Sequence[JaxValue]) -> list[JaxValue]:
        """Repeat as often as the values do."""
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
    """Whether a variable holds real or complex numbers, which a derivative goes through."""
    return is_real(variable.aval.dtype) or variable.aval.dtype.name.startswith("complex")
