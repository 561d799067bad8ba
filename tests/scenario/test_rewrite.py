"""Scenarios made of others keep what they do not change, and slices keep what a name depends on."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step, parse
from refgrad.scenario.rewrite import (
    at_lower_order,
    descendants,
    mapped,
    needed,
    renamed,
    replaced,
    resized,
    retyped,
    spliced,
    substituted,
    with_constants,
    with_fitting_seeds,
    with_fitting_tangents,
    with_seeds,
    with_values,
    without_gradients_of,
    without_tangents,
)
from tests.scenario.arbitrary_scenarios import scenarios

GRAPH = """
x = leaf float64[] {1} requires_grad
z = leaf float64[] {2} requires_grad
y = exp x
a = add y x
u = sin z
backward a
read grad x
"""


def lines(steps: tuple[Step, ...]) -> list[str]:
    return [step.to_text() for step in steps]


@pytest.mark.parametrize(
    ("names", "actions", "kept"),
    [
        ({"a"}, False, [0, 2, 3]),
        ({"u"}, False, [1, 4]),
        ({"u", "y"}, False, [0, 1, 2, 4]),
        (set(), True, [0, 2, 3, 5, 6]),
        ({"u"}, True, [0, 1, 2, 3, 4, 5, 6]),
        (set(), False, []),
    ],
)
def test_a_slice_has_what_its_names_and_its_actions_need(names: set[str], *, actions: bool, kept: list[int]) -> None:
    steps = parse(GRAPH).steps
    assert needed(steps, names, actions=actions) == tuple(steps[at] for at in kept)


def test_descendants_depend_on_the_starts_by_steps_of_the_given_kinds() -> None:
    steps = parse(f"{GRAPH}h = grad a x\nb = exp h\nt = jvp u z float64[] {{1}}\nc = exp t\n").steps
    assert descendants(steps, lambda step: isinstance(step, Grad | Jvp)) == {"h", "b", "t", "c"}
    assert descendants(steps, lambda step: step.defines == "z") == {"z", "u", "t", "c"}
    assert descendants(steps, lambda step: step.defines == "z", Apply) == {"z", "u"}


@given(scenarios())
def test_what_is_changed_to_itself_is_the_same_scenario(scenario: Scenario) -> None:
    assert mapped(scenario.steps, Apply, lambda step: step) == scenario.steps
    assert replaced(scenario.steps, Apply, lambda step: [step]) == scenario.steps
    assert renamed(scenario.steps, {}) == scenario.steps
    assert with_values(scenario.steps, lambda leaf: leaf.value) == scenario.steps
    assert with_seeds(scenario.steps, lambda start: start.seed) == scenario.steps
    assert with_constants(scenario, lambda constant: constant) == scenario
    assert without_gradients_of(scenario, ()) == scenario


@given(scenarios())
def test_a_step_is_replaced_left_out_or_followed_by_others(scenario: Scenario) -> None:
    steps = scenario.steps
    for at, step in enumerate(steps):
        assert spliced(steps, at, step) == steps
        assert spliced(steps, at) == (*steps[:at], *steps[at + 1 :])
        assert spliced(steps, at, step, step)[at : at + 2] == (step, step)


def test_several_steps_stand_in_the_place_of_each_of_a_kind() -> None:
    steps = parse(GRAPH).steps
    twice = replaced(steps, Apply, lambda step: [step, replace(step, name=f"{step.name}2")])
    assert [step.name for step in Scenario(twice).applications] == ["y", "y2", "a", "a2", "u", "u2"]
    assert replaced(steps, Read, lambda _: ()) == steps[:-1]


def test_a_definition_is_substituted_by_another_name_in_every_step() -> None:
    steps = parse(GRAPH).steps
    assert lines(substituted(steps, steps[3], "y")) == [*lines(steps[:3]), "u = sin z", "backward y", "read grad x"]


def test_seeds_of_backwards_and_of_recorded_gradients_are_changed() -> None:
    text = "x = leaf float64[] {1} requires_grad\ny = exp x\nh = grad y x\nbackward h seed float64[] {2}\n"
    one = Constant.of(np.array(1.0))
    seeded = with_seeds(parse(text).steps, lambda start: one if start.seed is None else None)
    assert [step.seed for step in seeded if isinstance(step, Grad | Backward)] == [one, None]


def test_leaves_and_seeds_hold_other_numbers() -> None:
    scenario = parse("x = leaf float64[] {1} requires_grad\ny = exp x\nbackward y seed float64[] {2}\n")
    changed = with_constants(scenario, lambda constant: Constant.of(constant.to_numpy() + 1))
    assert changed.text == scenario.text.replace("0x1p+1", "0x1.8p+1").replace("0x1p+0", "0x1p+1")


def stateless(scenario: Scenario) -> Scenario:
    """Return the leaves, applications and tangents of a scenario, and the reads of these."""
    recorded = {leaf.name for leaf in scenario.leaves if leaf.requires_grad}
    kept: list[Step] = []
    for step in scenario.steps:
        names = {other.defines for other in kept}
        fits = isinstance(step, Leaf) or (isinstance(step, Apply | Read | Jvp) and step.uses)
        if fits and names.issuperset(step.uses) and (not isinstance(step, Jvp) or recorded.issuperset(step.leaves)):
            kept.append(step)
    return Scenario(tuple(kept))


@given(scenarios().map(stateless), st.randoms(use_true_random=False))
def test_a_slice_is_a_scenario_and_its_own_slice(scenario: Scenario, rng: Random) -> None:
    names = [name for name in scenario.definitions if rng.random() < 0.5]
    part = needed(scenario.steps, names)
    assert Scenario(part).definitions.keys() >= set(names)
    assert needed(part, names) == part
    assert all(step.defines is not None for step in part)


@given(scenarios().map(stateless))
def test_leaves_do_not_require_grad_and_none_of_their_gradients_is_read(scenario: Scenario) -> None:
    plain = without_tangents(scenario)
    names = [leaf.name for leaf in plain.leaves]
    without = without_gradients_of(plain, names)
    assert not any(leaf.requires_grad for leaf in without.leaves)
    assert not any(isinstance(step, Read) and step.what == "grad" and step.name in names for step in without.steps)
    assert [leaf.value for leaf in without.leaves] == [leaf.value for leaf in plain.leaves]


def test_only_gradients_of_the_named_leaves_are_not_read() -> None:
    text = """x = leaf float64[] {0x1p+0} requires_grad
