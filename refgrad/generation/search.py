"""The search for a scenario that fails: hypothesis draws seeds, and the shrinker reduces the first failure."""

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

from refgrad.generation.shrinking import LIMIT, Fails, shrink
from refgrad.scenario import Scenario

T = TypeVar("T")

BATCH: Final = 16
"""Number of scenarios that are prepared together, to exchange few messages with an engine in another process."""

SEED_BYTES: Final = 8
"""Number of bytes of a seed."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A scenario that failed, the seed that it was generated from, and the shrunk scenario."""

    seed: int
    scenario: Scenario
    shrunk: Scenario


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """Number of scenarios that were tried, including the failing one, and the first failure."""

    examples: int
    counterexample: Counterexample | None


def find_counterexample(  # noqa: PLR0913 (callers choose each of them, by name)
    make: Callable[[int], Scenario],
    fails: Fails,
    *,
    seed: int,
    max_examples: int,
    key: str = "",
    shrink_limit: int = LIMIT,
    prepare: Callable[[Sequence[Scenario]], object] | None = None,
) -> FirstFailure:
    """Try scenarios until one fails, and shrink it.

    At most ``max_examples`` scenarios are tried. Hypothesis draws their seeds, which depend on ``seed`` and ``key``.
    ``fails`` must return the same result whenever it is called again with a scenario. ``prepare`` is called with the
    scenarios that ``fails`` will probably be called with next. Exceptions of ``make`` and ``fails`` propagate.
    """
    seeds = [mixed(number, seed, key) for number in drawn_seeds(seed, max_examples)]
    for examples, (number, scenario) in enumerate(_made(make, seeds, prepare), 1):
        if fails(scenario):
            return FirstFailure(examples, Counterexample(number, scenario, shrink(scenario, fails, shrink_limit)))
    return FirstFailure(len(seeds), None)


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most :data:`BATCH` items."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _made(
    make: Callable[[int], Scenario], seeds: Sequence[int], prepare: Callable[[Sequence[Scenario]], object] | None
) -> Iterator[tuple[int, Scenario]]:
    """Yield the seeds with their scenarios, prepared in batches up to the first that cannot be generated."""
    for batch in batches(seeds):
        ready: dict[int, Scenario] = {}
        if prepare is not None:
            with suppress(Exception):  # it is raised again when that seed is tried
                for number in batch:
                    ready[number] = make(number)
            prepare(list(ready.values()))
        for number in batch:
            yield number, ready[number] if number in ready else make(number)


def mixed(number: int, seed: int, key: str) -> int:
    """Return a hash of a number that hypothesis drew, the seed of the run and the key of the search.

    About half of the integers that hypothesis draws are below 2**16, and 0 is among them in nearly every run. Unhashed,
    they would give the same scenarios in many searches and for many seeds.
    """
    digest = blake2b(f"{number}/{seed}/{key}".encode(), digest_size=SEED_BYTES).digest()
    return int.from_bytes(digest, "big")


@cache
def drawn_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return the seeds that hypothesis draws for a run, at most ``count``.

    They do not depend on which scenarios fail: for hypothesis none does. Its shrinking, reports, deadlines and health
    checks are off, since a run has its own.
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
