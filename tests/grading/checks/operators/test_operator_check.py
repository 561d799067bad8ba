"""What the checks of one operator try besides, or more often, than a generator does by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from refgrad.generation import LAYOUTS
from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import Check, Family
from refgrad.grading.checks.operators.blame import avoids_empty
from refgrad.grading.checks.operators.derivatives import FORWARD_MODE, SECOND_ORDER, THIRD_ORDER
from refgrad.grading.checks.operators.values import TRIED
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.scenario import Scenario

DRAWN = 40


@dataclass(slots=True)
class NotingBench(Bench):
    """Notes what a check would try, and takes everything for right."""

    fixed: list[Scenario] = field(default_factory=list)
    drawn: list[Scenario] = field(default_factory=list)

    def grade(self, check: Check) -> Verdict:
        """Take what a check builds on for right."""
        return self.verdict(check, "passed")

    def search(self, check: Check, make: Callable[[int], Scenario], examples: int, **fields: Any) -> Verdict:
        """Note the scenarios that are given, and some that are drawn."""
        fixed: Iterable[Scenario] = fields.get("fixed", ())
        self.fixed, self.drawn = list(fixed), [make(seed) for seed in range(DRAWN)]
        return self.verdict(check, "passed", examples=examples)


@cache
def tried(kind: Family, operator: str, seed: int = 0) -> NotingBench:
    """Return what a check tries."""
    bench = NotingBench(start(find_adapter("refgrad")), Settings(seed=TRIED["single_numbers"] * seed))
    kind.check(operator).run(bench)
    return bench


def from_the_seed(kind: Family, operator: str) -> list[Scenario]:
    """Return what a check tries first that is not the same on every seed."""
    return [each for each in tried(kind, operator).fixed if each not in tried(kind, operator, seed=1).fixed]


@pytest.mark.parametrize("kind", [SECOND_ORDER, THIRD_ORDER, FORWARD_MODE])
@pytest.mark.parametrize("operator", ["sin", "arctan2", "leaky_relu"])
def test_formulas_are_tried_at_single_numbers_whatever_is_drawn(kind: Family, operator: str) -> None:
    fixed = from_the_seed(kind, operator)
    assert len({scenario.id for scenario in fixed}) == TRIED["single_numbers"]
    assert all(operator in scenario.operators for scenario in fixed)
    assert {leaf.value.shape for scenario in fixed for leaf in scenario.leaves} == {()}


@pytest.mark.parametrize("kind", [SECOND_ORDER, THIRD_ORDER, FORWARD_MODE])
def test_an_operator_that_needs_axes_is_not(kind: Family) -> None:
    assert from_the_seed(kind, "matmul") == []


@pytest.mark.parametrize("operator", ["sin", "arctan2", "matmul"])
def test_second_derivatives_are_tried_on_views_whatever_is_drawn(operator: str) -> None:
    fixed = tried(SECOND_ORDER, operator).fixed
    assert sum(not LAYOUTS.keys().isdisjoint(scenario.operators) for scenario in fixed) == 2


@pytest.mark.parametrize(("operator", "count"), [("sin", 0), ("arctan2", 2), ("addcmul", 6)])
def test_second_derivatives_are_tried_with_every_subset_of_the_operands(operator: str, count: int) -> None:
    fixed = [each for each in tried(SECOND_ORDER, operator).fixed if LAYOUTS.keys().isdisjoint(each.operators)]
    wanted = [tuple(leaf.name for leaf in each.leaves if leaf.requires_grad) for each in fixed]
    assert len({names for names in wanted if names}) > count
    assert sum(not all(leaf.requires_grad for leaf in each.leaves) for each in fixed) >= count


@pytest.mark.parametrize("operator", ["relu", "fmax", "subtract"])
def test_the_output_of_an_operator_that_bends_nowhere_is_always_weighted(operator: str) -> None:
    """Its gradient varies with its cotangent alone."""
    assert all("w" in scenario.definitions for scenario in tried(SECOND_ORDER, operator).drawn)


def test_that_of_one_that_bends_is_weighted_now_and_then() -> None:
    weighted = ["w" in scenario.definitions for scenario in tried(SECOND_ORDER, "sin").drawn]
    assert {True, False} == set(weighted)


def test_the_first_gradient_of_three_is_mostly_weighted() -> None:
    """Where nothing bends, third derivatives are about the cotangents of gradients alone."""
    assert sum("v" in scenario.definitions for scenario in tried(THIRD_ORDER, "flip").drawn) > DRAWN / 2


@pytest.mark.parametrize(("values", "cause"), [("[0] {}", "forward/exp"), ("[1] {0x1p+0}", "")])
def test_what_is_avoided_is_in_a_scenario_that_failed(values: str, cause: str) -> None:
    scenario = f"x = leaf float64{values} requires_grad\ny = exp x\n"
    verdict = Verdict("forward/exp", "forward", "exp", "MUST", "wrong", scenario=scenario)
    assert avoids_empty(verdict) == cause
