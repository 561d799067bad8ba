"""The measurement of memory sees what is kept, by either meter, and nothing else."""

from __future__ import annotations

import contextlib
import tracemalloc
from dataclasses import replace
from io import StringIO

import pytest

from refgrad.facts import Measured
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.measurements import Reading, memory, take_measurement
from refgrad.grading.measurements.memory import (
    RESIDENT,
    TRACED,
    Meter,
    affordable,
    is_leak,
    is_traced,
    least_growth,
    measure_weak_reference,
)
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, start
from refgrad.native.library import Library
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse
from tests.effort import sampled
from tests.grading.measurements.broken_memories import EVERYTHING, FILLS_A_CACHE, KEEPING_FAULTS, KeepingFault
from tests.native.reference import ADAPTER

pytestmark = pytest.mark.turns(2)

BEHAVIOURS = {b.id.partition("/")[2]: b for b in all_behaviours() if b.chapter == "release"}
QUICK = [name for name, b in BEHAVIOURS.items() if b.measurement is not None and b.measurement.name == "release"]


def result_of(engine: Engine, behaviour: str, profile: str = "smoke") -> Reading:
    measurement = BEHAVIOURS[behaviour].measurement
    assert measurement is not None
    return take_measurement(engine, measurement, Settings(profile))


@pytest.mark.parametrize("name", sampled(BEHAVIOURS, 3, turns=3))
def test_the_reference_engine_lets_go_of_everything(name: str) -> None:
    assert result_of(start(find_adapter("refgrad")), name).outcome == "passed"


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("engine", ["refgrad", pytest.param("torch", marks=pytest.mark.engines)])
def test_two_engines_hold_no_more_after_ten_thousand_iterations(engine: str, name: str) -> None:
    pytest.importorskip(engine, reason=f"needs {engine}")
    assert result_of(start(find_adapter(engine)), name, "standard").outcome == "passed"


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    sampled(
        {name: fault for fault in KEEPING_FAULTS for name in BEHAVIOURS if name in fault.breaks - set(QUICK)}.items(),
        4,
        turns=3,
    ),
    ids=lambda each: each.name if isinstance(each, KeepingFault) else each,
)
def test_memory_that_every_iteration_leaves_is_reported(
    behaviour: str, fault: KeepingFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the engines that break a behaviour, the last one is tried: the first keeps everything."""
    monkeypatch.setitem(memory.ITERATIONS, "longer", 1)  # an eighth of the time, as sure of what is planted
    result = result_of(fault.start(), behaviour)
    assert result.outcome == "wrong"
    assert result.fact == Measured(quantity="tensor" if behaviour == "tensors_die_with_their_graph" else "growth")


@pytest.mark.parametrize("fault", sampled(KEEPING_FAULTS, 4, turns=3), ids=lambda fault: fault.name)
def test_kept_memory_is_reported_and_nothing_else(fault: KeepingFault) -> None:
    engine = fault.start()
    result = {name: result_of(engine, name).outcome for name in QUICK}
    assert {name for name in QUICK if result[name] == "wrong"} == fault.breaks & set(QUICK)
    assert set(result.values()) <= {"passed", "wrong"}


SPOILED = """
kept, spoiled = [], []
def spoiling(x):
    spoiled.append(True)
    return torch.cosh(x)
def keeping(product):
    if spoiled:
        kept.append(product)
    return product
"""


@pytest.mark.parametrize(("spoiled", "outcome"), [("[]", "passed"), ("[True]", "wrong")])
def test_what_another_program_of_the_process_has_caused_is_no_leak(
    spoiled: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(memory.ITERATIONS, "longer", 1)
    spellings = {"cosh": "spoiling({x})", "multiply": "keeping({x} * {y})"}
    setup = ADAPTER.setup + SPOILED.replace("[], []", f"[], {spoiled}")
    adapter = replace(ADAPTER, setup=setup, operators={**ADAPTER.operators, **spellings})
    runner = ProcessRunner(adapter)
    engine = Engine(adapter, runner)
    try:
        observe(parse("x = leaf float64[] {0x1p+0}\na = cosh x\nread value a\n"), engine)
        result = result_of(engine, "abandoned_graphs_do_not_add_up")
    finally:
        runner.stop()
    assert result.outcome == outcome


SCALARS = """
kept = []
def loss(x, keep):
    kept.append(list(range(keep)))
    return x * x
"""


@pytest.mark.parametrize(("keep", "outcome"), [(0, "passed"), (40, "wrong")])
def test_what_is_left_of_a_graph_of_scalars_counts_if_it_grows_with_the_graph(keep: int, outcome: str) -> None:
    adapter = replace(
        ADAPTER,
        setup=f"{ADAPTER.setup}{SCALARS}",
        leaf="torch.tensor({scalar}, requires_grad={requires_grad})",
        operators={"multiply": f"loss({{x}}, {keep})"},
        scalars_only=True,
    )
    assert result_of(Engine(adapter), "graphs_die_with_their_output").outcome == outcome


UNSEEN = """
tape = bytearray(1 << 16)
wrappers = []
def noted(x):  # what is recorded is not for Python to see, but for wrappers that are kept for further use
    tape[0] = 1
    if len(wrappers) < 1700:
        wrappers.append([0] * 9)
    return x
"""


def test_graphs_of_scalars_that_python_does_not_trace_are_inconclusive() -> None:
    adapter = replace(
        ADAPTER,
        setup=f"{ADAPTER.setup}{UNSEEN}",
        leaf="torch.tensor({scalar}, requires_grad={requires_grad})",
        operators={"multiply": "noted({x})", "add": "{x} + {y}"},
        scalars_only=True,
    )
    result = result_of(Engine(adapter), "graphs_die_with_their_output")
    assert (result.outcome, "does not know of the graph" in result.message) == ("inconclusive", True)
    assert not is_traced(Library(Engine(adapter)), "multiply")
    assert is_traced(Library(Engine(adapter)), "add")


def test_every_behaviour_is_broken_by_one_of_these() -> None:
    assert frozenset().union(*(fault.breaks for fault in KEEPING_FAULTS)) == set(BEHAVIOURS)


def test_the_printed_program_prints_what_was_measured() -> None:
    result = result_of(EVERYTHING.start(), "graphs_die_with_their_output")
    assert result.message == "once its output is dropped, 16 arrays of a graph of 16 arrays are still held"
    assert isinstance(result.program, str)
    printed = StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(result.program, {})
    finally:
        tracemalloc.stop()  # which the program, that ends with its process, leaves out
    graph, left = eval(printed.getvalue())
    assert left * 4 > graph > 14_000_000


@pytest.mark.engines
def test_numpys_memory_is_traced_and_pytorchs_is_not() -> None:
    pytest.importorskip("torch", reason="needs torch")
    assert is_traced(Library(start(find_adapter("refgrad"))), "multiply")
    assert not is_traced(Library(start(find_adapter("torch"))), "multiply")


@pytest.mark.engines
@pytest.mark.parametrize("behaviour", ["graphs_die_with_their_output", "abandoned_graphs_do_not_add_up"])
def test_memory_that_python_does_not_know_of_is_seen_too(behaviour: str) -> None:
    pytest.importorskip("torch", reason="needs torch")
    result = result_of(EVERYTHING.start("torch"), behaviour)
    assert result.outcome == "wrong"
    assert "attempt" in result.program


def test_a_slow_engine_does_fewer_iterations_and_never_none() -> None:
    assert affordable(800, 0.5, 1e-6) == 200
    assert affordable(800, 0.5, 0.01) == 50
    assert affordable(800, 0.5, 1.0) == 10


def test_a_leak_grows_in_every_round() -> None:
    assert least_growth([0, 0, 99_000, 198_000], 100) == 0
    assert least_growth([0, 99_000, 198_000, 297_000], 100) == 990


@pytest.mark.whole
def test_a_cache_that_fills_is_no_leak_however_long_the_first_reading_takes() -> None:
    assert result_of(FILLS_A_CACHE.start(), "training_does_not_grow").outcome == "passed"


def test_noise_is_no_leak() -> None:
    assert not is_leak(4, TRACED, 2500)
    assert not is_leak(100, TRACED, 10)
    assert is_leak(16, TRACED, 2500)
    assert not is_leak(TRACED.noise, TRACED, 10**6)
    assert not is_leak(60, RESIDENT, 2500)
    assert is_leak(4096, RESIDENT, 100)


def test_tensors_that_cannot_be_referred_to_weakly_are_nothing_to_measure() -> None:
    changes = {"multiply": "float({x}) * float({y})"}
    numbers = Engine(replace(ADAPTER, operators={**ADAPTER.operators, **changes}))
    result = measure_weak_reference(numbers, {}, Settings("smoke"))
    assert (result.outcome, result.message) == ("unsupported", "there are no weak references to the engine's tensors")


@pytest.mark.parametrize(("meter", "times", "outcome"), [
    (TRACED, 0, "passed"), (TRACED, 1, "passed"), (TRACED, 2, "wrong"),
    (RESIDENT, 0, "passed"), (RESIDENT, 3, "passed"), (RESIDENT, 4, "wrong"),
])  # fmt: skip
def test_memory_that_stops_growing_when_it_is_measured_again_is_no_leak(
    meter: Meter, times: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = iter([True] * times)

    def measured(metered: memory.Metered, *sizes: int) -> list[list[int]]:
        grown = 4096 * sizes[-1] if metered.meter is meter and next(growing, False) else 0
        return [[grown * number for number in range(memory.ITERATIONS["rounds"])] for _ in sizes]

    monkeypatch.setattr(memory.Metered, "results", measured)
    monkeypatch.setattr(memory, "is_traced", lambda *_: False)
    assert result_of(start(ADAPTER), "training_does_not_grow").outcome == outcome
