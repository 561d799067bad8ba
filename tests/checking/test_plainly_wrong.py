"""Is what is plainly wrong found without certifying it, and only that?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad import check_gradients
from refgrad.checking import certified, explanation
from refgrad.checking.libraries import library_of
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.oracles import CertifiedOracle
from tests.benchmarks.checked_graphs import generated
from tests.benchmarks.peers import Traced
from tests.checking.own_functions import own, square_with
from tests.effort import seeds

pytestmark = pytest.mark.turns(2)

anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")

Function = Callable[..., Any]


def outcomes(function: Any, monkeypatch: pytest.MonkeyPatch, *numbers: float) -> tuple[str, bool]:
    """Return the outcome for a function, and whether the check used the oracle; the explanation always does."""
    asked: list[str] = []
    gradient = CertifiedOracle.gradient

    def counted(oracle: Any, leaf: str, *arguments: Any, **keywords: Any) -> Any:
        asked.append(leaf)
        return gradient(oracle, leaf, *arguments, **keywords)

    monkeypatch.setattr(CertifiedOracle, "gradient", counted)
    monkeypatch.setattr(explanation, "explanation", lambda _check, _found: ("wrong", None))
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


@pytest.mark.parametrize(("most", "asked"), [(0, False), (1_000, True)])
def test_small_functions_are_certified_at_once_if_another_gradient_takes_longer(
    most: int,
    asked: bool,  # noqa: FBT001 (a case)
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library_of(start(find_adapter("autograd"))), "pure", True)
    monkeypatch.setattr(certified, "FEW_OPERATIONS", most)
    assert outcomes(square_with(lambda g, x: 4 * x * g), monkeypatch, 0.75, 1.5) == ("wrong", asked)


def test_the_report_shows_the_wrong_entry() -> None:
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


CANCELLING: Final[Mapping[str, Function]] = {
    "a quotient": lambda x: 1 / (anp.sqrt(anp.arccosh(anp.min(x))) / anp.sqrt(anp.arccosh(anp.min(x)))),
    "a sum of exponentials": lambda x: anp.log1p(anp.logaddexp(x, x) / anp.logaddexp(x, x)),
    "squares": lambda x: anp.cosh(x) ** 2 - anp.sinh(x) ** 2,
    "a power": lambda x: anp.power(anp.mean(x) / anp.mean(x), anp.arcsinh(x)),
    "a norm": lambda x: anp.sum((x / anp.sqrt(anp.sum(x**2))) ** 2),
}


@pytest.mark.parametrize("name", CANCELLING)
@given(point=st.lists(st.floats(1.1, 3), min_size=3, max_size=3).map(np.array))
def test_what_rounding_leaves_of_a_gradient_of_zero_is_not_plainly_wrong(name: str, point: Any) -> None:
    assert check_gradients(CANCELLING[name], point, "autograd", raise_exception=False).outcome == "right"


@pytest.mark.engines
@pytest.mark.parametrize("near", [False, True])
def test_no_graph_whose_gradient_is_right_is_called_wrong(near: bool) -> None:  # noqa: FBT001 (a case)
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    checker = Traced()
    assert [graph.scenario for graph in generated(len(seeds(1000)), near=near) if not checker.passes(graph)] == []
