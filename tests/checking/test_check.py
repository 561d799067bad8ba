"""Seeds weigh the outputs so that none hides behind another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from refgrad.checking.check import STRETCH, GradientCheck


def balanced(rates: list[float]) -> list[float]:
    """Return the weights of the entries of one output that change at these rates."""
    check: Any = SimpleNamespace(
        judge=SimpleNamespace(row_scales=lambda: np.array(rates)),
        pullback=SimpleNamespace(precision="float64"),
        outputs=[np.zeros(len(rates))],
        storable=lambda seed, _output: seed,
    )
    (weights,) = GradientCheck.balanced(check, (np.ones(len(rates)),))
    assert weights is not None
    return weights.tolist()  # type: ignore[no-any-return]


def test_outputs_that_change_alike_are_weighed_alike() -> None:
    assert len(set(balanced([1.0, 2.0, 0.5]))) == 1


@pytest.mark.parametrize("apart", [1e6, 1e12])
def test_an_output_weighs_more_the_more_slowly_it_changes(apart: float) -> None:
    fast, slow = balanced([apart, 1.0])
    assert slow / fast == pytest.approx(min(apart, STRETCH**2))
