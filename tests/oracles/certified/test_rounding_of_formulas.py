"""A row's own formula must not round more than its operands do: what it loses would be forgiven to every engine."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from refgrad.generation import Profile, operator_scenario
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import Scenario, parse
from tests.effort import each, seeds

MOST = 100
"""How many times what half an ulp of the value and of each operand makes of a value, a formula may round."""

CANCELS = {
    "tanhshrink": "PyTorch documents x - tanh(x), whose terms cancel near 0",
    "gelu_tanh": "PyTorch documents 1 + tanh, whose terms cancel where x is far below 0",
    "lgamma": "terms of Lanczos' and Stirling's formulas cancel between 1 and 2, where the logarithm itself is small",
}
"""The rows that excuse a formula that is documented, or that good libraries use, though others round less."""

SLOPES = {
    "tanhshrink": "the slope of x - tanh(x) is 1 - (1 - tanh(x) ** 2) to an engine that takes its steps",
}
"""The rows whose rule near 0 excuses likewise."""

NEAR_0 = [sign * number for number in (2.0**-30, 1e-5, 1e-3, 0.03, 0.3, 0.7) for sign in (1, -1)]

ROWS = [name for name, row in operator_table().items() if row.elementwise]


def applications(name: str) -> Iterator[Scenario]:
    """Applications of an operator to single numbers, each of them another leaf that wants a gradient."""
    profile = Profile(operators=frozenset({name}), edges=0.0, constants=0.0, max_rank=0)
    for seed in seeds(40):
        scenario = operator_scenario(seed, name, profile)
        (step,) = scenario.applications
        if len(set(step.arguments)) == len(step.arguments) and all(leaf.requires_grad for leaf in scenario.leaves):
            yield scenario


def excess(scenario: Scenario) -> float:
    """By how much a formula rounds more than half an ulp of its value and of each operand make of it."""
    oracle, name = CertifiedOracle(scenario), scenario.applications[0].name
    value = oracle.value(name)
    inherent = abs(value.midpoint.item())
    for leaf in scenario.leaves:
        slope = oracle.gradient(leaf.name, ((name, None),)).midpoint.item()
        inherent += abs(slope * leaf.value.to_numpy().item())
    if not math.isfinite(inherent) or inherent < 1e-300:
        return 0.0
    return float(value.budget.item() / (inherent * oracle.form.unit / 2))


def excess_of_slope(name: str, at: float) -> float:
    """By how much a rule rounds more than half an ulp of the slope and of the operand make of it."""
    text = f"x = leaf float64[] {{{at.hex()}}} requires_grad\ny = {name} x\ng = grad y x\nbackward g\nread grad x\n"
    oracle = CertifiedOracle(parse(text))
    slope, bend = (oracle.gradient("x", ((output, None),)) for output in ("y", "g"))
    inherent = abs(slope.midpoint.item()) + abs(at * bend.midpoint.item())
    if not math.isfinite(inherent) or inherent < 1e-300:
        return 0.0
    return float(slope.budget.item() / (inherent * oracle.form.unit / 2))


UNARY = [name for name in ROWS if len(operator_table()[name].arguments) == 1 and not operator_table()[name].attributes]


@each("name", [name for name in UNARY if name not in SLOPES])
def test_a_rule_rounds_no_more_near_0_than_its_operand_does(name: str) -> None:
    low, high = operator_table()[name].samples.get("x", (-1.0, 1.0))
    inside = [number for number in NEAR_0 if low <= number <= high]
    assert max((excess_of_slope(name, number) for number in inside), default=0.0) < MOST


@pytest.mark.parametrize("name", SLOPES)
def test_a_rule_that_is_excused_does_cancel(name: str) -> None:
    assert excess_of_slope(name, 2.0**-30) > MOST


@each("name", [name for name in ROWS if name not in CANCELS])
def test_a_formula_rounds_no_more_than_its_operands_do(name: str) -> None:
    worst = max(map(excess, applications(name)), default=0.0)
    assert worst < MOST


@pytest.mark.parametrize("name", CANCELS)
def test_a_formula_that_is_excused_does_cancel(name: str) -> None:
    point = {"tanhshrink": "-0x1p-30", "gelu_tanh": "-0x1p+3", "lgamma": "0x1.762d8p+0"}[name]
    text = f"x = leaf float64[] {{{point}}} requires_grad\ny = {name} x\nbackward y\nread grad x\n"
    assert excess(parse(text)) > MOST


@pytest.mark.parametrize(
    ("near", "ulps", "outcome"), [(1.0, 8, "passed"), (2.0, 8, "passed"), (2.0, 400, "inaccurate")]
)
def test_near_a_root_of_lgamma_ulps_of_its_terms_are_fair(near: float, ulps: float, outcome: str) -> None:
    """Formulas of Lanczos' kind add terms of some 8 that cancel at 1 and 2: half an ulp of those is 2**-50."""
    point = near - 1e-4
    oracle = CertifiedOracle(parse(f"x = leaf float64[] {{{point.hex()}}}\ny = lgamma x\n"))
    seen = math.lgamma(point) + ulps * 2.0**-51
    assert judge(np.array(seen), oracle.value("y")).outcome == outcome
