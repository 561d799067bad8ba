"""What holds for all tests: profiles of hypothesis, the garbage collector, and an option for a random order."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import groupby
from random import Random

import pytest
from hypothesis import settings

# Nothing is failed for its time: how fast a machine is says nothing of what is right. The examples are others in each
# run, so that many short runs see as much as a long one; `--hypothesis-profile=thorough` is the long one.
settings.register_profile("loop", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("loop")

GARBAGE = (20_000, 20, 20)
"""Thresholds of the garbage collector, as a grade has them: with Python's own it takes 7 % of the time of the tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer a random order, which shows whether a test needs what another one has left behind."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")


def pytest_configure() -> None:
    """Collect garbage as seldom as a grade does."""
    gc.set_threshold(*GARBAGE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the files and the tests of each. A file stays together, so that what its tests share is made once."""
    seed = config.getoption("shuffle")
    if seed is not None:
        items[:] = shuffled(items, Random(seed))  # noqa: S311 (an order is no secret)


def shuffled(items: Iterable[pytest.Item], random: Random) -> list[pytest.Item]:
    """Return the same tests in another order."""
    files = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    random.shuffle(files)
    return [item for file in files for item in random.sample(file, len(file))]


@pytest.fixture(autouse=True, scope="module")
def _collector() -> Iterator[None]:
    """Leave what is there before a file of tests out of its garbage collections: some tests make hundreds of them.

    A file that leaves allocations traced would make all that come after it in its process four times as slow.
    """
    gc.collect()
    gc.freeze()
    yield
    assert gc.isenabled()
    assert not tracemalloc.is_tracing()
