"""Is no right function that people write called wrong, and no wrong one right?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from refgrad import check_gradients
from tests.checking.functions.case import Case

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

LEAST = {"torch": (190, 60), "jax": (40, 15), "autograd": (20, 8), "mygrad": (20, 8)}
"""How many functions of each library there are at least, and how many of them are wrong."""


def cases_of(library: str) -> tuple[Case, ...]:
    """Return the functions of a library; none where it is not installed."""
    if find_spec(library) is None:
        return ()
    cases: tuple[Case, ...] = import_module(f"tests.checking.functions.{library}_table").CASES
    return cases


def parameters() -> Iterator[Any]:
    for library in LEAST:
        if find_spec(library) is None:
            yield pytest.param(None, marks=pytest.mark.skip(reason=f"needs refgrad[{library}]"), id=library)
        yield from (pytest.param(case, id=f"{library}: {case.name}") for case in cases_of(library))


@pytest.mark.parametrize("library", LEAST)
def test_the_table_is_large_and_has_no_name_twice(library: str) -> None:
    pytest.importorskip(library, reason=f"needs refgrad[{library}]")
    cases = cases_of(library)
    least, least_wrong = LEAST[library]
    assert len({case.name for case in cases}) == len(cases) >= least
    assert sum(not case.right for case in cases) >= least_wrong
    assert {case.library for case in cases} == {library}


@pytest.mark.parametrize("case", list(parameters()))
def test_a_function_is_called_what_it_is(case: Case) -> None:
    report = check_gradients(case.function, case.inputs(), case.library, raise_exception=False, **case.options)
    assert report.outcome == ("right" if case.right else "wrong"), report
    assert bool(report) == case.right
