"""Writes: what numpy says that they reach, and the nodes that they leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from refgrad.lifecycle.graph import GraphModel, GraphNode, MemoryPieces, extent_of
from refgrad.scenario import Slice, Write

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
ITEMS = st.one_of(st.integers(-3, 3), st.builds(Slice, st.none() | st.integers(-2, 2), st.none() | st.integers(-2, 2)))
INDICES = st.none() | st.lists(ITEMS, max_size=3).map(tuple)


@given(SHAPES, SHAPES, INDICES)
def test_an_extent_is_what_numpy_reaches(
    shape: tuple[int, ...], operand: tuple[int, ...], index: tuple[int | Slice, ...] | None
) -> None:
    extent = extent_of(shape, operand, Write("x", "copy", "y", index))
    target = np.zeros(shape)
    native = tuple(item.to_native() if isinstance(item, Slice) else item for item in index or ())
    try:
        part = np.asarray(target[native])
    except IndexError:
        assert extent is None
        return
    assert extent is not None
    target[native] = 1.0
    assert (extent.part, extent.left) == (part.shape, int((target == 0).sum()))
    try:
        fits = np.broadcast_to(np.zeros(operand), part.shape).shape == part.shape
    except ValueError:
        fits = False
    assert extent.fits == fits


@pytest.mark.parametrize(
    ("operand", "fits", "refused"),
    [
        ((2, 3), True, False),
        ((3,), True, False),
        ((), True, False),
        ((1, 2, 3), False, False),
        ((2,), False, True),
        ((2, 2, 3), False, True),
    ],
)
def test_an_operand_that_does_not_fit_is_refused_unless_it_only_has_leading_axes_too_many(
    operand: tuple[int, ...], *, fits: bool, refused: bool
) -> None:
    extent = extent_of((2, 3), operand, Write("x", "add", "y"))
    assert extent is not None
    assert (extent.fits, extent.refused) == (fits, refused)


def node_of(action: str, index: tuple[int, ...] | None = None, *, tracked: str = "xy") -> GraphNode:
    graph = GraphModel(MemoryPieces(), leaves=set(tracked))
    step = Write("x", action, "y", index)  # type: ignore[arg-type]
    extent = extent_of((2,), (), step)
    assert extent is not None
    return extent.node(step, "x", "y", (7, 0), graph)


def test_a_sum_saves_nothing_and_sends_to_both() -> None:
    node = node_of("add")
    assert (node.parents, node.must_parents, node.saved, node.must_need) == (("x", "y"), ("x", "y"), False, ())
    assert [vjp.saved for vjp in node.vjps] == [frozenset(), frozenset()]


def test_a_product_needs_the_operand_as_it_was_for_what_it_sends_to_the_target() -> None:
    node = node_of("multiply")
    assert [(vjp.parent, vjp.saved) for vjp in node.vjps] == [("x", frozenset("y")), ("y", frozenset("x"))]
    assert (node.saved, node.must_need) == (True, ((7, 0),))
    assert node_of("multiply", tracked="y").must_need == ()


def test_a_copy_over_everything_must_only_reach_the_operand() -> None:
    node = node_of("copy")
    assert (node.parents, node.must_parents) == (("x", "y"), ("y",))
    assert [vjp.always_zero for vjp in node.vjps] == [True, False]
    constant = node_of("copy", tracked="x")
    assert (constant.parents, constant.must_parents) == (("x",), ())


def test_a_copy_over_a_part_reaches_both_and_nobody_knows_what_it_saves() -> None:
    node = node_of("copy", (0,))
    assert (node.must_parents, node.composite) == (("x", "y"), True)
    assert not any(vjp.always_zero for vjp in node.vjps)
    assert not node_of("add").composite
