"""Faults that show on long arrays only are found, and legal ways to compute are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.generation import large_scenarios
from refgrad.grading.bench import Bench
from refgrad.grading.checks.operators.values import _smallest, on_large_arrays
from refgrad.grading.judging.screening import agrees
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.search import SEARCH
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario, parse
from tests.grading.broken import CHECKS, bench, verdict
from tests.native.reference import ADAPTER

SETUP = """
def bent(x, condition):
    marks = torch.tensor(np.where(condition(np.arange(x.numel())).reshape(x.shape), 1e-3, 0.0))
    return torch.exp(x) + marks * (torch.sin(x) - torch.sin(x).detach())

def shifted(y, numbers):
    return y + torch.tensor(np.asarray(numbers) - y.detach().numpy())

def without_tail(x, width, axis, keepdims):
    kept = np.ones(x.numel())
    if x.numel() > 1000:
        kept[x.numel() - x.numel() % width :] = 0
    kept = torch.tensor(kept.reshape(x.shape))
    return torch.sum(x * kept + (x * (1 - kept)).detach(), axis, keepdims)

def with_a_block_twice(x, axis, keepdims):
    count = np.ones(x.numel())
    count[1024:2048] = 2
    return torch.sum(x * torch.tensor(count.reshape(x.shape)), axis, keepdims)

def in_float32(y, x, axis, keepdims):
    array = x.detach().numpy()
    return shifted(y, np.cumsum(array.astype(np.float32), axis=axis).take([-1], axis=axis).reshape(y.shape)) if (
        axis is not None and not isinstance(axis, tuple) and array.shape[axis] > 1000) else y

def wrapped(x):
    places = np.arange(x.numel()) % 2**15
    return torch.exp(torch.reshape(x, (-1,))[places].reshape(x.shape))

def crossed(function, x, axis):
    both = x.ndim == 2 and min(x.shape) > 64
    return function(torch.transpose(x, 0, 1), axis).T if both else function(x, axis)

def with_coarse_gradient(x, axis):
    y = torch.softmax(x, axis)
    coarse = (1 + 1e-7) if x.numel() > 10_000 else 1.0
    return coarse * y + ((1 - coarse) * y).detach()

def summed_in_turn(x, axis, keepdims, order):
    y = torch.sum(x, axis, keepdims)
    if axis is None or isinstance(axis, tuple) or not x.ndim or not x.shape[axis]:
        return y
    rows = np.moveaxis(x.detach().numpy(), axis, 0)
    return shifted(y, np.add.accumulate(order(rows), axis=0)[-1].reshape(y.shape))

