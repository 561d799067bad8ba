"""What does a replay save of forward plus backward, side by side in one run?

OMP_NUM_THREADS=1 pytest -m benchmark_run -n 0 -s tests/benchmarks/test_replay_share.py
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from importlib.util import find_spec
from types import MappingProxyType

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.replay_share import WORKLOADS, measured, of_refgrad

pytestmark = pytest.mark.benchmark_run

CHAIN, PERCEPTRON, GRAPH = WORKLOADS
LEAST_SAVED = MappingProxyType({CHAIN: 0.7, PERCEPTRON: -0.15, GRAPH: 0.6})
"""A perceptron is matrix products, which a replay has to form as well: it must not be slower, within the noise."""


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_replay_saves_what_building_the_graph_costs(benchmark: BenchmarkFixture, name: str) -> None:
    (row,) = measured(name, "refgrad")
    benchmark.extra_info.update(asdict(row))
    sys.stdout.write(f"\n{name}: {row.rebuilt:.3g} ms rebuilt, {row.replayed:.3g} ms replayed\n")
    (contest,) = of_refgrad(WORKLOADS[name]())
    benchmark.pedantic(contest.replayed, rounds=5, warmup_rounds=1)  # type: ignore[no-untyped-call]
    assert row.saved > LEAST_SAVED[name]


@pytest.mark.engines
@pytest.mark.parametrize("name", [PERCEPTRON])
def test_what_pytorch_saves_is_measured_on_the_same_losses(benchmark: BenchmarkFixture, name: str) -> None:
    if find_spec("torch") is None:
        pytest.skip("measures PyTorch: pip install 'refgrad[torch]'")
    rows = benchmark.pedantic(lambda: list(measured(name, "torch")), rounds=1)  # type: ignore[no-untyped-call]
    benchmark.extra_info["rows"] = [asdict(row) for row in rows]
    assert [row.engine for row in rows] == ["PyTorch, `jit.trace`", "PyTorch, `compile`"]
