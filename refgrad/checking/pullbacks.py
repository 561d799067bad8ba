"""Functions that were run forward once, and the gradients of their outputs under any seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from refgrad.checking.libraries import Library, SubjectError, UnsupportedError
from refgrad.checking.libraries.numbers import NEARBY_TOLERANCE, Array, Arrays, Kind, as_given, as_real, near
from refgrad.native import calls
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine
from refgrad.native.observation import Raised
from refgrad.native.statements import Name
from refgrad.scenario.formats import least_precise

REUSABLE = frozenset({"retain_graph", "accumulate", "zero_grad", "seed"})
"""Features that several backward calls through one recorded graph need."""

Seeds = Sequence[Array | None]
"""The cotangent of each output; None for an output that takes no part."""

Gradients = tuple[Array | None, ...]

Watching = Callable[[Sequence[Any]], AbstractContextManager[Any]]
"""Function that takes the checked inputs and returns a context in which the function under test runs."""


def unwatched(leaves: Sequence[Any]) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del leaves
    return nullcontext()


class SideEffectError(Exception):
    """The function or its backward has a forbidden side effect, which the message names.

    It writes to an input or a seed, or has another value when it is differentiated.
    """


class Runnable(Protocol):
    """The part of a subject that a pullback needs."""

    engine: Engine
    library: Library
    positions: tuple[int, ...]

    def name_of(self, position: int) -> str:
        """Return the name of an input."""

    def arguments(self, point: Arrays, make: Callable[[int, Array], Any] | None = None) -> list[Any]:
        """Return the leaves of the arguments at a point."""

    def call(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs."""

    def applied(self, *primals: Any) -> tuple[Any, ...]:
        """Return the outputs for other checked inputs."""


class Pullback:
    """The function run forward once, and its gradients under any seeds."""

    runs_by_itself = False
    """True if a backward runs the function anew, so that no state is left to the next one."""

    outputs: Arrays
    kinds: tuple[Kind, ...]

    def __init__(self, subject: Runnable, point: Arrays, watching: Watching = unwatched) -> None:
        """Record the function at a point."""
        self.subject = subject
        self.watching = watching
        self.library = subject.library
        self.point = point
        self.record()
        self.kinds = tuple(map(self.library.kind, self.tensors))
        self.outputs = tuple(map(self.library.read, self.tensors))

    @cached_property
    def active(self) -> tuple[bool, ...]:
        """Mask of the outputs that can be run backward.

        Those are the floating ones; if the engine says which of these were recorded, only those, if there are any.
        """
        floating = tuple(kind.floating for kind in self.kinds)
        recorded = tuple(
            is_floating and bool(getattr(tensor, "requires_grad", True))
            for tensor, is_floating in zip(self.tensors, floating, strict=True)
        )
        return recorded if any(recorded) else floating

    @cached_property
    def precision(self) -> str:
        """Coarsest dtype of the inputs, the outputs and the values between them."""
        dtypes = {self.library.kind(leaf).part for leaf in self.leaves} | {kind.part for kind in self.kinds}
        dtypes.update(self.library.inner_dtypes(self.subject, self.tensors))
        return least_precise(dtypes)

    def record(self) -> None:
        """Run the function forward."""
        self.arguments = self.subject.arguments(self.point)
        self.leaves = [self.arguments[i] for i in self.subject.positions]
        with self.watching(self.leaves):
            self.tensors = self.subject.call(self.arguments)
        self.refuse_writes("the function")

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradient of each checked input, None if there is none.

        Raises SubjectError if the backward raises, and SideEffectError if it writes to an input or a seed.
        """
        raise NotImplementedError

    def seeded(self, seeds: Seeds) -> Iterator[tuple[int, Array, Any]]:
        """Yield the outputs with a seed, each with its seed as an array and as a tensor."""
        for k, seed in enumerate(seeds):
            if seed is not None and getattr(self.tensors[k], "requires_grad", True):
                yield k, seed, self.library.seed(seed, self.kinds[k])

    @contextmanager
    def backward_from(self, output: int) -> Iterator[None]:
        """Convert exceptions of the backward. If there is no backward at all, it is unsupported."""
        try:
            yield
        except (SubjectError, UnsupportedError):
            raise
        except Exception as error:
            raised = Raised(type(error).__name__, str(error), tuple(each.__name__ for each in type(error).__mro__))
            if raised.is_refusal or self.subject.engine.adapter.refuses(raised.text):
                raise UnsupportedError(f"the backward from output {output} is not there: {error}") from error
            raise SubjectError(f"the backward from output {output} raised {raised.text}", backward=True) from error

    def refuse_writes(self, who: str) -> None:
        """Raise SideEffectError if an input has changed."""
        for i, leaf, array in zip(self.subject.positions, self.leaves, self.point, strict=True):
            if not _unchanged(self.library.values(leaf), array):
                raise SideEffectError(f"{who} writes to input {self.subject.name_of(i)}")

    def refuse_written_seed(self, tensor: Any, seed: Array, output: int) -> None:
        """Raise SideEffectError if a seed has changed."""
        expected = np.asarray(self.library.oriented(as_given(seed, self.kinds[output])))
        if not _same(expected, self.library.values(tensor)):
            raise SideEffectError(f"the backward writes to the seed of output {output}")


class DirectPullback(Pullback):
    """Pullback of a library that returns gradients without storing them in the leaves."""

    def __init__(self, subject: Runnable, point: Arrays, watching: Watching = unwatched) -> None:
        """Record the function at a point."""
        super().__init__(subject, point, watching)
        self.returned: list[tuple[int, Any, Array]] = []

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradients of all outputs at once."""
        taking_part = list(self.seeded(seeds))
        if not taking_part:
            return (None,) * len(self.leaves)
        outputs, arrays, tensors = zip(*taking_part, strict=True)
        with self.backward_from(outputs[0]):
            found = self.library.gradients([self.tensors[k] for k in outputs], self.leaves, tensors)
        for i, earlier, array in self.returned:
            if not _same(self.library.read_gradient(earlier), array):
                what = f"the gradient of input {self.subject.name_of(i)} that an earlier one returned"
                raise SideEffectError(f"the backward writes to {what}")
        for k, array, tensor in zip(outputs, arrays, tensors, strict=True):
            self.refuse_written_seed(tensor, array, k)
        self.refuse_writes("the backward")
        result = tuple(None if each is None else self.library.read_gradient(each) for each in found)
        triples = zip(self.subject.positions, found, result, strict=True)
        self.returned = [(i, each, array) for i, each, array in triples if array is not None]
        return result


