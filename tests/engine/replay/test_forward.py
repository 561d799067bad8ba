"""Tests of the lines that compute the steps of a trace."""

import numpy as np

from refgrad.engine.operators.tracing import Tape, TapeStep
from refgrad.engine.replay.passes import write_forward
from refgrad.engine.replay.program import ReplayProgram
from refgrad.operators import operator_table


def test_a_formula_that_computes_an_array_writes_it_once() -> None:
    """A copy of it would cost as much again."""
    trace, program = Tape(), ReplayProgram({})
    inputs = [trace.new(np.array([1.0, number]), flows=False) for number in (2.0, 3.0)]
    result = trace.new(np.array([1.0, 6.0]), flows=False)
    trace.steps.append(TapeStep(operator_table()["multiply"], None, (0, 1), (False, False), {}, result.slot))
    assert write_forward(program, trace, inputs)[result.slot].value.tolist() == [1.0, 6.0]
    assert len(program.lines) == 1
