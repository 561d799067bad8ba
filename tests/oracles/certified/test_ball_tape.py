"""Tests of single scalars on the tape: their values, and the slopes that are recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flint import arb

from refgrad.oracles.certified.ball_tape import CONSTANT, Ball


@pytest.mark.parametrize(
    ("operation", "value", "slopes"),
    [
        (lambda x, _: x + 3, 10, []),
        (lambda x, _: 3 + x, 10, []),
        (lambda x, _: x * 3, 21, [((0, 3),)]),
        (lambda x, _: 3 * x, 21, [((0, 3),)]),
        (lambda x, _: x / 2, 3.5, [((0, 0.5),)]),
        (lambda x, y: x + y, 12, [((0, 1), (1, 1))]),
        (lambda x, y: x * y, 35, [((0, 5), (1, 7))]),
    ],
)
def test_an_operation_records_its_slopes(
    operation: Callable[[Ball, Ball], Ball], value: float, slopes: list[object]
) -> None:
    tape: list[tuple[tuple[int, object], ...]] = [(), ()]
    result = operation(Ball(arb(7), 0, tape), Ball(arb(5), 1, tape))
    assert float(result.value) == value
    assert [tuple((slot, float(slope)) for slot, slope in edges) for edges in tape[2:]] == slopes  # type: ignore[arg-type]
    constants = Ball(arb(7), CONSTANT, tape), Ball(arb(5), CONSTANT, tape)
    assert operation(*constants).slot == CONSTANT
    assert len(tape) == 2 + len(slopes)
