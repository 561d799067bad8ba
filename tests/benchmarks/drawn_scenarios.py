"""Figures of drawn scenarios: `python -m tests.benchmarks.drawn_scenarios`, with the number of seeds behind it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from random import Random
from statistics import mean, median
from time import process_time

import hypothesis
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from refgrad.generation import random_scenario, shrink
from refgrad.scenario import Scenario
from refgrad.strategies import DRAWN_BYTES, Profile, scenarios
from tests.generation.planted_faults import FAULTS

SHORT = Profile(length=(1, 8))
EXAMPLES = 300
QUIET = settings(max_examples=EXAMPLES, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
SEARCHED = settings(QUIET, max_examples=5000, phases=list(Phase), report_multiple_bugs=False)


def cost_ratios(seed: int) -> tuple[float, float]:
    """Return the CPU time of drawn scenarios divided by that of as many seeded ones: ours, and with hypothesis' own.

    What hypothesis takes for itself is the time of as many examples of bytes that nothing is made of.
    """
    drawn, made = _timed_draws(seed, scenarios(SHORT))
    bare, _ = _timed_draws(seed, st.binary(min_size=DRAWN_BYTES, max_size=DRAWN_BYTES))
    start = process_time()
    for number in range(made):
        random_scenario(seed * EXAMPLES + number, SHORT)
    seeded = process_time() - start
    return (drawn - bare) / seeded, drawn / seeded


def invalid_share(seed: int) -> float:
    """Return the share of the drawn scenarios that are refused."""
    tried = 0

    @st.composite
    def counted(draw: st.DrawFn) -> Scenario:
        nonlocal tried
        tried += 1
        return draw(scenarios(SHORT))

    _, made = _timed_draws(seed, counted())
    return 1 - made / tried


def shrunk(fails: Callable[[Scenario], bool], seed: int) -> tuple[float, int, int, int]:
    """Return the CPU time from the first failure on, the calls, and the steps found and known to be enough."""
    calls: list[tuple[float, bool]] = []

    def noted(scenario: Scenario) -> bool:
        calls.append((process_time(), fails(scenario)))
        return calls[-1][1]

    found = find(scenarios(SHORT), noted, settings=SEARCHED, random=Random(seed))  # noqa: S311 (no secret)
    first = next(at for at, (_, failed) in enumerate(calls) if failed)
    time = calls[-1][0] - calls[first][0]
    return time, len(calls) - first, len(found.steps), len(shrink(found, fails).steps)


def shrunk_here(fails: Callable[[Scenario], bool]) -> float:
    """Return the CPU time that the shrinker takes for the first seed that fails."""
    scenario = next(made for seed in count() if fails(made := random_scenario(seed, SHORT)))
    start = process_time()
    shrink(scenario, fails)
    return process_time() - start


def _timed_draws(seed: int, strategy: st.SearchStrategy[object]) -> tuple[float, int]:
    made = 0

    @hypothesis.seed(seed)
    @QUIET
    @given(strategy)
    def draw(_example: object) -> None:
        nonlocal made
        made += 1

    start = process_time()
    draw()
    return process_time() - start, made


def report(seeds: int) -> str:
    """Return the figures as lines of text."""
    ours, whole = zip(*map(cost_ratios, range(seeds)), strict=True)
    lines = [
        f"drawn / seeded: {median(ours):.2f}, with the time of hypothesis itself {median(whole):.2f}",
        f"invalid: {mean(invalid_share(seed) for seed in range(seeds)):.2%}",
        "fault | seconds of CPU | calls | steps | fewer steps known | the shrinker alone",
    ]
    for name, fails in FAULTS.items():
        times, calls, found, least = zip(*(shrunk(fails, seed) for seed in range(seeds)), strict=True)
        worse = sum(map(int.__gt__, found, least))
        lines.append(
            f"{name} | {median(times):.2f} | {median(calls):g} | {median(found):g} | {worse} of {seeds} | "
            f"{shrunk_here(fails):.3f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(report(int(sys.argv[1]) if len(sys.argv) > 1 else 5) + "\n")
