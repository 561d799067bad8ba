"""What is known of tensors and hooks: the contributions that arrived, and the factors that hooks multiply with."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle import Contribution, Gradient, NoGradient, Open
from refgrad.lifecycle.tensors import HookState, TensorState, scales_of, seen_by

EVENTS = st.lists(st.sampled_from(["a", "b", "c", "reset", "zeros"]), max_size=12)


def leaf() -> TensorState:
    return TensorState("x", "x", 0, "float64", node="x", root="x")


def contribution(output: str) -> Contribution:
    return output, None


@given(EVENTS)
def test_a_gradient_is_what_arrived_since_the_last_reset_in_order(events: list[str]) -> None:
    tensor = leaf()
    expected: tuple[Contribution, ...] | None = None
    for event in events:
        if event in {"reset", "zeros"}:
            tensor.reset(to_zeros=event == "zeros")
            expected = () if event == "zeros" and expected is not None else None
        else:
            tensor.receive(contribution(event), must=True)
            expected = (*(expected or ()), contribution(event))
    assert tensor.gradient_prediction() == (NoGradient("x") if expected is None else Gradient("x", expected))


@given(st.lists(st.sampled_from("abc"), min_size=1))
def test_where_gradients_are_replaced_only_the_last_is_there(outputs: list[str]) -> None:
    tensor = leaf()
    for output in outputs:
        tensor.receive(contribution(output), must=True, replace=True)
    assert tensor.gradient_prediction() == Gradient("x", (contribution(outputs[-1]),))


@given(st.lists(st.booleans(), min_size=1))
def test_a_gradient_is_certain_once_one_contribution_must_have_arrived(must: list[bool]) -> None:
    tensor = leaf()
    for each in must:
        tensor.receive(contribution("a"), must=each)
    assert tensor.certain == any(must)


def test_a_gradient_of_which_nothing_is_known_is_open_until_it_is_reset() -> None:
    tensor = leaf()
    tensor.gradient_unknown = True
    tensor.receive(contribution("a"), must=True)
    tensor.reset(to_zeros=True)
    assert tensor.gradient_prediction() == Open()
    tensor.reset(to_zeros=False)
    assert tensor.gradient_prediction() == NoGradient("x")


@pytest.mark.parametrize(
    ("node", "root", "is_leaf"), [(None, None, True), ("x", "x", True), ("x", None, False), (None, "x", True)]
)
def test_what_no_recorded_operation_computed_is_a_leaf(node: str | None, root: str | None, *, is_leaf: bool) -> None:
    assert TensorState("x", "x", 0, "float64", node=node, root=root).is_leaf is is_leaf


HOOKS = st.lists(
    st.builds(
        HookState,
        name=st.uuids().map(str),
        tensor=st.just("t"),
        node=st.sampled_from("pqr"),
        factor=st.sampled_from([None, 2.0, -0.5, 4.0]),
        active=st.booleans(),
    ),
    max_size=6,
)


@given(HOOKS, st.sets(st.sampled_from("pqr")))
def test_a_cotangent_is_multiplied_by_the_factors_of_all_active_hooks_on_its_way(
    hooks: list[HookState], visited: set[str]
) -> None:
    scales = dict(scales_of(hooks, visited))
    acting = [hook for hook in hooks if hook.active and hook.factor is not None and hook.node in visited]
    assert scales == {node: prod(h.factor or 0 for h in acting if h.node == node) for node in {h.node for h in acting}}
    assert scales_of(hooks[::-1], visited) == scales_of(hooks, visited)


def test_a_hook_sees_the_factors_of_those_before_it_and_of_those_elsewhere() -> None:
    first, own, later = (HookState(name, "t", "p", 2.0) for name in "abc")
    elsewhere = HookState("d", "u", "q", 3.0)
    hooks = [first, own, later, elsewhere]
    assert seen_by(own, hooks, {"p", "q"}, "l", None) == ("l", None, (("p", 2.0), ("q", 3.0)), "p")
    assert seen_by(first, hooks, {"p", "q"}, "l", None) == ("l", None, (("q", 3.0),), "p")
    assert seen_by(elsewhere, hooks, {"p", "q"}, "l", None) == ("l", None, (("p", 8.0),), "q")
