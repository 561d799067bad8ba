"""How fast is the reference engine beside hand-written numpy and other engines, forward and backward?

Contestants take turns within one process, and a ratio is the median over rounds of the ratio within a round, of
processor time, so that what else the machine does hits all of them or none. Run alone, on one thread:

    OMP_NUM_THREADS=1 pytest -m benchmark_run -n 0 -s tests/benchmarks/test_engine_speed.py
"""

import ctypes
import gc
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import refgrad.engine
from tests.benchmarks.workloads import GRAPH_NODES, Arrays, Loss, Workload, chain, graph, mlp

pytestmark = pytest.mark.benchmark_run

HAND, SCALARS, ENGINE = "numpy by hand", "the same on numpy scalars", "reference engine"
AIMS_CHAIN = {HAND: 2.0, "HIPS autograd": 1 / 6, "MyGrad": 1 / 6}
AIMS_MLP = {HAND: 1.3}


@dataclass(frozen=True, slots=True)
class Library:
    """One contestant: the functions that losses are written in, and how it gets gradients of a loss."""

    functions: Any
    leaves: Callable[[Arrays], Any]
    gradients: Callable[[Loss, Any], Arrays]


def reference_engine() -> Library:
    functions = SimpleNamespace(tanh=refgrad.engine.tanh, relu=refgrad.engine.relu)
    return Library(functions, lambda arrays: [_recorded(refgrad.engine, a) for a in arrays], _backward)


def pytorch() -> Library:
    torch = pytest.importorskip("torch", reason="measures PyTorch: pip install 'refgrad[torch]'")
    torch.set_num_threads(1)
    return Library(torch, lambda arrays: [_recorded(torch, np.asarray(a)) for a in arrays], _backward)


def mygrad() -> Library:
    library = pytest.importorskip("mygrad", reason="measures MyGrad: pip install 'refgrad[mygrad]'")
    functions = SimpleNamespace(tanh=library.tanh, relu=lambda x: library.maximum(x, 0))
    return Library(functions, lambda arrays: [library.tensor(a) for a in arrays], _backward_mygrad)


def hips_autograd() -> Library:
    library = pytest.importorskip("autograd", reason="measures HIPS autograd: pip install 'refgrad[autograd]'")
    numpy = pytest.importorskip("autograd.numpy", reason="measures HIPS autograd: pip install 'refgrad[autograd]'")

    def gradients(loss: Loss, leaves: Any) -> Arrays:
        return library.grad(lambda arrays: loss(*arrays))(leaves)  # type: ignore[no-any-return]

    functions = SimpleNamespace(tanh=numpy.tanh, relu=lambda x: numpy.maximum(x, 0))
    return Library(functions, list, gradients)


def micrograd() -> Library:
    """Python floats only, and relu, as it has no tanh."""
    engine = pytest.importorskip("micrograd.engine", reason="measures micrograd: pip install 'refgrad[micrograd]'")
    functions = SimpleNamespace(tanh=engine.Value.relu, relu=engine.Value.relu)

    def gradients(loss: Loss, leaves: Any) -> Arrays:
        for leaf in leaves:
            leaf.grad = 0
        loss(*leaves).backward()
        return [leaf.grad for leaf in leaves]

    return Library(functions, lambda arrays: [engine.Value(float(a)) for a in arrays], gradients)


def _recorded(torch: Any, array: Any) -> Any:
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


def _backward(loss: Loss, leaves: Any) -> Arrays:
    for leaf in leaves:
        if leaf.grad is not None:
            leaf.grad = None
    loss(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def _backward_mygrad(loss: Loss, leaves: Any) -> Arrays:
    loss(*leaves).backward()
    return [leaf.grad for leaf in leaves]


LIBRARIES: Mapping[str, Callable[[], Library]] = {
    ENGINE: reference_engine,
    "PyTorch": pytorch,
    "MyGrad": mygrad,
    "HIPS autograd": hips_autograd,
    "micrograd": micrograd,
}


def contestants(workload: Workload, names: Sequence[str]) -> dict[str, Callable[[], Arrays]]:
    """Everybody's gradient of ``workload``, checked against the hand-written one; who is not installed is left out."""
    expected = workload.by_hand(*workload.points)
    runs: dict[str, Callable[[], Arrays]] = {HAND: lambda: workload.by_hand(*workload.points)}
    if all(point.ndim == 0 for point in workload.points):
        scalars = [point[()] for point in workload.points]
        runs[SCALARS] = lambda: workload.by_hand(*scalars)
    for name in names:
        try:
            library = LIBRARIES[name]()
        except pytest.skip.Exception as skipped:
            sys.stdout.write(f"left out: {skipped}\n")
            continue
        points = [p[0] for p in workload.points] if name == "micrograd" and workload.points[0].ndim else workload.points
        run = _run(library, library.leaves(points), workload.loss(library.functions))
        if name != "micrograd":
            for ours, theirs in zip(run(), expected, strict=True):
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-8, atol=1e-12)
        runs[name] = run
    return runs