def blocks(rows):
    whole = rows[: len(rows) // 64 * 64].reshape(-1, 64, *rows.shape[1:]).sum(axis=1)
    return np.concatenate([whole, rows[len(rows) // 64 * 64 :]])

def plain_softmax(x, axis):
    y = torch.exp(x)
    return y / torch.sum(torch.flip(y, (axis,)), axis, True)

def fused(x, y):
    z = torch.matmul(x, y)
    return shifted(z, (x.detach().numpy().astype(np.longdouble) @ y.detach().numpy()).astype(float))
"""

SUM = "torch.sum({x}, {axis}, {keepdims})"

FAULTS = {
    "behind entry 1024": ("exp", "bent({x}, lambda at: at > 1024)"),
    "behind entry 4096": ("exp", "bent({x}, lambda at: at > 4096)"),
    "behind entry 32767": ("exp", "bent({x}, lambda at: at > 32767)"),
    "in one entry of a later block": ("exp", "bent({x}, lambda at: at == 20_000)"),
    "in every tail of 4": ("sum", "without_tail({x}, 4, {axis}, {keepdims})"),
    "in every tail of 8": ("sum", "without_tail({x}, 8, {axis}, {keepdims})"),
    "in every tail of 16": ("sum", "without_tail({x}, 16, {axis}, {keepdims})"),
    "in every tail of 64": ("sum", "without_tail({x}, 64, {axis}, {keepdims})"),
    "where a block is counted twice": ("sum", "with_a_block_twice({x}, {axis}, {keepdims})"),
    "where long sums are of float32": ("sum", f"in_float32({SUM}, {{x}}, {{axis}}, {{keepdims}})"),
    "where an index wraps at 2**15": ("exp", "wrapped({x})"),
    "where both axes are long": ("softmax", "crossed(torch.softmax, {x}, {axis})"),
    "where long scans go the other way": ("cumsum", "crossed(torch.cumsum, {x}, {axis})"),
    "where a long gradient has seven digits": ("softmax", "with_coarse_gradient({x}, {axis})"),
}

CHOICES = {
    "adds one entry after another": ("sum", "summed_in_turn({x}, {axis}, {keepdims}, lambda rows: rows)"),
    "adds from the end": ("sum", "summed_in_turn({x}, {axis}, {keepdims}, lambda rows: rows[::-1])"),
    "adds block by block": ("sum", "summed_in_turn({x}, {axis}, {keepdims}, blocks)"),
    "divides by a sum from the end": ("softmax", "plain_softmax({x}, {axis})"),
    "is off by a last bit": ("exp", "torch.exp({x}) * (1 + 2.0**-52)"),
    "fuses products and sums": ("matmul", "fused({x}, {y})"),
}


def graded(operator: str, text: str) -> Bench:
    return bench(SETUP, operators={operator: text})


def differing(engine: Engine, operator: str) -> list[Scenario]:
    return [scenario for scenario in large_scenarios(operator) if not agrees(scenario, engine)]


@pytest.mark.parametrize(("operator", "text"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_long_arrays_differs(operator: str, text: str) -> None:
    assert differing(graded(operator, text).engine, operator)


@pytest.mark.parametrize(("operator", "text"), CHOICES.values(), ids=CHOICES)
def test_a_legal_way_to_compute_agrees(operator: str, text: str) -> None:
    assert not differing(graded(operator, text).engine, operator)


@pytest.mark.parametrize("fault", ["behind entry 1024", "in every tail of 64"])
def test_what_differs_is_certified_on_a_smaller_scenario(fault: str) -> None:
    operator, text = FAULTS[fault]
    check, broken = CHECKS[f"operators/{operator}"], graded(operator, text)
    first = large_scenarios(operator)[0]
    found = on_large_arrays(check, broken.verdict(check, "passed", examples=7), broken, [first])
    assert (found.verdict, found.examples, found.screened) == ("wrong", 8, 0)
    assert entries(parse(found.scenario)) < entries(first)


def entries(scenario: Scenario) -> int:
    return sum(leaf.value.size for leaf in scenario.leaves)


def test_what_agrees_passes_and_is_counted_as_screened() -> None:
    check, right = CHECKS["operators/mean"], bench()
    passed = right.verdict(check, "passed", examples=7)
    found: Any = on_large_arrays(check, passed, right, large_scenarios("mean"))
    assert (found.verdict, found.examples, found.screened) == ("passed", 9, 2)


def test_a_search_for_a_smaller_array_ends_with_the_processes_that_one_check_may_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench: Any = SimpleNamespace(
        engine=SimpleNamespace(runner=SimpleNamespace(endings=3)),
        reliance=SimpleNamespace(runnable=lambda _: True),
        examine=lambda *_: Finding("passed"),
    )

    def dies(_scenario: Scenario, engine: Any) -> bool:
        engine.runner.endings += 1
        return False

    monkeypatch.setattr("refgrad.grading.checks.operators.values.agrees", dies)
    large = next(s for s in large_scenarios("exp") if sum(leaf.value.size for leaf in s.leaves) > 1000)
    _smallest(large, CHECKS["operators/exp"], bench)
    assert bench.engine.runner.endings == 3 + SEARCH["most_crashed"]


def test_an_engine_with_neither_seeds_nor_a_sum_is_not_tried_on_large_arrays() -> None:
    engine = bench(profile="standard", only={"soft_margin_loss"}, lacks=ADAPTER.lacks | {"seed"})
    assert verdict(engine, "operators/soft_margin_loss").verdict == "passed"
