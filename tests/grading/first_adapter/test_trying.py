"""A library is tried with whatever it has, whichever its policy turns out to be."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from refgrad.grading.first_adapter.trying import Workbench
from refgrad.grading.trials import KINDS
from refgrad.lifecycle import Policy
from refgrad.native.engine import Engine, start
from refgrad.native.runner import ProcessRunner
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.native.reference import ADAPTER

TWICE = parse("""
x = leaf float64[] {0x1p+0} requires_grad
a = exp x
backward a retain_graph
backward a
read grad x
""")


@pytest.mark.parametrize(
    ("changes", "runnable"),
    [
        ({}, True),
        ({"policy": Policy(accumulates="replaces")}, True),
        ({"operators": {"sin": "torch.sin({x})"}, "aliases": {}, "alike": ()}, False),
        ({"lacks": frozenset({"seed"})}, True),
    ],
)
def test_what_follows_from_a_policy_is_tried_before_that_is_known(changes: Any, *, runnable: bool) -> None:
    assert Workbench(Engine(replace(ADAPTER, **changes))).runnable(TWICE) is runnable


def test_what_a_library_lacks_is_not_tried() -> None:
    detached = parse("x = leaf float64[] {0x1p+0} requires_grad\na = detach x\n")
    assert Workbench(Engine(ADAPTER)).runnable(detached)
    assert not Workbench(Engine(replace(ADAPTER, lacks=frozenset({"detach"})))).runnable(detached)


@pytest.mark.parametrize(
    ("name", "scalars_only", "there"), [("exp", True, True), ("sum", True, False), ("sum", False, True)]
)
def test_a_library_of_scalars_has_elementwise_operators_alone(name: str, *, scalars_only: bool, there: bool) -> None:
    bench = Workbench(Engine(replace(ADAPTER, scalars_only=scalars_only)))
    assert bench.has(operator_table()[name]) is there


@pytest.mark.parametrize(("gradient", "kinds"), [("{leaf}.grad.numpy()", 5), ("np.full({leaf}.shape, 7.0)", 0)])
def test_a_gradient_that_is_right_for_arrays_without_entries_alone_is_none(gradient: str, kinds: int) -> None:
    setup = f"{ADAPTER.setup}\nimport numpy as np\n"
    bench = Workbench(Engine(replace(ADAPTER, setup=setup, gradient=gradient)))
    assert len(bench.kinds_differentiated(KINDS)) == kinds


@pytest.mark.parametrize(
    ("text", "kept"),
    [("torch.exp({x}.detach())", False), ("cut({x})", True), ("torch.exp({x}) * 2", True)],
)
def test_a_gradient_that_does_not_come_back_from_what_says_that_it_does_is_for_a_report(
    text: str, *, kept: bool
) -> None:
    cut = "def cut(x):\n    y = torch.exp(x.detach())\n    y.requires_grad = x.requires_grad\n    return y\n"
    bench = Workbench(Engine(replace(ADAPTER, setup=f"{ADAPTER.setup}\n{cut}")))
    assert bench.differentiates(operator_table()["exp"], text, list(KINDS)) is kept


def test_a_spelling_that_takes_numbers_alone_is_none_of_arrays() -> None:
    bench = Workbench(Engine(ADAPTER))
    text = "torch.sum({x}, {axis}, {keepdims}) if {x}.ndim == 0 else [][1]"
    assert not bench.computes(operator_table()["sum"], text, list(KINDS))
    assert bench.computes(operator_table()["sum"], "torch.sum({x}, {axis}, {keepdims})", list(KINDS))


@pytest.mark.parametrize(("function", "computes"), [("stale", True), ("wrong", False)])
def test_a_spelling_that_an_earlier_program_made_wrong_is_kept(function: str, *, computes: bool) -> None:
    setup = """
calls = []
def stale(x):
    calls.append(x)
    return torch.exp(calls[max(0, len(calls) - 8)])
def wrong(x):
    return torch.exp(x) + 1
"""
    engine = start(replace(ADAPTER, setup=ADAPTER.setup + setup), sys.executable)
    assert isinstance(engine.runner, ProcessRunner)
    try:
        assert Workbench(engine).computes(operator_table()["exp"], f"{function}({{x}})", list(KINDS)) is computes
    finally:
        engine.runner.stop()
