"""The state of a scenario: its tensors and hooks, regions, what is watched, and what is no longer known."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.lifecycle import Contribution, Gradient, NoGradient, Open, Policy
from refgrad.lifecycle.model import Model
from refgrad.lifecycle.state import HookState, State, TensorState, scales_of, seen_by
from refgrad.scenario import parse

V = "v = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"


def after(text: str, *, regions: int = 0) -> Model:
    """The model after these steps, inside of so many regions that are left behind them."""
    scenario = parse("\n".join([text.rstrip(), *["leave"] * regions]))
    model = Model(scenario, Policy())
    for step in scenario.steps[: len(scenario.steps) - regions]:
        model.step(step)
    return model


def test_shapes_are_known_from_the_start() -> None:
    assert State(parse(f"{V}s = sum v"), Policy()).shapes == {"v": (2,), "s": ()}


@pytest.mark.parametrize(
    ("steps", "regions", "recording"),
    [
        ("", 0, True),
        ("enter no_grad", 1, False),
        ("enter no_grad\nenter enable_grad", 2, True),
        ("enter no_grad\nenter enable_grad\nleave", 1, False),
        ("enter no_grad\nleave by error", 0, True),
    ],
)
def test_the_innermost_region_decides_whether_operators_are_recorded(
    steps: str, regions: int, *, recording: bool
) -> None:
    assert after(V + steps, regions=regions).recording is recording


def test_only_what_is_hooked_or_kept_is_watched() -> None:
    state = State(parse(f"{V}a = exp v\nb = exp v\nc = exp v\nhook h on a observe\nretain grad b"), Policy())
    assert state.watched == {"a", "b"}


def test_if_all_tensors_keep_gradients_those_that_are_read_are_watched() -> None:
    scenario = parse(f"{V}a = exp v\nb = exp v\nread grad a\nread grad v\nread value b")
    assert State(scenario, Policy()).kept == set()
    state = State(scenario, Policy(keeps="all"))
    assert (state.kept, state.watched, state.changes) == ({"a"}, {"a"}, True)


@pytest.mark.parametrize(
    ("step", "changes"),
    [("d = detach v", True), ("hook h on v observe", True), ("a = exp v", False), ("zero grad v", False)],
)
def test_a_scenario_changes_tensors_where_a_step_does(step: str, *, changes: bool) -> None:
    assert State(parse(V + step), Policy()).changes is changes


def test_forgetting_a_tensor_forgets_all_that_may_share_its_memory_and_what_was_saved_of_it() -> None:
    model = after(
        f"{V}w = leaf float64[2] {{0x1p+0 0x1p+1}} requires_grad\nr = reshape v shape=(2,)\na = sin r\nb = sin w"
    )
    model.forget("v")
    assert model.unknown == {"v", "r"}
    assert {name for name, tensor in model.tensors.items() if tensor.may_be_computed} == {"v", "r"}
    assert {name for name, node in model.graph.nodes.items() if node.may_be_stale} == {"a"}


def test_an_unrecorded_view_of_something_that_requires_grad_is_forgotten_and_other_results_are_not() -> None:
    view = "r = reshape v shape=(2,)\ne = exp v\nk = reshape c shape=(2,)"
    model = after(f"{V}c = leaf float64[2] {{0x1p+0 0x1p+1}}\nenter no_grad\n{view}", regions=1)
    model.forget_unrecorded_views()
    assert model.unknown == {"r"}


def test_a_new_value_of_a_constant_is_cut_off_and_of_a_tracked_tensor_it_is_not() -> None:
    model = after(f"{V}c = leaf float64[2] {{0x1p+0 0x1p+1}}\na = exp v")
    model.with_value(model.tensors["c"], "a")
    assert [type(step).__name__ for step in model.functional.steps[-1:]] == ["Detach"]
    model.with_value(model.tensors["v"], "a")
    assert [type(step).__name__ for step in model.functional.steps[-3:]] == ["Apply", "Detach", "Apply"]


def test_nodes_that_some_engines_do_not_record_may_be_constant() -> None:
    model = after(
        "x = leaf float64[] {0x1p+0} requires_grad\nl = mean x\nh = grad l x\na = sin h\nb = exp x\ng = grad b x"
    )
    flags = {name: (model.may_be_constant(name), model.graph.is_gradient(name)) for name in (*model.graph.nodes, "x")}
    assert flags == {
        "l": (False, False), "h": (True, True), "a": (True, False), "b": (False, False), "g": (False, True),
        "x": (False, False),
    }  # fmt: skip
    assert not model.may_be_constant(None)


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
