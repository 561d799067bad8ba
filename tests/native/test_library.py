"""Functions of an engine that are called again and again, and the processor time that a call takes."""

from __future__ import annotations

import pytest

from refgrad.native.engine import Isolation, launch, start
from refgrad.native.library import Library
from tests.native.reference import ADAPTER

TEXT = "def attempt(n):\n    return sum(range(n))\n"


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("isolated", [True, False])
def test_each_call_gives_its_data_and_if_asked_for_its_time(*, timed: bool, isolated: bool) -> None:
    engine = launch(ADAPTER, Isolation()) if isolated else start(ADAPTER)
    seen = Library(engine).run(TEXT, 10, 10**6, timed=timed)
    assert [each.data for each in seen] == [45, 499999500000]
    assert (seen[-1].seconds > 0) is timed
