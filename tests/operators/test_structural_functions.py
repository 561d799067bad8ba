"""Do structural operators compute what plain numpy computes, on numbers and on objects alike?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from refgrad.interpreter import numpy_forward
from refgrad.operators import operator_table
from refgrad.operators.functions.rows import PYTHON_FLOATS
from refgrad.operators.operator import LARGEST, refuse_size
from refgrad.operators.structures import index_size, matmul_size, shape_size, take_size
from tests.effort import each
from tests.operators.rules import NumpyOperators

Array = npt.NDArray[np.float64]
X = np.arange(24.0).reshape(2, 3, 4) - 7.5
NEW_AXIS: Any = (None, (0, 1), ((0,), (1,)), slice(None))
AXES = [None, 0, -1, (0,), (1, 2), (2, 0), (-1, -3), (2, 0, 1), ()]


def apply(name: str, *arrays: Array, **attributes: Any) -> Array:
    """Apply an operator, and see that object arrays give the same."""
    bound = operator_table()[name].bind(attributes)
    forward = numpy_forward(operator_table()[name])
    result = np.asarray(forward(*arrays, **bound))
    if all(array.size for array in arrays):
        objects = forward(*(array.astype(object) for array in arrays), **bound)
        assert np.array_equal(np.asarray(objects, dtype=float), result)
    return result


@each("keepdims", [False, True])
@each("axis", AXES)
@each("name", ["sum", "mean", "prod", "max", "min"])
def test_reductions_take_any_axes_in_any_order(name: str, axis: Any, keepdims: bool) -> None:  # noqa: FBT001
    expected = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    assert np.allclose(apply(name, X, axis=axis, keepdims=keepdims), expected, rtol=1e-14)
    assert apply(name, X, axis=axis, keepdims=keepdims).shape == expected.shape


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
def test_a_scalar_is_reduced_to_itself(name: str) -> None:
    assert apply(name, np.array(3.5)) == 3.5
    assert apply(name, np.array(3.5), keepdims=True).shape == ()


@pytest.mark.parametrize(("name", "neutral"), [("sum", 0.0), ("prod", 1.0)])
def test_arrays_without_entries_reduce_to_the_neutral_element(name: str, neutral: float) -> None:
    empty = np.zeros((0, 3))
    assert apply(name, empty) == neutral
    assert apply(name, empty, axis=0).tolist() == [neutral] * 3
    assert apply(name, empty, axis=1).shape == (0,)


@pytest.mark.parametrize("axes", [None, *permutations(range(3)), (-1, 0, 1)])
def test_transposition_takes_every_permutation(axes: Any) -> None:
    assert np.array_equal(apply("transpose", X, axes=axes), np.transpose(X, axes))


@each(
    ("name", "attributes", "expected"),
    [
        ("reshape", {"shape": (4, 6)}, lambda x: x.reshape(4, 6)),
        ("reshape", {"shape": (-1, 3)}, lambda x: x.reshape(-1, 3)),
        ("broadcast_to", {"shape": (5, 2, 3, 4)}, lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
        ("expand_dims", {"axis": -2}, lambda x: x[:, :, None, :]),
        ("flip", {"axis": None}, lambda x: x[::-1, ::-1, ::-1]),
        ("flip", {"axis": (0, -1)}, lambda x: x[::-1, :, ::-1]),
        ("index", {"index": (1,)}, lambda x: x[1]),
        ("index", {"index": (1, 2, 3)}, lambda x: x[1, 2, 3]),
        ("index", {"index": (slice(None, None, -1), slice(0, 3, 2))}, lambda x: x[::-1, 0:3:2]),
        ("index", {"index": (slice(None), (2, 0, 2, 2))}, lambda x: x[:, [2, 0, 2, 2]]),
        ("index", {"index": ((0, 1, 1), slice(None), (3, 3, -1))}, lambda x: x[[0, 1, 1], :, [3, 3, -1]]),
        ("index", {"index": ()}, lambda x: x),
        ("take", {"axis": 1, "indices": (2, 0, 2)}, lambda x: np.take(x, [2, 0, 2], axis=1)),
        ("take", {"axis": -1, "indices": ((0, 0), (1, -1))}, lambda x: np.take(x, [[0, 0], [1, -1]], axis=-1)),
        ("take", {"indices": 1}, lambda x: x[1]),
    ],
)
def test_entries_are_moved_as_numpy_moves_them(
    name: str, attributes: dict[str, Any], expected: Callable[[Array], Array]
) -> None:
    assert np.array_equal(apply(name, X, **attributes), expected(X))


def test_an_axis_of_length_one_is_removed() -> None:
    assert apply("squeeze", X[:, :1], axis=-2).shape == (2, 4)
    with pytest.raises(ValueError, match="cannot select an axis to squeeze out"):
        apply("squeeze", X, axis=0)


def test_arrays_are_joined_along_an_axis_or_a_new_one() -> None:
    assert np.array_equal(apply("concatenate", X, X[:, :1], axis=-2), np.concatenate([X, X[:, :1]], axis=1))
    assert np.array_equal(apply("stack", X, -X, axis=-1), np.stack([X, -X], axis=-1))


@pytest.mark.parametrize(
    ("shape", "index", "x"),
    [
        ((4,), ((0, 0, 3),), np.array([1.0, 2.0, 4.0])),
        ((2, 3), (slice(None), slice(None, None, -2)), np.arange(4.0).reshape(2, 2)),
        ((2, 3), (1, (2, 2)), np.array([1.0, 2.0])),
        ((3,), (1,), np.array(5.0)),
    ],
)
def test_what_is_added_twice_at_an_index_is_summed(shape: tuple[int, ...], index: tuple[Any, ...], x: Array) -> None:
    expected = np.zeros(shape)
    np.add.at(expected, tuple(list(i) if isinstance(i, tuple) else i for i in index), x)
    assert np.array_equal(apply("add_at", x, shape=shape, index=index), expected)


def test_an_index_gives_a_copy() -> None:
    x = X.copy()
    part = NumpyOperators().index(x, index=(slice(0, 1),))
    part[...] = 0
    assert np.array_equal(x, X)


@each(
    ("left", "right"),
    [
        ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
        ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((1, 2, 3), (6, 3, 1)), ((2, 0), (0, 3)),
        ((0,), (0,)), ((0, 2, 3), (3, 2)),
    ],
)  # fmt: skip
def test_matrices_are_multiplied_in_every_combination_of_ranks(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=left), random.normal(size=right)
    result = np.asarray(numpy_forward(operator_table()["matmul"])(x, y))
    assert np.array_equal(result, np.matmul(x, y))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [(0, 0), (0, -3), 3, (1, 4)])
def test_axes_that_are_not_there_or_named_twice_are_refused(name: str, axis: Any) -> None:
    with pytest.raises((ValueError, IndexError)):
        apply(name, X, axis=axis)


@each(
    ("size", "entries"),
    [
        (matmul_size((4,), (4,)), 1),
        (matmul_size((3, 4), (4,)), 3),
        (matmul_size((4,), (4, 5)), 5),
        (matmul_size((7, 1, 3, 4), (2, 4, 5)), 7 * 2 * 3 * 5),
        (index_size((3, 4), index=((0, 1, 2, 0),)), 4 * 4),
        (index_size((3, 4, 5), index=NEW_AXIS), 2 * 2 * 5),
        (index_size((3, 4), index=(slice(None), 1)), 3 * 4),
        (take_size((3, 4), axis=1, indices=((0, 0), (1, 3))), 4 * 3),
        (take_size((3, 4), axis=0, indices=1), 4),
        (take_size((0, 4), axis=0, indices=()), 0),
        (shape_size((1,), shape=(2, 3)), 6),
    ],
)
def test_sizes_of_results_are_bounded_without_computing_them(size: int, entries: int) -> None:
    assert size == entries


def test_an_array_may_have_sixteen_million_entries() -> None:
    assert LARGEST == 16_777_216
    refuse_size(LARGEST)
    refuse_size(3, 3)
    with pytest.raises(ValueError, match="4 entries are too many; there may be 3"):
        refuse_size(4, 3)


def test_python_computes_functions_that_are_analytic_where_it_has_them() -> None:
    assert {"exp", "sin", "log1p", "pi"} <= PYTHON_FLOATS.keys()
    assert not {"floor", "trunc", "sign", "j0"} & PYTHON_FLOATS.keys()
