"""Which errors does each checker of gradients catch, how often does it cry wolf, and what does it cost?

``python -m tests.benchmarks.checkers > docs/reference/checkers.md`` measures it and prints the page. JAX is measured in
an environment of its own, whose Python the variable ``REFGRAD_JAX_PYTHON`` names; without it the row is left out. All
rows come from one run, on the same graphs. ``--share 0.1`` tries a tenth of the graphs. With ``--journal FILE`` each
row is kept in a file as soon as it is known, and a run that was interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

from refgrad.oracles import CertifiedOracle
from tests.benchmarks.checked_graphs import Graph, generated, sized
from tests.benchmarks.peers import CHECKERS, Checker, Fault
from tests.benchmarks.peers_jax import Jax

SIZES: Final = (10, 36, 100, 1_000, 10_000)
ERRORS: Final = tuple(10.0**-k for k in range(15))
TRIALS: Final = 200
CAUGHT: Final = 0.99
SECONDS: Final = 1.0
"""How long each time is measured for, after a first call that does not count."""

LONG: Final = 10.0
"""If the first call takes longer than this, it does count, and is the only one."""

LEAST_GRADIENT: Final = 1e-6
"""An error is put into a random entry that is not 0: the part of the largest entry that it is at least."""

JAX_PYTHON: Final = "REFGRAD_JAX_PYTHON"


INTRODUCTION: Final = """\
The same generated graphs for all checkers, one run, one thread. *Caught* is the smallest relative error, put into one
random entry of the gradient, that is found in 99 of 100 graphs. *False alarms* are right gradients that are not passed,
those of which nothing can be said among them, per 10,000 graphs (counted / graphs tried): at least 1e-3 away from
kinks, and moved off kinks by 1e-3 to 1e-9. The times are those of a whole check, the library's own forward and backward
included, of a function of twenty operators on a vector of so many entries. The refgrad rows differ in what they are
told: the oracles have the scenario, `check_gradients` only the function."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of the table. ``smallest`` is None where not even the largest error is caught."""

    name: str
    smallest: float | None
    trials: int
    far: tuple[int, int]
    near: tuple[int, int]
    milliseconds: tuple[float | None, ...]


def measure(checker: Checker, share: float) -> Measured:
    """Measure everything about one checker."""
    trials = max(10, round(share * (min(TRIALS, checker.graphs))))
    return Measured(
        checker.name,
        smallest_error(checker, trials),
        trials,
        alarms(checker, max(10, round(share * checker.graphs)), near=False),
        alarms(checker, max(10, round(share * checker.graphs)), near=True),
        tuple(milliseconds(checker, size) if size <= checker.largest else None for size in SIZES),
    )


def smallest_error(checker: Checker, trials: int) -> float | None:
    """Return the smallest error that is caught in 99 of 100 graphs; larger ones are too."""
    faulty = [(graph, place) for graph in generated(trials, near=False) if (place := random_place(graph)) is not None]
    fair = [(graph, place) for graph, place in faulty if checker.passes(graph)]
    smallest = None
    for error in ERRORS:
        caught = sum(not checker.passes(graph, Fault(*place, error)) for graph, place in fair)
        if caught < CAUGHT * len(fair):
            break
        smallest = error
    return smallest


def random_place(graph: Graph) -> tuple[int, tuple[int, ...]] | None:
    """Return a random entry among those whose gradient is not 0; None where there is none."""
    oracle = CertifiedOracle(graph.scenario)
    gradients = [oracle.gradient(leaf.name, ((graph.output, graph.cotangent),)).midpoint for leaf in graph.leaves]
    largest = max(float(np.max(np.abs(g), initial=0.0)) for g in gradients)
    places = [
        (k, tuple(int(i) for i in index))
        for k, gradient in enumerate(gradients)
        for index in np.argwhere(np.abs(gradient) > LEAST_GRADIENT * largest)
    ]
    return places[np.random.default_rng(len(places)).integers(len(places))] if places else None


def alarms(checker: Checker, count: int, *, near: bool) -> tuple[int, int]:
    """Return how many right gradients are called wrong, and of how many."""
    return sum(not checker.passes(graph) for graph in generated(count, near=near)), count


def milliseconds(checker: Checker, size: int) -> float:
    """Return the median time of a check of the function of twenty operators."""
    check = checker.prepare(sized(size))
    gc.collect()
    gc.freeze()
    first = timed_once(check)
    times: list[float] = []
    while first < LONG and sum(times) < SECONDS:
        times.append(timed_once(check))
    gc.unfreeze()
    return 1e3 * statistics.median(times or [first])


