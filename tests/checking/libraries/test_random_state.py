"""Random numbers that a function draws are found, whichever generator they come from."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad.checking.libraries.library import NUMPY, PYTHON, RandomState

DRAWS: dict[str, Callable[[], float]] = {"own": np.random.random, "another": random.random, "none": lambda: 0.5}


def random_state() -> RandomState:
    library: Any = SimpleNamespace(
        sources=lambda: (NUMPY, PYTHON), engine=SimpleNamespace(adapter=SimpleNamespace(name=""))
    )
    return RandomState(library)


@pytest.mark.parametrize(("draw", "found"), [("own", True), ("another", True), ("none", False)])
def test_numbers_that_are_drawn_are_found_and_come_again(draw: str, *, found: bool) -> None:
    numbers, run = random_state(), DRAWS[draw]
    with numbers.kept():
        first = run()
    run()
    assert numbers.draws(run, changed=True) is found
    numbers.again()
    again = run()
    numbers.again()
    assert run() == again
    assert (again == first) or draw == "another"


def test_other_generators_are_asked_where_two_runs_differed_alone() -> None:
    numbers = random_state()
    with numbers.kept():
        DRAWS["another"]()
    assert not numbers.draws(DRAWS["another"], changed=False)
