"""Functions are sorted by what came of simple calls: differentiable, random, undecided, or one under two names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from refgrad.adapters import ANSWERS, NOT_CALLED, NOTHING_REAL, FunctionTrial, inventory_of, required, try_out


def answer_of(function: Callable[..., Any], *, random: bool = False) -> FunctionTrial:
    """Try a function of one number with the numbers 0 to 9; a text is no differentiable result."""

    def answer(arguments: Sequence[Any]) -> tuple[object, bool]:
        result = function(*arguments)
        return (None if isinstance(result, str) else result), random

    return try_out(answer, range(10), 1, 10)


def test_an_inventory_counts_what_is_differentiable() -> None:
    inventory = inventory_of(
        {
            "square": answer_of(lambda x: x * x),
            "power": answer_of(lambda x: x**2),
            "double": answer_of(lambda x: x + x),
            "noise": answer_of(lambda x: x, random=True),
            "text": answer_of(str),
            "refused": answer_of(lambda x: x.missing),
        },
        title="functions",
        source="a test",
        reached=lambda *_: set(),
    )
    assert inventory.entries == {"square", "power", "double"}
    assert inventory.synonyms == (frozenset({"square", "power"}),)
    assert inventory.undecided == {NOTHING_REAL: {"text"}, NOT_CALLED: {"refused"}}


def test_few_answers_are_enough_and_calls_that_fail_are_left_out() -> None:
    trial = answer_of(lambda x: 6 / x)
    assert trial == FunctionTrial(accepted=True, results=(((1,), 6.0), ((2,), 3.0), ((3,), 2.0)))
    assert len(trial.results) == ANSWERS


@pytest.mark.parametrize(
    ("function", "count"),
    [(lambda: 0, 0), (lambda x, y=1: x + y, 1), (lambda x, *ys: (x, ys), 2), (lambda x, *, y: x + y, 1)],
)
def test_an_argument_is_needed_if_it_has_no_default_and_a_position(function: Callable[..., Any], count: int) -> None:
    assert required(inspect.signature(function)) == count