def _run(library: Library, leaves: Any, loss: Loss) -> Callable[[], Arrays]:
    return lambda: library.gradients(loss, leaves)


def side_by_side(runs: Mapping[str, Callable[[], Arrays]], rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time of every run in every round, garbage collected in between (as timeit does)."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    gc.disable()
    for _ in range(rounds):
        for name, run in runs.items():
            start = process_time()
            run()
            seconds[name].append(process_time() - start)
        gc.collect()
    gc.enable()
    return seconds


def ratios_of_engine(seconds: Mapping[str, list[float]]) -> dict[str, float]:
    """The engine's time over everybody's."""
    return {
        name: median(ours / theirs for ours, theirs in zip(seconds[ENGINE], times, strict=True))
        for name, times in seconds.items()
        if name != ENGINE
    }


@pytest.fixture(autouse=True)
def _nobody_waits_for_memory() -> Iterator[None]:
    """Let the allocator keep what is freed: whether it returns pages would decide more than the engines do."""
    if sys.platform == "linux":
        trim_threshold, mmap_threshold = -1, -3
        ctypes.CDLL(None).mallopt(trim_threshold, 1 << 30)
        ctypes.CDLL(None).mallopt(mmap_threshold, 1 << 30)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * GRAPH_NODES)  # micrograd recurses
    yield
    sys.setrecursionlimit(limit)


def measure(benchmark: BenchmarkFixture, workload: Workload, names: Sequence[str], rounds: int) -> dict[str, float]:
    """Run everybody, print and keep the table, and return the engine's ratios."""
    runs = contestants(workload, names)
    seconds = side_by_side(runs, rounds)
    ratios = ratios_of_engine(seconds)
    benchmark.extra_info["engine / other"] = {name: round(ratio, 3) for name, ratio in ratios.items()}
    benchmark.extra_info["microseconds per operator"] = {
        name: round(median(times) * 1e6 / workload.operators, 3) for name, times in seconds.items()
    }
    lines = []
    for name, times in sorted(seconds.items(), key=lambda item: median(item[1])):
        per_operator = median(times) * 1e6 / workload.operators
        ratio = ratios.get(name, math.nan)
        lines.append(f"{name:25} {per_operator:9.2f} µs per operator, engine / this {ratio:6.2f}\n")
    sys.stdout.write("\n" + "".join(lines))
    benchmark.pedantic(  # type: ignore[no-untyped-call]
        runs[ENGINE], rounds=5, warmup_rounds=1
    )
    return ratios


def assert_aims(ratios: Mapping[str, float], aims: Mapping[str, float]) -> None:
    missed = {name: ratios[name] for name, aim in aims.items() if name in ratios and ratios[name] > aim}
    assert not missed, f"the engine took {missed} times as long, where the aim was {aims}"


def test_scalar_chain(benchmark: BenchmarkFixture) -> None:
    ratios = measure(benchmark, chain(), list(LIBRARIES), rounds=200)
    assert_aims(ratios, AIMS_CHAIN)


def test_perceptron(benchmark: BenchmarkFixture) -> None:
    ratios = measure(benchmark, mlp(), [name for name in LIBRARIES if name != "micrograd"], rounds=200)
    assert_aims(ratios, AIMS_MLP)


def test_graph_of_ten_thousand_nodes(benchmark: BenchmarkFixture) -> None:
    measure(benchmark, graph(), list(LIBRARIES), rounds=10)
