"""Tensors of any engine, handled by its adapter's templates, and the random state of its library."""

from __future__ import annotations

import gc
import pickle
import random
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np

from refgrad.checking.libraries.trees import Array, Arrays, Kind, as_real, from_real, is_numeric
from refgrad.native import calls
from refgrad.native.engine import Engine
from refgrad.native.statements import Name

Function = Callable[..., Any]

Change = Callable[[str, Array, Array], None]
"""Function of the dtype of a result, its bits as integers, which it may change, and what was rounded, if known.

The latter are the bits themselves in 16 bits."""

MOST_OBJECTS: Final = 2**10
"""Largest number of objects among which the generators that a function owns are looked for."""

PLAIN: Final = (bool, int, float, str, type(None))
"""Types of values whose ``repr`` is code."""

EMPTY: Final = frozenset({*PLAIN, types.CodeType, types.ModuleType})
"""Types of objects in which no generators are looked for."""


class SubjectError(Exception):
    """Raised if the function cannot be run; the check is then inconclusive."""

    outcome: Literal["wrong", "inconclusive"] = "inconclusive"
    cause = "raises"


class ChangedError(SubjectError):
    """Raised if two calls of the function return different results."""

    cause = "changes"


class UnsupportedError(SubjectError):
    """The gradient cannot be checked, for the reason in the message."""

    cause = "unsupported"


