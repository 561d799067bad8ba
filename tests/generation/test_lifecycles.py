"""Tests of lifecycles, on the model of the reference engine and of PyTorch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from refgrad.generation import find_counterexample, lifecycle_profile, lifecycle_scenario
from refgrad.generation.simplifications import consistent
from refgrad.grading.judging.examination import examine
from refgrad.lifecycle import Fails, Open, predict
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.scenario import DeleteName, EnterMode, Hook, LeaveMode, RequireGrad, RetainGrad, Scenario, Write, parse
from refgrad.strategies import lifecycles
from tests.effort import sampled, seeds

pytestmark = pytest.mark.turns(2)

FEW, MANY = len(seeds(1000)), 20_000

FAULTS = {
    "no_grad": "torch.enable_grad()",
    "detach": "{x} * 1.0",
    "unhook": "None",
    "retain_grad": "{x}.requires_grad",
    "hook": "{x}.register_hook(lambda gradient: ({function}(gradient), None)[1])",
    "zero_grad_to_zeros": "setattr({leaf}, 'grad', None)",
    "zero_grad": "None",
    "set_requires_grad": "None",
    "backward": "{output}.backward({seed}, retain_graph=True)",
    "is_leaf": "not {x}.requires_grad",
}


def failures(name: str, count: int) -> list[str]:
    engine = start(find_adapter(name))
    scenarios = map(lifecycle_scenario, range(count))
    return [scenario.text for scenario in scenarios if examine(scenario, engine).failed]


def unexplained_failures_of_pytorch(count: int) -> list[str]:
    """Leave out what is right once nothing sends back a view of what it received: pytorch/pytorch#34082 is open."""
    pytorch = find_adapter("torch")
    fresh = {name: f"torch.neg(torch.neg({pytorch.operators[name]}))" for name in ("reshape", "sum")}
    apart = Engine(replace(pytorch, name="torch, with gradients apart", operators={**pytorch.operators, **fresh}))
    return [text for text in failures("torch", count) if examine(parse(text), apart).failed]


def test_the_reference_engine_lives_as_the_model_says() -> None:
    assert failures("refgrad", FEW) == []


@pytest.mark.engines
def test_pytorch_lives_as_the_model_says() -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]", exc_type=ImportError)
    assert unexplained_failures_of_pytorch(FEW) == []


@pytest.mark.slow
def test_the_reference_engine_lives_as_the_model_says_on_many_lifecycles() -> None:
    assert failures("refgrad", MANY) == []


@pytest.mark.slow
@pytest.mark.engines
def test_pytorch_lives_as_the_model_says_on_many_lifecycles() -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]", exc_type=ImportError)
    assert unexplained_failures_of_pytorch(MANY) == []


@pytest.mark.engines
def test_pytorch_adds_to_a_gradient_that_two_leaves_share_by_way_of_views() -> None:
    """The day that this fails, it is mended, and needs no explanation any more."""
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]", exc_type=ImportError)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for _ in range(2):
        ((x.view(2, 1) + y.view(2, 1)) * 3).sum().backward()
    assert x.grad.tolist() == [9, 9]  # twice 3 is 6


def test_a_seed_makes_the_same_lifecycle_again() -> None:
    assert lifecycle_scenario(7) == lifecycle_scenario(7)


@given(lifecycles())
def test_lifecycles_can_be_drawn(scenario: Scenario) -> None:
    assert parse(scenario.text) == scenario


def test_every_kind_of_step_and_of_error_occurs_and_little_is_left_open() -> None:
    scenarios = [lifecycle_scenario(seed) for seed in range(FEW)]
    predictions = [prediction for scenario in scenarios for prediction in predict(scenario)]
    kinds = {type(step) for scenario in scenarios for step in scenario.steps}
    errors = Counter(prediction.kind for prediction in predictions if isinstance(prediction, Fails))
    assert {Write, Hook, EnterMode, DeleteName, RequireGrad, RetainGrad} <= kinds
    assert {"freed-graph", "modified-in-place", "leaf-in-place", "no-graph", "hook-on-constant"} <= errors.keys()
    assert sum(isinstance(prediction, Open) for prediction in predictions) < 0.1 * len(predictions)


def test_a_profile_without_a_feature_makes_no_step_that_needs_it() -> None:
    profile = lifecycle_profile(features=frozenset({"retain_graph"}), operators=frozenset({"sin"}))
    scenarios = [lifecycle_scenario(seed, profile) for seed in range(100)]
    assert {operator for scenario in scenarios for operator in scenario.operators} == {"sin"}
    assert not any(isinstance(step, Write | Hook | EnterMode) for scenario in scenarios for step in scenario.steps)


@pytest.mark.parametrize("field", sampled(FAULTS, 3, turns=3))
def test_a_fault_in_the_life_of_a_graph_shrinks_to_the_few_steps_that_show_it(field: str) -> None:
    changes: dict[str, Any] = {field: FAULTS[field]}
    engine = Engine(replace(find_adapter("refgrad"), name=f"faulty {field}", **changes))
    found = find_counterexample(lifecycle_scenario, lambda s: examine(s, engine).failed, seed=1, max_examples=FEW)
    assert found.counterexample is not None
    assert len(found.counterexample.shrunk.steps) <= 8


def test_steps_that_have_lost_their_meaning_are_left_out() -> None:
    given_steps = parse(
        "x = leaf float64[] {0x1p+0} requires_grad\nenter no_grad\nd = detach x\nhook h on x observe\nread hook h\n"
        "leave\nwrite d add x\n"
    ).steps
    without_leave = [step for step in given_steps if not isinstance(step, LeaveMode | Hook)]
    kept = Scenario(tuple(consistent(without_leave)))
    assert kept.text.splitlines() == [
        "x = leaf float64[] {0x1p+0} requires_grad",
        "d = detach x",
        "write d add x",
    ]
