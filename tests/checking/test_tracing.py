"""Which functions are written as scenarios, do those say the same, and what is said of the others?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import refgrad.engine
from refgrad.checking.subject import CheckedFunction
from refgrad.checking.tracing import Trace, Untraceable, trace
from refgrad.checking.tracing.aten import AtenCalls
from refgrad.checking.tracing.jax_program import JaxProgram
from refgrad.checking.tracing.numpy_array import NumpyTranslator, TracedArray
from refgrad.checking.tracing.recorder import Recorder, call_names
from refgrad.interpreter import Float64, evaluate, expanded
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.operators import operator_table

engine: Any = refgrad.engine

X = np.random.default_rng(3).uniform(0.4, 1.6, (3, 4))
Function = Callable[..., Any]

EVERYWHERE: dict[str, Function] = {
    "operators of Python": lambda x: (2 - x) / (x + 1) * -x + x**2 - 1 / x,
    "whole powers": lambda x: (x - 1) ** 3 + x**-2,
    "other powers": lambda x: x**1.5 + 2.0**x,
    "matrix products": lambda x: x @ x.T,
    "slices and integers": lambda x: x[1:, ::2] * x[0, -1],
    "ellipsis and None": lambda x: x[..., None] * x[:, :1, None],
    "indices": lambda x: x[[0, 2, 0]],
    "iteration": lambda x: sum(row * row for row in x),
    "a branch": lambda x: x * 2 if (x > 0).all() else x,
    "shapes": lambda x: x.reshape(2, 6).T / x.shape[0] + len(x),
    "reductions": lambda x: x.sum(0) + x.mean(0) * x.prod(0) - x.max() / x.min(),
}
"""Functions that mean the same whichever library's arrays come in."""


def traced(function: Function, *arrays: Any, name: str = "refgrad") -> Trace:
    subject = CheckedFunction(start(find_adapter(name)), function, arrays)
    return trace(subject, subject.pullback(subject.point).outputs)


@pytest.mark.engines
@pytest.mark.parametrize("name", ["refgrad", "autograd", "torch"])
@pytest.mark.parametrize("kind", EVERYWHERE)
def test_a_function_of_operators_of_the_table_is_traced(kind: str, name: str) -> None:
    pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    function = EVERYWHERE[kind]
    found = traced(function, X, name=name)
    value = evaluate(found.scenario, Float64())[found.outputs[0]]
    expected = CheckedFunction(start(find_adapter(name)), function, (X,)).values((X,))[0]
    np.testing.assert_allclose(value, expected, rtol=1e-14)


def test_the_scenario_of_a_function() -> None:
    found = traced(lambda x: (x.tanh() * 3).sum(dim=1, keepdim=True), np.array([[1.0, 2.0]]))
    assert found.scenario.text == (
        "x1 = leaf float64[1, 2] {0x1p+0 0x1p+1} requires_grad\n"
        "a1 = tanh x1\n"
        "c1 = leaf float64[] {0x1.8p+1}\n"
        "a2 = multiply a1 c1\n"
        "a3 = sum a2 axis=1 keepdims=true\n"
    )
    assert (found.inputs, found.outputs, found.dtype) == (["x1"], ("a3",), "float64")


@pytest.mark.engines
def test_the_steps_of_composites_count_as_operators() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    found = traced(lambda x: torch.softmax(x, 1) * 2, X, name="torch")
    assert found.operations == len(expanded(found.scenario).applications) > len(found.scenario.applications)


def test_a_function_that_overflows_is_traced_to_what_it_returns() -> None:
    with np.errstate(over="ignore"):
        found = traced(lambda x: x.exp().log(), np.array([1000.0, 1.0]))
    assert found.values[found.outputs[0]].tolist() == [np.inf, 1.0]
    assert not found.has_value(found.outputs[0], np.array([np.inf, 1.0]))


