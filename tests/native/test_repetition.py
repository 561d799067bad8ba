"""Scenarios that are repeated in turn on an engine are counted by what they show, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, start
from refgrad.native.repetition import Repetition, printed_again_and_again
from refgrad.scenario import parse
from tests.native.reference import ADAPTER

SCENARIO = parse("""
x = leaf float64[2] {0x1.8p+0 -0x1p+0} requires_grad
c = leaf float64[2] {0x1p-1 0x1p+0}
y = multiply x c
backward y seed float64[2] {0x1p+0 0x1p+1}
read grad x
read value y
""")
OTHER = parse("x = leaf float64[] {0x1p+0} requires_grad\ny = exp x\nbackward y\nread grad x\nread value y\n")

THIRDS = """
runs = [0]
def exp(x):
    runs[0] += 1
    if runs[0] % 5 == 0:
        raise OverflowError("not this time")
    return torch.exp(x) * 1.0000000000000002 if runs[0] % 3 == 0 else torch.exp(x)
"""


@pytest.mark.parametrize("afresh", [False, True])
@pytest.mark.parametrize("name", ["refgrad", "autograd", pytest.param("torch", marks=pytest.mark.engines)])
def test_every_run_shows_what_a_single_run_does(name: str, *, afresh: bool) -> None:
    pytest.importorskip(name, reason=f"needs {name}")
    engine = start(find_adapter(name))
    for scenario, found in zip(
        (SCENARIO, OTHER), Repetition(engine, (SCENARIO, OTHER), afresh).run(7, 60), strict=True
    ):
        (each,) = found
        assert (each.seen, each.error) == (7, None)
        for seen, due in zip(each.observations, observe(scenario, engine), strict=True):
            assert (seen.array is None) is (due.array is None)
            assert seen.array is None or due.array is None or np.array_equal(seen.array, due.array)


def test_results_that_differ_in_the_last_bit_and_errors_are_told_apart() -> None:
    engine = Engine(replace(ADAPTER, setup=ADAPTER.setup + THIRDS, operators={"exp": "exp({x})"}))
    scenario = parse(OTHER.text.replace("0x1p+0", "0x1.3p+0"))
    (counted,) = Repetition(engine, (scenario,)).run(15, 60)
    found = [each for each in counted if each.error is None]
    (failed,) = (each for each in counted if each.error is not None)
    assert sorted(each.seen for each in found) == [4, 8]
    assert (failed.seen, failed.error is not None and failed.error.text) == (3, "OverflowError: not this time")


def test_no_more_rounds_are_begun_than_there_is_time_for() -> None:
    ((each,),) = Repetition(start(ADAPTER), (SCENARIO,)).run(10**9, 0.01)
    assert 1 <= each.seen < 10**6


@pytest.mark.parametrize("afresh", [False, True])
def test_a_leaf_that_is_refused_shows_nothing(*, afresh: bool) -> None:
    engine = start(replace(ADAPTER, leaf="[][0]"))
    repetition = Repetition(engine, [SCENARIO, SCENARIO], afresh)
    assert all(not runs or all(run.error is not None for run in runs) for runs in repetition.run(3, 1.0))


@pytest.mark.parametrize(
    ("steps", "runs_here", "printed"),
    [
        ("backward y", True, True),
        ("backward y", False, False),
        ("read value y", True, False),
        ("z = sin x\nbackward y\nbackward z", True, False),
        ("backward y\nzero grad x", True, False),
    ],
)
def test_a_program_runs_one_backward_and_plain_steps_repeatedly(steps: str, *, runs_here: bool, printed: bool) -> None:
    scenario = parse(f"x = leaf float64[] {{0x1p+0}} requires_grad\ny = exp x\n{steps}\n")
    engine = Engine(ADAPTER if runs_here else replace(ADAPTER, language="javascript"))
    assert (printed_again_and_again(scenario, engine) is not None) is printed
