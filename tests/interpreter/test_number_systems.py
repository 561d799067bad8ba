"""Does every operator compute the same in floats, in batches of floats, and in objects?"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.generation import Profile, operator_scenario
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate, expanded, keywords, numpy_forward
from refgrad.operators import operator_table
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import Apply, Slice, parse
from tests.effort import each, seeds
from tests.generation.scenario_audit import steps_may_overflow
from tests.interpreter.batched import BatchedFloat64

NAMES = sorted(operator_table())
WIDE = Profile(max_rank=4, dimensions=(1, 2, 3, 4), empty=0.2)
EXACT = (
    *("add", "subtract", "multiply", "negative", "square", "sum", "prod", "matmul", "concatenate", "stack"),
    *("reshape", "transpose", "broadcast_to", "expand_dims", "squeeze", "flip", "index", "take", "add_at"),
)
"""Operators that plain Python numbers can go through."""


@each("name", NAMES)
def test_balls_compute_what_floats_do_up_to_rounding(name: str) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds(12):
        operands = operator_scenario(seed, name, WIDE)
        if steps_may_overflow(operands):
            continue
        scenario = expanded(operands)
        oracle = CertifiedOracle(scenario)
        for output, value in evaluate(scenario, Float64()).items():
            if value.dtype != np.bool_:
                judgement = judge(value, oracle.value(output))
                outcomes[judgement.outcome] += 1
                assert judgement.outcome in {"passed", "inconclusive"}, f"seed {seed}, {output}: {judgement}"
    assert outcomes["inconclusive"] <= 1, "a matrix may be all but singular, once"


@each("name", EXACT)
def test_objects_of_any_kind_go_through_what_only_adds_and_multiplies(name: str) -> None:
    for seed in range(6):
        scenario = expanded(operator_scenario(seed, name, WIDE))
        values = evaluate(scenario, Float64())
        step = scenario.applications[0]
        operator = operator_table()[name]
        arrays = [values[argument] for argument in step.arguments]
        fractions = [fraction_array(array) for array in arrays]
        result = numpy_forward(operator)(*fractions, **operator.bind(keywords(step)))
        exact = np.asarray(result, dtype=float)
        assert exact.shape == values[step.name].shape
        np.testing.assert_allclose(values[step.name], exact, rtol=1e-12, atol=1e-12)


def fraction_array(
    array: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    result = np.empty(array.size, dtype=object)
    result[:] = [Fraction(float(x)) for x in array.ravel()]
    return result.reshape(array.shape)


@given(st.sampled_from(NAMES), st.integers(0, 2**32), st.integers(1, 4), st.data())
def test_any_leaves_may_vary_over_any_number_of_points(name: str, seed: int, points: int, data: st.DataObject) -> None:
    """A batch equals the loop over its points, for leaves that vary beside leaves that do not."""
    scenario = expanded(operator_scenario(seed, name, WIDE))
    floats = [leaf for leaf in scenario.leaves if leaf.value.dtype == "float64"]
    varying = [leaf for leaf in floats if data.draw(st.booleans())]
    random = np.random.default_rng(seed)
    moved = {
        leaf.name: leaf.value.to_numpy()[..., None] * (1 + 1e-3 * random.random((*leaf.value.shape, points)))
        for leaf in varying
    }
    together = evaluate(scenario, BatchedFloat64(moved))
    for point in range(points):
        separate = evaluate(scenario, BatchedFloat64({key: array[..., [point]] for key, array in moved.items()}))
        for output, batch in together.items():
            expected = separate[output].stretched(1)[..., 0]
            assert batch.shape == expected.shape
            actual = batch.stretched(points)[..., point]
            np.testing.assert_allclose(actual.astype(float), expected.astype(float), rtol=1e-13, atol=1e-13)


def test_what_does_not_depend_on_the_point_stays_without_a_batch() -> None:
    text = "x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\ny = leaf float32[2] {0x1p+0 0x1p+1}\n"
    scenario = parse(text + "a = exp y\nb = multiply a x\n")
    values = evaluate(scenario, BatchedFloat64({"x": np.ones((2, 5))}))
    assert [values[name].points for name in ("x", "y", "a", "b")] == [5, None, None, 5]
    assert {value.array.dtype for value in values.values()} == {np.dtype(np.float64)}
    assert [value.shape for value in values.values()] == [(2,)] * 4


@pytest.mark.parametrize(("operator", "number"), [("log", "-0x1p+0"), ("reciprocal", "0x0p+0"), ("exp", "0x1p+12")])
def test_numbers_that_are_not_finite_are_values_without_a_warning(operator: str, number: str) -> None:
    values = evaluate(parse(f"x = leaf float64[] {{{number}}}\ny = {operator} x\n"), Float64())
    assert not np.isfinite(values["y"])


def test_the_mean_of_nothing_is_no_number_in_floats_and_an_error_in_objects() -> None:
    scenario = parse("x = leaf float64[0] {} requires_grad\ny = mean x\n")
    assert np.isnan(evaluate(scenario, Float64())["y"])
    with pytest.raises(ScenarioEvaluationError, match=r"^step 2: mean of shapes \(0,\): division by zero"):
        CertifiedOracle(scenario).value("y")


def test_attributes_become_python_s_own_values() -> None:
    step = Apply("y", "index", ("x",), (("index", (Slice(None, None, -1), 2, (0, (1, 0)))),))
    assert keywords(step) == {"index": (slice(None, None, -1), 2, (0, (1, 0)))}


def test_float32_leaves_are_computed_with_in_float32() -> None:
    values = evaluate(parse("x = leaf float32[] {0x1.99999ap-4}\ny = exp x\n"), Float64())
    assert values["y"].dtype == np.float32
