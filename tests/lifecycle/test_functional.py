"""Functional steps: the values that writes give, and which derivative a value keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.interpreter import Float64, evaluate
from refgrad.lifecycle.functional import FunctionalSteps
from refgrad.oracles import CertifiedOracle
from refgrad.scenario import Constant, Leaf, Scenario, Slice

ENTRIES = st.lists(st.integers(-4, 4), min_size=4, max_size=4)


def begun(values: Mapping[str, Any]) -> FunctionalSteps:
    """Steps that begin with leaves that require grad."""
    leaves = [
        Leaf(name, Constant.of(np.array(value, dtype=float)), requires_grad=True) for name, value in values.items()
    ]
    steps = FunctionalSteps(Scenario(tuple(leaves)))
    steps.steps += leaves
    return steps


def value_of(steps: FunctionalSteps, name: str) -> Any:
    return evaluate(Scenario(tuple(steps.steps)), Float64())[name]


def gradient(steps: FunctionalSteps, output: str, leaf: str) -> list[float]:
    oracle = CertifiedOracle(Scenario(tuple(steps.steps)))
    seed = Constant.of(np.ones(2))
    return oracle.gradient(leaf, ((output, seed),)).midpoint.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("index", [None, (0,), (1, Slice(None, 1)), (Slice(None, None, -1),), ((1, 0),)])
@pytest.mark.parametrize("action", ["add", "multiply", "copy"])
@given(target=ENTRIES, operand=st.integers(-4, 4))
def test_a_write_gives_what_numpy_writes(action: str, index: Any, target: list[int], operand: int) -> None:
    steps = begun({"x": np.reshape(target, (2, 2)), "y": float(operand)})
    expected = np.reshape(target, (2, 2)).astype(float)
    at = (
        ...
        if index is None
        else tuple(
            item.to_native() if isinstance(item, Slice) else list(item) if isinstance(item, tuple) else item
            for item in index
        )
    )
    if action == "add":
        expected[at] += operand
    elif action == "multiply":
        expected[at] *= operand
    else:
        expected[at] = operand
    new = steps.written("x", action, "y", index, np.shape(np.zeros((2, 2))[at]))
    assert value_of(steps, new).tolist() == expected.tolist()
    assert value_of(steps, "x").tolist() == np.reshape(target, (2, 2)).tolist()


def test_a_changed_value_has_the_derivative_of_what_it_was() -> None:
    steps = begun({"x": [1.0, 2.0], "y": [5.0, 7.0]})
    square = steps.apply("square", "multiply", ["x", "x"])
    changed = steps.changed(square, "y")
    assert value_of(steps, changed).tolist() == [5.0, 7.0]
    assert gradient(steps, changed, "x") == [2.0, 4.0]
    assert gradient(steps, changed, "y") == [0.0, 0.0]


def test_a_rooted_value_has_only_the_derivative_of_its_root() -> None:
    steps = begun({"x": [1.0, 2.0]})
    root = steps.root("x", (2,), "float64")
    rooted = steps.rooted("x", "x", root)
    assert value_of(steps, rooted).tolist() == [1.0, 2.0]
    assert (gradient(steps, rooted, root), gradient(steps, rooted, "x")) == ([1.0, 1.0], [0.0, 0.0])


def test_a_marked_value_is_the_same_with_the_same_derivative() -> None:
    steps = begun({"x": [1.0, 2.0]})
    marked = steps.marked("y", "x", (2,), "float64")
    assert value_of(steps, marked).tolist() == [1.0, 2.0]
    assert gradient(steps, marked, "x") == [1.0, 1.0]


def test_what_is_cut_has_no_derivative() -> None:
    steps = begun({"x": [1.0, 2.0]})
    assert gradient(steps, steps.cut("c", "x"), "x") == [0.0, 0.0]


@given(st.lists(st.sampled_from(["x", "x_v1", "x_v2", "y_v_1", "x_v__1"]), min_size=1, unique=True))
def test_a_fresh_name_is_nobody_s(names: list[str]) -> None:
    steps = begun(dict.fromkeys(names, 0.0))
    fresh = [steps.fresh(name) for name in names * 2]
    fresh += [steps.fresh(name) for name in fresh]
    assert len({*fresh, *names}) == len(fresh) + len(names)
    assert fresh[1].endswith("2")


@pytest.mark.parametrize(
    ("dtype", "of_the_root"), [("float32", "float32"), ("float64", "float64"), ("int64", "float64")]
)
def test_a_root_has_the_dtype_of_its_tensor_where_that_has_derivatives(dtype: str, of_the_root: str) -> None:
    steps = begun({})
    steps.root("z", (2,), dtype)
    (root,) = steps.steps
    assert isinstance(root, Leaf)
    assert root.value.dtype == of_the_root
