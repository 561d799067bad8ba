"""The lines of a program that compute the forward and the backward pass of a trace.

Their order and rules are those of the engine's own backward pass, so that every sum is formed in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.operators.contributions import fitted, saved_names, weighted
from refgrad.engine.operators.node_classes import structure_contributions
from refgrad.engine.operators.recording import owned
from refgrad.engine.operators.tracing import Tape, TapeStep, Traced
from refgrad.engine.operators.vocabulary import ON_ARRAYS
from refgrad.engine.replay.program import ReplayProgram, Term, lowered, memory
from refgrad.operators import Operator

# Structures whose forward is a single numpy function that accepts ``out``.
INTO_BUFFER: Mapping[str, np.ufunc] = MappingProxyType({"matmul": np.matmul})


def write_forward(program: ReplayProgram, trace: Tape, inputs: Sequence[Traced]) -> list[Term]:
    """Write the lines of all steps, and return the term of every slot.

    Inputs are terms too: an array input is copied into a buffer, a scalar input is assigned to a name.
    """
    terms: dict[int, Term] = {x.slot: _input(program, x.example) for x in inputs}
    for slot, value in trace.constants.items():
        terms[slot] = program.constant(value)
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
        return _structure(program, rule.name, partial(rule.on_arrays(ON_ARRAYS), **step.attributes), operands)
    assert rule.forward is not None
    attributes = {name: program.constant(value) for name, value in step.attributes.items()}
    term = lowered(program, rule.forward, {**dict(zip(rule.argument_names, operands, strict=True)), **attributes})
    if any(term is operand for operand in operands) and isinstance(term.value, np.ndarray):
        return program.copied(term)
    return program.named(Term(term.text, term.value))


def _structure(program: ReplayProgram, name: str, function: Callable[..., Any], operands: Sequence[Term]) -> Term:
    arrays = [operand.value for operand in operands]
    value = function(*arrays)
    if isinstance(value, np.ndarray) and value.ndim:
        if name in INTO_BUFFER:
            term = program.into_buffer(INTO_BUFFER[name], operands, value)
            return Term(term.text, term.value)
        if owned(value, arrays) is not value:
            return program.copied(Term(program.call(function, operands), value))
    return _called(program, lambda *arrays: owned(function(*arrays), arrays), operands)


def _called(program: ReplayProgram, function: Callable[..., Any], operands: Sequence[Term]) -> Term:
    value = function(*(operand.value for operand in operands))
    if isinstance(function, np.ufunc) and isinstance(value, np.ndarray):
        term = program.into_buffer(function, operands, value)
        return Term(term.text, term.value)
    return program.named(Term(program.call(function, operands), value))


def write_backward(
    program: ReplayProgram, trace: Tape, terms: Sequence[Term], outputs: Sequence[Traced]
) -> tuple[list[Term], dict[int, Term]]:
    """Write the lines; return the terms of the seeds, one per output, and the cotangents of the inputs by slot."""
    sweep = _Sweep(program, terms)
    seeds = [sweep.seed(output) for output in outputs]
    for step in reversed(trace.steps):
        if step.result in sweep.pending:
            sweep.pass_over(step)
    return seeds, sweep.pending


class _Sweep:
    """The cotangents so far, by slot, and the slots whose cotangent is a sum in a buffer of its own."""

    def __init__(self, program: ReplayProgram, terms: Sequence[Term]) -> None:
        self.program = program
        self.terms = terms
        self.pending: dict[int, Term] = {}
        self.sums: set[int] = set()

    def seed(self, output: Traced) -> Term:
        """Add a seed for an output, and return the term that its value is assigned to."""
        value = np.ones(output.shape, output.dtype)[()]
        term = Term(self.program.store(value), value)
        self.add(output.slot, term)
        return term

    def pass_over(self, step: TapeStep) -> None:
        """Add the contributions of a step to the cotangents of its operands."""
        cotangent = self.pending.pop(step.result)
        self.sums.discard(step.result)
        assert isinstance(step.rule, Operator)
        rule = self.by_structure if step.rule.structure is not None else self.by_formula
        for slot, term in rule(step, step.rule, cotangent):
            self.add(slot, term)
        self.program.buffers.drop(cotangent.value)

    def add(self, slot: int, term: Term) -> None:
        """Add a contribution to the pending cotangent of a slot."""
        buffers = self.program.buffers
        if slot not in self.pending:
            self.pending[slot] = term
            buffers.hold(term.value)
            return
        total = self.pending[slot]
        value = total.value + term.value
        if not isinstance(value, np.ndarray):
            self.pending[slot] = self.program.named(Term(f"{total.text} + {term.text}", value))
            return
        buffers.hold(term.value)
        self.sum(slot, total, term, value)
        buffers.drop(term.value)

    def sum(self, slot: int, total: Term, term: Term, value: np.ndarray[Any, Any]) -> None:
        """Add in place if the total so far is a sum already, whose buffer nothing else uses."""
        program, like = self.program, total.value
        if slot in self.sums and (like.shape, like.dtype, like.strides) == (value.shape, value.dtype, value.strides):
            like[...] = value
            program.line(f"{program.bind(np.add)}({total.text}, {term.text}, out={total.text})")
            return
        new = program.into_buffer(np.add, [total, term], value)
        program.buffers.hold(new.value)
        self.pending[slot] = Term(new.text, new.value)
        self.sums.add(slot)
        program.buffers.drop(like)

    def by_formula(self, step: TapeStep, row: Operator, cotangent: Term) -> list[tuple[int, Term]]:
        """Return the contributions by the partials of the row."""
        values = [self.terms[slot] for slot in (*step.operands, step.result)]
        variables = dict(zip((*row.argument_names, "out"), values, strict=True))
        variables.update({name: self.program.constant(value) for name, value in step.attributes.items()})
        variables["cotangent"] = Term(cotangent.text, cotangent.value)
        return [
            (slot, self.fit(lowered(self.program, weighted(row.partials[name]), variables), slot, step, cotangent))
            for name, slot, needed in zip(row.argument_names, step.operands, step.needs, strict=True)
            if needed
        ]

    def fit(self, term: Term, slot: int, step: TapeStep, cotangent: Term) -> Term:
        """Return a contribution in the shape of its operand; on scalars it already has that shape."""
        operand = self.terms[slot].value
        if type(cotangent.value) is np.float64 or term.value.shape == operand.shape:
            return self.program.named(Term(term.text, term.value))

        def fit(contribution: Any) -> tuple[Any]:
            return (fitted(step.arrays, contribution, operand),)

        named = self.program.named(term)
        (result,) = self.program.called(fit, [named], fit(named.value))
        if memory(result.value) is not memory(named.value):
            self.program.buffers.hold(named.value)  # frees its buffer, unless it is the cotangent itself
            self.program.buffers.drop(named.value)
        return result

    def by_structure(self, step: TapeStep, row: Operator, cotangent: Term) -> list[tuple[int, Term]]:
        """Return the contributions by the rule of the structure, on arrays."""
        names = (*row.argument_names, "out")
        saves = saved_names(row, step.needs)
        slots = dict(zip(names, (*step.operands, step.result), strict=False))
        saved = [self.terms[slots[name]] for name in saves]
        slots_needed = [slot for slot, needed in zip(step.operands, step.needs, strict=True) if needed]
        rule = self.rule(step, row, saves, [self.terms[slot].value for slot in slots_needed])
        values = rule(cotangent.value, *(term.value for term in saved))
        return list(zip(slots_needed, self.program.called(rule, [cotangent, *saved], values), strict=True))

    def rule(self, step: TapeStep, row: Operator, saves: Sequence[str], operands: Sequence[Any]) -> Callable[..., Any]:
        """Return the rule as a function of the cotangent and of the saved arrays."""
        shapes = tuple(self.terms[slot].value.shape for slot in step.operands)
        structure = row.structure
        assert structure is not None

        def vjp(cotangent: Any, *values: Any) -> list[Any]:
            saved = dict(zip(saves, values, strict=True))
            node = SimpleNamespace(shapes=shapes, needs=step.needs, attributes=step.attributes, saved=saved.__getitem__)
            return structure_contributions(structure, step.arrays, cotangent, node, operands)

        return vjp
