"""The measurement of scale sees what is slow or deep, whatever the machine, and nothing else."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.engine.graph import sweep
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.measurements import Reading, take_measurement
from refgrad.grading.measurements.growth import Growth, measure, slope
from refgrad.grading.measurements.scale import LARGE_GRAPHS, _Sizes, _tape_text, _UnexpectedNumbersError, evaluated
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.adapter import TapeAdapter, find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.library import Library
from refgrad.scenario import Constant
from tests.grading.measurements.broken_sweeps import WithALog, by_every_path, by_lookup_in_a_list, by_recursion

SMOKE = Settings("smoke")
PATIENCE = 2.0
"""More seconds than the profile has: a slow machine sees too few sizes in those to accuse anybody."""

BEHAVIOURS = {b.id: b for b in all_behaviours() if b.chapter == "scale"}


def result_of(behaviour: str) -> Reading:
    measurement = BEHAVIOURS[f"scale/{behaviour}"].measurement
    assert measurement is not None
    return take_measurement(start(find_adapter("refgrad")), measurement, SMOKE)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_reference_engine_copes_with_everything(name: str) -> None:
    assert result_of(name.removeprefix("scale/")).outcome == "passed"


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("engine", ["refgrad", pytest.param("torch", marks=pytest.mark.engines)])
def test_two_engines_cope_with_it_at_full_size(engine: str, name: str) -> None:
    pytest.importorskip(engine, reason=f"needs {engine}")
    measurement = BEHAVIOURS[name].measurement
    assert measurement is not None
    assert take_measurement(start(find_adapter(engine)), measurement, Settings("standard")).outcome == "passed"


def test_an_engine_that_lacks_what_a_graph_needs_is_not_asked() -> None:
    measurement = BEHAVIOURS["scale/second_order"].measurement
    assert measurement is not None
    adapter = find_adapter("refgrad")
    assert isinstance(adapter, TapeAdapter)
    engine = Engine(replace(adapter, grad=None))
    assert take_measurement(engine, measurement, SMOKE) == Reading("unsupported", "the engine has no double_backward")


def test_recursion_is_reported_with_the_failing_size_and_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "reachable", by_recursion)
    result = result_of("long_chain")
    assert result.outcome == "crashed"
    assert result.message == "a chain of n operators, n = 1,562: RecursionError; 390 went well"
    assert result.examples == 5  # after four sizes that went well
    assert isinstance(result.program, str)
    with pytest.raises(RecursionError):
        exec(result.program, {})


BROKEN = [
    *((by_lookup_in_a_list, name) for name in ("long_chain", "long_recurrence", "fan_out", "many_leaves")),
    *((by_every_path, name) for name in ("same_operand_sixty_deep", "sixty_diamonds", "sixty_skip_connections")),
    (by_lookup_in_a_list, "second_order"),
    (WithALog(), "many_backward_calls"),
]


@pytest.mark.benchmark_run
@pytest.mark.parametrize(("reachable", "behaviour"), BROKEN)
def test_growth_that_is_faster_than_linear_is_reported(
    monkeypatch: pytest.MonkeyPatch, reachable: Callable[..., Any], behaviour: str
) -> None:
    monkeypatch.setattr(sweep, "reachable", reachable)
    monkeypatch.setitem(EFFORTS["smoke"], "seconds_of_a_program", PATIENCE)
    result = result_of(behaviour)
    assert result.outcome == "wrong", result
    assert "time grows" in result.message
    assert isinstance(result.program, str)
    assert "process_time" in result.program
    tried = re.search(r"up to n = ([\d,]+)", result.message)
    enlarged = re.search(r"for n in \(.*?(\d+)\):", result.program)
    assert tried is not None
    assert enlarged is not None
    assert int(enlarged[1]) == 4 * int(tried[1].replace(",", ""))  # there it is plain


def test_every_behaviour_is_broken_by_one_of_these() -> None:
    assert {behaviour for _, behaviour in BROKEN} == {name.removeprefix("scale/") for name in BEHAVIOURS}


@pytest.mark.parametrize("behaviour", ["long_chain", "many_leaves", "fan_out"])
def test_a_traversal_by_paths_is_no_fault_if_no_path_is_double(monkeypatch: pytest.MonkeyPatch, behaviour: str) -> None:
    monkeypatch.setattr(sweep, "reachable", by_every_path)
    assert result_of(behaviour).outcome == "passed"


def arriving(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a method of the sweep that changes what leaves receive."""
    arrival = sweep.BackwardPass.arrival
    return lambda self, node, cotangent: change(arrival(self, node, cotangent))


def test_what_is_wrong_in_the_small_is_not_blamed_on_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep.BackwardPass, "arrival", arriving(lambda cotangent: 2 * cotangent))
    result = result_of("long_chain")
    assert result.outcome == "inconclusive"
    assert result.message.endswith("n = 2: the gradient of leaf 1 is 2.0, but it should be 1.0")


