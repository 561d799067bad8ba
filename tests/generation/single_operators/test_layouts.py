"""Tests that operands are views now and then, which shows rules that read memory in its own order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from refgrad.generation import (
    LAYOUTS,
    Choices,
    Profile,
    contract_scenario,
    find_counterexample,
    operator_scenario,
)
from refgrad.generation.single_operators.memory import with_random_view
from refgrad.grading.judging.examination import examine
from refgrad.interpreter import Float64, evaluate
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.scenario import Scenario

MANY = 100


def allowing(*operators: str) -> Profile:
    return Profile(operators=frozenset(operators))


@cache
def of_one_operator(seed: int, operator: str) -> Scenario:
    return operator_scenario(seed, operator, allowing(operator))


@pytest.mark.parametrize("operator", ["exp", "matmul", "where", "inv", "concatenate", "conv1d"])
@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_an_operator_gets_an_operand_of_the_same_shape_which_is_a_view(operator: str, layout: str) -> None:
    views = 0
    for seed in range(MANY):
        plain = of_one_operator(seed, operator)
        changed = with_random_view(plain, Choices(seed), allowing(operator, layout), 1.0)
        if changed == plain:
            continue
        before, after = evaluate(plain, Float64()), evaluate(changed, Float64())
        views += 1
        view, step = changed.applications[0], changed.applications[-1]
        assert (view.operator, step.operator) == (layout, operator)
        assert view.arguments[0] not in step.arguments
        for old, new in zip(plain.applications[-1].arguments, step.arguments, strict=True):
            assert before[old].shape == after[new].shape
            assert layout == "broadcast_to" or np.array_equal(before[old], after[new])
    assert views > 0 or (layout, operator) == ("broadcast_to", "inv"), "rows that are alike have no inverse"


def test_every_layout_occurs_as_often_and_some_operands_stay_as_they_are() -> None:
    profile = allowing("multiply", "sum", *LAYOUTS)
    scenarios = [contract_scenario(seed, "multiply", profile) for seed in range(MANY)]
    met = Counter(step.operator for scenario in scenarios for step in scenario.applications)
    assert min(met[layout] for layout in LAYOUTS) >= 0.03 * MANY
    assert sum(met[layout] for layout in LAYOUTS) <= 0.6 * MANY


def test_without_such_operators_nothing_is_changed() -> None:
    scenario = operator_scenario(3, "exp")
    assert with_random_view(scenario, Choices(3), allowing("exp", "sum"), 1.0) == scenario


MISREADING = """
class Misread:
    @staticmethod
    def exp(x):
        read = np.ravel(x.detach().numpy(), order="K").reshape(x.shape)
        return x.exp() if np.array_equal(read, x.detach().numpy()) else x * torch.tensor(np.exp(read))
"""


@pytest.mark.engines
def test_a_rule_that_reads_an_operand_in_the_order_of_memory_is_found() -> None:
    pytest.importorskip("torch", reason="needs torch: the reference engine's transpose is no view")
    adapter = find_adapter("torch")
    setup = f"{adapter.setup}\n{MISREADING}"
    operators = {**adapter.operators, "exp": "Misread.exp({x})"}
    engine = start(replace(adapter, name="misread", setup=setup, operators=operators, aliases={}))
    profile = allowing("exp", "multiply", "sum", *LAYOUTS)
    found = find_counterexample(
        lambda seed: contract_scenario(seed, "exp", profile),
        lambda s: examine(s, engine).failed,
        seed=1,
        max_examples=20,
    )
    assert found.counterexample is not None
    assert {step.operator for step in found.counterexample.shrunk.applications} & LAYOUTS.keys()
    assert len(found.counterexample.shrunk.steps) <= 5