def timed_once(check: Callable[[], bool]) -> float:
    """Return the seconds that a check takes."""
    before = time.perf_counter()
    check()
    return time.perf_counter() - before


def measured_elsewhere(python: str, share: float) -> Measured:
    """Measure JAX in its own environment."""
    command = [python, "-m", "tests.benchmarks.checkers", "--worker", "--share", str(share)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return from_json(done.stdout.splitlines()[-1])


def from_json(text: str) -> Measured:
    """Read a row that was written as JSON."""
    row: dict[str, Any] = json.loads(text)
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Measured(**fields)


def page(rows: Sequence[Measured]) -> str:
    """Return the page with the table."""
    return "\n".join([*head(), *table(rows), "", *notes(rows), ""])


def head() -> Iterator[str]:
    """Yield what stands above the table."""
    yield "# Checkers of gradients, compared"
    yield ""
    yield "<!-- generated by `python -m tests.benchmarks.checkers`; do not edit -->"
    yield ""
    yield INTRODUCTION
    yield ""


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the table."""
    sizes = [f"ms at {size:,}" for size in SIZES]
    header = ["checker", "caught", "false alarms, far", "false alarms, near", *sizes]
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        caught = "no error" if row.smallest is None else f"{row.smallest:.0e}"
        times = ["-" if t is None else number(t) for t in row.milliseconds]
        yield f"| {row.name} | {caught} | {rate(*row.far)} | {rate(*row.near)} | {' | '.join(times)} |"


def number(value: float) -> str:
    """Return two digits, or all that stand before the point."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def rate(count: int, tried: int) -> str:
    """Return a rate with what it was counted on."""
    return f"{10_000 * count / tried:.0f} ({count} / {tried:,})"


def notes(rows: Sequence[Measured]) -> Iterator[str]:
    """Yield the ratios to gradcheck's default, and what was measured with."""
    by_name = {row.name: row for row in rows}
    reference = by_name["torch.autograd.gradcheck"]
    yield "How many times faster than `torch.autograd.gradcheck`:"
    yield ""
    yield f"| checker | {' | '.join(f'{size:,}' for size in SIZES)} |"
    yield f"|{'---|' * (1 + len(SIZES))}"
    for row in rows:
        if row is not reference:
            pairs = zip(reference.milliseconds, row.milliseconds, strict=True)
            ratios = ["-" if a is None or b is None else number(a / b) for a, b in pairs]
            yield f"| {row.name} | {' | '.join(ratios)} |"
    yield ""
    libraries = ", ".join(filter(None, map(named_version, ("torch", "autograd", "numpy", "python-flint"))))
    yield f"Measured with Python {platform.python_version()}, {libraries}."


def named_version(distribution: str) -> str:
    """Return a library with its version."""
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return ""


def progress(text: str) -> None:
    """Say on the side what is going on."""
    sys.stderr.write(f"{text}\n")


def kept(journal: Path | None, name: str, run: Callable[[], Measured]) -> Measured:
    """Run a measurement and say how long it took, unless the journal has it."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal is not None and journal.exists() else []
    for row in map(from_json, lines):
        if row.name == name:
            return row
    before = time.perf_counter()
    row = run()
    progress(f"{name}: {time.perf_counter() - before:.0f} s, {row}")
    if journal is not None:
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")
    return row


def main() -> None:
    """Measure and print the page; as a worker, one row as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--share", type=float, default=1.0, help="part of the graphs that are tried")
    parser.add_argument("--journal", type=Path, help="file in which the rows are kept")
    parser.add_argument("--worker", action="store_true", help="measure JAX only, and print it as JSON")
    chosen = parser.parse_args()
    if chosen.worker:
        sys.stdout.write(json.dumps(asdict(measure(Jax(), chosen.share))) + "\n")
        return
    import torch  # noqa: PLC0415 (not in the environment of JAX)

    torch.set_num_threads(1)
    share, journal = chosen.share, chosen.journal
    rows = [kept(journal, kind.name, partial(measure, kind(), share)) for kind in CHECKERS]
    if python := os.environ.get(JAX_PYTHON):
        rows.append(kept(journal, Jax.name, partial(measured_elsewhere, python, share)))
    sys.stdout.write(page(rows))


if __name__ == "__main__":
    main()
