"""Tests that scenarios of forward mode push tangents and pull a cotangent at the same point, and shrink."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import forward_graph_scenario, forward_scenario, shrink
from refgrad.lifecycle import ExpectedValue, Open, Succeeds, predict, required_features
from refgrad.operators import operator_table
from refgrad.scenario import Jvp, Read, Scenario, parse
from refgrad.scenario.rewrite import resized, with_dtypes, with_fitting_tangents, without_tangents

OPERATORS = [name for name, operator in operator_table().items() if operator.differentiable_arguments]


@given(name=st.sampled_from(OPERATORS), seed=st.integers(0, 2**64 - 1))
def test_one_operator_is_differentiated_in_both_directions(name: str, seed: int) -> None:
    scenario = forward_scenario(seed, name)
    (step,) = scenario.jvps
    ((_, backward),) = scenario.backwards
    assert scenario.applications[0].operator == name
    assert step.output == backward.output
    read = {s.name for s in scenario.steps if isinstance(s, Read) and s.what == "grad"}
    assert set(step.leaves) <= read
    assert Read("value", "t") in scenario.steps
    assert scenario == forward_scenario(seed, name)
    assert parse(scenario.text) == scenario


def test_all_operands_move_or_only_some() -> None:
    scenarios = [forward_scenario(seed, "multiply") for seed in range(60)]
    moving = {(len(s.leaves), len([x for x in f.leaves if x.requires_grad])) for f in scenarios for s in f.jvps}
    assert moving >= {(1, 1), (1, 2), (2, 2)}
    assert any(not leaf.requires_grad for scenario in scenarios for leaf in scenario.leaves)


def test_random_graphs_share_results_and_have_constants_and_tangents_of_zeros() -> None:
    drawn = [forward_graph_scenario(seed) for seed in range(60)]
    assert drawn[7] == forward_graph_scenario(7)
    for scenario in drawn:
        assert scenario.jvps[0].output == scenario.backwards[0][1].output
        assert Read("value", scenario.jvps[0].name) in scenario.steps
    used = [Counter(x for step in scenario.applications for x in step.arguments) for scenario in drawn]
    assert any(uses[step.name] > 1 for s, uses in zip(drawn, used, strict=True) for step in s.applications)
    still = [
        {*uses} & {leaf.name for leaf in s.leaves} - {*s.jvps[0].leaves} for s, uses in zip(drawn, used, strict=True)
    ]
    assert any(still)
    zero = [not tangent.to_numpy().any() for scenario in drawn for _, tangent in scenario.jvps[0].tangents]
    assert {*zero} == {False, True}


def test_a_tangent_is_a_value_that_needs_forward_mode_and_changes_nothing() -> None:
    scenario = parse("x = leaf float64[] {1} requires_grad\ny = exp x\nt = jvp y x float64[] {1}\nread value t")
    assert predict(scenario)[2:] == (Succeeds(), ExpectedValue("t"))
    assert required_features(scenario) == {"forward_mode"}
    walked = parse(
        "x = leaf float64[] {1} requires_grad\ny = exp x\nbackward y\nt = jvp y x float64[] {1}\nread grad x"
    )
    without = predict(without_tangents(walked))
    assert predict(walked) == (*without[:3], Succeeds(), without[3])


def test_nothing_is_promised_of_tangents_through_recorded_gradients() -> None:
    text = "x = leaf float64[] {1} requires_grad\ny = exp x\nh = grad y x\nt = jvp h x float64[] {1}\nread value t"
    assert predict(parse(text))[-2:] == (Open(), Open())


def test_without_tangents_what_is_made_of_them_is_gone_too() -> None:
    text = "x = leaf float64[] {1} requires_grad\nt = jvp x x float64[] {1}\na = exp t\nread value a\nread value x"
    assert without_tangents(parse(text)).text.splitlines()[1:] == ["read value x"]


@pytest.mark.parametrize("name", ["multiply", "where", "sum", "matmul"])
def test_scenarios_of_forward_mode_are_made_small(name: str) -> None:
    def fails(scenario: Scenario) -> bool:
        reads = any(isinstance(s, Read) and s.name in {j.name for j in scenario.jvps} for s in scenario.steps)
        return reads and name in scenario.operators

    small = shrink(forward_scenario(3, name), fails)
    assert fails(small)
    assert not small.backwards
    (step,) = small.jvps
    assert len(step.tangents) == 1
    assert {float(x) for _, tangent in step.tangents for x in tangent.to_numpy().ravel()} <= {1.0}


def test_tangents_follow_their_leaves_into_other_dtypes() -> None:
    narrow = with_dtypes(forward_scenario(0, "multiply"), lambda _: "float32")
    assert {tangent.dtype for step in narrow.jvps for _, tangent in step.tangents} == {"float32"}


def test_tangents_follow_their_leaves_into_other_shapes() -> None:
    text = "x = leaf float64[2] {1 2} requires_grad\nz = leaf float64[] {1}\nt = jvp x x float64[2] {3 4}"
    steps = parse(text).steps
    (longer, _, _) = parse(
        text.replace("float64[2] {1 2}", "float64[3] {1 2 3}").partition("t =")[0] + "a = exp x"
    ).steps
    fitted = with_fitting_tangents((longer, *steps[1:]))[-1]
    assert isinstance(fitted, Jvp)
    assert fitted.tangents[0][1].to_numpy().tolist() == [3.0, 4.0, 3.0]
    gone = with_fitting_tangents(steps[1:])[-1]
    assert isinstance(gone, Jvp)
    assert gone.tangents == ()
    assert resized(np.zeros(0), (2,)).tolist() == [1.0, 1.0]
