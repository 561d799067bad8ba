"""What a function returned is held against what its trace gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from refgrad.checking.tracing import NEARBY, Trace, Untraceable, _moved, _verify_here
from refgrad.checking.tracing.recorder import Recorder, axes


def verify(output: list[float], traced: list[float]) -> None:
    found = Trace()
    found.dtype, found.outputs, found.values, found.work = "float64", ("y",), {"y": np.array(traced)}, 10**6
    _verify_here(found, (np.array(output),))


def test_a_large_trace_gives_what_the_function_returned() -> None:
    verify([1.5, -2.0], [1.5, -2.0])


def test_a_trace_gives_nan_where_the_function_does() -> None:
    verify([math.nan, -2.0], [math.nan, -2.0])
    with pytest.raises(Untraceable, match="output 0 is not what its trace gives"):
        verify([1.5, -2.0], [math.nan, -2.0])


@pytest.mark.parametrize("traced", [[-1.5, 2.0], [1.5, -2.1]])
def test_a_large_trace_that_gives_something_else_is_none(traced: list[float]) -> None:
    with pytest.raises(Untraceable, match="output 0 is not what its trace gives"):
        verify([1.5, -2.0], traced)


def test_a_trace_of_another_shape_is_none() -> None:
    with pytest.raises(Untraceable, match=r"output 0 has the shape \(2,\), its trace \(1,\)"):
        verify([1.5, -2.0], [1.5])


def test_a_number_that_is_left_open_is_not_recorded() -> None:
    recorder = Recorder()
    name = recorder.leaf("x", np.ones(2), requires_grad=True)
    with pytest.raises(Untraceable, match="a number that is left open"):
        recorder.apply("nan_to_num", [name], {"nan": 0.0, "posinf": None, "neginf": 0.0})


def test_a_point_nearby_differs_in_every_entry_by_a_part_of_its_size() -> None:
    moved = _moved(np.array([0.0, 0.25, -2.0, 4.0], np.float32))
    assert moved.dtype == np.float32
    assert moved.tolist() == [-NEARBY / 2, 0.25 + NEARBY / 2, -2.0 + 2 * NEARBY, 4.0 - 4 * NEARBY]


@pytest.mark.parametrize(
    ("axis", "expected"), [(None, None), (np.int64(1), 1), ([0, 2], (0, 2)), ((1,), (1,)), (np.int64(-1), -1)]
)
def test_axes_are_a_number_several_or_all(axis: object, expected: object) -> None:
    assert axes(axis) == expected
