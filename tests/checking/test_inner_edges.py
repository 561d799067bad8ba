"""Is an operator inside of a function put onto its edge, and is a rule found that is wrong there only?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking import explanation
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing import inner_edges
from refgrad.checking.tracing.inner_edges import Watched, bisected, root, watched
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.strategies import points
from tests.checking.own_functions import own

anp: Any = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")

Function = Callable[..., Any]

WRONG: dict[str, Function] = {
    "at a kink": own(lambda x: np.maximum(x - 0.7, 0), lambda g, x: np.where(x == 0.7, 7.0, x > 0.7) * g),
    "beside a kink": own(
        lambda x: np.minimum(np.exp(x), 3.0),
        lambda g, x: np.where(np.abs(np.exp(x) - 3.0) < 1e-6, 5.0, np.where(np.exp(x) < 3.0, np.exp(x), 0.0)) * g,
    ),
    "where two values meet": own(
        lambda x: np.maximum(x[0] * x[0], x[1] + 1.3),
        lambda g, x: np.array([
            np.where(np.abs(x[0] ** 2 - x[1] - 1.3) < 1e-9, 9.0, np.where(x[0] ** 2 > x[1] + 1.3, 2 * x[0], 0.0)) * g,
            np.where(x[0] ** 2 > x[1] + 1.3, 0.0, 1.0) * g,
        ]),
    ),
}
"""Rules that are wrong where an operator inside is on an edge, which no number of the operator table is."""


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_is_wrong_at_an_inner_edge_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = points([(2,)])
    monkeypatch.setattr(explanation, "EXAMPLES", 50)  # on an edge, it is found within 25
    assert check_gradients(WRONG[name], strategy, "autograd", raise_exception=False).outcome == "wrong"
    monkeypatch.setattr(explanation, "EDGES", 0)
    missed = check_gradients(WRONG[name], strategy, "autograd", raise_exception=False)
    assert missed.outcome == "right"


def seen(function: Function, *arrays: Any, engine: str = "autograd") -> Watched:
    found = watched(CheckedFunction(start(find_adapter(engine)), function, arrays))
    assert found is not None
    return found


def test_inputs_differ_in_one_entry_from_those_that_were_drawn() -> None:
    found = seen(lambda x, y: anp.abs(x * 3 + y), np.array([2.0, 5.0]), np.array([-1.0, 1.0]))
    (edge,) = found.edges()
    x, y = found.inputs_on(edge) or ()
    assert x[0] * 3 == 1.0
    assert x[1] == 5.0
    assert y.tolist() == [-1.0, 1.0]
    assert [array.tolist() for array in found.subject.point] == [[2.0, 5.0], [-1.0, 1.0]]


@pytest.mark.engines
def test_an_edge_that_attributes_place_is_found_there() -> None:
    torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")
    found = seen(lambda x: torch.nn.functional.hardtanh(x * 2, -1.5, 2.5), torch.tensor([0.25, 3.0]), engine="torch")
    places = {moved[0][0].item() for edge in found.edges() if (moved := found.inputs_on(edge)) is not None}
    assert places == {-0.75, 1.25}


def test_only_the_first_eight_entries_of_an_input_are_moved() -> None:
    eighth, ninth = (seen(lambda x, k=k: anp.abs(x[k]), np.full(10, 2.5)) for k in (7, 8))
    (moved,) = eighth.inputs_on(eighth.edges()[0]) or ()
    assert moved.tolist() == [2.5] * 7 + [0.0, 2.5, 2.5]
    assert ninth.inputs_on(ninth.edges()[0]) is None


def test_a_function_without_edges_has_none() -> None:
    assert seen(lambda x: x * x, np.array([1.0])).edges() == []


def test_what_cannot_be_watched_is_not() -> None:
    assert watched(CheckedFunction(start(find_adapter("autograd")), lambda x: x, (np.array([1j]),))) is None


def test_an_operator_that_no_entry_moves_stays_where_it_is() -> None:
    found = seen(lambda x: anp.abs(x * 0 + 2.0), np.array([1.0]))
    assert [found.inputs_on(edge) for edge in found.edges()] == [None]


@pytest.mark.parametrize("zero", [0.7, -3.125, 1e-9, 40.0])
def test_a_zero_is_found_to_the_last_bit(zero: float) -> None:
    assert root(lambda number: number - zero, 1.5 + inner_edges.OFFSETS) == zero


def test_where_the_sign_changes_without_a_zero_the_number_behind_it_is_taken() -> None:
    assert bisected(lambda number: number - 0.5 or 1.0, 0.0, 1.0, -0.5) == 0.5


def test_an_interval_is_halved() -> None:
    tried: list[float] = []

    def function(number: float) -> float:
        tried.append(number)
        return number - 0.3

    bisected(function, 0.0, 1.0, -0.3)
    assert tried[:4] == [0.5, 0.25, 0.375, 0.3125]


def test_a_function_that_is_zero_everywhere_has_no_zero() -> None:
    assert root(lambda _: 0.0, inner_edges.OFFSETS) is None


def test_both_sides_of_an_edge_are_tried_at_equal_distances() -> None:
    assert set(inner_edges.OFFSETS) == set(-inner_edges.OFFSETS)
