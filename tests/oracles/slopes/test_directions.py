"""Entries are moved together with those that contribute about as much."""

from __future__ import annotations

import numpy as np

from refgrad.oracles.slopes.directions import _alike


def test_entries_that_contribute_less_than_a_thousandth_are_moved_by_themselves() -> None:
    contributions = np.array([1e-4, 1.0, 2e-3, 0.0, 1e-6, 1e-9])
    assert [members.tolist() for members in _alike(contributions)] == [[1, 2], [0, 4], [5], [3]]
