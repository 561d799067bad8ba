"""Structured graphs have the structure that they are for, and the numbers of any engine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from refgrad.generation import Role, structured_graphs
from refgrad.generation.profile import INTEGERS
from refgrad.interpreter import Float64, evaluate
from refgrad.scenario import Scenario

OPERATORS: dict[Role, str] = {"sum": "add", "product": "multiply", "smooth": "tanh"}


def levels(scenario: Scenario) -> dict[str, int]:
    """Return by how many operators each tensor is apart from the leaf, at most."""
    found = {"x": 0}
    for step in scenario.applications:
        found[step.name] = 1 + max(found[name] for name in step.arguments)
    return found


def test_one_result_is_used_as_often_as_is_said() -> None:
    for count, scenario in zip(INTEGERS["fan_outs"], structured_graphs(OPERATORS), strict=False):
        uses = Counter(name for step in scenario.applications for name in step.arguments)
        assert uses["a1"] == count
        assert max(levels(scenario).values()) <= 12


def test_one_result_is_used_again_so_many_levels_later() -> None:
    scenarios = list(structured_graphs(OPERATORS))[len(INTEGERS["fan_outs"]) : -len(INTEGERS["depths"])]
    for count, scenario in zip(INTEGERS["skips"], scenarios, strict=True):
        later, early = scenario.applications[-1].arguments
        assert levels(scenario)[later] - levels(scenario)[early] == count


def test_so_many_diamonds_are_chained() -> None:
    depths = INTEGERS["depths"]
    for count, scenario in zip(depths, list(structured_graphs(OPERATORS))[-len(depths) :], strict=True):
        uses = Counter(name for step in scenario.applications for name in set(step.arguments) - {"x"})
        assert list(uses.values()).count(2) == count


@pytest.mark.parametrize("smooth", ["sin", "tanh", "exp", "reciprocal", None])
def test_their_values_are_small_whatever_the_smooth_function_is(smooth: str | None) -> None:
    operators: dict[Role, str] = {"sum": "add", "product": "multiply"}
    if smooth is not None:
        operators["smooth"] = smooth
    for scenario in structured_graphs(operators):
        assert all(np.abs(value) < 200 for value in evaluate(scenario, Float64()).values())


def test_there_are_none_without_a_sum_and_a_product() -> None:
    assert not list(structured_graphs({"sum": "add", "smooth": "tanh"}))
    assert not list(structured_graphs({"product": "multiply"}))
