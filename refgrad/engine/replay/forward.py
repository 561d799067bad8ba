"""The lines of a program that compute the steps of a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.engine.operators.recording import forward_function, owned
from refgrad.engine.operators.tracing import Tape, TapeStep, Traced
from refgrad.engine.replay.lowering import lowered
from refgrad.engine.replay.program import ReplayProgram, Term
from refgrad.operators import Operator

# Structures whose forward is a single numpy function that accepts ``out``.
INTO_BUFFER: Mapping[str, np.ufunc] = MappingProxyType({"matmul": np.matmul})


def write_forward(program: ReplayProgram, trace: Tape, inputs: Sequence[Traced]) -> list[Term]:
    """Write the lines of all steps, and return the term of every slot.

    Inputs are terms too: an array input is copied into a buffer, a scalar input is assigned to a name.
    """
    terms: dict[int, Term] = {x.slot: _input(program, x.example) for x in inputs}
    for slot, value in trace.constants.items():
        terms[slot] = Term(program.store(value), value, constant=True)
    for step in trace.steps:
        terms[step.result] = _result(program, step, [terms[slot] for slot in step.operands])
    return [terms[slot] for slot in range(trace.slots)]


def _input(program: ReplayProgram, value: Any) -> Term:
    held = value.copy(order="K") if isinstance(value, np.ndarray) else value
    return Term(program.store(held), held)


def _result(program: ReplayProgram, step: TapeStep, operands: Sequence[Term]) -> Term:
    rule = step.rule
    if not isinstance(rule, Operator):
        return _called(program, partial(rule, **step.attributes) if step.attributes else rule, operands)
    if rule.structure is not None:
        return _structure(program, rule.name, partial(forward_function(rule), **step.attributes), operands)
    assert rule.forward is not None
    attributes = {name: constant(program, value) for name, value in step.attributes.items()}
    term = lowered(program, rule.forward, {**dict(zip(rule.argument_names, operands, strict=True)), **attributes})
    if any(term is operand for operand in operands) and isinstance(term.value, np.ndarray):
        return program.copied(term)
    return program.named(Term(term.text, term.value))


def constant(program: ReplayProgram, value: Any) -> Term:
    """Return the term of an attribute."""
    return Term(program.store(value), value, constant=True)


def _structure(program: ReplayProgram, name: str, function: Callable[..., Any], operands: Sequence[Term]) -> Term:
    arrays = [operand.value for operand in operands]
    value = function(*arrays)
    if isinstance(value, np.ndarray) and value.ndim:
        if name in INTO_BUFFER:
            term = program.into_buffer(INTO_BUFFER[name], operands, value)
            return Term(term.text, term.value)
        if owned(value, arrays) is not value:
            arguments = ", ".join(operand.text for operand in operands)
            return program.copied(Term(f"{program.bind(function)}({arguments})", value))
    return _called(program, lambda *arrays: owned(function(*arrays), arrays), operands)


def _called(program: ReplayProgram, function: Callable[..., Any], operands: Sequence[Term]) -> Term:
    value = function(*(operand.value for operand in operands))
    if isinstance(function, np.ufunc) and isinstance(value, np.ndarray):
        term = program.into_buffer(function, operands, value)
        return Term(term.text, term.value)
    arguments = ", ".join(operand.text for operand in operands)
    return program.named(Term(f"{program.bind(function)}({arguments})", value))