class WrongError(SubjectError):
    """The gradient is wrong, whatever its numbers are, since the backward raises or has a forbidden side effect.

    It writes to an input or a seed, or the function has another value when it is differentiated.
    """

    outcome = "wrong"
    cause = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A generator of random numbers, whose state can be read and set."""

    state: Callable[[], Any]
    set_state: Callable[[Any], None]


NUMPY = Source(np.random.get_state, np.random.set_state)
PYTHON = Source(random.getstate, random.setstate)


def source_of(value: Any) -> Source | None:
    """Return an object as a source of random numbers, or None if it is no generator."""
    if not _is_generator(type(value)):  # type: ignore[arg-type]
        return None
    value = getattr(value, "bit_generator", value)
    if isinstance(value, np.random.BitGenerator):
        return Source(lambda: value.state, lambda state: setattr(value, "state", state))
    if isinstance(value, np.random.RandomState):
        return Source(value.get_state, value.set_state)
    if isinstance(value, random.Random):
        return Source(value.getstate, value.setstate)
    return Source(value.get_state, value.set_state)


@cache
def _is_generator(kind: type) -> bool:
    """Return True for the types of NumPy, Python and PyTorch whose objects are sources of random numbers."""
    known = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
    own = kind.__name__ == "Generator" and hasattr(kind, "get_state")  # generators of PyTorch, whose states are tensors
    return own or (issubclass(kind, known) and not issubclass(kind, random.SystemRandom))


def owned_sources(*roots: Any, package: str = "") -> list[Source]:
    """Return the generators of random numbers that some functions and objects refer to.

    The globals that functions of a ``package`` name are left out.
    """
    waiting, seen, sources = [*roots], dict[int, Any](), list[Source]()
    while waiting and len(seen) < MOST_OBJECTS:
        value = waiting.pop()
        if type(value) in EMPTY or id(value) in seen:
            continue
        seen[id(value)] = value  # the object is kept alive, so that its id stays unique
        source = source_of(value)
        if source is None:
            waiting += _held(value, package)
        else:
            sources.append(source)
    return sources


def _held(value: Any, package: str) -> list[Any]:
    """Return the objects that an object refers to; of globals only those that a function names.

    Of the functions and classes that are globals, only those of the same module are among them.
    """
    code = types.FunctionType | type
    own = isinstance(value, code) and (value.__module__ or "").partition(".")[0] != package
    if isinstance(value, types.FunctionType):
        named = [value.__globals__.get(name) for name in _names(value.__code__)] if own else []
        held = [each for each in named if not isinstance(each, code) or each.__module__ == value.__module__]
        cells, defaults = value.__closure__ or (), value.__defaults__ or ()
        return [*gc.get_referents(*cells), *defaults, value.__kwdefaults__, *vars(value).values(), *held]
    if isinstance(value, staticmethod):
        return [value.__func__]
    if isinstance(value, type):
        return [vars(value).get(name) for name in ("__call__", "forward", "backward")] if own else []
    return [] if type(value).__name__ == "PyTreeRegistry" else gc.get_referents(value)  # JAX's, of all types


def _names(code: types.CodeType) -> list[str]:
    """Return the names that are used by code and by the functions inside of it."""
    inner = [each for each in code.co_consts if type(each) is types.CodeType]
    return [*code.co_names, *(name for each in inner for name in _names(each))]


def together(sources: Sequence[Source]) -> Source:
    """Return one source that reads and sets the states of several."""

    def set_states(states: Sequence[Any]) -> None:
        for source, state in zip(sources, states, strict=True):
            source.set_state(state)

    return Source(lambda: [source.state() for source in sources], set_states) if len(sources) > 1 else sources[0]


class TensorLibrary:
    """Makes and reads tensors of one engine."""

    def __init__(self, engine: Engine) -> None:
        """Handle the tensors of an engine in this process."""
        self.engine = engine
        self.counts_floats = True
        self.pure = False
        """True if functions keep no state and cannot write to tensors; they are traced anew for each gradient.

        Two backward calls are then as good as three.
        """
        self.direct = False
        """True if :meth:`gradients` is implemented."""
        self.conjugates = True
        """True if the gradient by a complex number is the conjugate of the direction in which the output grows."""

    def is_tensor(self, value: Any) -> bool:
        """Return True for a tensor of numbers, or an object that can be used as one."""
        if isinstance(value, np.ndarray | np.generic):
            return is_numeric(value.dtype)
        return hasattr(value, "shape") or hasattr(value, "data")

    def kind(self, tensor: Any) -> Kind:
        """Return the kind of a tensor."""
        return Kind(self.numbers(tensor).dtype.name)

    def values(self, tensor: Any) -> Array:
        """Return the values of a tensor, possibly without a copy."""
        if isinstance(tensor, np.ndarray | float):
            return np.asarray(tensor)
        return np.asarray(self.engine.evaluate(calls.value(self.engine.adapter, "tensor"), tensor=tensor))

    def numbers(self, tensor: Any) -> Array:
        """Return the values of an argument or a result. Raises SubjectError if they are not numbers."""
        what = f"an object of type {type(tensor).__name__}"
        try:
            values = self.values(tensor)
        except Exception as error:
            raise SubjectError(f"{what} cannot be read as a tensor: {type(error).__name__}: {error}") from error
        if not is_numeric(values.dtype):
            raise SubjectError(f"{what} holds values of dtype {values.dtype}, not numbers")
        return values

    def read(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values as real numbers. Raises SubjectError if they are not numbers."""
        return as_real(self.numbers(tensor))

    def code(self, value: Any) -> str:
        """Return code for an object that is no tensor of numbers, or an empty string if there is none."""
        return repr(value) if isinstance(value, PLAIN) else ""

    def requires_grad(self, tensor: Any) -> bool:
        """Return True if a tensor requires a gradient, or does not say so."""
        return bool(getattr(tensor, "requires_grad", not getattr(tensor, "constant", False)))

    def make(self, array: Array, kind: Kind, *, requires_grad: bool) -> Any:
        """Return a new tensor."""
        own = from_real(np.array(array), kind)
        expression = calls.tensor(
            self.engine.adapter,
            array=Name("array"),
            scalar=Name("scalar"),
            dtype=kind.dtype,
            requires_grad=requires_grad,
        )
        return self.engine.evaluate(expression, array=own, scalar=own.item() if own.ndim == 0 else None)

    def seed(self, array: Array, kind: Kind) -> Any:
        """Return a new cotangent."""
        expression = calls.seed(self.engine.adapter, Name("array"), kind.dtype)
        return self.engine.evaluate(expression, array=self.oriented(from_real(array.copy(), kind)))

    def dtype_code(self, kind: Kind) -> str:
        """Return code for the dtype of a tensor."""
        return kind.dtype

    def read_gradient(self, gradient: Any) -> Array:
        """Return a copy of a gradient's values as real numbers: the direction in which the output grows."""
        return as_real(self.oriented(self.values(gradient)))

    def oriented(self, array: Array) -> Array:
        """Return a gradient or a cotangent with the sign of the imaginary part that refgrad uses."""
        return array.conj() if self.conjugates and array.dtype.kind == "c" else array

    def parameters(self, function: Function) -> dict[str, Any]:
        """Return the parameters of a module by name. Gradients with respect to them are checked, too."""
        del function
        return {}

    def with_parameters(self, function: Function, names: Sequence[str]) -> Function:
        """Return a module as a function of its inputs, followed by the parameters with these names."""
        assert not names
        return function

    def module_call(self, parameters: str, arguments: str) -> str:
        """Return code that calls a module with other parameters, given both as code."""
        raise NotImplementedError

    def compiled(self) -> float:
        """Return the number of seconds for which the library has compiled functions in this process."""
        return 0.0

    def sources(self) -> tuple[Source, ...]:
        """Return the sources of random numbers, the library's own first."""
        return NUMPY, PYTHON

    def inner_dtypes(self, subject: Any, tensors: Sequence[Any]) -> Collection[str]:
        """Return the known dtypes of the values that some outputs of a subject are computed from."""
        del subject, tensors
        return ()

    def results(self, subject: Any, point: Arrays) -> Sequence[Any]:
        """Return the outputs of a subject at another point."""
        return subject.call(subject.arguments(point))  # type: ignore[no-any-return]

    def raised(self, function: Function) -> Function | None:
        """Return the function with all operations in float64, or None if that is impossible."""
        del function
        return None

    def rerounded(self, change: Change) -> AbstractContextManager[Any]:
        """Return a context in which ``change`` is called for each rounded result of 16 bits."""
        raise NotImplementedError

    def jvp(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return the outputs of a function and their tangents. Raises UnsupportedError if there is no forward mode."""
        adapter = self.engine.adapter
        if adapter.jvp is None:
            raise UnsupportedError(f"{adapter.name} has no forward mode")
        call = calls.call(adapter.jvp, function=Name("function"), primals=Name("primals"), tangents=Name("tangents"))
        return self.engine.evaluate(call, function=function, primals=primals, tangents=tangents)  # type: ignore[no-any-return]

    def gradients(
        self, tensors: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any], *, batched: bool = False
    ) -> Sequence[Any]:
        """Return the gradients of the leaves without side effects; with ``batched`` for seeds along a first axis.

        Raises UnsupportedError if there are none.
        """
        del tensors, leaves, seeds
        raise UnsupportedError(f"{'batched ' * batched}gradients of {self.engine.adapter.name} are not checked")

    def gradient_function(self, function: Function, count: int) -> Function:
        """Return the gradient of a function of ``count`` inputs, as a function of these and of the cotangents.

        Raises UnsupportedError if gradients cannot be differentiated.
        """
        del function, count
        raise UnsupportedError(f"second derivatives of {self.engine.adapter.name} are not checked")


class RandomState:
    """The random numbers that a function of a library draws."""

    def __init__(self, library: TensorLibrary, *holders: Any) -> None:
        """Start without repeating any numbers. Generators that the ``holders`` refer to count as the library's own."""
        own, *self.others = library.sources()
        self.own = together([own, *owned_sources(*holders, package=library.engine.adapter.name)])
        self.states: list[Any] = []
        self.repeats = False

    def draws(self, run: Callable[[], object], *, changed: bool) -> bool:
        """Return True if a function that was run twice draws numbers; if so, they repeat from now on.

        The library's own numbers repeat those of the first run; drawing them is detected even if both runs gave the
        same result. Numbers of other sources are looked for only if the second run gave another result (``changed``),
        and repeat those of ``run``.
        """
        if self.repeats:
            return False
        if not same(self.own.state(), self.states[0]):
            self.repeats = True
            return True
        if not changed:
            return False
        states = [source.state() for source in self.others]
        run()
        self.repeats = not all(same(source.state(), s) for source, s in zip(self.others, states, strict=True))
        self.states += states
        return self.repeats

    def again(self) -> None:
        """Reset the random numbers for another call if the function is known to draw any."""
        if self.repeats:
            self.set(self.states)

    def set(self, states: list[Any]) -> None:
        """Set the states of the first sources."""
        for source, state in zip((self.own, *self.others), states, strict=False):
            source.set_state(state)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restore the states of the sources at the end of the context. The states of the first use are stored."""
        states = [self.own.state()]
        known = bool(self.states)
        if known:
            states += [source.state() for source in self.others]
        else:
            self.states = states
        try:
            yield
        finally:
            self.set(states if known else self.states)


def same(a: Any, b: Any) -> bool:
    """Return True if two states are the same: tensors, lists of states, or other objects."""
    a, b = (each.numpy().tobytes() if hasattr(each, "numpy") else each for each in (a, b))
    return all(map(same, a, b)) if isinstance(a, list) else pickle.dumps(a) == pickle.dumps(b)
