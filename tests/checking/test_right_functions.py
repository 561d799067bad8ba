"""Is a right gradient left in peace: at kinks, at borders, in float32, under noise, for any graph?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refgrad.engine
from refgrad import check_gradients
from refgrad.engine import tensor
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from tests.benchmarks.checked_graphs import generated

engine: Any = refgrad.engine
both_ways = pytest.mark.parametrize("method", ["auto", "differences"])
Method = Literal["auto", "differences"]


def check(function: Callable[..., Any], *arrays: Any, method: Method = "auto") -> Any:
    return check_gradients(function, arrays, "refgrad", method=method)


@both_ways
@pytest.mark.parametrize("near", [False, True], ids=["far from kinks", "near kinks"])
def test_generated_graphs_pass(near: bool, method: Method) -> None:  # noqa: FBT001 (a parameter of the test)
    reference = start(find_adapter("refgrad"))
    for graph in generated(40, near=near):
        check(graph.function(reference), *graph.arrays, method=method)


@both_ways
@given(numbers=st.lists(st.floats(-2, 2), min_size=1, max_size=4))
def test_smooth_functions_pass_anywhere(method: Method, numbers: list[float]) -> None:
    check(lambda x: (x.sin() * x.exp()).sum() / (x * x + 1).sum(), np.array(numbers), method=method)


@both_ways
@pytest.mark.parametrize("distance", [0.0, 1e-15, -1e-15, 1e-9, -1e-9, 1e-4, -1e-4])
@pytest.mark.parametrize("function", ["relu", "abs", "maximum", "max"])
def test_functions_with_a_kink_pass_at_it_and_near_it(function: str, distance: float, method: Method) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "relu": lambda x: (x - 1).relu(),
        "abs": lambda x: abs(x - 1),
        "maximum": lambda x: engine.maximum(x, 1.0),
        "max": lambda x: x.max(0),
    }
    check(functions[function], np.array([1.0 + distance, 1.0, 0.3]), method=method)


def test_a_legal_choice_at_a_kink_is_told_as_such_by_differences() -> None:
    report = check(lambda x: (x - 1).relu(), np.array([1.0]), method="differences")
    assert report.outcome == "right"
    assert re.sub(r"[0-9.]+(?= is one)|[0-9.]+$", "N", str(report).splitlines()[1]) == (
        "input 0, entry (0,) is at a kink: N is one of the legal answers, between 0 and N"
    )


@both_ways
def test_the_border_of_a_domain_is_approached_from_one_side(method: Method) -> None:
    report = check(lambda x: (1 - x).log1p() * x, np.array([1.5, 1.99]), method=method)
    assert report.outcome == "right"


@both_ways
def test_a_float32_function_is_judged_by_what_float32_can_do(method: Method) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 3)).astype(np.float32)
    assert check(lambda x: (x.tanh() @ x).exp().sum(), x, method=method).outcome == "right"


def test_inputs_that_are_no_tensors_are_handed_on() -> None:
    assert check(lambda x, n, name: x * n if name == "times" else x, np.array([2.0]), 3, "times").outcome == "right"


def test_a_tensor_without_requires_grad_is_a_constant() -> None:
    x, y = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 4.0])
    assert check_gradients(lambda x, y: x * y, (x, y), "refgrad").entries == 2


def test_several_outputs_are_checked_each() -> None:
    assert check(lambda x, y: (x * y, x.sum(), 3 * y), np.array([1.0, 2.0]), np.array([0.5, 4.0])).outcome == "right"


def test_many_inputs_are_checked_along_directions_and_the_chance_of_a_miss_is_said() -> None:
    report = check(lambda x: (x * x).sum(), np.linspace(0.5, 2, 300), method="differences")
    assert report.method == "directions"
    assert str(report).splitlines() == [
        "gradient right: 300 entries under 1 seed, held against finite differences along random directions",
        "errors in several entries cancel unseen with a probability of at most 1e-06",
    ]


def test_the_report_says_from_where_on_an_error_is_seen() -> None:
    report = check(lambda x: x * x, np.array([1.0, 2.0]))
    assert 0 < report.sees_from < 1e-11


@pytest.mark.parametrize("name", ["mygrad", "micrograd"])
@pytest.mark.engines
def test_functions_of_engines_that_cannot_be_watched_are_judged_by_differences(name: str) -> None:
    pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    report = check_gradients(lambda x, y: x * y + x, (1.5, 2.5), name)
    assert (report.outcome, report.method) == ("right", "differences")
    assert report.reason == f"functions of {name} cannot be watched"
