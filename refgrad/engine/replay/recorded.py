"""Recorded functions, which run again on other values without building their graph again.

``record(f)`` runs ``f`` once and writes a program of its operators, forward and backward, over buffers that are kept.
It evaluates the same formulas in the same order as the engine, so the results are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np

from refgrad.engine import errors
from refgrad.engine.autograd import seed_tensor
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.recording import as_array
from refgrad.engine.operators.tracing import Tape, Traced, tracing
from refgrad.engine.replay.passes import write_backward, write_forward
from refgrad.engine.replay.program import ReplayProgram, Term

Gradients = tuple[Tensor | None, ...]


def record(function: Callable[..., Any]) -> Recording:
    """Return ``function`` as a :class:`Recording`, which builds its graph at the first call only.

    ``function`` takes tensors, numbers or arrays and returns a tensor, or a tuple or list of tensors. Anything else
    that it reads (constants, sizes, flags) is fixed at the first call, and its control flow cannot depend on values.
    """
    return Recording(function)


class Recording:
    """A function that is recorded at its first call, for the shapes and dtypes of the inputs of that call.

    Results are new tensors without a history. Calls from several threads are serialized.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.tape: _Tape | None = None
        self.lock = RLock()

    def __call__(self, *inputs: Any) -> Any:
        """Return the result of the function.

        Raises:
            ValueError: there are more or fewer inputs than at the first call, or one has another shape or dtype.
            RuntimeError: at the first call, the function does something that cannot be replayed on other values.

        """
        with self.lock:
            return self._forward(inputs).outputs()

    def gradients(self, *inputs: Any, seed: Any = None) -> Gradients:
        """Return the gradient of every input; None where it is not floating, or the outputs do not depend on it.

        ``seed`` is like ``grad_outputs`` of :func:`refgrad.engine.grad`: a tensor of the output's shape, or one (or
        None) for every output; the seed of a single number may be omitted. Raises the errors of a call, and
        RuntimeError for an invalid seed.
        """
        return self.value_and_gradients(*inputs, seed=seed)[1]

    def value_and_gradients(self, *inputs: Any, seed: Any = None) -> tuple[Any, Gradients]:
        """Return the result of the function, and the gradients as :meth:`gradients` does."""
        with self.lock:
            tape = self._forward(inputs)
            return tape.outputs(), tape.gradients(seed)

    def _forward(self, inputs: Sequence[Any]) -> _Tape:
        arrays = [_array(value) for value in inputs]
        if self.tape is None:
            self.tape = _Tape(self.function, arrays)
        self.tape.forward(arrays)
        return self.tape


def _array(value: Any) -> Any:
    array = value.array if isinstance(value, Tensor) else as_array(value)
    return array if isinstance(array, np.ndarray) and array.ndim else np.asarray(array)[()]


class _Tape:
    """The forward and backward programs of a function for inputs of fixed shapes and dtypes."""

    def __init__(self, function: Callable[..., Any], arrays: Sequence[Any]) -> None:
        trace = Tape()
        self.inputs = [trace.new(array, flows=array.dtype.kind == "f") for array in arrays]
        with tracing(trace), np.errstate(all="ignore"):
            returned = function(*self.inputs)
        self.form = type(returned)
        self.results = _listed(returned)
        self.trace = trace
        self.program = ReplayProgram({})
        with np.errstate(all="ignore"):
            self.terms = write_forward(self.program, trace, self.inputs)
        self.run = self.program.functions()

    def forward(self, arrays: Sequence[Any]) -> None:
        """Run the function on ``arrays``. Raise ValueError if their number, shapes or dtypes are not as recorded."""
        if len(arrays) != len(self.inputs):
            raise ValueError(errors.REPLAY_COUNT.format(count=len(self.inputs), got=len(arrays)))
        for position, (array, recorded) in enumerate(zip(arrays, self.inputs, strict=True)):
            if (array.shape, array.dtype) != (recorded.shape, recorded.dtype):
                got, expected = (f"{x.dtype}{list(x.shape)}" for x in (array, recorded))
                raise ValueError(errors.REPLAY_INPUT.format(position=position, got=got, expected=expected))
        for array, recorded in zip(arrays, self.inputs, strict=True):
            self._put(self.terms[recorded.slot], array)
        for run in self.run:
            run()

    def _put(self, term: Term, array: Any) -> None:
        if isinstance(term.value, np.ndarray):
            term.value[...] = array
        else:
            self.program.namespace[term.text] = array

    def now(self, term: Term) -> Any:
        """Return the current value of a term."""
        return self.program.namespace.get(term.text, term.value)

    def outputs(self) -> Any:
        """Return copies of the results, in the type that the function returns."""
        arrays = (self.now(self.terms[x.slot]) if isinstance(x, Traced) else x.array for x in self.results)
        tensors = [Tensor(array.copy()) for array in arrays]
        return tensors[0] if issubclass(self.form, Tensor) else self.form(tensors)

    def gradients(self, seed: Any) -> Gradients:
        """Return copies of the gradients at the inputs of the last forward run."""
        seeds = self._seeds(seed)
        run, seed_terms, reached = self._backward
        for term, array in zip(seed_terms, seeds, strict=True):
            self._put(term, array)
        for part in run:
            part()
        terms = [reached.get(x.slot) for x in self.inputs]
        return tuple(
            None if term is None else Tensor(self.now(term).astype(x.dtype))
            for x, term in zip(self.inputs, terms, strict=True)
        )

    @cached_property
    def _flowing(self) -> list[Traced]:
        return [x for x in self.results if isinstance(x, Traced) and x.flows]

    @cached_property
    def _backward(self) -> tuple[Sequence[Callable[[], None]], Sequence[Term], dict[int, Term]]:
        program = ReplayProgram(self.program.namespace)
        terms = [term if term.constant else Term(term.text, self.now(term), constant=False) for term in self.terms]
        with np.errstate(all="ignore"):
            seeds, reached = write_backward(program, self.trace, terms, self._flowing)
        return program.functions(), seeds, reached

    def _seeds(self, seed: Any) -> list[Any]:
        """Return a seed array for every output that gradients flow from."""
        seeds = list(seed) if isinstance(seed, tuple | list) else [seed] * len(self.results) if seed is None else [seed]
        if not self._flowing:
            raise RuntimeError(errors.NO_GRAD_FN)
        if len(seeds) != len(self.results):
            raise RuntimeError(f"got {len(self.results)} outputs and {len(seeds)} seeds: give one, or None, for each")
        pairs = zip(self.results, seeds, strict=True)
        return [
            seed_tensor(output, None if one is None else Tensor(_array(one)), position).array
            for position, (output, one) in enumerate(pairs)
            if isinstance(output, Traced) and output.flows
        ]


def _listed(returned: Any) -> list[Tensor]:
    tensors = [returned] if isinstance(returned, Tensor) else returned
    if type(tensors) not in {list, tuple} or not all(isinstance(x, Tensor) for x in tensors):
        raise TypeError(errors.REPLAY_OUTPUT.format(kind=type(returned).__name__))
    for x in tensors:
        if not isinstance(x, Traced) and x.node is not None:
            raise RuntimeError(errors.CAPTURED.format(dtype=x.dtype, shape=list(x.shape)))
    return list(tensors)
