"""What it costs to run an engine in a process of its own, beside the whole of what a scenario costs.

`python -m pytest tests/benchmarks/test_runners.py -m benchmark_run -n 0` measures; the table shows ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from refgrad.generation import Profile, operator_scenario
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, observe, prepare, start
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import Scenario

pytestmark = pytest.mark.benchmark_run

BATCH = 16
NAMES = ("exp", "multiply", "sum", "matmul")


def scenarios() -> list[Scenario]:
    return [operator_scenario(seed, NAMES[seed % len(NAMES)], Profile(seeds=True)) for seed in range(8 * BATCH)]


@pytest.fixture(scope="module", params=["in this process", "in its own process"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    adapter = find_adapter("refgrad")
    if request.param == "in this process":
        yield start(adapter)
        return
    runner = ProcessRunner(adapter)
    yield Engine(adapter, runner)
    runner.stop()


@pytest.mark.parametrize("what", [observe, examine], ids=["observed", "examined"])
def test_scenarios(benchmark: BenchmarkFixture, engine: Engine, what: Callable[[Scenario, Engine], object]) -> None:
    benchmark.group = what.__name__
    given = scenarios()

    def run() -> int:
        done = 0
        for first in range(0, len(given), BATCH):
            batch = given[first : first + BATCH]
            prepare(batch, engine)
            done += sum(what(scenario, engine) is not None for scenario in batch)
        return done

    assert benchmark(run) == len(given)