@pytest.mark.engines
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda _, x: x * float(x[0, 0]), "the function raised TypeError"),
        (lambda np, x: np.sort(x), "it calls sort, which the operator table does not have"),
        (lambda np, _: np.ones(3), "output 0 comes from something that was not seen"),
        (lambda np, x: np.add.accumulate(x), "it calls numpy.add.accumulate"),
    ],
)
def test_the_reason_why_a_function_of_numpy_is_not_traced(function: Function, reason: str) -> None:
    autograd_numpy = pytest.importorskip("autograd.numpy", reason="needs refgrad[autograd]")
    library = np if "accumulate" in reason else autograd_numpy
    subject = CheckedFunction(start(find_adapter("autograd")), lambda x: function(library, x), (X,))
    outputs = subject.values(subject.point)
    with pytest.raises(Untraceable) as caught:
        trace(subject, outputs)
    assert str(caught.value).startswith(reason)


def test_a_function_that_smuggles_a_value_out_of_sight_is_not_believed() -> None:
    kept: list[float] = []

    def smuggling(x: Any) -> Any:
        if not kept:
            kept.append(float(x.numpy()[0]) if isinstance(x.array, np.ndarray) and x.node is None else 0.5)
        return x * (x.array[0] if isinstance(x.array, np.ndarray) else 0.5)

    subject = CheckedFunction(start(find_adapter("refgrad")), smuggling, (np.array([0.5, 2.0]),))
    with pytest.raises(Untraceable, match="output 0 is not what its trace gives at a point nearby"):
        trace(subject, (np.array([0.25, 1.0]),))


def test_a_trace_with_other_values_is_not_believed() -> None:
    subject = CheckedFunction(start(find_adapter("refgrad")), lambda x: x * 2, (np.array([0.5]),))
    with pytest.raises(Untraceable, match="output 0 is not what its trace gives"):
        trace(subject, (np.array([1.5]),))


@pytest.mark.parametrize(("ulps", "believed"), [(2, True), (100, False)])
def test_a_trace_is_believed_whose_values_are_a_few_roundings_off(ulps: int, *, believed: bool) -> None:
    subject = CheckedFunction(start(find_adapter("refgrad")), lambda x: x * 2, (np.array([0.5]),))
    outputs = (np.array([1.0 + ulps * 2.0**-52]),)
    if believed:
        assert trace(subject, outputs).outputs == ("a1",)
        return
    with pytest.raises(Untraceable, match=r"output 0 is not what its trace gives$"):
        trace(subject, outputs)


@pytest.mark.parametrize(("part", "believed"), [(1e-5, True), (1e-2, False)])
def test_a_value_that_was_missed_shows_in_ten_digits(part: float, *, believed: bool) -> None:
    """The point nearby is 2⁻²¹ away, so that the part moves by half a millionth of itself."""

    def smuggling(x: Any) -> Any:
        return x + part * (float(x.array[0]) if isinstance(x.array, np.ndarray) else 0.5)

    subject = CheckedFunction(start(find_adapter("refgrad")), smuggling, (np.array([0.5]),))
    outputs = (np.array([0.5 + part * 0.5]),)
    if believed:
        assert trace(subject, outputs).outputs == ("a1",)
        return
    with pytest.raises(Untraceable, match="at a point nearby"):
        trace(subject, outputs)


def test_the_point_nearby_is_a_millionth_away() -> None:
    asked: list[float] = []

    def function(x: Any) -> Any:
        if isinstance(x.array, np.ndarray):
            asked.append(float(x.array[0]))
        return x * 2

    traced(function, np.array([1.0]))
    assert 2.0**-22 <= max(abs(x - 1.0) for x in asked) <= 2.0**-20


def test_a_function_of_more_than_twenty_thousand_operators_is_not_traced() -> None:
    recorder = Recorder()
    name = recorder.leaf("x", np.array(1.0), requires_grad=True)
    recorder.steps *= 19_999
    recorder.apply("exp", [name])
    with pytest.raises(Untraceable, match="it applies more than 20000 operators"):
        recorder.apply("exp", [name])


@pytest.mark.parametrize(
    ("exponent", "operators"), [(16, {"multiply"}), (17, {"power"}), (-16, {"multiply", "reciprocal"})]
)
def test_a_whole_power_is_made_of_products_up_to_sixteen(exponent: int, operators: set[str]) -> None:
    steps = traced(lambda x: x**exponent, np.array([1.25])).scenario.applications
    assert {step.operator for step in steps} == operators


