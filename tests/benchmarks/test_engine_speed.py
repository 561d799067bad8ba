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

pytestmark = pytest.mark.benchmark_run

Arrays = Sequence[Any]
Loss = Callable[..., Any]
HAND, SCALARS, ENGINE = "numpy by hand", "the same on numpy scalars", "reference engine"
AIMS_CHAIN = {HAND: 2.0, "HIPS autograd": 1 / 6, "MyGrad": 1 / 6}
AIMS_MLP = {HAND: 1.3}
CHAIN_STEPS, GRAPH_NODES = 333, 10_000  # a step of the chain is three operators


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
    numpy = pytest.importorskip("autograd.numpy")

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


@dataclass(frozen=True, slots=True)
class Workload:
    """A loss written once for every library, its hand-written gradient, and where to take it."""

    points: Arrays
    loss: Callable[[Any], Loss]
    by_hand: Callable[..., Arrays]
    operators: int


def chain() -> Workload:
    """y = tanh(w y + b), over and over; 0-d arrays, as numpy users hold their parameters."""

    def loss(functions: Any) -> Loss:
        tanh = functions.tanh

        def repeated(x: Any, w: Any, b: Any) -> Any:
            y = x
            for _ in range(CHAIN_STEPS):
                y = tanh(y * w + b)
            return y

        return repeated

    def by_hand(x: Any, w: Any, b: Any) -> Arrays:
        products, sums, outputs = [], [], [x]
        for _ in range(CHAIN_STEPS):
            products.append(outputs[-1] * w)
            sums.append(products[-1] + b)
            outputs.append(np.tanh(sums[-1]))
        g, to_w, to_b = np.float64(1.0), 0.0, 0.0
        for i in reversed(range(CHAIN_STEPS)):
            g = g * (1 - outputs[i + 1] ** 2)
            to_b = to_b + g
            to_w = to_w + g * outputs[i]
            g = g * w
        return g, to_w, to_b

    return Workload([np.array(0.5), np.array(0.9), np.array(0.1)], loss, by_hand, 3 * CHAIN_STEPS)


def mlp() -> Workload:
    """A perceptron 64-256-256-10 on a batch of 128, with the mean squared error."""
    random = np.random.default_rng(0)
    inputs, targets = random.standard_normal((128, 64)), random.standard_normal((128, 10))
    sizes = [(64, 256), (256, 256), (256, 10)]
    points = [p for rows, columns in sizes for p in (random.standard_normal((rows, columns)) / 8, np.zeros(columns))]

    def loss(functions: Any) -> Loss:
        relu = functions.relu
        constant = getattr(functions, "tensor", lambda array: array)  # PyTorch mixes with its own tensors only
        x, y = constant(inputs), constant(targets)

        def squared_error(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:  # noqa: PLR0913, PLR0917
            hidden = relu(relu(x @ w1 + b1) @ w2 + b2)
            return ((hidden @ w3 + b3 - y) ** 2).mean()

        return squared_error

    def by_hand(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Arrays:  # noqa: PLR0913, PLR0917
        h1 = inputs @ w1 + b1
        a1 = np.maximum(h1, 0)
        h2 = a1 @ w2 + b2
        a2 = np.maximum(h2, 0)
        d = a2 @ w3 + b3 - targets
        np.mean(d**2)
        g3 = 2 * d / d.size
        g2 = (g3 @ w3.T) * (h2 > 0)
        g1 = (g2 @ w2.T) * (h1 > 0)
        return inputs.T @ g1, g1.sum(0), a1.T @ g2, g2.sum(0), a2.T @ g3, g3.sum(0)

    return Workload(points, loss, by_hand, 12)


def graph() -> Workload:
    """10,000 nodes of 8 entries, each a product, a sum or a tanh of what came shortly before."""
    random = np.random.default_rng(1)
    rows = [(("multiply", "add", "tanh")[k % 3], *_arguments(random, k + 3)) for k in range(GRAPH_NODES)]

    def loss(functions: Any) -> Loss:
        tanh = functions.tanh

        def run(*leaves: Any) -> Any:
            values = list(leaves)
            for operator, i, j in rows:
                if operator == "multiply":
                    values.append(values[i] * values[j])
                elif operator == "add":
                    values.append(values[i] + values[j])
                else:
                    values.append(tanh(values[i]))
            total = values[-1] + values[-2]
            return total.sum() if hasattr(total, "sum") else total

        return run

    points = [random.uniform(-1, 1, 8) for _ in range(3)]
    return Workload(points, loss, lambda *leaves: graph_by_hand(rows, leaves), GRAPH_NODES)


def _arguments(random: np.random.Generator, known: int) -> tuple[int, int]:
    i, j = known - random.integers(1, min(20, known + 1), 2)
    return int(i), int(j)


def graph_by_hand(rows: Sequence[tuple[str, int, int]], leaves: Arrays) -> Arrays:
    """Run the rows forward and backward, with nothing but lists."""
    values: list[Any] = list(leaves)
    for operator, i, j in rows:
        if operator == "multiply":
            values.append(values[i] * values[j])
        elif operator == "add":
            values.append(values[i] + values[j])
        else:
            values.append(np.tanh(values[i]))
    (values[-1] + values[-2]).sum()
    cotangents: list[Any] = [0.0] * len(values)
    cotangents[-1] = cotangents[-2] = np.ones(8)
    for k in reversed(range(len(rows))):
        operator, i, j = rows[k]
        g = cotangents[k + 3]
        if operator == "multiply":
            cotangents[i] = cotangents[i] + g * values[j]
            cotangents[j] = cotangents[j] + g * values[i]
        elif operator == "add":
            cotangents[i] = cotangents[i] + g
            cotangents[j] = cotangents[j] + g
        else:
            cotangents[i] = cotangents[i] + g * (1 - values[k + 3] ** 2)
    return cotangents[: len(leaves)]


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
