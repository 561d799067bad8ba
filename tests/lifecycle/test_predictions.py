"""Does the lifecycle model predict what PyTorch's documentation promises, step by step?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refgrad.generation import random_scenario
from refgrad.lifecycle import Fails, Gradient, NoGradient, Open, Policy, Succeeds, Value, predict, required_features
from refgrad.scenario import Backward, Read, ZeroGrad, parse

X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"
V = "v = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"
C = "c = leaf float64[] {0x1p+1}\n"


def last(text: str, policy: Policy | None = None) -> object:
    return predict(parse(text), policy)[-1]


def test_gradients_are_the_sum_over_the_backward_calls_since_the_last_reset() -> None:
    text = f"{X}a = negative x\nbackward a\nbackward a\nread grad x"
    assert last(text) == Gradient("x", (("a", None), ("a", None)))
    assert last(f"{X}a = negative x\nbackward a\nzero grad x\nbackward a\nread grad x") == Gradient("x", (("a", None),))
    assert last(f"{X}a = negative x\nbackward a\nzero grad x\nread grad x") == NoGradient("x")


def test_a_leaf_that_nothing_reached_has_no_gradient() -> None:
    assert last(f"{X}{V}a = negative x\nbackward a\nread grad v") == NoGradient("v")


def test_a_graph_that_saved_something_is_freed() -> None:
    assert last(f"{X}a = exp x\nbackward a\nbackward a") == Fails("freed-graph")
    assert last(f"{X}a = exp x\nbackward a retain_graph\nbackward a") == Succeeds()


def test_nodes_that_saved_nothing_may_be_walked_again() -> None:
    assert last(f"{X}a = add x x\nb = negative a\nbackward b\nbackward b") == Succeeds()


def test_what_was_freed_is_shared_by_other_losses() -> None:
    shared = f"{X}s = exp x\na = negative s\nb = negative s\n"
    assert last(f"{shared}backward a\nbackward b") == Fails("freed-graph")
    assert last(f"{shared}backward a retain_graph\nbackward b") == Succeeds()


def test_nothing_is_promised_of_leaves_after_a_backward_that_failed() -> None:
    failed = f"{X}{V}a = exp x\nbackward a\nbackward a\n"
    assert last(f"{failed}read grad x") == Open()
    assert last(f"{failed}read grad v") == NoGradient("v")
    assert last(f"{failed}zero grad x\nread grad x") == NoGradient("x")


def test_only_arguments_on_the_way_to_a_leaf_decide_what_is_saved() -> None:
    assert last(f"{X}{C}a = multiply x c\nbackward a\nbackward a") == Fails("freed-graph")
    assert last(f"{X}{C}d = exp c\na = add x d\nbackward a\nbackward a") == Succeeds()


def test_a_backward_needs_a_graph() -> None:
    assert last(f"{C}a = exp c\nbackward a") == Fails("no-graph")
    assert last(f"{X}backward x") == Succeeds()


def test_a_non_scalar_needs_a_seed_of_its_shape() -> None:
    assert last(f"{V}backward v") == Fails("implicit-seed")
    assert last(f"{V}backward v seed float64[2] {{0x1p+0 0x1p+0}}") == Succeeds()
    assert last(f"{V}backward v seed float64[1] {{0x1p+0}}") == Fails("seed-shape")
    assert last(f"{V}backward v", Policy(implicit_seed="ones")) == Succeeds()
    assert last("v = leaf float64[1] {0x1p+0} requires_grad\nbackward v") == Succeeds()


def test_values_are_shown_as_they_are() -> None:
    assert last(f"{X}a = exp x\nbackward a\nread value a") == Value("a")


def test_a_policy_that_never_frees_allows_every_walk() -> None:
    assert last(f"{X}a = exp x\nbackward a\nbackward a", Policy(frees="never")) == Succeeds()


def test_a_policy_that_always_frees_forbids_shared_nodes_and_leaves_the_output_itself_open() -> None:
    always = Policy(frees="always")
    assert last(f"{X}s = negative x\na = negative s\nb = negative s\nbackward a\nbackward b", always) == Fails(
        "freed-graph"
    )
    assert last(f"{X}a = negative x\nbackward a\nbackward a", always) == Open()


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (f"{X}backward x", set()),
        (f"{V}s = sum v\nbackward s", {"arrays"}),
        (f"{X}backward x seed float64[] {{0x1p+1}}", {"seed"}),
        (f"{X}backward x retain_graph\nbackward x\nread grad x", {"retain_graph", "accumulate"}),
        (f"{X}backward x\nzero grad x", {"zero_grad"}),
        (f"{X}a = exp x\nbackward a\nbackward a", {"error:freed-graph"}),
        (f"{C}backward c", {"error:no-graph"}),
    ],
)
def test_a_scenario_says_which_features_it_needs(text: str, features: set[str]) -> None:
    assert required_features(parse(text)) == features


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_contributions_are_the_successful_backward_calls_since_the_last_reset(seed: int) -> None:
    scenario = random_scenario(seed)
    done: list[tuple[str, object]] = []
    for step, prediction in zip(scenario.steps, predict(scenario), strict=True):
        if isinstance(step, Backward):
            assert prediction == Succeeds()
            done.append((step.output, step.seed))
        elif isinstance(step, Read) and isinstance(prediction, Gradient):
            expected = iter(done)
            assert all(contribution[:2] in expected for contribution in prediction.contributions)
        else:
            assert not isinstance(step, ZeroGrad)
