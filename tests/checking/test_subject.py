"""Tests of what is kept of a user's function: copies, which nothing that the function does can change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import refgrad.engine
from refgrad import check_gradients
from refgrad.checking.libraries.trees import Kind
from refgrad.checking.subject import CheckedFunction
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from tests.native.reference import ADAPTER

engine: Any = refgrad.engine


def subject(function: Any, *inputs: Any, name: str = "refgrad") -> CheckedFunction:
    return CheckedFunction(start(find_adapter(name)), function, inputs)


@pytest.mark.parametrize("make", [np.array, engine.tensor])
def test_a_point_is_a_copy_of_the_user_s_array(make: Any) -> None:
    given = make([1.0, 2.0])
    kept = subject(lambda x: x, given)
    given[0] = 5.0
    assert kept.point[0].tolist() == [1.0, 2.0]


def test_a_function_that_writes_to_its_argument_does_not_move_the_point() -> None:
    def writing(x: Any) -> Any:
        x.mul_(2)
        return x

    kept = subject(writing, np.array([1.0, 2.0]))
    assert kept.values(kept.point)[0].tolist() == [2.0, 4.0]
    assert kept.point[0].tolist() == [1.0, 2.0]


def test_what_was_read_of_a_tensor_stays_when_the_tensor_changes() -> None:
    kept = subject(lambda x: x, np.array([1.0]))
    tensor = engine.tensor([1.0, 2.0])
    read = kept.library.read(tensor)
    tensor.mul_(3)
    assert read.tolist() == [1.0, 2.0]


def test_a_backward_that_writes_to_its_seed_does_not_write_to_ours() -> None:
    kept = subject(lambda x: x, np.array([1.0]))
    seed = np.array([1.0, 2.0])
    kept.library.seed(seed, Kind("float64")).mul_(3)
    assert seed.tolist() == [1.0, 2.0]


def test_gradients_of_one_backward_stay_when_the_next_is_run() -> None:
    """The engine adds the second gradient to the memory of the first."""
    kept = subject(lambda x: (x * 2, x * 3), np.array([1.0]))
    pullback = kept.pullback(kept.point)
    first = pullback.gradients((np.array([1.0]), None))
    second = pullback.gradients((None, np.array([1.0])))
    assert [gradients[0].tolist() for gradients in (first, second) if gradients[0] is not None] == [[2.0], [3.0]]


def test_gradients_that_are_zeroed_where_they_are_were_read_before() -> None:
    adapter = replace(ADAPTER, gradient="{leaf}.grad.detach().numpy()", zero_grad="{leaf}.grad.zero_()")
    kept = CheckedFunction(start(adapter), lambda x: x * 2, [np.array([1.0])])
    gradients = kept.pullback(kept.point).gradients((np.array([1.0]),))
    assert [gradient.tolist() for gradient in gradients if gradient is not None] == [[2.0]]


@pytest.mark.engines
@pytest.mark.parametrize(
    ("library", "name"), [("refgrad.engine", "refgrad"), ("mygrad", "mygrad"), ("jax.numpy", "jax")]
)
def test_the_engine_is_that_of_the_inputs(library: str, name: str) -> None:
    module = pytest.importorskip(library, reason=f"needs refgrad[{name}]")
    make = module.asarray if name == "jax" else module.tensor
    inputs = {"x": make(np.array([0.5, 2.0], dtype=np.float32)), "y": np.array([1.0, 2.0], dtype=np.float32)}
    report = check_gradients(lambda given: (given["x"] * given["x"]).sum(), (inputs,), raise_exception=False)
    assert report.engine == name
