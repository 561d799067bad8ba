"""Arrays of JAX, and its gradients, which are functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from refgrad.checking.libraries.library import Function, TensorLibrary
from refgrad.checking.libraries.trees import Array, Arrays, Kind, from_real, is_numeric
from refgrad.native.engine import Engine


class JaxArrays(TensorLibrary):
    """Makes and reads arrays of JAX."""

    def __init__(self, engine: Engine) -> None:
        """Take JAX from the engine's namespace."""
        super().__init__(engine)
        self.numpy = engine.namespace["jnp"]
        jax = engine.namespace["jax"]
        self.arrays = (np.ndarray, jax.Array, np.generic)
        self.pure = True  # as JAX requires of functions
        self.seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self.add_compilation)

    def add_compilation(self, event: str, duration: float, **_: Any) -> None:
        """Add the seconds of a step of compilation."""
        self.seconds += duration if event.startswith("/jax/core/compile/") else 0.0

    def compiled(self) -> float:
        """Return the seconds of compilation so far."""
        return self.seconds

    def is_tensor(self, value: Any) -> bool:
        """Return True for an array of numbers."""
        return isinstance(value, self.arrays) and is_numeric(value.dtype)

    def kind(self, tensor: Any) -> Kind:
        """Return the dtype."""
        return Kind((tensor if isinstance(tensor, self.arrays) else np.asarray(tensor)).dtype.name)

    def values(self, tensor: Any) -> Array:
        """Return the values; those of at most 16 bits in float32."""
        array = np.asarray(tensor)
        return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype == np.float16 else array

    def code(self, value: Any) -> str:
        """Return code for an object; a key of random numbers is supported, too."""
        jax = self.engine.namespace["jax"]
        if not isinstance(value, jax.Array):
            return super().code(value)
        data = np.asarray(jax.random.key_data(value))
        return (
            f"jax.random.wrap_key_data(np.array({data.tolist()}, dtype=np.uint32), impl={jax.random.key_impl(value)!r})"
        )

    def make(self, array: Array, kind: Kind, *, requires_grad: bool) -> Any:
        """Return a new array."""
        del requires_grad
        own = from_real(array, kind)
        if own.dtype.name == kind.dtype:
            return self.numpy.array(own)
        return super().make(array, kind, requires_grad=True)

    def seed(self, array: Array, kind: Kind) -> Any:
        """Return a new cotangent."""
        own = self.oriented(from_real(array, kind))
        return self.numpy.array(own) if own.dtype.name == kind.dtype else super().seed(array, kind)

    def program(self, subject: Any, point: Arrays | None = None) -> Any:
        """Return the jaxpr of a subject for the dtypes of a point. Raises the errors of JAX and of the function."""
        arrays = subject.point if point is None else point
        dtypes = tuple(array.dtype for array in arrays)
        if dtypes not in subject.programs:
            inputs = zip(subject.positions, arrays, subject.kinds, strict=True)
            primals = [a if a.dtype.name == kind.dtype else subject.make(i, a) for i, a, kind in inputs]
            subject.programs[dtypes] = self.engine.namespace["jax"].make_jaxpr(subject.applied)(*primals)
        return subject.programs[dtypes]

    def results(self, subject: Any, point: Arrays) -> Sequence[Any]:
        """Return the outputs at another point by the jaxpr, if there is one, unless it may hold random numbers.

        Running the jaxpr takes less time than tracing the function anew.
        """
        arguments = subject.arguments(point)
        function: Function | None = None
        with suppress(Exception):  # a function may raise anything if it is not run on arrays
            run = import_module("jax.extend.core").jaxpr_as_fun(self.program(subject, point))
            function = (
                None if subject.random_state.repeats else lambda *_: run(*(arguments[i] for i in subject.positions))
            )
        return subject.call(arguments, function)  # type: ignore[no-any-return]

    def inner_dtypes(self, subject: Any, tensors: Sequence[Any]) -> Collection[str]:
        """Return the dtypes of the numbers in the jaxpr, or nothing if there is none."""
        del tensors
        try:
            program = self.program(subject)
        except Exception:  # noqa: BLE001 (a function may raise anything if it is not run on arrays)
            return ()
        return {variable.aval.dtype.name for equation in equations(program) for variable in equation.outvars}

    def gradient_function(self, function: Function, count: int) -> Function:
        """Return the gradient as a function of inputs and cotangents."""
        jax = self.engine.namespace["jax"]

        def gradient(*arguments: Any) -> Any:
            _, pullback = jax.vjp(function, *arguments[:count])
            return pullback(tuple(arguments[count:]))

        return gradient


def equations(program: Any) -> Iterator[Any]:
    """Yield the equations of a jaxpr, and those of the jaxprs inside of it."""
    for equation in program.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(inner, "eqns"):
                    yield from equations(inner)
