"""One fault keeps only those checks from being made that cannot do without what it breaks, and is named by them."""

from __future__ import annotations

import pytest

from tests.effort import sampled
from tests.grading.broken import bench, verdict

pytestmark = pytest.mark.turns(2)

DEPENDENT = ("second_order/{0}", "contracts/{0}", "forward_mode/{0}")

NO_START = """
def start(output, seed, retain):
    if output.is_leaf:
        raise RuntimeError("nothing was recorded")
    output.backward(seed, retain_graph=retain)
"""


@pytest.mark.parametrize("check", DEPENDENT)
def test_a_backward_that_cannot_start_at_a_leaf_blinds_no_operator(check: str) -> None:
    verdicts = verdict(bench(NO_START, backward="start({output}, {seed}, {retain_graph})"), check.format("sin"))
    assert (verdicts.verdict, verdicts.cause) == ("passed", "")


INEXACT = {"exp": "torch.exp({x}) * (1 + 1e-9)"}


def test_an_inaccurate_operator_is_reported_once_and_blocks_nothing() -> None:
    engine = bench(operators=INEXACT)
    verdicts = verdict(engine, "operators/exp")
    assert (verdicts.verdict, verdicts.level) == ("inaccurate", "SHOULD")
    for check in (*(each.format("sin") for each in DEPENDENT), *(each.format("exp") for each in DEPENDENT)):
        assert verdict(engine, check).verdict == "passed", check
    assert verdict(engine, "values/values_are_right").verdict == "passed"


def test_a_wrong_operator_blocks_the_checks_that_use_it_and_is_named_as_the_cause() -> None:
    engine = bench(operators={"exp": "torch.exp({x}) * 1.5"})
    for check in DEPENDENT:
        verdicts = verdict(engine, check.format("exp"))
        assert (verdicts.verdict, verdicts.cause) == ("inconclusive", "operators/exp")
        assert verdict(engine, check.format("sin")).verdict == "passed"


NOTHING_IN_IT = """
def odd(x):
    if x.detach().numpy().size == 0:
        raise ValueError("nothing in it")
    return torch.tanh(x)
"""

TWO_FAULTS = """
def odd(x, axis, keepdims):
    if x.detach().numpy().size == 0:
        raise ValueError("nothing in it")
    right = torch.prod(x, axis=axis, keepdims=keepdims)
    wrong = 0.5 * torch.sum(x - x.detach(), axis=axis, keepdims=keepdims)
    return right + wrong if x.detach().numpy().size > 3 else right
"""


def test_a_wrong_gradient_is_reported_in_spite_of_a_fault_of_empty_arrays() -> None:
    operators = {"prod": "odd({x}, {axis}, {keepdims})"}
    verdicts = verdict(bench(TWO_FAULTS, "standard", operators=operators), "operators/prod")
    assert {verdicts.verdict, *(each.verdict for each in verdicts.further)} == {"wrong", "unexpected-error"}
    assert all(each.scenario and each.reproduction and each.evidence for each in verdicts.further)


def test_a_fault_of_empty_arrays_is_avoided_where_scenarios_do_without_them() -> None:
    engine = bench(NOTHING_IN_IT, "standard", operators={"tanh": "odd({x})"})
    assert verdict(engine, "operators/tanh").verdict == "unexpected-error"
    for check in DEPENDENT:
        verdicts = verdict(engine, check.format("tanh"))
        assert (verdicts.verdict, verdicts.cause) == ("passed", "operators/tanh")


ONCE = """
def once(x, axes):
    y, calls = torch.transpose(x, axes), []
    def first_alone(cotangent):
        calls.append(cotangent)
        return cotangent * float(len(calls) == 1)
    if y.requires_grad:
        y.register_hook(first_alone)
    return y
"""


@pytest.mark.parametrize("name", sampled(["exp", "divide", "matmul", "sum"], 2))
def test_operators_that_are_applied_to_views_are_not_blamed_for_what_makes_the_views(name: str) -> None:
    broken = bench(ONCE, operators={"transpose": "once({x}, {axes})"})
    assert verdict(broken, "contracts/transpose").verdict == "wrong"
    assert verdict(broken, f"contracts/{name}").verdict == "passed"