@pytest.mark.engines
def test_a_reflected_difference_of_pytorch_is_a_difference() -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    found = traced(lambda x: torch.rsub(x, 2), X, name="torch")
    assert [step.operator for step in found.scenario.applications] == ["subtract"]
    assert evaluate(found.scenario, Float64())[found.outputs[0]].tolist() == (2 - X).tolist()


@pytest.mark.parametrize("number", [1.0, 0.0])
def test_a_branch_on_a_value_is_the_one_that_the_value_takes(number: float) -> None:
    recorder = Recorder()
    name = recorder.leaf("x", np.array(number), requires_grad=True)
    assert bool(TracedArray(name, NumpyTranslator(recorder))) is bool(number)


def test_what_numpy_is_asked_of_a_traced_value_is_answered_and_recorded_nowhere() -> None:
    recorder = Recorder()
    value = TracedArray(recorder.leaf("x", X, requires_grad=True), NumpyTranslator(recorder))
    assert np.shape(value) == X.shape
    assert np.zeros_like(value).tolist() == np.zeros_like(X).tolist()
    assert list(recorder.values) == ["x"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.take(x, [5, 1]),
        lambda x: np.take(x, [1, 0], axis=1),
        lambda x: np.flip(x) + np.flip(x, 1) * np.transpose(np.transpose(x, (1, 0))),
        lambda x: np.var(x) + np.var(x, axis=1, ddof=1) + np.var(x, axis=1, keepdims=True),
        lambda x: np.concatenate([x, np.stack([x[0], x[1]])]),
        lambda x: np.concatenate([x.T, x.T[:2]], axis=0) ** 3,
        lambda x: np.array(x) * x,
        lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=1)[:1],
        lambda x: sum(row * np.add.reduce(row) + np.maximum.reduce(row) for row in x),
    ],
)
def test_a_traced_call_of_numpy_gives_what_numpy_gives(function: Function) -> None:
    recorder = Recorder()
    traced = function(TracedArray(recorder.leaf("x", X, requires_grad=True), NumpyTranslator(recorder)))
    np.testing.assert_allclose(traced.value, function(X), rtol=1e-15, strict=True)


@pytest.mark.engines
@pytest.mark.parametrize(("constant", "runs"), [(False, 1), (True, 2)])
def test_only_what_may_hide_a_value_is_run_again_nearby(constant: bool, runs: int) -> None:  # noqa: FBT001 (a case)
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")
    other = torch.ones(3, 4, dtype=torch.float64)
    called: list[int] = []

    def function(x: Any) -> Any:
        called.append(1)
        return x * (other if constant else 3.0)

    subject = CheckedFunction(start(find_adapter("torch")), function, (X,))
    trace(subject, (X * (1.0 if constant else 3.0),))
    assert len(called) == runs


@pytest.mark.engines
@pytest.mark.parametrize("way", ["a text", "an array of another library"])
def test_a_value_that_leaves_pytorch_unseen_is_no_constant(way: str) -> None:
    torch = pytest.importorskip("torch", reason="needs refgrad[torch]")

    def function(x: Any) -> Any:
        if way == "a text":
            return x * float(f"{x.sum():.17g}")
        return x * torch.from_numpy(np.asarray(x.detach()) * 2)

    subject = CheckedFunction(start(find_adapter("torch")), function, (X,))
    with pytest.raises(Untraceable):
        trace(subject, subject.values(subject.point))


@pytest.mark.parametrize("translator", [AtenCalls, JaxProgram, NumpyTranslator])
def test_every_row_is_an_operator_or_a_method(translator: Any) -> None:
    known = call_names(translator.library)
    targets = {target for target, _ in known.rows.values()} | {*known.equations.values()}
    assert {target for target in targets if not hasattr(translator, target)} <= operator_table().keys()


@pytest.mark.parametrize(("reverse", "expected"), [(False, [[1.0, 3.0, 6.0]]), (True, [[6.0, 5.0, 3.0]])])
def test_a_cumulative_sum_of_jax_begins_at_either_end(*, reverse: bool, expected: list[list[float]]) -> None:
    recorder = Recorder()
    x = recorder.leaf("x", np.array([[1.0, 2.0, 3.0]]), requires_grad=True)
    total = JaxProgram(recorder).cumulative(x, axis=1, reverse=reverse, operator="cumsum")
    assert recorder.values[total].tolist() == expected
