"""Traces: what a function does to its arguments, as a list of steps that can be taken again.

The function is run once on :class:`Traced` tensors, which have a shape and a dtype like others, but neither values nor
a history that it could look at: what it does cannot depend on them. Operators note what they are asked to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.modes import RECORDING, is_grad_enabled
from refgrad.engine.graph.node import Shape
from refgrad.engine.graph.tensor import Tensor
from refgrad.operators import Operator

TRACING: ContextVar[bool] = ContextVar("tracing", default=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One application: slots of the operands and of the result, and which operands gradients flow to.

    ``rule`` is a row of the operator table, with all its attributes, or a function of arrays without a gradient;
    ``arrays`` are the operators as rules of rows use them.
    """

    rule: Operator | Callable[..., Any]
    arrays: Any
    operands: tuple[int, ...]
    needs: tuple[bool, ...]
    attributes: Mapping[str, Any]
    result: int


class Traced(Tensor):
    """A value that depends on the inputs of the function that is being recorded: its ``slot`` in the trace.

    ``example`` is what it is in this one run, and ``flows`` says whether gradients flow through it.
    """

    __slots__ = ("example", "flows", "slot", "trace")

    def __init__(self, trace: Trace, slot: int, example: Any, *, flows: bool) -> None:
        self.trace = trace
        self.slot = slot
        self.example = example
        self.flows = flows

    @property
    def array(self) -> Any:
        """Refused: what the function does with a value would be the same for every other value."""
        self._refuse("reads or overwrites the values of")

    @property
    def node(self) -> Any:  # type: ignore[override]
        """Refused: nothing is recorded for a backward inside of the function."""
        self._refuse("overwrites, or asks for the history or the gradient of,")

    def _refuse(self, what: str) -> NoReturn:
        raise RuntimeError(errors.NOT_REPLAYABLE.format(what=what, dtype=self.dtype, shape=list(self.shape)))

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.example.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return self.example.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def numel(self) -> int:
        """Count the entries."""
        return int(self.example.size)

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor."""
        return self.flows

    def detach(self) -> Tensor:
        """Return the same value, through which no gradient flows."""
        return Traced(self.trace, self.slot, self.example, flows=False)

    def __repr__(self) -> str:
        return f"tensor(<recorded {self.dtype}{list(self.shape)}>)"


class Trace:
    """The steps so far. Slots are numbered; ``constants`` are those that do not depend on the inputs."""

    def __init__(self) -> None:
        self.slots = 0
        self.constants: dict[int, Any] = {}
        self.steps: list[Step] = []
        self.open = True

    def new(self, example: Any, *, flows: bool) -> Traced:
        """Return a value in a slot of its own."""
        self.slots += 1
        return Traced(self, self.slots - 1, example, flows=flows)

    def slot(self, tensor: Tensor) -> int:
        """Return the slot of an operand; what does not depend on the inputs is copied, and stays as it is now.

        Raises:
            RuntimeError: it belongs to another recording, or requires grad without being an input.

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
        """Note that ``rule`` is applied; ``function`` does it, on tensors."""
        slots = tuple(map(self.slot, operands))
        needs = tuple(isinstance(x, Traced) and x.flows for x in operands)
        examples = [Tensor(x.example if isinstance(x, Traced) else x.array) for x in operands]
        example = function(*examples, **attributes).array
        flows = any(needs) and isinstance(rule, Operator) and example.dtype.kind == "f" and is_grad_enabled()
        result = self.new(example, flows=flows)
        bound = rule.bind(attributes) if isinstance(rule, Operator) else attributes
        self.steps.append(Step(rule, arrays, slots, needs if flows else (), bound, result.slot))
        return result


def is_traced(operands: Sequence[Any]) -> bool:
    """Whether one of these is a value of a function that is being recorded."""
    return Traced in map(type, operands)


def noted(  # noqa: PLR0913, PLR0917 (what an application consists of)
    rule: Any,
    arrays: Any,
    function: Callable[..., Any],
    lift: Callable[[Any], Tensor],
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
) -> Traced:
    """Note an application in the trace of its operands."""
    trace = next(x.trace for x in operands if isinstance(x, Traced))
    return trace.note(rule, arrays, function, [x if isinstance(x, Tensor) else lift(x) for x in operands], attributes)


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Record gradients, and let nothing random be drawn, until the function has been run."""
    mode, before = RECORDING.set(True), TRACING.set(True)
    try:
        yield
    finally:
        trace.open = False
        TRACING.reset(before)
        RECORDING.reset(mode)


def refuse_while_tracing() -> None:
    """Refuse what would be drawn once and then stay as it is.

    Raises:
        RuntimeError: a function is being recorded.

    """
    if TRACING.get():
        raise RuntimeError(errors.RANDOM)
