"""How much of forward plus backward is spent on building the graph again, and what does a replay save?

``python -m tests.benchmarks.replay_share > docs/reference/static-replay.md`` measures it and prints the page. JAX is
measured in an environment of its own, whose Python the variable ``REFGRAD_JAX_PYTHON`` names; without it, its rows are
left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from statistics import median
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

import numpy as np

from tests.benchmarks.workloads import Arrays, Workload, chain, graph, mlp

SECONDS: Final = 2.0
ROUNDS: Final = (3, 100)
TURN: Final = 0.02
"""Seconds for which one runs before it is the other's turn, at least once."""

ONE_THREAD: Final = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
JAX_PYTHON: Final = "REFGRAD_JAX_PYTHON"
WORKLOADS: Final[Mapping[str, Callable[[], Workload]]] = MappingProxyType({
    "chain of 999 operators on scalars": chain,
    "perceptron 64-256-256-10, batch of 128": mlp,
    "10,000 nodes of 8 entries": graph,
})

INTRODUCTION: Final = """\
`refgrad.engine.record(f)` runs `f` once and then replays what it did on other values, forward and backward, over
buffers that stay; the numbers are those of the define-by-run engine, bit for bit.

```python
import refgrad.engine as torch

replay = torch.record(lambda x, w: torch.tanh(x @ w).sum())
replay(x, w)                      # what the function returns; the first call records
replay.gradients(x, w)            # a gradient for every input
replay.value_and_gradients(x, w)  # both
```

What depends on values cannot be recorded and is refused when the function is recorded: `if x > 0`, `x.item()`, an
index computed from `x`, writing in place, random numbers. Inputs of another shape or dtype are refused at a call.

## How much of forward plus backward is spent on building the graph again?
"""
METHOD: Final = """\
*Rebuilt* is forward and backward with a new graph, *replayed* without; *saved* is the part of the former that the
latter does not need, below 0 where it needs more. In refgrad that bounds the cost of building the graph from above: a
replay also spares the calls of Python between operators and the making of arrays. *First* is what recording, tracing or
compiling takes, once, with the first three calls.

Milliseconds of processor time on one thread, medians of rounds in which both take turns; *saved* is the median of the
rounds' own. All gradients were held against those written by hand.
"""
NOTES: Final = """\
- PyTorch, `jit.trace`: the traced function runs without Python, but autograd still records its operators anew in every
  call. `compile` is `torch.compile(backend="aot_eager")`, which needs no compiler: forward and backward become two
  recorded graphs of PyTorch's own operators. Its default, `inductor`, makes C++ and needs a compiler where it runs.
- JAX, `jit`, replaces the operators by machine code in which they are fused: what it saves is more than the graph.
- 10,000 nodes were not tried with `torch.compile` and `jax.jit`, whose preparation for 999 is long (see *first*).
"""


@dataclass(frozen=True, slots=True)
class Contest:
    """The same gradients by building the graph anew and by replaying it, and what the latter took to prepare."""

    engine: str
    rebuilt: Callable[[], Arrays]
    replayed: Callable[[], Arrays]
    first: float


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured: milliseconds, the part that was saved, and the seconds of preparation."""

    workload: str
    engine: str
    rebuilt: float
    replayed: float
    saved: float
    first: float
    versions: str


def prepared(engine: str, rebuilt: Callable[[], Arrays], replay: Callable[[], Callable[[], Arrays]]) -> Contest:
    """Return a contest, after the first calls of both."""
    before = time.perf_counter()
    replayed = replay()
    for _ in range(3):  # PyTorch's traced functions are optimized at their second call
        replayed()
    first = time.perf_counter() - before
    rebuilt()
    return Contest(engine, rebuilt, replayed, first)


def of_refgrad(workload: Workload) -> Iterator[Contest]:
    """The reference engine."""
    from refgrad import engine as torch  # noqa: PLC0415 (not where JAX is)

    loss = workload.loss(torch)
    leaves = [torch.tensor(point, requires_grad=True) for point in workload.points]
    recorded = torch.record(loss)
    yield prepared(
        "refgrad, `record`", lambda: torch.grad(loss(*leaves), leaves), lambda: lambda: recorded.gradients(*leaves)
    )


def of_pytorch(workload: Workload) -> Iterator[Contest]:
    """PyTorch: its traced functions, and its recorded graphs where they are not too large to record."""
    import torch  # noqa: PLC0415 (not where JAX is)

    torch.set_num_threads(1)
    loss = workload.loss(torch)
    leaves = [torch.tensor(np.asarray(p), dtype=torch.float64, requires_grad=True) for p in workload.points]

    def gradients(function: Any) -> Callable[[], Arrays]:
        return lambda: torch.autograd.grad(function(*leaves), leaves)

    def traced() -> Callable[[], Arrays]:
        with warnings.catch_warnings(action="ignore"):  # constants that it records, and its own deprecation
            return gradients(torch.jit.trace(loss, tuple(leaves)))

    yield prepared("PyTorch, `jit.trace`", gradients(loss), traced)
    if workload.operators < 5000:
        compiled = partial(torch.compile, loss, backend="aot_eager", fullgraph=True)
        yield prepared("PyTorch, `compile`", gradients(loss), lambda: gradients(compiled()))


def of_jax(workload: Workload) -> Iterator[Contest]:
    """JAX."""
    import jax  # noqa: PLC0415 (only where it is installed)
    import jax.numpy as jnp  # noqa: PLC0415

    if workload.operators > 5000:
        return
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003 (its own spelling)
    loss = workload.loss(SimpleNamespace(tanh=jnp.tanh, relu=lambda x: jnp.maximum(x, 0)))
    points = [jnp.asarray(point) for point in workload.points]
    gradient = jax.grad(loss, argnums=tuple(range(len(points))))
    compiled = jax.jit(gradient)
    yield prepared(
        "JAX, `jit`",
        lambda: jax.block_until_ready(gradient(*points)),
        lambda: lambda: jax.block_until_ready(compiled(*points)),
    )


ENGINES: Final = MappingProxyType({
    "refgrad": (of_refgrad, "numpy"),
    "torch": (of_pytorch, "torch"),
    "jax": (of_jax, "jax"),
})


def measured(workload_name: str, engine: str, seconds: float = SECONDS) -> Iterator[Row]:
    """Measure one engine on one workload."""
    workload = WORKLOADS[workload_name]()
    contests, distribution = ENGINES[engine]
    expected = workload.by_hand(*workload.points)
    for contest in contests(workload):
        for run in (contest.rebuilt, contest.replayed):
            for ours, by_hand in zip(run(), expected, strict=True):
                np.testing.assert_allclose(np.asarray(ours), by_hand, rtol=1e-8, atol=1e-12)
        rebuilt, replayed = side_by_side(contest, seconds)
        saved = median(1 - fast / slow for slow, fast in zip(rebuilt, replayed, strict=True))
        yield Row(
            workload_name,
            contest.engine,
            1e3 * median(rebuilt),
            1e3 * median(replayed),
            saved,
            contest.first,
            f"{distribution} {version(distribution)}",
        )


def side_by_side(contest: Contest, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of processor time of both in every round, garbage collected in between, which leaves caches cold."""
    times: tuple[list[float], list[float]] = ([], [])
    start = time.process_time()
    contest.rebuilt()
    repeats = 1 + int(TURN / max(time.process_time() - start, 1e-6))
    end = time.perf_counter() + seconds
    gc.disable()
    while len(times[0]) < ROUNDS[0] or (len(times[0]) < ROUNDS[1] and time.perf_counter() < end):
        for run, spent in zip((contest.rebuilt, contest.replayed), times, strict=True):
            start = time.process_time()
            for _ in range(repeats):
                run()
            spent.append((time.process_time() - start) / repeats)
        gc.collect()
    gc.enable()
    return times


