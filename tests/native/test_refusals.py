"""Tests of refusals: an error that the adapter declares as such is no failure, and another one stays one."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.grading.judging.examination import examine
from refgrad.native.engine import Engine, prepare
from refgrad.native.observation import UNSUPPORTED, Raised
from refgrad.native.repetition import Repetition
from refgrad.scenario import parse
from tests.native.tiny_engine import tiny_adapter

SCENARIO = parse("x = leaf float64[] {0x1p+0} requires_grad\ny = multiply x x\nbackward y\nread grad x\n")
RAISING = {"operators": {"multiply": "[][{x}.data.size]"}}
PATTERN = "IndexError: list index out of range"


def engine(**changes: Any) -> Engine:
    return Engine(tiny_adapter(**{**RAISING, **changes}))


@pytest.mark.parametrize(
    ("refusals", "outcome"),
    [
        ((), "unexpected-error"),
        (("KeyError", "IndexError: tuple"), "unexpected-error"),
        ((PATTERN,), "unsupported"),
        (("KeyError", "out of range$"), "unsupported"),
    ],
)
def test_a_declared_refusal_is_unsupported(refusals: tuple[str, ...], outcome: str) -> None:
    assert examine(SCENARIO, engine(refusals=refusals)).outcome == outcome


def test_a_refusal_stays_one_where_scenarios_are_repeated() -> None:
    for refusals, refused in (((), False), ((PATTERN,), True)):
        ((shown,),) = Repetition(engine(refusals=refusals), [SCENARIO]).run(1, 1.0)
        assert shown.error is not None
        assert shown.error.is_unsupported == refused


def test_a_refusal_is_marked_once() -> None:
    refusing = engine(refusals=(PATTERN,))
    told = refusing.marked(Raised("IndexError", "list index out of range", ("IndexError",)))
    assert told.bases == ("IndexError", UNSUPPORTED)
    assert refusing.marked(told) == told


def test_what_was_run_ahead_is_marked_too() -> None:
    refusing = engine(refusals=(PATTERN,))
    prepare([SCENARIO], refusing)
    assert examine(SCENARIO, refusing).outcome == "unsupported"
