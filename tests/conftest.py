"""What holds for all tests: profiles of hypothesis, the garbage collector, and options for the tests to run."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import groupby
from random import Random

import pytest
from hypothesis import Phase, settings

from tests.effort import TURN, is_of_all_tests, take_turns, turn

# NumPy starts threads of OpenBLAS in each of the hundreds of processes, which takes a third of the time of its import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# All processes of a run take the same turn, also if the run goes on after midnight.
os.environ[TURN] = str(turn())

# Nothing is failed for its time: how fast a machine is says nothing of what is right. The examples are others in each
# run, so that many short runs see as much as a long one; `--hypothesis-profile=thorough` is the long one, and explains
# what fails, for which hypothesis traces every line.
settings.register_profile("loop", deadline=None, max_examples=15, phases=set(Phase) - {Phase.explain})
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("loop")

GARBAGE = (20_000, 20, 20)
"""Thresholds of the garbage collector, as a grade has them: with Python's own it takes 7 % of the time of the tests."""


PASSED = "refgrad/passed"
"""Key of pytest's cache for the ids of the tests that have passed in this folder, in any environment."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer a random order, which shows whether a test needs what another one has left behind, and fewer tests."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")
    parser.addoption(
        "--unless-passed",
        action="store_true",
        help="leave out tests that have passed in this folder before; in an environment with more libraries, run those "
        "that were skipped for the lack of one",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect garbage as seldom as a grade does, and note which tests pass."""
    gc.set_threshold(*GARBAGE)
    if not hasattr(config, "workerinput") and config.pluginmanager.has_plugin("cacheprovider"):
        config.pluginmanager.register(PassedTests(config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what selects the same tests again on another day, with ``-q`` too."""
    terminalreporter.line(f"Long families of tests take turns: {TURN}={turn()}")


class PassedTests:
    """Adds the tests that pass to those of earlier runs, in the process that collects the results of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.outcomes: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test: it has passed if its call has, and its setup and teardown too."""
        self.outcomes[report.nodeid] = report.passed and self.outcomes.get(report.nodeid, True)

    def pytest_sessionfinish(self) -> None:
        """Write the tests that have passed, without those that have not in this run."""
        before = passed_before(self.config)
        passed = {name for name, passed in self.outcomes.items() if passed}
        cache_of(self.config).set(PASSED, sorted(before - self.outcomes.keys() | passed))


def cache_of(config: pytest.Config) -> pytest.Cache:
    """Return pytest's cache."""
    cache = config.cache
    assert cache is not None
    return cache


def passed_before(config: pytest.Config) -> set[str]:
    """Return the ids of the tests that have passed in earlier runs."""
    return set(cache_of(config).get(PASSED, []))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs on another day; if options ask for it, leave out what has passed before, and shuffle.

    The files and the tests of each are shuffled. A file stays together, so that what its tests share is made once.
    """
    if is_of_all_tests(config):
        take_turns(items)
    if config.getoption("unless_passed"):
        passed = passed_before(config)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
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
