"""A screen's direction says how fast outputs change, unless it goes far along entries whose gradient is zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.oracles import screening

anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")


@pytest.mark.parametrize(("point", "taken"), [([1.0, 2.0], 1), ([0.0, 2.0], 0)])
def test_rates_are_those_of_the_screen_where_no_entry_of_the_gradient_is_zero(
    monkeypatch: pytest.MonkeyPatch, point: list[float], taken: int
) -> None:
    rates, calls = screening.Sweep.rates, []

    def noted(sweep: screening.Sweep, outputs: Any) -> Any:
        calls.append(outputs)
        return rates(sweep, outputs)

    monkeypatch.setattr(screening.Sweep, "rates", noted)
    assert check_gradients(lambda x: anp.square(x) * anp.sin(x), np.array(point), "autograd").outcome == "right"
    assert len(calls) == taken
