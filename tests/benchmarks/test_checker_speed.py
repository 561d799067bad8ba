"""How long does the check of one graph take, beside `torch.autograd.gradcheck` on the same graph?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.benchmarks.checked_graphs import sized
from tests.benchmarks.peers import Balls, Checker, GradCheck, ScreenedBalls, Traced

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = [pytest.mark.benchmark_run, pytest.mark.engines]

LEAST_RATIO = {36: 20, 1_000: 100}
"""How many times faster than gradcheck the screened oracle has to be, by the number of inputs."""


def seconds(check: Callable[[], bool]) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        before = time.perf_counter()
        check()
        times.append(time.perf_counter() - before)
    return min(times)


@pytest.mark.parametrize("size", [10, 36, 100, 1_000])
@pytest.mark.parametrize("kind", [Balls, ScreenedBalls, Traced], ids=lambda kind: kind.__name__)
def test_the_check_of_a_graph(benchmark: Any, kind: type[Checker], size: int) -> None:
    torch.set_num_threads(1)
    graph = sized(size)
    reference = seconds(GradCheck().prepare(graph))
    assert benchmark.pedantic(kind().prepare(graph), warmup_rounds=2, rounds=10)
    ratio = reference / benchmark.stats.stats.median
    benchmark.extra_info["times faster than gradcheck"] = round(ratio, 1)
    if kind is ScreenedBalls and size in LEAST_RATIO:
        assert ratio > LEAST_RATIO[size]
