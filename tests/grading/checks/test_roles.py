"""Scenarios that are about no operator run on engines of a few operators, and mean the same there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.grading.checks.behaviour_checks import FORMS
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.isolation import REDUCTIONS, ROLES, filled
from refgrad.lifecycle import predict, required_features
from refgrad.scenario import Apply, Scenario, parse

NEEDS = {
    "accumulation/chunks_equal_the_batch": "index",
    "in_place/every_step_uses_the_updated_parameters": "matmul",
    "leaves/conditions_get_no_gradient": "where",
    "retain_graph/reused_products_fail_in_the_second_iteration": "matmul",
}
"""Behaviours of each of which all scenarios use this operator, which plays no role that another one can fill."""

ABOUT_SHAPES = {
    "errors/refused_seeds_leave_everything_as_it_was",
    "errors/writes_must_fit",
    "in_place/parts_can_be_added_to_and_multiplied",
    "in_place/written_entries_belong_to_what_was_written",
    "seeds/non_scalar_needs_a_seed",
    "seeds/seed_shape_must_match",
}
"""Behaviours that are about shapes or indices, which an engine of scalars has none of."""

PARTICULAR = FORMS.keys()
CALLING = {"rules", "recomputation", "transforms", "control_flow"}
"""Chapters that call functions, whose operators are fixed."""
GENERAL = {b.id: b.scenarios for b in all_behaviours() if b.scenarios and b.chapter not in {*PARTICULAR, *CALLING}}
FEW = frozenset({"add", "multiply", "tanh"})

PLAYED = frozenset({"negative", *REDUCTIONS}.union(*ROLES.values()))


def runnable(scenario: Scenario, offered: frozenset[str], *, arrays: bool) -> bool:
    """Whether an engine of these operators, and of all features but perhaps arrays, can run a filled scenario."""
    made = filled(scenario, frozenset(offered), arrays=arrays)
    return made.operators <= offered and (arrays or "arrays" not in required_features(made))


@pytest.mark.parametrize(("arrays", "others"), [(True, set()), (False, ABOUT_SHAPES)])
def test_all_behaviours_but_these_run_on_an_engine_with_a_sum_a_product_and_tanh(
    *, arrays: bool, others: set[str]
) -> None:
    lacking = {name for name, given in GENERAL.items() if not any(runnable(s, FEW, arrays=arrays) for s in given)}
    assert lacking == {*NEEDS, *others}
    for name, operator in NEEDS.items():
        assert all(operator in scenario.operators for scenario in GENERAL[name])


def test_shapes_are_why_the_others_do_not_run_on_scalars() -> None:
    for name in ABOUT_SHAPES:
        assert all("arrays" in required_features(scenario) for scenario in GENERAL[name])


@given(
    scenario=st.sampled_from([each for scenarios in GENERAL.values() for each in scenarios]),
    offered=st.frozensets(st.sampled_from(sorted(PLAYED))),
    arrays=st.booleans(),
)
def test_what_is_filled_has_offered_operators_alone_and_the_same_kinds_of_predictions(
    scenario: Scenario, offered: frozenset[str], *, arrays: bool
) -> None:
    made = filled(scenario, frozenset(offered), arrays=arrays)
    if made is scenario:
        return
    assert made.operators <= offered
    assert kinds(made) == kinds(scenario)


def kinds(scenario: Scenario) -> list[type]:
    """Return the kinds of a scenario's predictions, but those of reductions."""
    steps = zip(scenario.steps, predict(scenario), strict=True)
    return [type(p) for step, p in steps if not (isinstance(step, Apply) and step.operator in REDUCTIONS)]


def test_a_function_of_one_operand_becomes_another_one_and_arrays_become_numbers() -> None:
    scenario = parse("""
        x = leaf float64[2] {0x1p-1 0x1p+0} requires_grad
        a = exp x
        b = multiply a x
        l = sum b
        backward l
        read grad x
    """)
    assert (
        filled(scenario, frozenset({"multiply", "tanh"}), arrays=False).text
        == parse("""
        x = leaf float64[] {0x1p-1} requires_grad
        a = tanh x
        b = multiply a x
        backward b
        read grad x
    """).text
    )


def test_a_result_that_no_rule_saves_is_not_replaced_by_one_that_is_saved() -> None:
    scenario = parse("""
        x = leaf float64[] {0x1p-1} requires_grad
        a = negative x
        backward a
        backward a
        read grad x
    """)
    made = filled(scenario, frozenset({"add", "multiply", "tanh"}), arrays=True)
    assert [step.operator for step in made.applications] == ["add"]
    assert kinds(made) == kinds(scenario)


def test_what_nothing_fits_is_returned_as_it_is() -> None:
    scenario = next(iter(GENERAL.values()))[0]
    assert filled(scenario, frozenset({"matmul"}), arrays=True) is scenario
