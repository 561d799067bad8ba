"""Functions of an engine that are called again and again, and the processor time that a call takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad.native.engine import Engine, Isolation, _change, launch, start
from refgrad.native.library import HangingError, Library
from tests.native.reference import ADAPTER

TEXT = "def attempt(n):\n    return sum(range(n))\n"


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("isolated", [True, False])
def test_each_call_gives_its_data_and_if_asked_for_its_time(*, timed: bool, isolated: bool) -> None:
    engine = launch(ADAPTER, Isolation()) if isolated else start(ADAPTER)
    seen = Library(engine).run(TEXT, 10, 10**6, timed=timed)
    assert [each.data for each in seen] == [45, 499999500000]
    assert (seen[-1].seconds > 0) is timed


def test_what_an_engine_lacks_is_named_and_an_operator_that_hangs_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(start(ADAPTER))
    monkeypatch.setattr(Engine, "hangs", lambda _, operators: "sin" in operators)
    assert library.lacks(["exp"], ["hooks"]) == ""
    assert library.lacks(["exp", "nothing", "sin"], ["telepathy"]) == "operator nothing"
    assert library.lacks(["exp", "sin"], ["telepathy"]) == "telepathy"
    with pytest.raises(HangingError, match="sin"):
        library.lacks(["exp", "sin"], ["hooks"])


NAN = np.nan


@pytest.mark.parametrize(
    ("after", "before", "text"),
    [
        ([1.0, NAN], [1.0, NAN], ""),
        ([NAN, 2.0], [NAN, 3.0], "entry (1,): 2.0, and was 3.0"),
        ([1.0, NAN], [1.0, 2.0], "entry (1,): nan, and was 2.0"),
        ([1.0, 2.0], [NAN, 3.0], "entry (0,): 1.0, and was nan"),
        ([[1.0, 2.0], [0.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]], "entry (1, 0): 0.0, and was 3.0"),
        ([1.0, 2.0], [1.0], "of the shape (2,), and was of (1,)"),
    ],
)
def test_the_first_entry_of_a_seed_that_has_changed_is_described(after: Any, before: Any, text: str) -> None:
    assert _change(np.array(after), np.array(before)) == text
