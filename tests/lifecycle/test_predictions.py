"""Predictions as data: what they compare by, and which names they speak of."""

from __future__ import annotations

from typing import get_args

import pytest

from refgrad.lifecycle import ErrorKind, ExpectedValue, Fails, Gradient
from tests.lifecycle.driver import PHRASES


@pytest.mark.parametrize(("value", "lowered"), [(ExpectedValue("a"), "a"), (ExpectedValue("a", "a_v3"), "a_v3")])
def test_a_value_with_a_version_is_read_by_that_version(value: ExpectedValue, lowered: str) -> None:
    assert value.lowered == lowered


def test_predictions_with_equal_fields_are_equal() -> None:
    assert Fails("no-graph") == Fails("no-graph", ())
    assert Fails("no-graph") != Fails("no-graph", ("seed-shape",))
    assert Gradient("x", ()) != Gradient("x", (), certain=False)
    assert len({Gradient("x", (("a", None),)), Gradient("x", (("a", None),))}) == 1


def test_every_kind_of_error_has_words_that_engines_are_held_to() -> None:
    assert set(get_args(ErrorKind)) == set(PHRASES)
