"""The search for a scenario that fails: hypothesis draws seeds, and the shrinker makes small what they lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from random import Random
from typing import Final, TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from refgrad.generation.shrinking.shrinking import LIMIT, Fails, shrink
from refgrad.scenario import Scenario

T = TypeVar("T")

BATCH: Final = 16
"""Scenarios that are made ready together: an engine in another process is asked as seldom as that."""

SEED_BYTES: Final = 8
"""Seeds are numbers of so many bytes."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A scenario that failed, the seed that makes it, and what it shrank to."""

    seed: int
    scenario: Scenario
    shrunk: Scenario


@dataclass(frozen=True, slots=True)
class Search:
    """How many scenarios were tried, the failing one included, and the first that failed."""

    examples: int
    counterexample: Counterexample | None


def find_counterexample(  # noqa: PLR0913 (each of them is the caller's to say, by name)
    make: Callable[[int], Scenario],
    fails: Fails,
    *,
    seed: int,
    max_examples: int,
    key: str = "",
    shrink_limit: int = LIMIT,
    prepare: Callable[[Sequence[Scenario]], object] | None = None,
) -> Search:
    """Try scenarios until one fails, and shrink it.

    There are at most ``max_examples``, which hypothesis draws and which follow from ``seed`` and ``key``. ``fails``
    must answer alike whenever it is asked again. ``prepare`` is told of scenarios that ``fails`` will probably be asked
    about next. Exceptions of ``make`` and ``fails`` are passed on.
    """
    trial = _Trial(make, fails)
    drawn = [mixed(number, seed, key) for number in drawn_seeds(seed, max_examples)]
    failing = _first_failing(trial, drawn, prepare)
    if failing is None:
        return Search(trial.examples, None)
    number, scenario = failing
    return Search(trial.examples, Counterexample(number, scenario, shrink(scenario, fails, shrink_limit)))


class _Trial:
    """Tries one seed after the other, and counts them."""

    def __init__(self, make: Callable[[int], Scenario], fails: Fails) -> None:
        self.make = make
        self.fails = fails
        self.examples = 0
        self.ready: dict[int, Scenario] = {}

    def made(self, numbers: Sequence[int]) -> list[Scenario]:
        """Return the scenarios of some seeds, up to the first that cannot be made, and keep them for their trials."""
        self.ready.clear()
        with suppress(Exception):  # it is raised when that seed is tried
            for number in numbers:
                self.ready[number] = self.make(number)
        return list(self.ready.values())

    def failing(self, number: int) -> Scenario | None:
        """Return the scenario of a seed if it fails."""
        self.examples += 1
        scenario = self.ready.pop(number, None) or self.make(number)
        return scenario if self.fails(scenario) else None


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield what is made ready together, in its order."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _first_failing(
    trial: _Trial, seeds: Sequence[int], prepare: Callable[[Sequence[Scenario]], object] | None
) -> tuple[int, Scenario] | None:
    """Try the seeds in their order, made ready batch by batch, and return the first that fails, with its scenario."""
    for batch in batches(seeds):
        if prepare is not None:
            prepare(trial.made(batch))
        for number in batch:
            scenario = trial.failing(number)
            if scenario is not None:
                return number, scenario
    return None


def mixed(number: int, seed: int, key: str) -> int:
    """Return the seed that stands for what hypothesis draws in the search of this key.

    About half of the integers that hypothesis draws are below 2**16, and 0 is among them in nearly every run; taken as
    they are, they would make the same scenarios in many searches and for many seeds.
    """
    digest = blake2b(f"{number}/{seed}/{key}".encode(), digest_size=SEED_BYTES).digest()
    return int.from_bytes(digest, "big")


@cache
def drawn_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return the seeds that hypothesis draws for a run, at most so many.

    They do not depend on what is found: hypothesis is told that none of them fails, and its shrinking, reports,
    deadlines and health checks are off, since a run has its own.
    """
    drawn: list[int] = []
    if not count:
        return ()
    chosen = settings(
        max_examples=count,
        database=None,
        phases=(Phase.generate,),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        derandomize=False,
    )

    def note(number: int) -> bool:
        drawn.append(number)
        return False

    with suppress(NoSuchExample):
        find(st.integers(0, 256**SEED_BYTES - 1), note, settings=chosen, random=Random(seed))
    return tuple(drawn)
