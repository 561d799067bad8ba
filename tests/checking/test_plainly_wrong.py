"""Is what is plainly wrong found without certifying it, and only that?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.oracles import CertifiedOracle
from tests.checking.own_functions import own, square_with


def outcomes(function: Any, monkeypatch: pytest.MonkeyPatch, *numbers: float) -> tuple[str, bool]:
    """Return what a function is called, and whether the oracle was asked."""
    asked: list[str] = []
    gradient = CertifiedOracle.gradient

    def counted(oracle: Any, leaf: str, *arguments: Any, **keywords: Any) -> Any:
        asked.append(leaf)
        return gradient(oracle, leaf, *arguments, **keywords)

    monkeypatch.setattr(CertifiedOracle, "gradient", counted)
    report = check_gradients(function, np.array(numbers), "autograd", raise_exception=False)
    assert report.method == "certified"
    return report.outcome, bool(asked)


@pytest.mark.parametrize(
    ("factor", "asked"), [(4.0, False), (0.0, False), (-2.0, False), (2.5, False), (2.01, True), (2.000001, True)]
)
def test_a_factor_is_plainly_wrong_if_it_is_far_off(
    factor: float,
    asked: bool,  # noqa: FBT001 (a case)
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = outcomes(square_with(lambda g, x: factor * x * g), monkeypatch, 0.75, 1.5)
    assert found == ("wrong", asked)


def test_the_entry_is_looked_for_where_somebody_asks() -> None:
    flipped = square_with(lambda g, x: np.array([2.0, 2.0, -6.0]) * x * g)
    report = check_gradients(flipped, np.array([0.75, 1.5, 1.25]), "autograd", raise_exception=False)
    assert report.discrepancy is not None
    assert report.discrepancy.entry == (2,)


@pytest.mark.parametrize(("slope", "outcome"), [(0.5, "right"), (1.0, "right"), (5.0, "wrong"), (-1.5, "wrong")])
def test_at_a_kink_the_oracle_is_asked(slope: float, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = own(np.abs, lambda g, x: np.where(x == 0, slope, np.sign(x)) * g)
    assert outcomes(function, monkeypatch, 0.0) == (outcome, True)


def test_a_kink_beside_the_point_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    function = own(lambda x: np.maximum(x, 0), lambda g, x: (x > 0) * g)
    assert outcomes(function, monkeypatch, 2.0**-30, -(2.0**-30), 1.0)[0] == "right"


def test_what_is_not_a_number_is_certified_to_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcomes(square_with(lambda g, x: np.nan * x * g), monkeypatch, 0.75) == ("wrong", True)
