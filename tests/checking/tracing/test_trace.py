"""What a function returned is held against what its trace gives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from refgrad.checking.tracing import NEARBY, Trace, Untraceable, _moved, _verify_here
from refgrad.checking.tracing.recorder import Recorder, Translator, axes


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


class Plain(Translator):
    """Records calls of arrays of NumPy."""

    library = "numpy"

    def name_of(self, value: object) -> str:
        return self.recorder.constant(np.asarray(value))


LARGE = np.arange(12.0).reshape(1, 3, 4) - 4

METHODS: dict[str, tuple[Callable[[Translator], str], npt.NDArray[np.float64]]] = {
    "reshape": (lambda t: t.reshape("x", (2, -1)), LARGE.reshape(2, -1)),
    "reshape by lengths": (lambda t: t.reshape("x", 4, 3), LARGE.reshape(4, 3)),
    "ravel": (lambda t: t.ravel("x"), LARGE.ravel()),
    "broadcast": (lambda t: t.broadcast("x", (2, -1, 4)), np.concatenate([LARGE, LARGE])),
    "broadcast to more axes": (lambda t: t.broadcast("x", (1, -1, 3, 4)), LARGE[None]),
    "swap_axes": (lambda t: t.swap_axes("x", 0, -1), LARGE.swapaxes(0, -1)),
    "squeeze": (lambda t: t.squeeze("x"), LARGE[0]),
    "squeeze some": (lambda t: t.squeeze("x", (0, 1)), LARGE[0]),
    "squeeze one": (lambda t: t.squeeze("x", -1), LARGE),
    "cube": (lambda t: t.power("x", 3), LARGE**3),
    "clip": (lambda t: t.clip("x", -1, 2), LARGE.clip(-1, 2)),
    "clip above": (lambda t: t.clip("x", None, 2), LARGE.clip(None, 2)),
    "same": (lambda t: t.same("x", "cpu", copy=True), LARGE),
    "reduction": (lambda t: t.reduction("x", [1, 2], operator="sum"), LARGE.sum((1, 2))),
    "kept axis": (lambda t: t.reduction("x", 1, keepdims=True, operator="max"), LARGE.max(1, keepdims=True)),
    "index": (lambda t: t.index("x", (0, ..., 1)), LARGE[0, ..., 1]),
    "new axis": (lambda t: t.index("x", (slice(None), None, [0, 2])), LARGE[:, None, [0, 2]]),
    "mask": (lambda t: t.index("x", LARGE > 0), LARGE[LARGE > 0]),
    "entries": (lambda t: t.entries(["x", "x"], np.array([[1.0, 24.0]])), np.array([[-4.0, 7.0]])),
    "entries with zeros": (lambda t: t.entries(["x"], np.array([0.0, 12.0])), np.array([0.0, 7.0])),
}


@pytest.mark.parametrize("case", METHODS)
def test_a_method_records_what_numpy_computes(case: str) -> None:
    method, expected = METHODS[case]
    recorder = Recorder()
    recorder.leaf("x", LARGE, requires_grad=True)
    result = recorder.values[method(Plain(recorder))]
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("label", [-1.0, 13.0, np.nan])
def test_entries_that_are_not_there_are_not_recorded(label: float) -> None:
    recorder = Recorder()
    recorder.leaf("x", LARGE, requires_grad=True)
    with pytest.raises(Untraceable, match="beyond the end"):
        Plain(recorder).entries(["x"], np.array([label]))
