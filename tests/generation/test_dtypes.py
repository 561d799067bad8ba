"""Tests that scenarios are of the dtypes that a profile asks for, and that shrinking keeps or widens them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import GenerationError, Profile, operator_scenario, random_scenario, shrink
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from refgrad.scenario import Backward, Constant, Scenario, parse
from refgrad.scenario.formats import FORMATS, rounded
from refgrad.scenario.rewrite import floating_dtypes, promoted, with_dtypes

SEEDS = st.integers(0, 2**32)
NARROW = ("float32", "float16", "bfloat16")
MIXED = Profile(dtype="float32", wider="float64")


def constants(scenario: Scenario) -> list[Constant]:
    """Return all floating numbers that a scenario is given."""
    seeds = [step.seed for step in scenario.steps if isinstance(step, Backward) and step.seed is not None]
    return [c for c in (*(leaf.value for leaf in scenario.leaves), *seeds) if c.dtype in FORMATS]


@pytest.mark.parametrize("dtype", NARROW)
@given(SEEDS)
def test_leaves_and_seeds_are_of_the_profiles_dtype(dtype: str, seed: int) -> None:
    scenario = random_scenario(seed, Profile(dtype=dtype))  # type: ignore[arg-type]
    assert {constant.dtype for constant in constants(scenario)} == {dtype}


@pytest.mark.parametrize("dtype", NARROW)
@given(SEEDS)
def test_no_value_comes_near_the_largest_number_of_the_dtype(dtype: str, seed: int) -> None:
    profile = Profile(dtype=dtype)  # type: ignore[arg-type]
    scenario = with_dtypes(random_scenario(seed, profile), lambda _: "float64")
    values = evaluate(scenario, Float64()).values()
    limit = min(1e4, np.sqrt(FORMATS[dtype].largest))
    assert all(np.all(np.abs(array) <= limit) for array in values if array.dtype.kind == "f")


@given(SEEDS, st.sampled_from(NARROW))
def test_the_same_choices_give_the_same_numbers_rounded(seed: int, dtype: str) -> None:
    add = frozenset({"add"})
    double, narrow = (operator_scenario(seed, "add", Profile(operators=add, dtype=d)) for d in ("float64", dtype))  # type: ignore[arg-type]
    for wide, short in zip(constants(double), constants(narrow), strict=True):
        np.testing.assert_array_equal(rounded(wide.to_numpy(), dtype), short.to_numpy().astype(np.float64))


@given(SEEDS)
def test_mixed_scenarios_have_leaves_of_both_dtypes(seed: int) -> None:
    scenario = random_scenario(seed, MIXED)
    floating = [leaf for leaf in scenario.leaves if leaf.value.dtype in FORMATS]
    fixed = [s for s in scenario.applications if not operator_table()[s.operator].elementwise and len(s.arguments) > 1]
    if len(floating) > 1 and not fixed:
        assert {leaf.value.dtype for leaf in floating} == {"float32", "float64"}


@given(SEEDS)
def test_mixing_changes_no_number_and_seeds_have_the_dtype_of_their_output(seed: int) -> None:
    mixed, narrow = random_scenario(seed, MIXED), random_scenario(seed, Profile(dtype="float32"))
    for one, other in zip(constants(mixed), constants(narrow), strict=True):
        np.testing.assert_array_equal(one.to_numpy().astype(np.float64), other.to_numpy().astype(np.float64))
    dtypes = floating_dtypes(mixed)
    for _, backward in mixed.backwards:
        assert backward.seed is None or backward.seed.dtype == promoted(dtypes[backward.output])


@given(SEEDS)
def test_products_of_matrices_have_operands_of_one_dtype(seed: int) -> None:
    profile = Profile(operators=frozenset({"matmul", "add", "sum"}), dtype="float32", wider="float64")
    scenario = random_scenario(seed, profile)
    dtypes = floating_dtypes(scenario)
    for step in scenario.applications:
        assert step.operator != "matmul" or len(dtypes[step.name]) == 1


def test_a_dtype_that_does_not_hold_the_others_numbers_is_not_wider() -> None:
    for dtype, wider in (("float64", "float32"), ("float16", "bfloat16"), ("bfloat16", "float16")):
        with pytest.raises(GenerationError, match="does not hold all numbers"):
            Profile(dtype=dtype, wider=wider)  # type: ignore[arg-type]


def test_shrinking_widens_what_need_not_be_narrow() -> None:
    scenario = random_scenario(3, Profile(dtype="bfloat16", operators=frozenset({"exp", "add", "sin"})))
    shrunk = shrink(scenario, lambda candidate: "exp" in candidate.operators)
    assert {constant.dtype for constant in constants(shrunk)} == {"float64"}


@pytest.mark.parametrize("dtype", NARROW)
def test_shrinking_keeps_the_dtype_that_a_failure_needs(dtype: str) -> None:
    def fails(candidate: Scenario) -> bool:
        of = floating_dtypes(candidate)
        return any(s.operator == "exp" and of[s.name] == {dtype} for s in candidate.applications)

    profile = Profile(dtype=dtype, operators=frozenset({"exp", "add", "sin", "sum"}))  # type: ignore[arg-type]
    scenario = next(s for s in (random_scenario(seed, profile) for seed in range(99)) if "exp" in s.operators)
    shrunk = shrink(scenario, fails)
    assert shrunk.operators == {"exp"}
    assert {constant.dtype for constant in constants(shrunk)} == {dtype}


def test_shrinking_keeps_one_leaf_narrow_where_only_that_matters() -> None:
    scenario = parse("""
        x = leaf float32[] {1.5} requires_grad
        y = leaf float32[] {2.5} requires_grad
        a = multiply x y
        backward a seed float32[] {3}
        read grad x
    """)
    shrunk = shrink(scenario, lambda s: "multiply" in s.operators and s.leaves[0].value.dtype == "float32")
    assert [leaf.value.dtype for leaf in shrunk.leaves][:1] == ["float32"]
    dtypes = floating_dtypes(shrunk)
    assert all(b.seed is None or b.seed.dtype == promoted(dtypes[b.output]) for _, b in shrunk.backwards)
