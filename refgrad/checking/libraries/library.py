"""Tensors of any engine, handled by the templates of its adapter."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from refgrad.checking.libraries.numbers import Array, Kind, as_given, as_real, is_numeric
from refgrad.native import calls
from refgrad.native.engine import Engine
from refgrad.native.statements import Name

Function = Callable[..., Any]

PLAIN: Final = (bool, int, float, str, type(None))
"""The types of values whose ``repr`` is code."""


class SubjectError(Exception):
    """The function cannot be run or differentiated at all; the message says at what it failed.

    A backward that raises is no gradient, which is wrong; of a function that raises nothing can be said.
    """

    def __init__(self, message: str, *, backward: bool = False, cause: str = "raises") -> None:
        """Say what was raised, and whether the backward did it, or why nothing can be said."""
        super().__init__(message)
        self.outcome: Literal["wrong", "inconclusive"] = "wrong" if backward else "inconclusive"
        self.cause = "" if backward else cause


class UnsupportedError(Exception):
    """What is asked cannot be checked, which says nothing of the gradient; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A generator of random numbers: how to read and to set what its next ones follow from."""

    state: Callable[[], Any]
    set_state: Callable[[Any], None]


NUMPY = Source(np.random.get_state, np.random.set_state)
PYTHON = Source(random.getstate, random.setstate)


class Library:
    """Makes and reads tensors of one engine."""

    def __init__(self, engine: Engine) -> None:
        """Handle the tensors of an engine in this process."""
        self.engine = engine
        self.counts_floats = True
        self.direct = False
        """Whether :meth:`gradients` is there."""
        self.conjugates = True
        """Whether the gradient by a complex number is the conjugate of the direction in which the output grows."""

    def is_tensor(self, value: Any) -> bool:
        """Whether something is a tensor of numbers, or as good as one."""
        if isinstance(value, np.ndarray | np.generic):
            return is_numeric(value.dtype)
        return hasattr(value, "shape") or hasattr(value, "data")

    def kind(self, tensor: Any) -> Kind:
        """Return what the entries of a tensor are."""
        return Kind(self.numbers(tensor).dtype.name)

    def values(self, tensor: Any) -> Array:
        """Return the values of a tensor, which may be its own memory."""
        if isinstance(tensor, np.ndarray | float):
            return np.asarray(tensor)
        return np.asarray(self.engine.evaluate(calls.value(self.engine.adapter, "tensor"), tensor=tensor))

    def numbers(self, tensor: Any) -> Array:
        """Return the values of what a function takes or returns. Raises SubjectError where they are not numbers."""
        what = f"an object of type {type(tensor).__name__}"
        try:
            values = self.values(tensor)
        except Exception as error:
            raise SubjectError(f"{what} cannot be read as a tensor: {type(error).__name__}: {error}") from error
        if not is_numeric(values.dtype):
            raise SubjectError(f"{what} holds values of dtype {values.dtype}, not numbers")
        return values

    def read(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values as real numbers. Raises SubjectError where they are not numbers."""
        return as_real(self.numbers(tensor))

    def code(self, value: Any) -> str:
        """Return code for something that is no tensor of numbers, nothing where there is none."""
        return repr(value) if isinstance(value, PLAIN) else ""

    def requires_grad(self, tensor: Any) -> bool:
        """Whether a tensor says that it is to be differentiated by; what says nothing is."""
        return bool(getattr(tensor, "requires_grad", not getattr(tensor, "constant", False)))

    def make(self, array: Array, kind: Kind, *, requires_grad: bool) -> Any:
        """Return a new tensor."""
        own = as_given(np.array(array), kind)
        made = calls.tensor(
            self.engine.adapter,
            array=Name("array"),
            scalar=Name("scalar"),
            dtype=kind.dtype,
            requires_grad=requires_grad,
        )
        return self.engine.evaluate(made, array=own, scalar=own.item() if own.ndim == 0 else None)

    def seed(self, array: Array, kind: Kind) -> Any:
        """Return a new cotangent."""
        made = calls.seed(self.engine.adapter, Name("array"), kind.dtype)
        return self.engine.evaluate(made, array=self.oriented(as_given(array.copy(), kind)))

    def read_gradient(self, gradient: Any) -> Array:
        """Return a copy of a gradient's values as real numbers: the direction in which the output grows."""
        return as_real(self.oriented(self.values(gradient)))

    def oriented(self, array: Array) -> Array:
        """Return a gradient or a cotangent with the imaginary part as it is meant here."""
        return array.conj() if self.conjugates and array.dtype.kind == "c" else array

    def parameters(self, function: Function) -> dict[str, Any]:
        """Return what a function differentiates by beside its inputs: the parameters of a module, by their names."""
        del function
        return {}

    def with_parameters(self, function: Function, names: Sequence[str]) -> Function:
        """Return a module as a function of its inputs, and behind them of its parameters of these names."""
        assert not names
        return function

    def module_call(self, parameters: str, arguments: str) -> str:
        """Return code that calls a module with other parameters, both as code."""
        raise NotImplementedError

    def sources(self) -> tuple[Source, ...]:
        """Return where functions draw random numbers from, the library's own source first."""
        return NUMPY, PYTHON

    def inner_dtypes(self, subject: Any, tensors: Sequence[Any]) -> Collection[str]:
        """Return the dtypes on the way to some outputs of a subject, as far as they are known."""
        del subject, tensors
        return ()

    def raised(self, function: Function) -> Function | None:
        """Return the function computed in float64 all the way, whatever it asks for; None where that cannot be."""
        del function
        return None

    def jvp(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return the outputs of a function and what a direction makes of them. Raises UnsupportedError."""
        adapter = self.engine.adapter
        if adapter.jvp is None:
            raise UnsupportedError(f"{adapter.name} has no forward mode")
        call = calls.call(adapter.jvp, function=Name("function"), primals=Name("primals"), tangents=Name("tangents"))
        return self.engine.evaluate(call, function=function, primals=primals, tangents=tangents)  # type: ignore[no-any-return]

    def gradients(self, tensors: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the leaves, which nothing else notices."""
        raise NotImplementedError

    def gradient_function(self, function: Function, count: int) -> Function:
        """Return the gradient of a function of ``count`` inputs, as a function of these and of its cotangents.

        Raises UnsupportedError where gradients cannot be differentiated.
        """
        del function, count
        raise UnsupportedError(f"second derivatives of {self.engine.adapter.name} are not checked")

    def batched_gradients(self, tensors: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """Return gradients for a batch of seeds, along a first axis. Raises UnsupportedError."""
        del tensors, leaves, seeds
        raise UnsupportedError(f"batched gradients of {self.engine.adapter.name} are not checked")
