"""Traces: the operators that a function applies to its arguments, as a list of steps that can be replayed.

The function is run once on :class:`Traced` tensors. These have a shape and a dtype like others, but neither values nor
a history that the function could read, so its steps cannot depend on them. Operators applied to them add the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.sweep import RECORDING, is_grad_enabled
from refgrad.engine.graph.tensor import Tensor
from refgrad.operators import Operator

TRACING: ContextVar[bool] = ContextVar("tracing", default=False)


@dataclass(frozen=True, slots=True)
class TapeStep:
    """One application: slots of the operands and of the result, and which operands receive gradients.

    ``rule`` is a row of the operator table, with all its attributes, or a function of arrays without a gradient;
    ``arrays`` are the operators on arrays that the row's rule calls.
    """

    rule: Operator | Callable[..., Any]
    arrays: Any
    operands: tuple[int, ...]
    needs: tuple[bool, ...]
    attributes: Mapping[str, Any]
    result: int


class Traced(Tensor):
    """A value that depends on the inputs of the function being recorded: its ``slot`` in the trace.

    ``example`` is its value in this run, and ``flows`` is True if gradients flow through it.
    """

    __slots__ = ("example", "flows", "slot", "trace")

    def __init__(self, trace: Tape, slot: int, example: Any, *, flows: bool) -> None:
        self.trace = trace
        self.slot = slot
        self.example = example
        self.flows = flows

    @property
    def array(self) -> Any:
        """Raise RuntimeError: a recorded function may not read values, since its steps would then depend on them."""
        self._refuse("reads or overwrites the values of")

    @property
    def node(self) -> Any:  # type: ignore[override]
        """Raise RuntimeError: nothing is recorded for a backward inside of the function."""
        self._refuse("overwrites, or asks for the history or the gradient of,")

    def _refuse(self, what: str) -> NoReturn:
        raise RuntimeError(errors.NOT_REPLAYABLE.format(what=what, dtype=self.dtype, shape=list(self.shape)))

    shape = property(attrgetter("example.shape"), doc="Lengths of the axes.")
    dtype = property(attrgetter("example.dtype"), doc="Type of the entries.")
    requires_grad = property(attrgetter("flows"), doc="True if gradients flow to this tensor.")

    def detach(self) -> Tensor:
        """Return the same value, through which no gradient flows."""
        return Traced(self.trace, self.slot, self.example, flows=False)

    def __repr__(self) -> str:
        return f"tensor(<recorded {self.dtype}{list(self.shape)}>)"


class Tape:
    """The steps recorded so far. Values have numbered slots; ``constants`` holds those independent of the inputs."""

    def __init__(self) -> None:
        self.slots = 0
        self.constants: dict[int, Any] = {}
        self.steps: list[TapeStep] = []
        self.open = True

    def new(self, example: Any, *, flows: bool) -> Traced:
        """Return a traced tensor in a new slot."""
        self.slots += 1
        return Traced(self, self.slots - 1, example, flows=flows)

    def slot(self, tensor: Tensor) -> int:
        """Return the slot of an operand; one that does not depend on the inputs is copied and becomes a constant.

        Raises:
            RuntimeError: the operand belongs to another recording, or requires grad without being an input.

        """
        if isinstance(tensor, Traced):
            if tensor.trace is not self or not self.open:
                raise RuntimeError(errors.OTHER_RECORDING)
            return tensor.slot
        if tensor.node is not None:
            raise RuntimeError(errors.CAPTURED.format(dtype=tensor.dtype, shape=list(tensor.shape)))
        self.slots += 1
        self.constants[self.slots - 1] = tensor.array.copy() if isinstance(tensor.array, np.ndarray) else tensor.array
        return self.slots - 1

    def note(
        self, rule: Any, arrays: Any, function: Callable[..., Any], operands: Sequence[Tensor], attributes: Any
    ) -> Traced:
        """Add a step that applies ``rule``, and return its result; ``function`` is the same on tensors."""
        slots = tuple(map(self.slot, operands))
        needs = tuple(isinstance(x, Traced) and x.flows for x in operands)
        examples = [Tensor(x.example if isinstance(x, Traced) else x.array) for x in operands]
        example = function(*examples, **attributes).array
        flows = any(needs) and isinstance(rule, Operator) and example.dtype.kind == "f" and is_grad_enabled()
        result = self.new(example, flows=flows)
        bound = rule.bind(attributes) if isinstance(rule, Operator) else attributes
        self.steps.append(TapeStep(rule, arrays, slots, needs if flows else (), bound, result.slot))
        return result


def is_traced(operands: Sequence[Any]) -> bool:
    """Return True if one of the operands is a value of a function being recorded."""
    return Traced in map(type, operands)


def noted(
    rule: Any, arrays: Any, function: Callable[..., Any], operands: Sequence[Tensor], attributes: Mapping[str, Any]
) -> Traced:
    """Add an application to the trace of its operands, and return its result."""
    trace = next(x.trace for x in operands if isinstance(x, Traced))
    return trace.note(rule, arrays, function, operands, attributes)


@contextmanager
def tracing(trace: Tape) -> Iterator[None]:
    """Enable recording and forbid random numbers inside of the context, and close the trace at its end."""
    mode, before = RECORDING.set(True), TRACING.set(True)
    try:
        yield
    finally:
        trace.open = False
        TRACING.reset(before)
        RECORDING.reset(mode)


def refuse_while_tracing() -> None:
    """Forbid random numbers in a function being recorded: they would be the same in every replay.

    Raises:
        RuntimeError: a function is being recorded.

    """
    if TRACING.get():
        raise RuntimeError(errors.RANDOM)
