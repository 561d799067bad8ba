"""Do the large scenarios of an operator hold what shows faults of long arrays only?"""

import math

import numpy as np
import pytest

from refgrad.generation import Dtype, Profile, large_scenarios, period_of, uncountable_scenarios
from refgrad.generation.profile import COUNTS
from refgrad.generation.single_operators import large_arrays
from refgrad.generation.single_operators.large_arrays import _is_within_reach
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import operator_table
from tests.effort import each

TABLE = operator_table()
FORMULAS = [name for name, row in TABLE.items() if row.elementwise and row.differentiable_arguments]
OTHERS = ["sum", "softmax", "matmul", "concatenate", "conv1d", "inv", "sort", "transpose", "gather", "layer_norm"]


@pytest.mark.parametrize("operator", [*FORMULAS[::8], *OTHERS])
def test_an_operator_meets_an_array_of_thousands_and_one_of_tens_of_thousands(operator: str) -> None:
    sizes = [max(leaf.value.size for leaf in scenario.leaves) for scenario in large_scenarios(operator)]
    assert len(sizes) == 2
    assert 1000 < sizes[0] < 5000
    assert 2**15 < sizes[1] <= COUNTS["largest_array"]


@each("operator", [*FORMULAS[::8], *OTHERS])
def test_what_it_gives_is_finite(operator: str) -> None:
    for scenario in large_scenarios(operator):
        assert all(np.all(np.isfinite(array)) for array in evaluate(scenario, Float64()).values())


@pytest.mark.parametrize("operator", ["sum", "mean", "softmax", "logsumexp", "max"])
def test_an_operator_of_axes_takes_the_longest(operator: str) -> None:
    for scenario in large_scenarios(operator):
        axis = dict(scenario.applications[0].attributes).get("axis")
        assert axis == int(np.argmax(scenario.leaves[0].value.shape))


@pytest.mark.parametrize("width", [4, 8, 16, 64])
def test_behind_the_last_full_vector_there_is_a_tail(width: int) -> None:
    sizes = [scenario.leaves[0].value.size for scenario in large_scenarios("exp")]
    assert all(size % width for size in sizes)


@each("operator", FORMULAS[::8])
def test_one_period_of_a_formula_stands_for_all_of_it(operator: str) -> None:
    for scenario in large_scenarios(operator):
        period = period_of(scenario)
        assert period is not None
        small, large = (evaluate(each, Float64()) for each in (period, scenario))
        for name, array in large.items():
            assert small[name].size == COUNTS["period"]
            assert np.array_equal(np.resize(small[name], array.shape), array)


@each("operator", OTHERS)
def test_what_does_not_repeat_has_no_period(operator: str) -> None:
    assert all(period_of(scenario) is None for scenario in large_scenarios(operator))


def test_no_long_product_is_asked_for() -> None:
    for scenario in large_scenarios("prod"):
        values = evaluate(scenario, Float64())
        step = scenario.applications[0]
        assert values[step.arguments[0]].size / math.prod(values[step.name].shape) < 600


def test_an_operator_of_any_number_of_arrays_takes_two() -> None:
    for scenario in large_scenarios("concatenate"):
        assert len(scenario.applications[0].arguments) == 2


@pytest.mark.parametrize("unknown", [{256}, {512}, {256, 512}])
def test_a_shape_is_out_of_reach_if_a_cost_is_not_known(unknown: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_arrays, "_cost", lambda _, shape, *__: None if shape[0] in unknown else (1, 1))
    monkeypatch.setitem(COUNTS, "estimated_length", 512)
    assert not _is_within_reach(operator_table()["cumsum"], (4096,), 0, Profile())
    assert _is_within_reach(operator_table()["exp"], (4096,), 0, Profile())


@pytest.mark.parametrize(("dtype", "rows"), [("float16", 2049), ("bfloat16", 257)])
def test_there_are_more_rows_than_a_dtype_can_count(dtype: Dtype, rows: int) -> None:
    (scenario,) = uncountable_scenarios("sum", Profile(dtype=dtype))
    assert [leaf.value.shape for leaf in scenario.leaves] == [(rows, 1)]
