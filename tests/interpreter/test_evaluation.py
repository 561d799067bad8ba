"""Does a scenario evaluate to the same values in every number system?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import operator_scenario, random_scenario
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, expanded, float64_values, keywords
from refgrad.operators import operator_table
from refgrad.scenario import Leaf, parse
from tests.effort import each, seeds
from tests.interpreter.batched import BatchedFloat64

POINTS = 3


def shifted(leaves: tuple[Leaf, ...]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Every float leaf at some points near its own, the first being its own."""
    steps = np.array([0.0, 1e-3, -1e-3])
    return {
        leaf.name: leaf.value.to_numpy()[..., None] + steps
        for leaf in leaves
        if leaf.value.dtype == "float64" and leaf.requires_grad
    }


@each("name", operator_table())
def test_a_batch_equals_a_loop_over_its_points(name: str) -> None:
    """To the last bits of the largest entry: products of matrices round by the library's kernels for one machine."""
    for seed in seeds(12):
        scenario = expanded(operator_scenario(seed, name))
        points = shifted(scenario.leaves)
        batched = evaluate(scenario, BatchedFloat64(points))
        systems = [BatchedFloat64({k: v[..., i : i + 1] for k, v in points.items()}) for i in range(POINTS)]
        singles = [evaluate(scenario, system) for system in systems]
        for output, value in batched.items():
            expected = np.concatenate([single[output].stretched(1) for single in singles], axis=-1)
            axes = tuple(range(expected.ndim - 1))
            size = np.abs(expected).max(axes, initial=1.0, where=np.isfinite(expected))
            np.testing.assert_allclose(value.stretched(POINTS) / size, expected / size, rtol=1e-14, atol=1e-14)


@given(st.integers(0, 2**32))
def test_the_first_point_of_a_batch_is_the_scenario_itself(seed: int) -> None:
    scenario = expanded(random_scenario(seed))
    plain = evaluate(scenario, Float64())
    batched = evaluate(scenario, BatchedFloat64(shifted(scenario.leaves)))
    assert plain.keys() == batched.keys()
    for name, value in plain.items():
        first = batched[name].stretched(POINTS)[..., 0]
        assert first.shape == value.shape
        np.testing.assert_allclose(first.astype(float), value.astype(float), rtol=1e-12, atol=1e-12)


def test_what_cannot_be_evaluated_is_named_by_its_step_and_shapes() -> None:
    text = "x = leaf float64[2] {0x1p+0 0x1p+0}\ny = leaf float64[3] {0x1p+0 0x1p+0 0x1p+0}\nz = add x y"
    with pytest.raises(ScenarioEvaluationError, match=r"^step 3: add of shapes \(2,\), \(3,\): operands"):
        evaluate(parse(text), Float64())
    with pytest.raises(ScenarioEvaluationError, match=r"^step 2: sum of shapes \(2,\): "):
        evaluate(parse("x = leaf float64[2] {0x1p+0 0x1p+0}\ny = sum x axis=5"), Float64())


def test_values_come_in_order_of_definition() -> None:
    values = evaluate(parse("x = leaf float64[] {0x1p+1}\ny = exp x\nread value y\nz = negative y"), Float64())
    assert list(values) == ["x", "y", "z"]
    assert values["z"] == -np.exp(2.0)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("a = flip c", "step 3: flip takes numbers for 'x', but 'c' holds truth values"),
        ("a = add x c", "step 3: add takes numbers for 'y', but 'c' holds truth values"),
        ("a = concatenate x c", "step 3: concatenate takes numbers for 'arrays', but 'c' holds truth values"),
        ("a = where x x x", "step 3: where takes truth values for 'condition', but 'x' holds numbers"),
        ("a = masked_fill x x", "step 3: masked_fill takes truth values for 'mask', but 'x' holds numbers"),
    ],
)
def test_truth_values_are_no_numbers(line: str, complaint: str) -> None:
    scenario = parse(f"x = leaf float64[1] {{0x1p+0}} requires_grad\nc = leaf bool[1] {{true}}\n{line}\n")
    with pytest.raises(ScenarioEvaluationError, match=complaint):
        evaluate(scenario, Float64())


@given(st.integers(0, 2**32))
def test_values_that_are_kept_are_those_of_an_evaluation_and_cannot_be_changed(seed: int) -> None:
    scenario = random_scenario(seed)
    kept, values = float64_values(scenario), evaluate(scenario, Float64())
    assert list(kept) == list(values)
    assert all(np.array_equal(kept[name], array, equal_nan=True) for name, array in values.items())
    assert not any(array.flags.writeable for array in kept.values())
    assert float64_values(scenario) is kept


def test_numbers_that_cannot_be_detached_are_an_error() -> None:
    scenario = parse("x = leaf float64[] {0x1p+0}\ny = detach x\n")
    with pytest.raises(ScenarioEvaluationError, match="step 2: BatchedFloat64 numbers cannot be detached"):
        evaluate(scenario, BatchedFloat64({}))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("2", 2), ("(0, 3)", (0, 3)), ("(1, 0:3:2)", (1, slice(0, 3, 2))), ("((0, 1), 2)", ((0, 1), 2))],
)
def test_attributes_are_pythons_own_and_slices_among_others_too(written: str, meant: object) -> None:
    step = parse(f"x = leaf float64[] {{0x1p+0}}\ny = index x index={written}\n").applications[0]
    assert keywords(step) == {"index": meant}
