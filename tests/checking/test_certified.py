"""A screen's direction says how fast outputs change, unless it goes far along entries whose gradient is zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking import certified, tracing
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


@pytest.mark.parametrize(("sharp", "largest", "screened"), [(0.0, 0, True), (0.0, 10**5, False), (1.0, 10**5, True)])
def test_a_screen_judges_where_it_misses_no_error_or_the_function_is_large(
    monkeypatch: pytest.MonkeyPatch, sharp: float, largest: int, *, screened: bool
) -> None:
    passes, calls = screening.Sweep.passes, []

    def noted(sweep: screening.Sweep, *arguments: Any) -> bool:
        calls.append(arguments)
        return passes(sweep, *arguments)

    monkeypatch.setattr(screening.Sweep, "passes", noted)
    monkeypatch.setattr(certified, "SHARP", sharp)
    monkeypatch.setattr(tracing, "LARGEST_CERTIFIED", largest)
    assert check_gradients(lambda x: anp.square(x) * anp.sin(x), np.array([1.0, 2.0]), "autograd").outcome == "right"
    assert bool(calls) is screened
