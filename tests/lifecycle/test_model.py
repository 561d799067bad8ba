"""The predictions of the lifecycle model, step by step, and what must leave them as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.generation import random_scenario
from refgrad.lifecycle import ExpectedValue, Fails, Gradient, NoGradient, Open, Policy, Seen, Succeeds, predict
from refgrad.scenario import Backward, DeleteName, Read, Scenario, ZeroGrad, parse
from refgrad.strategies import lifecycles

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


def test_nodes_that_saved_nothing_may_be_visited_again() -> None:
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


def test_values_are_predicted_unchanged() -> None:
    assert last(f"{X}a = exp x\nbackward a\nread value a") == ExpectedValue("a")


def test_a_policy_that_never_frees_allows_every_backward() -> None:
    assert last(f"{X}a = exp x\nbackward a\nbackward a", Policy(frees="never")) == Succeeds()


def test_freeing_every_node_forbids_shared_nodes_and_leaves_the_output_open() -> None:
    always = Policy(frees="always")
    assert last(f"{X}s = negative x\na = negative s\nb = negative s\nbackward a\nbackward b", always) == Fails(
        "freed-graph"
    )
    assert last(f"{X}a = negative x\nbackward a\nbackward a", always) == Open()


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


def retained(scenario: Scenario) -> Scenario:
    return Scenario(tuple(replace(s, retain_graph=True) if isinstance(s, Backward) else s for s in scenario.steps))


def renamed(prediction: Any, name: Callable[[str], str]) -> Any:
    """A prediction with other names, as tuples; scales, which are sorted by name, as sets."""
    if isinstance(prediction, str):
        return name(prediction)
    if isinstance(prediction, tuple):
        parts = [renamed(part, name) for part in prediction]
        pairs = all(isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], float) for part in prediction)
        return frozenset(parts) if pairs and parts else tuple(parts)
    if is_dataclass(prediction) and not hasattr(prediction, "to_numpy"):
        return type(prediction), *(renamed(getattr(prediction, field.name), name) for field in fields(prediction))
    return prediction


@given(lifecycles())
def test_names_do_not_matter(scenario: Scenario) -> None:
    names = [step.defines for step in scenario.steps if step.defines is not None]
    others = {name: f"t{len(names) - i:03}" for i, name in enumerate(names)}  # in the opposite order

    def other(text: str) -> str:
        base, mark, version = text.partition("_v")
        return others.get(base, base) + mark + version

    text = "\n".join(" ".join(map(other, line.split(" "))) for line in scenario.text.splitlines())
    expected = [renamed(prediction, other) for prediction in predict(scenario)]
    assert [renamed(prediction, str) for prediction in predict(parse(text))] == expected


def test_a_write_of_which_nothing_is_known_frees_nothing() -> None:
    unknown = f"{X}c = exp x\nwrite c multiply c\ng = grad c x\n"
    graph = f"{unknown}a = exp x\nb = multiply a a\n"
    assert last(f"{graph}write a multiply g\nbackward b") == Open()
    assert last(f"{graph}write a multiply a\nwrite a multiply g\nbackward b") == Fails("modified-in-place")


@given(lifecycles())
def test_a_graph_retained_by_every_backward_is_never_freed(scenario: Scenario) -> None:
    predictions = predict(retained(scenario))
    assert not any("freed-graph" in (p.kind, *p.others) for p in predictions if isinstance(p, Fails))


@given(lifecycles())
def test_a_backward_done_twice_adds_everything_twice(scenario: Scenario) -> None:
    assume(not scenario.gradients)  # hooks see these too, and they are done once
    once = retained(scenario)
    twice = Scenario(tuple(s for step in once.steps for s in (step,) * (1 + isinstance(step, Backward))))
    predictions = iter(predict(twice))
    for step, expected in zip(once.steps, predict(once), strict=True):
        prediction = next(predictions)
        if isinstance(step, Backward):
            assert next(predictions) == prediction
        if isinstance(expected, Gradient):
            added = tuple(each for each in expected.contributions for _ in range(2))
            assert prediction == replace(expected, contributions=added)
        elif isinstance(expected, Seen):
            assert prediction == replace(expected, calls=tuple(each for each in expected.calls for _ in range(2)))
        else:
            assert prediction == expected


@given(lifecycles(), st.sampled_from([Read, DeleteName]))
def test_reading_and_deleting_names_change_nothing_that_comes_later(scenario: Scenario, kind: type) -> None:
    left = Scenario(tuple(step for step in scenario.steps if not isinstance(step, kind)))
    pairs = zip(scenario.steps, predict(scenario), strict=True)
    assert predict(left) == tuple(prediction for step, prediction in pairs if not isinstance(step, kind))


@given(lifecycles())
def test_a_leaf_that_was_just_reset_has_no_gradient(scenario: Scenario) -> None:
    known = [step for step in scenario.leaves if not any(d.name == step.name for d in deletions(scenario))]
    for leaf in known:
        reset = Scenario((*scenario.steps, ZeroGrad(leaf.name), Read("grad", leaf.name)))
        assert predict(reset)[-1] in {NoGradient(leaf.name), Open()}


def deletions(scenario: Scenario) -> list[DeleteName]:
    return [step for step in scenario.steps if isinstance(step, DeleteName)]


def test_two_recorded_gradients_may_have_the_same_memory() -> None:
    """As those of both operands of a sum have: an engine may hand on what came in."""
    one = f"{X}{C}y = leaf float64[] {{0x1p+0}} requires_grad\na = add x y\ng = grad a x\nd = detach g\n"
    assert last(f"{one}write d add c") == Succeeds()
    assert last(f"{one}h = grad a y\nwrite d add c") == Open()