def recording_alone(seconds: float = SECONDS) -> Iterator[tuple[str, float]]:
    """The part of forward plus backward of the reference engine that the making of nodes takes, without replay."""
    from refgrad import engine as torch  # noqa: PLC0415 (not where JAX is)

    for name, make in WORKLOADS.items():
        workload = make()
        loss = workload.loss(torch)
        leaves = [torch.tensor(point, requires_grad=True) for point in workload.points]
        forward, silent = side_by_side(
            Contest("", partial(loss, *leaves), partial(torch.no_grad(loss), *leaves), 0.0), seconds / 2
        )
        whole, _ = side_by_side(Contest("", partial(_gradients, torch, loss, leaves), lambda: (), 0.0), seconds / 2)
        yield name, (median(forward) - median(silent)) / median(whole)


def _gradients(torch: Any, loss: Callable[..., Any], leaves: Sequence[Any]) -> Arrays:
    return torch.grad(loss(*leaves), leaves)  # type: ignore[no-any-return]


def measured_elsewhere(python: str, engine: str) -> list[Row]:
    """Measure in another interpreter."""
    command = [python, "-m", "tests.benchmarks.replay_share", "--worker", engine]
    environment = {**os.environ, "XLA_FLAGS": ONE_THREAD}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [Row(**json.loads(line)) for line in done.stdout.splitlines()]


def page(rows: Sequence[Row], recording: Sequence[tuple[str, float]], remark: str) -> str:
    """Return the page."""
    lines = ["# Static replay", "", "<!-- generated by `python -m tests.benchmarks.replay_share`; do not edit -->", ""]
    lines += [INTRODUCTION, "| forward and backward of | engine | rebuilt, ms | replayed, ms | saved | first, s |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    lines += [
        f"| {r.workload} | {r.engine} | {r.rebuilt:.3g} | {r.replayed:.3g} | {percent(r.saved)} | {r.first:.2g} |"
        for name in WORKLOADS
        for r in rows
        if r.workload == name
    ]
    parts = ", ".join(f"{percent(part)} ({name})" for name, part in recording)
    lines += ["", METHOD]
    lines += ["In the reference engine the making of nodes alone, which is what `no_grad` spares in the forward, is of"]
    lines += ["forward plus backward:", f"{parts}.", "", NOTES]
    versions = ", ".join(dict.fromkeys(row.versions for row in rows))
    lines += [f"Measured with Python {platform.python_version()}, {versions}. {remark}".rstrip(), ""]
    return "\n".join(lines)


def percent(part: float) -> str:
    """Return a part as whole percents; what costs more than it saves is below 0."""
    return f"{100 * part:.0f} %"


def main() -> None:
    """Measure and print the page; as a worker, the rows of one engine as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--worker", choices=ENGINES, help="measure this engine only, and print its rows as JSON")
    parser.add_argument("--remark", default="", help="a sentence about the machine, for the end of the page")
    chosen = parser.parse_args()
    if chosen.worker:
        for name in WORKLOADS:
            for row in measured(name, chosen.worker):
                sys.stdout.write(json.dumps(asdict(row)) + "\n")
        return
    rows = [row for name in WORKLOADS for engine in ("refgrad", "torch") for row in measured(name, engine)]
    if python := os.environ.get(JAX_PYTHON):
        rows += measured_elsewhere(python, "jax")
    sys.stdout.write(page(rows, list(recording_alone()), chosen.remark))


if __name__ == "__main__":
    main()
