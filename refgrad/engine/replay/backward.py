"""The lines of a program that propagate cotangents back through the steps of a trace.

Their order and rules are those of the engine's own backward pass, so that every sum is formed in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.operators.contributions import fitted, saved_names, weighted
from refgrad.engine.operators.node_classes import Application
from refgrad.engine.operators.tracing import Step, Trace, Traced
from refgrad.engine.replay.forward import constant
from refgrad.engine.replay.lowering import lowered
from refgrad.engine.replay.program import Program, Term, memory
from refgrad.operators import Operator


def write_backward(
    program: Program, trace: Trace, terms: Sequence[Term], outputs: Sequence[Traced]
) -> tuple[list[Term], dict[int, Term]]:
    """Write the lines; return the terms of the seeds, one per output, and the cotangents of the inputs by slot."""
    sweep = _Sweep(program, terms)
    seeds = [sweep.seed(output) for output in outputs]
    for step in reversed(trace.steps):
        if step.result in sweep.pending:
            sweep.pass_over(step)
    return seeds, sweep.pending


@dataclass(frozen=True, slots=True)
class _Place:
    """The shape and dtype that a contribution is fitted to."""

    shape: tuple[int, ...]
    dtype: Any


class _Sweep:
    """The cotangents so far, by slot, and the slots whose cotangent is a sum in a buffer of its own."""

    def __init__(self, program: Program, terms: Sequence[Term]) -> None:
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

    def pass_over(self, step: Step) -> None:
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

    def by_formula(self, step: Step, row: Operator, cotangent: Term) -> list[tuple[int, Term]]:
        """Return the contributions by the partials of the row."""
        values = [self.terms[slot] for slot in (*step.operands, step.result)]
        variables = dict(zip((*row.argument_names, "out"), values, strict=True))
        variables.update({name: constant(self.program, value) for name, value in step.attributes.items()})
        variables["cotangent"] = Term(cotangent.text, cotangent.value)
        return [
            (slot, self.fit(lowered(self.program, weighted(row.partials[name]), variables), slot, step, cotangent))
            for name, slot, needed in zip(row.argument_names, step.operands, step.needs, strict=True)
            if needed
        ]

    def fit(self, term: Term, slot: int, step: Step, cotangent: Term) -> Term:
        """Return a contribution in the shape of its operand; on scalars it already has that shape."""
        place = self.place(slot)
        if type(cotangent.value) is np.float64 or term.value.shape == place.shape:
            return self.program.named(Term(term.text, term.value))

        def fit(contribution: Any) -> tuple[Any]:
            return (fitted(step.arrays, contribution, place),)  # type: ignore[arg-type]

        named = self.program.named(term)
        (result,) = self.program.called(fit, [named], fit(named.value))
        if memory(result.value) is not memory(named.value):
            self.program.buffers.hold(named.value)  # frees its buffer, unless it is the cotangent itself
            self.program.buffers.drop(named.value)
        return result

    def place(self, slot: int) -> _Place:
        """Return the shape and dtype of the value in a slot."""
        value = self.terms[slot].value
        return _Place(value.shape, value.dtype)

    def by_structure(self, step: Step, row: Operator, cotangent: Term) -> list[tuple[int, Term]]:
        """Return the contributions by the rule of the structure, on arrays."""
        names = (*row.argument_names, "out")
        saves = saved_names(row, step.needs)
        slots = dict(zip(names, (*step.operands, step.result), strict=False))
        saved = [self.terms[slots[name]] for name in saves]
        places = [(slot, self.place(slot)) for slot, n in zip(step.operands, step.needs, strict=True) if n]
        rule = self.rule(step, row, saves, [place for _, place in places])
        values = rule(cotangent.value, *(term.value for term in saved))
        results = self.program.called(rule, [cotangent, *saved], values)
        return [(slot, term) for (slot, _), term in zip(places, results, strict=True)]

    def rule(self, step: Step, row: Operator, saves: Sequence[str], places: Sequence[_Place]) -> Callable[..., Any]:
        """Return the rule as a function of the cotangent and of the saved arrays."""
        shapes = tuple(self.place(slot).shape for slot in step.operands)
        node: Any = SimpleNamespace(shapes=shapes, needs=step.needs, attributes=step.attributes)
        structure, arrays, needs = row.structure, step.arrays, step.needs
        assert structure is not None

        def vjp(cotangent: Any, *values: Any) -> list[Any]:
            application = Application(node, dict(zip(saves, values, strict=True)))
            contributions = structure.vjp(arrays, cotangent, application)
            wanted = [c for c, needed in zip(contributions, needs, strict=True) if needed]
            return [fitted(arrays, c, place) for c, place in zip(wanted, places, strict=True)]  # type: ignore[arg-type]

        return vjp
