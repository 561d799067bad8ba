"""Policies: what the model predicts of engines that differ from PyTorch by design."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from refgrad.lifecycle import Fails, Gradient, NoGradient, Open, Policy, Prediction, Succeeds, predict
from refgrad.scenario import Backward, Scenario, parse
from refgrad.strategies import lifecycles

LEAVES = """
x = leaf float64[] {0x1p+1} requires_grad
y = leaf float64[] {0x1.8p+1} requires_grad
k = leaf float64[] {0x1p+0}
"""


def last(steps: str, policy: Policy | None = None) -> Prediction:
    return predict(parse(LEAVES + steps), policy)[-1]


def test_freeing_connected_nodes_reaches_results_of_the_same_leaves() -> None:
    steps = "a = add x y\nb = add x k\nc = sum b\nbackward a\nbackward c"
    assert last(steps) == last(steps, Policy(frees="always")) == Succeeds()
    assert last(steps, Policy(frees="connected")) == Fails("freed-graph")


def test_freeing_connected_nodes_spares_results_of_other_leaves_and_later_ones() -> None:
    connected = Policy(frees="connected")
    assert last("a = negative x\nb = negative y\nbackward a\nbackward b", connected) == Succeeds()
    assert last("a = negative x\nbackward a\nb = negative x\nbackward b", connected) == Succeeds()
    assert last("a = negative x\nb = negative x\nbackward a retain_graph\nbackward b", connected) == Succeeds()


def test_a_second_backward_from_the_very_same_output_is_open_there_too() -> None:
    assert last("a = negative x\nbackward a\nbackward a", Policy(frees="connected")) == Open()


def test_computed_tensors_keep_their_gradients_where_all_do() -> None:
    steps = "a = multiply x y\nl = multiply a y\nbackward l\nread grad a"
    assert last(steps) == NoGradient("a")
    kept = last(steps, Policy(keeps="all"))
    assert isinstance(kept, Gradient)
    assert len(kept.contributions) == 1


def test_where_all_keep_gradients_constants_and_views_may_have_some() -> None:
    keeping = Policy(keeps="all")
    assert last("a = multiply x k\nbackward a\nread grad k", keeping) == Open()
    assert last("a = reshape x shape=()\nbackward a\nread grad a", keeping) == Open()


def test_with_the_policy_open_only_gradients_of_leaves_are_predicted() -> None:
    keeping = Policy(keeps="open")
    steps = "a = multiply x y\nb = multiply x y\nl = add a b\nbackward l\nread grad "
    assert last(f"{steps}a", keeping) == last(f"{steps}k", keeping) == Open()
    assert isinstance(last(f"{steps}x", keeping), Gradient)
    assert last("a = negative x\nbackward a\nread grad y", keeping) == NoGradient("y")


def test_a_gradient_is_that_of_the_last_backward_where_it_is_replaced() -> None:
    steps = "a = multiply x y\nb = multiply x k\nbackward a\nbackward b\nread grad x"
    both, second = last(steps), last(steps, Policy(accumulates="replaces"))
    assert isinstance(both, Gradient)
    assert isinstance(second, Gradient)
    assert second.contributions == both.contributions[1:]


def test_a_gradient_that_is_replaced_does_not_outlast_a_further_use() -> None:
    replacing = Policy(accumulates="replaces")
    used = "a = multiply x y\nbackward a\nb = negative x\nread grad x"
    assert isinstance(last(used), Gradient)
    assert last(used, replacing) == NoGradient("x")
    assert last("a = multiply x y\nbackward a\nb = reshape x shape=()\nread grad x", replacing) == Open()
    unrecorded = "a = multiply x y\nbackward a\nenter no_grad\nb = negative x\nleave\nread grad x"
    assert isinstance(last(unrecorded, replacing), Gradient)


def test_a_gradient_that_is_overwritten_lasts_until_the_next_backward() -> None:
    overwriting = Policy(accumulates="overwrites")
    used = "a = multiply x y\nbackward a\nb = negative x\nread grad x"
    assert last(used, overwriting) == last(used)
    both = last(used.replace("read", "backward b\nread"), overwriting)
    assert isinstance(both, Gradient)
    assert len(both.contributions) == 1


@given(lifecycles())
def test_never_freeing_is_retaining_the_graph_in_every_backward(scenario: Scenario) -> None:
    steps = (replace(s, retain_graph=True) if isinstance(s, Backward) else s for s in scenario.steps)
    assert predict(scenario, Policy(frees="never")) == predict(Scenario(tuple(steps)))


@given(lifecycles())
def test_a_gradient_that_is_replaced_has_one_contribution_at_most(scenario: Scenario) -> None:
    for policy in (Policy(accumulates="overwrites"), Policy(accumulates="replaces")):
        predictions = predict(scenario, policy)
        assert all(len(prediction.contributions) <= 1 for prediction in predictions if isinstance(prediction, Gradient))


@given(lifecycles())
def test_a_seed_of_ones_is_never_missing(scenario: Scenario) -> None:
    predictions = predict(scenario, Policy(implicit_seed="ones"))
    assert not any("implicit-seed" in (p.kind, *p.others) for p in predictions if isinstance(p, Fails))