def test_numbers_that_are_wrong_only_for_large_graphs_are_reported_with_the_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = itertools.count(1)
    monkeypatch.setattr(sweep.BackwardPass, "arrival", arriving(lambda c: c * (next(count) % 1000 != 0)))
    result = result_of("many_leaves")
    assert result.outcome == "wrong"
    assert "n leaves, n = " in result.message
    assert isinstance(result.program, str)
    assert result.program.endswith("))\n")


def test_a_second_size_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = _Sizes.run

    def run(sizes: _Sizes, size: int) -> float:
        if size > 195:
            raise _UnexpectedNumbersError("wrong", "nonsense")
        return right(sizes, size)

    monkeypatch.setattr(_Sizes, "run", run)
    assert result_of("long_chain").message == "a chain of n operators, n = 390: nonsense; 195 went well"


@pytest.mark.parametrize("graph", [name for name, g in LARGE_GRAPHS.items() if not g.calls and g.order == 1])
def test_the_closed_forms_are_those_of_small_graphs_by_finite_differences(graph: str) -> None:
    """They are multilinear but for the weight of the recurrence, so that a symmetric difference is nearly exact."""
    family = LARGE_GRAPHS[graph]
    engine = start(find_adapter("refgrad"))
    for n in (2, 3, 5):
        leaves = eval(family.leaves, {"n": n})
        body = "\n".join(family.lines(Library(engine)))
        for at, expected in enumerate(evaluated(family.slopes, n)):
            values = []
            for step in (1e-4, -1e-4):
                moved = [engine.make(Constant.of(np.array(v)), requires_grad=False) for v in leaves]
                moved[at] = moved[at] + step
                scope = {**engine.namespace, "n": n, "leaves": tuple(moved)}
                exec(body, scope)
                values.append(scope["y"].item())
            assert (values[0] - values[1]) / 2e-4 == pytest.approx(expected, rel=1e-6)


# Growth ---------------------------------------------------------------------------------------------------------------


class Clock:
    """A processor whose time is what a function of the size says, times a noise."""

    def __init__(self, seconds: Callable[[int], float], noise: Iterator[float]) -> None:
        self.seconds, self.noise = seconds, noise

    def run(self, size: int) -> float:
        """Return the seconds that a size takes this time."""
        return self.seconds(size) * next(self.noise)


SIZES = [1562, 3125, 6250, 12_500, 25_000, 50_000, 100_000]


def measured(seconds: Callable[[int], float], noise: Iterator[float], limit: float = 1e9) -> Growth:
    return measure(Clock(seconds, noise).run, SIZES, limit)


def steady() -> Iterator[float]:
    while True:
        yield 1.0


@given(st.floats(0.1, 4.0), st.floats(0.05, 100.0))
def test_the_exponent_of_a_power_is_that_power(power: float, scale: float) -> None:
    assert slope({n: scale * n**power for n in SIZES}) == pytest.approx(power, rel=1e-9)


@pytest.mark.parametrize("seconds", [lambda n: 1e-6 * n, lambda n: 1e-6 * n * math.log(n), lambda n: 0.1 + 1e-6 * n])
def test_linear_times_pass(seconds: Callable[[int], float]) -> None:
    assert not measured(seconds, steady()).steep


@pytest.mark.parametrize("seconds", [lambda n: 1e-9 * n * n, lambda n: 1e-5 * n + 1e-9 * n * n, lambda n: 1e-13 * n**3])
def test_steeper_times_do_not(seconds: Callable[[int], float]) -> None:
    result = measured(seconds, steady())
    assert result.steep
    assert result.described in {"time grows about as n^2", "time grows about as n^3"}


def test_a_disturbance_that_does_not_last_accuses_nobody() -> None:
    slowed = iter([1, 1, 1, 1, 1, 3, 8, *[1.0] * 100])
    assert not measured(lambda n: 1e-6 * n, slowed).steep


def test_a_disturbance_of_the_second_measurements_does_not_either() -> None:
    slowed = iter([1, 1, 1, 1, 1, 3, 8, 1, 1, 4, 9, *[1.0] * 100])
    assert not measured(lambda n: 1e-6 * n, slowed).steep


def test_sizes_that_would_take_too_long_are_left_out_of_the_growth() -> None:
    result = measured(lambda n: 1e-8 * n * n, steady(), limit=20.0)
    assert result.left_out == 50_000
    assert result.steep


def test_a_slow_engine_is_no_steep_one() -> None:
    result = measured(lambda n: 1e-3 * n, steady(), limit=20.0)
    assert result.left_out == 25_000
    assert not result.steep


@pytest.mark.parametrize("zero_grad", [None, "reset({leaf})"])
def test_gradients_are_reset_between_two_orders_if_the_engine_can(zero_grad: str | None) -> None:
    tape = find_adapter("torch")
    assert isinstance(tape, TapeAdapter)
    (graph,) = (graph for graph in LARGE_GRAPHS.values() if graph.order == 2)
    text = _tape_text(graph, replace(tape, zero_grad=zero_grad))
    assert ("{zero_grad:leaf}" in text) is (zero_grad is not None)
