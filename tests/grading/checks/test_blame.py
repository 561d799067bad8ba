"""An operator that is wrong somewhere is avoided only there, and what fails without its doing is still told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.engine import Engine
from refgrad.operators import Operator
from refgrad.scenario import parse
from tests.effort import sampled
from tests.faulty_engines.fault import plain_adapter
from tests.faulty_engines.sweeps.order_faults import PreOrder
from tests.faulty_engines.tapes.tape import Array, Contributions, Node, Tape, Tensor
from tests.grading.broken import verdict
from tests.grading.sparing import one_fault_a_search


class ForgetsToSum(Tape):
    """Takes the first part of a contribution where an operand was stretched, in place of the sum."""

    def unbroadcast(self, share: Array, shape: tuple[int, ...]) -> Array:
        return share if share.shape == shape else np.resize(share, shape)


class PreOrderThatForgetsToSum(PreOrder, ForgetsToSum):
    """Both of the most famous mistakes at once."""


class SumOfVectorsIsWrong(Tape):
    """Doubles what a sum sends to vectors."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        found = super().pull(node, cotangent)
        assert node.operator is not None
        doubled = node.operator.name == "add" and cotangent.ndim > 0
        return [None if each is None else each * 2 for each in found] if doubled else found


class TwoOperandsAreWrong(Tape):
    """Doubles what every operator of two operands sends."""

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        found = super().pull(node, cotangent)
        return [None if each is None else each * 2 for each in found] if len(found) > 1 else found


class HypotOfOneTensorTwiceIsWrong(Tape):
    """Halves what hypot sends to a tensor that is both of its operands."""

    wrong = "hypot"

    def pull(self, node: Node, cotangent: Array) -> Contributions:
        found = super().pull(node, cotangent)
        assert node.operator is not None
        twice = node.operator.name == self.wrong and node.parents[0] is node.parents[1]
        return [None if each is None else each / 2 for each in found] if twice else found


class SumOfOneTensorTwiceIsWrong(HypotOfOneTensorTwiceIsWrong):
    """Halves what add sends to it."""

    wrong = "add"


class SineOfResultsIsWrong(Tape):
    """Takes the sine of a result for a constant; that of a leaf is right."""

    def record(self, operator: Operator, tensors: Sequence[Tensor], *result: Any) -> Node:
        node = super().record(operator, tensors, *result)
        if operator.name == "sin" and tensors[0].node is not None and tensors[0].node.operator is not None:
            node.parents = (None,)
        return node


OPERATORS = ("add", "multiply", "sin", "exp", "square", "negative", "reciprocal")


@cache
def bench(engine: type[Tape], *operators: str) -> Bench:
    return Bench(Engine(plain_adapter(engine, *(operators or OPERATORS))), Settings("smoke"))


def spelled_wrong(operator: str, text: str) -> Bench:
    adapter = bench(Tape).engine.adapter
    return Bench(Engine(replace(adapter, operators={**adapter.operators, operator: text})), Settings("smoke"))


def found(engine: type[Tape], check: str, *operators: str) -> Verdict:
    with one_fault_a_search():
        return verdict(bench(engine, *operators), check)  # type: ignore[arg-type]  # a class is hashable


@pytest.mark.parametrize(
    "check", sampled(["graphs/one_backward", "graphs/small", "sharing/diamond", "sharing/chained_diamonds"], 2)
)
def test_a_sweep_in_pre_order_is_found_though_no_product_is_right_where_it_stretches(check: str) -> None:
    assert found(PreOrderThatForgetsToSum, "operators/multiply").verdict == "wrong"
    shown = found(PreOrderThatForgetsToSum, check)
    assert shown.verdict == "wrong"
    assert any(len(step.arguments) > 1 for step in parse(shown.scenario).applications)


@pytest.mark.parametrize("check", sampled(["graphs/one_backward", "graphs/small", "sharing/diamond"], 2))
def test_a_sweep_that_is_right_is_not_blamed_for_what_its_operators_get_wrong(check: str) -> None:
    assert found(ForgetsToSum, check).verdict == "passed"
    assert found(ForgetsToSum, "operators/add").verdict == "wrong"


def test_the_ways_in_which_operands_may_meet_are_found_by_trials() -> None:
    assert bench(ForgetsToSum).reliance.right_meetings("multiply") == {"numbers", "alike"}
    assert bench(SumOfVectorsIsWrong).reliance.right_meetings("add") == {"numbers"}
    assert bench(SumOfVectorsIsWrong).reliance.right_meetings("multiply") == {"numbers", "alike", "stretched"}


def test_graphs_that_pass_tell_what_they_have_reached() -> None:
    assert found(Tape, "graphs/one_backward").message.startswith(f"{len(OPERATORS)} operators in ")


def test_what_keeps_some_graphs_out_is_named() -> None:
    assert found(ForgetsToSum, "graphs/one_backward").cause == "operators/add"
    assert found(Tape, "graphs/one_backward").cause == ""


@pytest.mark.parametrize("check", ["graphs/small", "graphs/one_backward"])
def test_graphs_in_which_nothing_can_join_are_inconclusive(check: str) -> None:
    shown = found(TwoOperandsAreWrong, check)
    assert (shown.verdict, shown.cause) == ("inconclusive", "operators/add")
    assert "no operator of two operands is right by itself" in shown.message


def test_a_wrong_number_that_an_operator_explains_is_still_shown() -> None:
    shown = found(TwoOperandsAreWrong, "sharing/diamond")
    assert shown.verdict == "inconclusive"
    assert shown.message.startswith("cannot be judged: operators/multiply fails by itself; here the gradient of x is ")


def test_a_wrong_operator_gives_its_role_to_another_one() -> None:
    assert found(SumOfVectorsIsWrong, "sharing/diamond").verdict == "passed"
    assert verdict(spelled_wrong("sin", "engine.exp({x})"), "sharing/diamond").verdict == "passed"


def test_an_operator_that_is_wrong_for_one_operand_is_wrong_by_itself() -> None:
    lopsided = "engine.add(engine.multiply({x}, {y}), engine.multiply({x}, engine.add({y}, engine.tensor(-{y}.array))))"
    reliance = spelled_wrong("multiply", lopsided).reliance
    assert reliance.is_faulty("multiply")
    assert not reliance.is_faulty("add")
    assert not reliance.failing("leaves/every_leaf_is_served")


def test_what_fails_only_behind_other_operators_is_the_graphs() -> None:
    assert found(SineOfResultsIsWrong, "operators/sin").verdict == "passed"
    assert found(SineOfResultsIsWrong, "graphs/small").failed


@pytest.mark.parametrize(
    ("engine", "cause"), [(HypotOfOneTensorTwiceIsWrong, "hypot"), (SumOfOneTensorTwiceIsWrong, "")]
)
def test_an_operator_of_one_tensor_twice_is_wrong_by_itself_unless_sharing_is_wrong(
    engine: type[HypotOfOneTensorTwiceIsWrong], cause: str
) -> None:
    text = f"x = leaf float64[] {{0x1p+0}} requires_grad\ny = {engine.wrong} x x\nbackward y\nread grad x\n"
    reliance = bench(engine, *OPERATORS, "hypot").reliance  # type: ignore[arg-type]  # a class is hashable
    assert reliance.wrong_in_isolation(parse(text), [engine.wrong]) == cause
