"""The search for a scenario that fails: seeds are tried in turn, and the shrinker reduces the first failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeVar

from refgrad.generation.profile import COUNTS
from refgrad.generation.shrinking import Fails, shrink
from refgrad.scenario import Scenario

T = TypeVar("T")

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
    shrink_limit: int = COUNTS["shrinks"],
    prepare: Callable[[Sequence[Scenario]], object] | None = None,
) -> FirstFailure:
    """Try scenarios until one fails, and shrink it.

    At most ``max_examples`` scenarios are tried. ``seed`` and ``key`` alone determine their seeds. ``fails`` must
    return the same result whenever it is called again with a scenario. ``prepare`` is called with the scenarios that
    ``fails`` will probably be called with next. Exceptions of ``make`` and ``fails`` propagate.
    """
    seeds = [scenario_seed(number, seed, key) for number in range(max_examples)]
    for examples, (number, scenario) in enumerate(_scenarios(make, seeds, prepare), 1):
        if fails(scenario):
            return FirstFailure(examples, Counterexample(number, scenario, shrink(scenario, fails, shrink_limit)))
    return FirstFailure(len(seeds), None)


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most ``COUNTS["batch"]`` items."""
    return (items[start : start + COUNTS["batch"]] for start in range(0, len(items), COUNTS["batch"]))


def _scenarios(
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


def scenario_seed(number: int, seed: int, key: str) -> int:
    """Return a hash of the number of a scenario in its search, the seed of the run and the key of the search."""
    digest = blake2b(f"{number}/{seed}/{key}".encode(), digest_size=SEED_BYTES).digest()
    return int.from_bytes(digest, "big")