y = leaf float64[] {0x1p+0} requires_grad
a = multiply x y
backward a
read grad x
read value x
read grad y
"""
    expected = text.replace(" requires_grad", "", 1).replace("read grad x\n", "")
    assert without_gradients_of(parse(text), ["x"]).text == expected


@given(scenarios().map(stateless))
def test_no_tangent_is_left_and_nothing_that_depends_on_one(scenario: Scenario) -> None:
    without = without_tangents(scenario)
    assert not without.jvps
    assert without == scenario or scenario.jvps
    assert without_tangents(without) == without


def test_only_the_named_leaves_change_their_dtype_and_seeds_and_tangents_follow() -> None:
    text = """x = leaf float32[] {1} requires_grad
i = leaf int64[] {2}
z = leaf float32[] {2}
y = add x z
g = grad y x seed float32[] {3}
j = jvp y x float32[] {2}
backward y seed float32[] {3}
backward y
"""
    scenario = parse(text)
    assert retyped(scenario, ["x", "z"], "float32") == scenario
    wide = text.replace("seed float32", "seed float64")
    assert retyped(scenario, ["z"], "float64") == parse(wide.replace("z = leaf float32", "z = leaf float64"))
    of_x = wide.replace("x = leaf float32", "x = leaf float64").replace("jvp y x float32", "jvp y x float64")
    assert retyped(scenario, ["x", "i"], "float64") == parse(of_x)


def test_seeds_and_tangents_fit_what_they_start_from() -> None:
    text = "x = leaf float16[2] {1 2} requires_grad\nw = leaf float16[2] {1 2}\ny = exp x\n"
    ones, more = Constant.of(np.ones(2)), Constant.of(np.array([3.0, 4.0, 5.0]))
    seeded = with_fitting_seeds(Scenario((*parse(text).steps, Backward("y", ones))))
    assert seeded == parse(f"{text}backward y seed float16[2] {{1 1}}")
    pushed = with_fitting_tangents((*parse(text).steps, Jvp("j", "y", (("x", more), ("w", ones)))))
    assert Scenario(pushed) == parse(f"{text}j = jvp y x float16[2] {{3 4}}")


def test_at_lower_order_the_last_recorded_gradient_is_read_and_nothing_comes_after_it() -> None:
    text = "x = leaf float64[1] {1} requires_grad\nc = leaf float64[1] {2}\ny = multiply x c\n"
    once = f"{text}h = grad y x seed float64[1] {{3}} forward\nz = exp h\n"
    lower = parse(f"{once}backward z\nread grad x")
    assert at_lower_order(parse(f"{once}g = grad z x\nbackward g\nread value h")) == lower
    assert at_lower_order(Scenario(parse(once).steps)) == parse(f"{text}backward y seed float64[1] {{3}}\nread grad x")


@pytest.mark.parametrize(
    ("entries", "shape", "fitting"),
    [
        ([[1, 2], [3, 4]], (1, 2), [[1, 2]]),
        ([[1, 2], [3, 4]], (2, 1), [[1], [3]]),
        ([[1, 2], [3, 4]], (2, 3), [[1, 2, 3], [4, 1, 2]]),
        ([1, 2], (3,), [1, 2, 1]),
        ([1, 2], (), 1),
        ([], (2,), [1, 1]),
    ],
)
def test_an_array_is_cut_or_repeated(entries: list[float], shape: tuple[int, ...], fitting: object) -> None:
    assert resized(np.array(entries), shape).tolist() == fitting
