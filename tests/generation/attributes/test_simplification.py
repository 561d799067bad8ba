"""Tests of the simpler values of attributes."""

from typing import Any

import pytest

from refgrad.generation.attributes import simplification as simpler
from refgrad.scenario import Slice
from tests.effort import each


@each(
    ("function", "value", "expected"),
    [
        (simpler.one_of((0, 1)), 1, [0]),
        (simpler.entries((0,)), ((3, 0), (5, 7)), [((0, 0), (5, 7)), ((3,), (5, 7)), ((3, 0), (0, 7)), ((3, 0), (5, 0)),
         ((3, 0), (5,)), ((3, 0),), ((3,), (5,))]),
        (simpler.axis, 2, [0, 1]),
        (simpler.axis, -1, [0, 1, 2, 3]),
        (simpler.axis, 0, []),
        (simpler.flat_axis, 1, [None, 0]),
        (simpler.flat_axis, None, []),
        (simpler.axes, (1, 2), [None, (2,), (1,), (0,), (1,)]),
        (simpler.axes, 2, [None, (0,), (1,)]),
        (simpler.number, 2.25, [0.0, 1.0, -1.0, 2.0, 2.2]),
        (simpler.shape, (2, 4), [(-1,), (), (4,), (2,), (1, 4), (2, 1), (2, 2)]),
        (simpler.permutation, (0, 1), [None, (1, 0)]),
        (simpler.permutation, (-1, 0, 1), [None, (2, 0, 1), (1, 0, 2), (1, 0), (1, 0), (0, 1)]),
        (simpler.index, (2, (1, 1)), [(0,), (Slice(),), ((1, 1),), (0, (1, 1)), (Slice(), (1, 1)), (0, (1, 1)), (2,),
         (2, 0), (2, Slice()), (2, (0,)), (2, (0, 0)), (2, (1,)), (2, (0, 1)), (2, (1,)), (2, (1, 0))]),
        (simpler.index, (Slice(1, 3, 2),), [(0,), (Slice(),), (0,), (Slice(),), (Slice(None, None, -1),),
         (Slice(None, None, 2),), (Slice(0, 1),), (Slice(1, 3),)]),
        (simpler.indices, ((2, 0), 3), [(0,), (0, 0), (3,), (2, 0), ((0,), 3), ((0, 0), 3), ((0,), 3), ((0, 0), 3),
         ((2,), 3), ((2, 0),), ((2, 0), 0)]),
        (simpler.indices, 0, []),
        (simpler.classes, (2, (0, 1)), [(0, (0, 0))]),
    ],
)  # fmt: skip
def test_the_simplest_values_come_first(function: Any, value: Any, expected: list[Any]) -> None:
    assert list(function(value)) == expected


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("shape", (5, 4), (3, 4)),
        ("position", (4, -1, -5, Slice(4), True), (1, -1, -2, Slice(4), True)),
        ("rows", ((0, 1, 2, 3, 4), (4, 4)), ((0, 1, 2), (1, 1))),
        ("axis", 4, 4),
    ],
)
def test_values_are_adapted_to_axes_that_became_shorter(kind: Any, value: Any, expected: Any) -> None:
    assert simpler.shortened(kind, value, {5: 3}) == expected