class TapePullback(Pullback):
    """Pullback of an engine that runs the outputs backward one by one and stores gradients in the leaves."""

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the gradients, from one recorded graph if the engine can reuse it."""
        adapter = self.subject.engine.adapter
        assert isinstance(adapter, TapeAdapter)
        totals: list[Array | None] = [None] * len(self.leaves)
        reusable = adapter.features >= REUSABLE
        for k, seed in enumerate(seeds):
            if seed is None or not getattr(self.tensors[k], "requires_grad", True):
                continue
            if not reusable:
                self.record()
            self.backward(adapter, k, seed)
            if not reusable:
                totals = [_sum(total, new) for total, new in zip(totals, self.collect(adapter), strict=True)]
        if reusable:
            totals = self.collect(adapter)
            for leaf in self.leaves:
                self.subject.engine.evaluate(calls.zero_grad(adapter, "leaf"), leaf=leaf)
        self.refuse_writes("the backward")
        return tuple(totals)

    def backward(self, adapter: TapeAdapter, output: int, seed: Array) -> None:
        """Run one output backward."""
        tensor = self.library.seed(seed, self.kinds[output])
        call = calls.backward(adapter, "output", Name("seed"), retain_graph=True)
        with self.backward_from(output):
            self.subject.engine.evaluate(call, output=self.tensors[output], seed=tensor)
        self.refuse_written_seed(tensor, seed, output)

    def collect(self, adapter: TapeAdapter) -> list[Array | None]:
        """Read the gradients of the leaves."""
        gradient = calls.gradient(adapter, "leaf")
        found = [self.subject.engine.evaluate(gradient, leaf=leaf) for leaf in self.leaves]
        return [None if each is None else self.library.read_gradient(np.asarray(each)) for each in found]


class FunctionalPullback(Pullback):
    """Pullback of an engine that differentiates each output as a function of the checked inputs."""

    runs_by_itself = True

    def __init__(self, subject: Runnable, point: Arrays, watching: Watching = unwatched) -> None:
        """Run the function at a point."""
        super().__init__(subject, point, watching)
        self.pulls: dict[int, tuple[Any, Callable[[Any], Any]]] = {}

    def gradients(self, seeds: Seeds) -> Gradients:
        """Return the sums over the outputs."""
        totals: list[Array | None] = [None] * len(self.subject.positions)
        for k, seed, tensor in self.seeded(seeds):
            totals = [_sum(total, new) for total, new in zip(totals, self.pulled(k, seed, tensor), strict=True)]
        return tuple(totals)

    def pulled(self, output: int, seed: Array, tensor: Any) -> list[Array]:
        """Return the gradients of one output."""
        engine = self.subject.engine
        assert isinstance(engine.adapter, FunctionalAdapter)

        def single(*primals: Any) -> Any:
            return self.subject.applied(*primals)[output]

        with self.backward_from(output):
            if output not in self.pulls:
                call = calls.vjp(engine.adapter, "function", Name("primals"))
                self.pulls[output] = engine.evaluate(call, function=single, primals=self.leaves)
            value, pull = self.pulls[output]
            cotangents = pull(tensor)
        refuse_other_value(self.outputs[output], self.library.read(value), output, self.precision)
        self.refuse_written_seed(tensor, seed, output)
        self.refuse_writes("the backward")
        return [self.library.read_gradient(cotangent) for cotangent in cotangents]


def pullback_of(subject: Runnable, point: Arrays, watching: Watching = unwatched) -> Pullback:
    """Return the pullback for the kind of the engine."""
    if isinstance(subject.engine.adapter, FunctionalAdapter):
        return FunctionalPullback(subject, point, watching)
    way = DirectPullback if subject.library.direct else TapePullback
    return way(subject, point, watching)


def refuse_other_value(plain: Array, value: Array, output: int, precision: str) -> None:
    """Raise SideEffectError if an output differs by more than rounding when the function is differentiated."""
    if value.shape != plain.shape or not near(plain, value, NEARBY_TOLERANCE[precision]):
        raise SideEffectError(f"output {output} is another value when the function is differentiated")


def _unchanged(values: Array, array: Array) -> bool:
    """Return True if the values of a tensor are still those of a real array."""
    return _same(as_real(values) if values.dtype.kind == "c" else values, array)


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.tobytes() == b.astype(a.dtype, copy=False).tobytes()


def _sum(total: Array | None, new: Array | None) -> Array | None:
    return new if total is None else total if new is None else total + new
