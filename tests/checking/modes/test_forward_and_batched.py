"""Gradients under a batch of cotangents are held against those under each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad.checking.modes.forward_and_batched import Modes

MODES = Modes(SimpleNamespace(library=None), np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (None, None, True),
        (None, np.zeros(2), True),
        (np.zeros(2), None, True),
        (None, np.array([0.0, 1.0]), False),
        (np.array([0.0, 1.0]), None, False),
    ],
)
def test_no_gradient_is_as_good_as_zeros(one: Any, other: Any, *, same: bool) -> None:
    assert MODES.same(one, other) is same
