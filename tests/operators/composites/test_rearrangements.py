"""Do operators that move, pick and write entries do what PyTorch, numpy or a plain loop does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from refgrad.generation import operator_scenario
from refgrad.interpreter import Float64, evaluate, numpy_forward
from refgrad.native import calls
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.operators import operator_table
from tests.effort import each

Array = npt.NDArray[np.float64]
FAMILIES = frozenset({"movement", "selection", "scattering"})
ROWS = [name for name, row in operator_table().items() if row.family in FAMILIES]
NOT_IN_PYTORCH = frozenset({"compress", "delete", "insert"})
OTHER_SHAPE_WITHOUT_ENTRIES = frozenset({"pixel_shuffle", "pixel_unshuffle"})
SEEDS = range(30)
ROUNDING = 16 * np.finfo(float).eps
"""A few numbers below four are added up, in any order."""

X = np.arange(12.0).reshape(3, 4) - 4.5


def apply(name: str, *arrays: Array, **attributes: Any) -> Array:
    row = operator_table()[name]
    return np.asarray(numpy_forward(row)(*arrays, **row.bind(attributes)))


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@each("name", [name for name in ROWS if name not in NOT_IN_PYTORCH])
@pytest.mark.engines
def test_the_value_is_pytorchs(name: str) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    engine = start(find_adapter("torch"))
    for seed in SEEDS:
        scenario = operator_scenario(seed, name)
        if name in OTHER_SHAPE_WITHOUT_ENTRIES and any(leaf.value.to_numpy().size == 0 for leaf in scenario.leaves):
            continue
        tensors = {leaf.name: engine.make(leaf.value, requires_grad=False) for leaf in scenario.leaves}
        step = scenario.applications[0]
        seen = np.array(
            engine.evaluate(
                calls.value(engine.adapter, "x"), x=engine.apply(step, [tensors[a] for a in step.arguments])
            )
        )
        expected = evaluate(scenario, Float64())[step.name]
        assert seen is not None
        assert seen.shape == expected.shape, scenario.text
        assert np.allclose(seen, expected, rtol=1e-14, atol=ROUNDING), scenario.text


@each("axis", [None, 0, 1, -1])
@each("position", [0, 2, -1])
def test_delete_and_insert_undo_each_other(axis: int | None, position: int) -> None:
    shorter = apply("delete", X, axis=axis, position=position)
    assert np.array_equal(shorter, np.delete(X, position, axis))
    index = position % (X.size if axis is None else X.shape[axis])
    assert np.array_equal(
        np.delete(apply("insert", shorter, axis=axis, position=index, value=7.0), index, axis), shorter
    )


def test_insert_puts_its_number_before_the_position() -> None:
    assert np.array_equal(apply("insert", np.array([1.0, 2.0]), position=1, value=9.0), [1.0, 9.0, 2.0])
    assert np.array_equal(apply("insert", np.zeros(0), position=0, value=9.0), [9.0])


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress_takes_a_condition_that_is_too_short(axis: int | None) -> None:
    condition = (True, False, True)
    assert np.array_equal(apply("compress", X, axis=axis, condition=condition), np.compress(condition, X, axis))


def test_padding_of_an_array_without_entries_has_entries() -> None:
    assert np.array_equal(apply("pad", np.zeros((0, 2)), pad_width=((1, 0), (0, 1)), value=3.0), [[3.0, 3.0, 3.0]])


def test_a_negative_width_cuts_entries_off() -> None:
    assert np.array_equal(apply("constant_pad", np.arange(4.0), pad_width=((-1, 2),), value=9.0), [1, 2, 3, 9, 9])


def test_more_cannot_be_cut_off_than_there_is() -> None:
    with pytest.raises(ValueError, match="cut off"):
        apply("constant_pad", np.zeros(1), pad_width=((-2, 3),))


@pytest.mark.parametrize(("start", "length"), [(0, 4), (1, 3), (-1, 1), (4, 0)])
def test_a_part_may_end_where_its_axis_does(start: int, length: int) -> None:
    part = apply("narrow", np.arange(4.0), axis=0, start=start, length=length)
    assert np.array_equal(part, np.arange(4.0)[4 - length :])


@pytest.mark.parametrize(("start", "length"), [(0, 5), (2, 3), (-1, 2), (5, 0), (-5, 1)])
def test_a_part_outside_of_its_axis_is_refused(start: int, length: int) -> None:
    with pytest.raises(ValueError, match="axis"):
        apply("narrow", np.arange(4.0), axis=0, start=start, length=length)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_a_border_of_copies_is_numpys(mode: Any) -> None:
    widths = ((1, 2), (0, 3))
    assert np.array_equal(apply("pad_by_copies", X, pad_width=widths, mode=mode), np.pad(X, widths, mode=mode))


def test_entries_that_are_scattered_to_one_index_add_up() -> None:
    x, source = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    assert np.array_equal(apply("scatter_add", x, source, axis=0, indices=(0, 2, 0)), [41.0, 2.0, 23.0])
    assert np.array_equal(apply("put", x, source, accumulate=True, indices=(-3, 2, 0)), [41.0, 2.0, 23.0])
    assert np.array_equal(apply("index_put", x, source, accumulate=True, indices=(0, 2, 0)), [41.0, 2.0, 23.0])
    assert np.array_equal(apply("index_add", x, source, axis=0, indices=(0, 2, 0), alpha=-1.0), [-39.0, 2.0, -17.0])


@pytest.mark.parametrize("name", ["put", "index_put"])
def test_no_index_is_written_twice(name: str) -> None:
    with pytest.raises(ValueError, match="twice"):
        apply(name, np.zeros(3), np.ones(2), accumulate=False, indices=(1, -2))


@pytest.mark.parametrize(
    ("reduce", "with_self", "without"),
    [("sum", 8.0, 7.0), ("prod", 10.0, 10.0), ("mean", 8 / 3, 3.5), ("max", 5.0, 5.0), ("min", 1.0, 2.0)],
)
def test_an_index_that_nothing_is_written_to_keeps_its_entry(reduce: str, with_self: float, without: float) -> None:
    x, source = np.array([1.0, 4.0]), np.array([2.0, 5.0])
    for include, expected in ((True, with_self), (False, without)):
        arguments = {"axis": 0, "indices": (0, 0), "reduce": reduce, "include_self": include}
        assert np.allclose(apply("scatter_reduce", x, source, **arguments), [expected, 4.0], rtol=1e-15)


def test_all_classes_of_shapes_and_axes_are_drawn() -> None:
    scenarios = [operator_scenario(seed, "moveaxis") for seed in range(300)]
    steps: list[tuple[dict[str, Any], tuple[int, ...]]] = [
        (dict(s.applications[0].attributes), s.leaves[0].value.shape) for s in scenarios
    ]
    shapes = {shape for _, shape in steps}
    assert any(0 in shape for shape in shapes)
    assert {(1,), (2, 2), (3, 3), (2, 3, 2)} <= shapes
    assert any(isinstance(drawn["source"], int) and drawn["source"] < 0 for drawn, _ in steps)
    cycles = {
        tuple(np.moveaxis(np.empty((1, 2, 3)), drawn["source"], drawn["destination"]).shape)
        for drawn, shape in steps
        if len(shape) == 3
    }
    assert {(2, 3, 1), (3, 1, 2)} <= cycles


@pytest.mark.parametrize("name", ["roll", "flatten", "gather", "expand", "vstack", "index_fill", "masked_fill"])
def test_scalars_and_arrays_without_entries_are_drawn(name: str) -> None:
    shapes = [leaf.value.shape for seed in range(200) for leaf in operator_scenario(seed, name).leaves]
    assert () in shapes
    assert any(0 in shape for shape in shapes)


def test_what_a_mask_makes_no_number_is_replaced() -> None:
    mask = np.array([True, False, False, True])
    result = apply("masked_nan_to_num", X, mask, nan=1.5)
    assert result.tolist() == np.nan_to_num(np.where(mask, np.nan, X), nan=1.5).tolist()
