"""Does the certified oracle ever fault an engine that is right, and how small an error does it catch?

    python -m tests.benchmarks.soak --graphs 1000000 --engines refgrad,torch,autograd,mygrad --output soak.jsonl
    python -m tests.benchmarks.soak_page soak.jsonl > reports/rounding-budget.md

Every block of seeds appends one line of JSON to the output when it is done; a run that is stopped goes on where it
left off. Scenarios follow from their seed alone, so any line can be looked at again with ``--show SEED``.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from refgrad.generation import Choices
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from tests.benchmarks.graded_graphs import (
    AT_KINKS,
    CONDITIONS,
    Condition,
    Graded,
    detected,
    grade,
    left_out,
    scenario_of,
    sound_operators,
)

BLOCK: Final = 500
"""Seeds in a line of the output."""

BINS_PER_OCTAVE: Final = 16
"""Ratios are counted in bins that are 4 % wide."""

INJECTED: Final = tuple(range(-2, -16, -1))
TURNS: Final = (0, 1, 0, 1, 2, 0, 1, 4, 3, 4)
"""Which condition the seeds meet in turn: long graphs and several backward calls cost more, and come less often."""


def scenario_at(seed: int, engines: tuple[str, ...], *, at_kinks: bool = False) -> tuple[Condition, Scenario]:
    """Return the condition and the scenario of a seed: of operators that all engines have, or that one of them has."""
    condition = AT_KINKS if at_kinks else CONDITIONS[TURNS[seed % len(TURNS)]]
    leads = [(name,) for name in engines] + [engines]
    lead = leads[seed // len(TURNS) % len(leads)]
    operators = frozenset.intersection(*(sound_operators(name) for name in lead))
    return condition, scenario_of(seed, condition, operators)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is graded: by which engines, on kinks or not, and with errors put into one scenario of so many."""

    engines: tuple[str, ...]
    at_kinks: bool
    inject_every: int


def run_block(task: tuple[int, Plan]) -> dict[str, Any]:
    """Grade the seeds of one block; the result is a line of the output."""
    number, plan = task
    engines, at_kinks = plan.engines, plan.at_kinks
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    ratios: dict[str, Counter[int]] = defaultdict(Counter)
    largest: dict[str, tuple[float, int]] = {}
    findings: list[dict[str, Any]] = []
    caught: Counter[int] = Counter()
    injected = 0
    for seed in range(number * BLOCK, (number + 1) * BLOCK):
        condition, scenario = scenario_at(seed, engines, at_kinks=at_kinks)
        for graded in grade(scenario, engines):
            key = f"{graded.engine}|{condition.name}"
            outcomes[key][graded.finding.outcome] += 1
            if graded.finding.failed:
                findings.append(_finding(seed, condition, scenario, graded))
            if graded.ratio is not None:
                ratios[key][_bin(graded.ratio)] += 1
                largest[key] = max(largest.get(key, (0.0, seed)), (graded.ratio, seed))
        if seed % plan.inject_every == 0:
            verdicts = detected(scenario, engines[0], INJECTED, Choices(seed))
            injected += verdicts is not None
            caught.update(e for e, v in zip(INJECTED, verdicts or (), strict=False) if v in {"wrong", "inaccurate"})
    return {
        "block": number, "engines": engines, "at_kinks": at_kinks, "outcomes": outcomes, "ratios": ratios,
        "rows": len(operator_table()), "left_out": {name: left_out(name) for name in engines},
        "largest": largest, "findings": findings, "injected": injected, "caught": caught,
    }  # fmt: skip


def _finding(seed: int, condition: Condition, scenario: Scenario, graded: Graded) -> dict[str, Any]:
    return {
        "seed": seed,
        "condition": condition.name,
        "engine": graded.engine,
        "outcome": graded.finding.outcome,
        "message": graded.finding.message,
        "scenario": scenario.text,
    }


def _bin(ratio: float) -> int:
    """The number of the bin whose upper end is ``2 ** (bin / BINS_PER_OCTAVE)``; ratios below 2⁻²⁰ share the last."""
    return math.ceil(BINS_PER_OCTAVE * math.log2(max(ratio, 2.0**-20)))


def graphs(line: dict[str, Any]) -> int:
    """How many graphs a line has graded, each engine counted."""
    return sum(sum(counter.values()) for counter in line["outcomes"].values())


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the finished blocks of an output; a line that was cut off is left out, and run again."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def _tasks(done: set[int], plan: Plan, first: int) -> Iterator[tuple[int, Plan]]:
    """Yield blocks that are not done, without end."""
    return ((number, plan) for number in count(first) if number not in done)


def _prepare() -> None:
    """Keep the collector away from what was imported: it recovers a fifth of the time."""
    gc.collect()
    gc.freeze()


def run(options: argparse.Namespace) -> None:
    """Append blocks until there are as many graphs as wanted."""
    lines = read_lines(options.output)
    done = sum(map(graphs, lines))
    plan = Plan(tuple(options.engines.split(",")), options.at_kinks, options.inject_every)
    tasks = _tasks({line["block"] for line in lines}, plan, options.first_block)
    started = time.monotonic()
    context = get_context("spawn")
    with options.output.open("a", encoding="utf-8") as output, context.Pool(options.processes, _prepare) as pool:
        while done < options.graphs:
            batch = [next(tasks) for _ in range(options.processes)]
            for line in pool.imap_unordered(run_block, batch):
                output.write(json.dumps(line) + "\n")
                output.flush()
                done += graphs(line)
                _tell(line, done, time.monotonic() - started)


def _tell(line: dict[str, Any], done: int, seconds: float) -> None:
    for finding in line["findings"]:
        sys.stderr.write(f"{json.dumps(finding)}\n")
    sys.stderr.write(f"{done:,} graphs, {seconds:.0f} s\n")
    sys.stderr.flush()


def show(seed: int, options: argparse.Namespace) -> None:
    """Print what the engines showed on one seed, and the scenario."""
    engines = tuple(options.engines.split(","))
    condition, scenario = scenario_at(seed, engines, at_kinks=options.at_kinks)
    for graded in grade(scenario, engines):
        sys.stdout.write(f"{graded.engine}: {graded.finding.outcome} {graded.finding.message} ({graded.ratio})\n")
    sys.stdout.write(f"# {condition.name}\n{scenario.text}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Grade engines on generated graphs and count what is found.")
    parser.add_argument("--graphs", type=int, default=10_000, help="how many graphs, each engine counted")
    parser.add_argument("--engines", default="refgrad,torch,autograd,mygrad")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("soak.jsonl"))
    parser.add_argument("--first-block", type=int, default=0, help="where to begin, for a machine that shares the work")
    parser.add_argument("--at-kinks", action="store_true", help="put operators onto their kinks instead")
    parser.add_argument("--inject-every", type=int, default=7, help="put errors into one scenario of so many")
    parser.add_argument("--show", type=int, metavar="SEED", help="look at one seed")
    options = parser.parse_args()
    if options.show is not None:
        show(options.show, options)
    else:
        run(options)


if __name__ == "__main__":
    main()
