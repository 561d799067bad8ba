"""How much of what is generated a test goes through: a part in the loop, all of it with the profile `thorough`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

USUAL = 100
"""The examples that hypothesis draws by default; a test names as many seeds as would go with them."""

LEAST = 3


def seeds(count: int) -> range:
    """Return the first so many seeds, or of the profile in force their share."""
    share = count * settings().max_examples // USUAL
    return range(min(count, max(LEAST, share)))


TURN = "REFGRAD_TESTS_TURN"
"""The environment variable that sets the turn, to repeat a run of another day. pytest prints it after the tests."""


def turn() -> int:
    """Return the number of the day, by which long families of tests take turns in CI: a part of them runs each day."""
    return int(os.environ.get(TURN) or datetime.now(UTC).date().toordinal())


def sampled(cases: Iterable[Any], step: int, turns: int = 1) -> list[Any]:
    """Return all cases as parameters, of which the loop runs every so many-th, and CI the others by ``-m whole``.

    With several turns, CI runs only one part of the others, which is another part the next day. The remaining cases
    have the marker ``slow``, too. A tuple is a case of several parameters.
    """
    listed = list(cases)
    others = iter(in_turns([case for n, case in enumerate(listed) if n % step], turns, pytest.mark.whole))
    return [next(others) if n % step else _parameters(case) for n, case in enumerate(listed)]


def in_turns(cases: Iterable[Any], turns: int = 3, *marks: pytest.MarkDecorator) -> list[Any]:
    """Return all cases as parameters, of which a run leaves out all but one part, which is another part the next day.

    ``-m slow`` runs what is left out.
    """
    # Where the file takes turns as well, these are its own: a part of a part would be left out on all days.
    kept = (*marks, pytest.mark.turns(1)) if turns > 1 else marks
    return [_parameters(case, *kept, *[pytest.mark.slow] * ((n + turn()) % turns > 0)) for n, case in enumerate(cases)]


def is_of_all_tests(config: pytest.Config) -> bool:
    """Return True if no file or folder is named on the command line, and no word by ``-k``, so that all tests run."""
    return config.args == config.getini("testpaths") and not config.getoption("keyword")


def take_turns(tests: Iterable[pytest.Item]) -> None:
    """Mark those tests as slow that have the marker ``turns(n)`` and whose day is another one of n.

    Tests of one file that follow each other run on different days, and so do the first tests of files by the lengths of
    their names.
    """
    counts = Counter[Path]()
    for test in tests:
        marker = test.get_closest_marker("turns")
        if marker is not None:
            if (len(test.path.name) + counts[test.path] + turn()) % marker.args[0]:
                test.add_marker("slow")
            counts[test.path] += 1


def _parameters(case: Any, *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on each case, as `pytest.mark.parametrize` does, but as one test that reports every failing case.

    Use it for cases that take less time than pytest and pytest-xdist need for a test of its own.
    """
    named = [dict(zip(names, case, strict=True)) if isinstance(names, tuple) else {names: case} for case in cases]
    assert named

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures = []
            for case in named:
                try:
                    test(**case, **fixtures)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 (all failing cases are shown)
                    failure.add_note(
                        f"in the case {', '.join(f'{name}={value!r:.200}' for name, value in case.items())}"
                    )
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(named)} cases fail", failures)

        parameters = [p for p in signature(test).parameters.values() if p.name not in named[0]]
        run.__signature__ = signature(test).replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate
