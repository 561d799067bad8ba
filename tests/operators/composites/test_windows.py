"""Are convolutions, pools and interpolations those of NumPy, and of PyTorch where it is installed?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refgrad.generation import edge_scenario, operator_scenario
from refgrad.grading.judging.examination import examine
from refgrad.interpreter import numpy_forward
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.operators import operator_table
from refgrad.operators.composites.windows import Sliding
from tests.effort import each

WINDOWS = [name for name, row in operator_table().items() if row.family == "windows"]


def forward(name: str, *arrays: Any, **attributes: Any) -> Any:
    """Apply the operator to lists of numbers."""
    row = operator_table()[name]
    return numpy_forward(row)(*(np.array(array, dtype=float) for array in arrays), **row.bind(attributes))


@each("name", [name for name in WINDOWS if name != "convolve"])
@each("seed", range(8))
@pytest.mark.engines
def test_a_window_is_that_of_pytorch(name: str, seed: int) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    finding = examine(operator_scenario(seed, name), start(find_adapter("torch")))
    assert finding.outcome == "passed", finding


@pytest.mark.parametrize("name", [name for name in WINDOWS if operator_table()[name].edges])
@pytest.mark.parametrize("seed", range(4))
def test_ties_in_a_window_leave_a_choice(name: str, seed: int) -> None:
    assert not examine(edge_scenario(seed, name), start(find_adapter("refgrad"))).failed


@each("mode", ["full", "same", "valid"])
@each("lengths", [(1, 1), (2, 3), (4, 3), (5, 2), (3, 3)])
def test_a_convolution_of_vectors_is_that_of_numpy(mode: Any, lengths: tuple[int, int]) -> None:
    x, y = (np.arange(1.0, length + 1) ** 2 for length in lengths)
    np.testing.assert_array_equal(forward("convolve", x, y, mode=mode), np.convolve(x, y, mode))


def test_a_transposed_convolution_is_the_transpose() -> None:
    rng = np.random.default_rng(0)
    x, weight, y = rng.normal(size=(1, 2, 7)), rng.normal(size=(4, 1, 3)), rng.normal(size=(1, 4, 3))
    numbers = {"stride": 2, "padding": 1, "dilation": 2}
    there = forward("conv1d", x, weight, np.zeros(4), **numbers)
    back = forward("conv_transpose1d", y, weight, np.zeros(2), **numbers)
    assert np.sum(there * y) == pytest.approx(np.sum(x * back), rel=1e-12)


def test_padding_is_never_the_largest() -> None:
    result = forward("max_pool1d", [[-5.0, -7.0, -9.0]], size=3, stride=2, padding=1)
    assert result.tolist() == [[-5.0, -7.0]]


def test_padding_counts_in_a_mean_only_where_asked() -> None:
    settings = {"size": 2, "stride": 2, "padding": 1}
    assert forward("avg_pool1d", [[2.0, 4.0, 6.0]], **settings).tolist() == [[1.0, 5.0]]
    assert forward("avg_pool1d", [[2.0, 4.0, 6.0]], count_include_pad=False, **settings).tolist() == [[2.0, 5.0]]


def test_a_window_that_reaches_too_far_is_left_out_or_cut_off() -> None:
    assert Sliding(2, stride=2).count(5) == 2
    assert Sliding(2, stride=2).count(5, ceil=True) == 3
    assert Sliding(2, stride=3, padding=1).count(3, ceil=True) == 2


def test_a_straight_line_is_interpolated_to_a_straight_line() -> None:
    result = forward("interpolate_linear", [[[0.0, 1.0, 2.0]]], size=5, align_corners=True)
    np.testing.assert_allclose(result, [[[0.0, 0.5, 1.0, 1.5, 2.0]]], rtol=0, atol=1e-15)


def test_channels_that_fall_into_no_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fall into groups"):
        forward("conv1d", np.ones((3, 4)), np.ones((2, 2, 1)), np.ones(2))
