"""The state of a scenario: regions, what is watched, and what is no longer known."""

from __future__ import annotations

import pytest

from refgrad.lifecycle import Policy
from refgrad.lifecycle.model import Model
from refgrad.lifecycle.state import State
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
    flags = {name: (model.may_be_constant(name), model.is_gradient(name)) for name in (*model.graph.nodes, "x")}
    assert flags == {
        "l": (False, False), "h": (True, True), "a": (True, False), "b": (False, False), "g": (False, True),
        "x": (False, False),
    }  # fmt: skip
    assert not model.may_be_constant(None)
