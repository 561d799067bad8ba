"""Engines that go wrong at NaN, infinities and extremes are caught; those that choose what may be chosen are not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from refgrad.generation import Position, exceptional_positions
from refgrad.generation.shrinking import with_short_names
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.operators import exceptional
from refgrad.grading.checks.operators.exceptional import FAR_OUT, FURTHER_OUT, PositionSearch
from refgrad.grading.judging.exceptional import examine_tails
from refgrad.grading.judging.verdict import Finding
from refgrad.grading.settings import EFFORTS
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.effort import sampled
from tests.grading.broken import CHECKS, bench, verdict
from tests.native.reference import ADAPTER
from tests.report.example import entry

pytestmark = pytest.mark.turns(2)

SETUP = """
TINY = 2.0 ** -1022

def numbers(x):
    return x.detach().numpy()

def choose(condition, x, y):
    return torch.where(torch.tensor(np.asarray(condition)), x, y)

def at(x, condition, number):
    y = torch.tensor(np.full(numbers(x).shape, number, numbers(x).dtype))
    return choose(condition(numbers(x)), y, x)

def sloped(x, function, change):  # what arrives at x is changed by what x holds
    y = torch.positive(x)
    if y.requires_grad:
        y.register_hook(lambda gradient: torch.tensor(np.asarray(change(numbers(gradient), numbers(x)))))
    return function(y)

def weights(x, mask):
    return torch.tensor(np.asarray(mask, dtype=numbers(x).dtype))

def refused(x):
    if not np.isfinite(numbers(x)).all():
        raise ValueError("the matrix must not contain NaN or infinities")
    return x

def flushed(x):
    return at(x, lambda array: (np.abs(array) < TINY) & (array != 0), 0.0)

def cut(x):  # the second derivative is lost in a tail
    at, away = x.detach(), x - x.detach()
    return torch.exp(x) - 0.5 * away * away * torch.exp(at) * weights(x, numbers(x) < -30)

def larger(x, y):
    return torch.maximum(choose(np.isnan(numbers(x)), y, x), choose(np.isnan(numbers(y)), x, y))

def by_sums(x):  # what comes behind is taken off the whole
    return x.sum() - torch.flip(torch.cumsum(torch.flip(x, (0,)), 0), (0,)) + x

def nansum(x, axis, keepdims):
    return torch.sum(at(x, np.isnan, 0.0), axis, keepdims)
"""


@pytest.fixture(autouse=True)
def exceptional_numbers_are_tried_as_in_the_standard_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    effort: Any = EFFORTS["smoke"]
    for name in ("exceptional", "far_out"):
        monkeypatch.setitem(effort, name, EFFORTS["standard"][name])


@dataclass(frozen=True, slots=True)
class Spelled:
    """How an engine spells an operator, and the check that tells."""

    name: str
    check: str
    spelling: str
    others: tuple[tuple[str, str], ...] = ()

    def bench(self) -> Bench:
        """Return a bench for the reference engine with that spelling."""
        operator = self.check.partition("/")[2]
        spellings = {operator: self.spelling, **dict(self.others)}
        return bench(SETUP, operators=spellings, only={*spellings, "multiply", "sum"})


NAN = "lambda array: np.isnan(array)"

FAULTS = (
    Spelled("adds up what is not NaN", "exceptional/mean", "torch.mean(at({x}, np.isnan, 0.0), {axis}, {keepdims})"),
    Spelled(
        "takes NaN for no positive number, and masks a cotangent by a product",
        "exceptional/relu",
        f"sloped({{x}}, lambda x: at(torch.relu(x), {NAN}, 0.0), lambda g, x: g * (np.sum(x[~np.isnan(x)] * 0) == 0))",
    ),
    Spelled(
        "masks a triangle by a product", "exceptional/tril", "{x} * weights({x}, np.tril(np.ones({x}.shape), {k}))"
    ),
    Spelled(
        "chooses by products",
        "exceptional/where",
        "{x} * weights({x}, numbers({condition})) + {y} * weights({x}, ~numbers({condition}))",
    ),
    Spelled(
        "loses a NaN on the way back",
        "exceptional/multiply",
        "sloped({x}, lambda x: x * {y}, lambda gradient, x: np.nan_to_num(gradient))",
    ),
    Spelled(
        "weighs a rule by the whole operand",
        "exceptional/sin",
        "sloped({x}, torch.sin, lambda gradient, x: gradient + 0 * np.sum(x))",
    ),
    Spelled(
        "masks a cotangent by a product",
        "exceptional/relu6",
        "sloped({x}, torch.relu6, lambda gradient, x: gradient * (np.sum(x * 0) == 0))",
    ),
    Spelled(
        "adds up all and takes off the rest",
        "exceptional/cumsum",
        "by_sums({x}) if {x}.ndim == 1 else torch.cumsum({x}, {axis})",
    ),
    Spelled("multiplies by two and halves", "exceptional/negative", "-({x} * 2) / 2"),
    Spelled("has no logarithm of subnormals", "exceptional/log", "torch.log(flushed({x}))"),
    Spelled(
        "has a largest number for infinity", "infinities/exp", "at(torch.exp({x}), np.isposinf, np.finfo(float).max)"
    ),
    Spelled("masks by a product", "infinities/relu", "{x} * weights({x}, numbers({x}) > 0)"),
    Spelled(
        "divides by what is infinite",
        "infinities/abs",
        "sloped({x}, torch.abs, lambda gradient, x: np.where(np.isinf(x), np.nan, gradient))",
    ),
    Spelled("has no limit", "infinities/tanh", "torch.tanh({x}) + ({x} - {x}).detach()"),
    Spelled(
        "differs in the rest of a vector",
        "exceptional/hard_tanh",
        "sloped({x}, lambda x: torch.hard_tanh(x, {lower}, {upper}), "
        "lambda gradient, x: np.where(np.isnan(x), (np.arange(x.size) >= 64).reshape(x.shape), gradient))",
    ),
    Spelled(
        "loses a tail",
        "tails/log_sigmoid",
        "sloped({x}, torch.log_sigmoid, lambda gradient, x: gradient * (x < 37))",
    ),
    Spelled("loses a second derivative in a tail", "tails/exp", "cut({x})"),
    Spelled(
        "overflows on the way",
        "tails/reciprocal",
        "sloped({x}, torch.reciprocal, lambda gradient, x: gradient / (np.abs(x) < 1e20))",
    ),
)

CAUGHT_BEFORE = (
    Spelled(
        "takes a negative zero for a negative number",
        "exceptional/exp",
        "sloped({x}, torch.exp, lambda gradient, x: gradient * ~(np.signbit(x) & (x == 0)))",
    ),
)
"""Faults that the check of value and gradient meets, too: negative zeros are among the numbers that it draws."""

MILD = (
    Spelled("flushes subnormals that it moves", "exceptional/flip", "torch.flip(flushed({x}), {axis})"),
    Spelled("passes NaN over in a maximum", "exceptional/maximum", "larger({x}, {y})"),
    Spelled("takes NaN for no positive number", "exceptional/relu", f"at(torch.relu({{x}}), {NAN}, 0.0)"),
)
"""Faults that are a SHOULD in a check of the level MUST: negligible ones, and those of comparisons with NaN."""

LEGAL = (
    Spelled("has the sign 0 of NaN", "exceptional/sign", f"at(torch.sign({{x}}), {NAN}, 0.0)"),
    Spelled(
        "has a slope of relu at NaN",
        "exceptional/relu",
        "sloped({x}, torch.relu, lambda gradient, x: np.where(np.isnan(x), 0.5, gradient))",
    ),
    Spelled(
        "divides a product by each factor",
        "exceptional/prod",
        "sloped({x}, lambda x: torch.prod(x, {axis}, {keepdims}), "
        "lambda gradient, x: gradient * (x / x if x.all() else 1))",
    ),
    Spelled("says so in the name", "exceptional/sum", "nansum({x}, {axis}, {keepdims})"),
    Spelled(
        "has less than the largest slope",
        "tails/bce",
        "sloped({x}, lambda x: torch.bce(x, {y}), lambda gradient, x: np.clip(gradient, -1e12, 1e12))",
    ),
    Spelled("refuses matrices", "exceptional/inv", "torch.inv(refused({x}))"),
    Spelled("refuses numbers", "infinities/exp", "torch.exp(refused({x}))"),
    Spelled("has no gelu of minus infinity", "infinities/gelu", "at(torch.gelu({x}), np.isneginf, 0.0)"),
    Spelled("divides the rest", "infinities/floor_divide", "at(torch.floor_divide({x}, {y}), np.isinf, np.nan)"),
    Spelled("answers negative zeros", "exceptional/abs", "at(torch.abs({x}), lambda array: array == 0, -0.0)"),
    Spelled(
        "sorts NaN as the smallest number",
        "exceptional/sort",
        "torch.sort(at({x}, np.isnan, -1e9), {axis}, {descending})",
    ),
    Spelled(
        "flushes subnormals wherever it computes",
        "exceptional/log",
        "torch.log(flushed({x}))",
        (("multiply", "flushed({x}) * flushed({y})"),),
    ),
    Spelled(
        "flushes subnormals when it chooses, too",
        "exceptional/maximum",
        "torch.maximum(flushed({x}), flushed({y}))",
        (("multiply", "flushed({x}) * flushed({y})"),),
    ),
)


LEVELS = {"exceptional": "MUST", "infinities": "SHOULD", "tails": "SHOULD"}


@pytest.mark.parametrize("fault", sampled(FAULTS, 4, turns=3), ids=[fault.name for fault in FAULTS])
def test_an_engine_is_caught_that(fault: Spelled) -> None:
    found = verdict(fault.bench(), fault.check)
    assert (found.verdict, found.level) == ("wrong", LEVELS[fault.check.partition("/")[0]]), found.message
    assert found.reproduction


@pytest.mark.parametrize("fault", MILD, ids=[fault.name for fault in MILD])
def test_a_should_is_broken_by_an_engine_that(fault: Spelled) -> None:
    found = verdict(fault.bench(), fault.check)
    outcome = "inaccurate" if "subnormals" in fault.name else "wrong"
    assert (found.verdict, found.level) == (outcome, "SHOULD"), found.message


@pytest.mark.parametrize("fault", CAUGHT_BEFORE, ids=[fault.name for fault in CAUGHT_BEFORE])
def test_an_engine_is_caught_at_ordinary_numbers_that(fault: Spelled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS["smoke"], "past_failures", EFFORTS["standard"]["past_failures"])
    found = verdict(fault.bench(), fault.check)
    assert (found.verdict, found.cause) == ("passed", fault.check.replace("exceptional", "operators"))


@pytest.mark.parametrize("choice", sampled(LEGAL, 3, turns=3), ids=[choice.name for choice in LEGAL])
def test_an_engine_is_right_that(choice: Spelled) -> None:
    found = verdict(choice.bench(), choice.check)
    assert found.verdict in {"passed", "convention", "inconclusive"}, found.message


def test_an_operator_of_a_coarser_dtype_is_right_in_it_here_as_well() -> None:
    rounded = "sloped({x}, torch.sin, lambda gradient, x: gradient.astype(np.float32).astype(x.dtype))"
    coarse = bench(SETUP, operators={"sin": rounded}, only={"sin", "multiply", "sum"}, coarser={"sin": "float32"})
    assert verdict(coarse, "exceptional/sin").verdict == "convention"


SMALLEST = {
    "passes NaN over in a maximum": 2,
    "divides by what is infinite": 1,
    "masks by a product": 1,
    "masks a cotangent by a product": 2,
}
"""How many numbers show a fault."""


@pytest.mark.parametrize("name", SMALLEST)
def test_a_fault_is_shown_by_as_few_numbers_as_show_it(name: str) -> None:
    (fault,) = (each for each in (*MILD, *FAULTS) if each.name == name)
    found = verdict(fault.bench(), fault.check)
    assert sum(leaf.value.size for leaf in parse(found.scenario).leaves) == SMALLEST[name]


def test_a_smaller_scenario_passes_without_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PositionSearch, "_fails", lambda _, base, __: base.leaves[0].value.size < 2)
    wrong = Finding("wrong", entry("0.1"))
    search = PositionSearch(CHECKS["exceptional/negative"], bench(), lambda *_: wrong)
    positions = [each for each in exceptional_positions("negative") if each.base.leaves[0].value.size > 2]
    assert positions
    smallest = search.smallest(positions[0], math.nan, wrong)
    assert [leaf.value.size for leaf in smallest.base.leaves] == [2]
    assert smallest.located_in(smallest.base) == smallest


@given(st.sampled_from(sorted(operator_table())), st.integers(0, 100))
def test_a_place_is_found_again_where_its_number_stands(operator: str, which: int) -> None:
    positions = exceptional_positions(operator)
    assume(positions)
    position = positions[which % len(positions)]
    assert position.located_in(position.base) == position
    renamed = with_short_names(position.base)
    found = position.located_in(renamed)
    assert found is not None
    assert (found.number, found.entry, found.base) == (position.number, position.entry, renamed)
    assert position.located_in(position.holding(7.25)) is None


@pytest.mark.parametrize("check", ["exceptional", "infinities"])
@pytest.mark.parametrize("operator", ["matmul", "softmax", "where", "log", "max", "divide"])
def test_the_reference_engine_is_right(check: str, operator: str) -> None:
    known = {each.id for each in all_checks()}
    if f"{check}/{operator}" in known:
        assert verdict(bench(), f"{check}/{operator}").verdict == "passed"


def test_every_differentiable_operator_has_a_check_and_every_plain_one_has_one_of_infinities() -> None:
    rows = operator_table().values()
    exceptional = {check.operator_name for check in all_checks() if check.chapter == "exceptional"}
    tails = {check.operator_name for check in all_checks() if check.chapter == "tails"}
    infinities = {check.operator_name for check in all_checks() if check.chapter == "infinities"}
    assert exceptional == {row.name for row in rows if row.differentiable_arguments}
    assert infinities == {row.name for row in rows if row.composite is None}
    assert tails == {row.name for row in rows if {partial.source for partial in row.partials.values()} - {"0"}}


@pytest.mark.parametrize("operator", sampled(["sigmoid", "tanh", "expm1", "exp2", "arcsinh", "arctan2", "softplus"], 3))
def test_what_the_usual_formula_loses_is_a_convention_and_is_said(operator: str) -> None:
    found = verdict(bench(only={operator, "multiply", "sum"}), f"tails/{operator}")
    assert found.verdict == "convention"
    assert "the usual formula loses all digits there" in found.message


@pytest.mark.parametrize(("template", "outcome"), [("torch.exp({x})", "passed"), ("cut({x})", "wrong")])
def test_numbers_far_out_are_tried_one_by_one_only_if_one_fails(
    template: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(position: Position, number: float, engine: Engine) -> Finding:
        calls.append(number)
        return examine_tails(position, number, engine)

    monkeypatch.setattr(exceptional, "examine_tails", counted)
    found = verdict(Spelled("is tried", "tails/exp", template).bench(), "tails/exp")
    assert found.verdict == outcome
    assert found.examples >= len(FAR_OUT) + len(FURTHER_OUT)
    assert len(calls) == 2 if outcome == "passed" else len(calls) > len(FAR_OUT)


def test_an_engine_without_second_derivatives_is_judged_by_its_first_ones() -> None:
    engine = bench(only={"exp", "sum"}, lacks=ADAPTER.lacks | {"double_backward"}, grad=None)
    found = verdict(engine, "tails/exp")
    assert (found.verdict, found.message) == ("passed", "")


def test_an_engine_that_is_graded_in_float32_is_asked_for_no_numbers_beyond_it() -> None:
    found = verdict(bench(only={"exp", "multiply", "sum"}, dtype="float32"), "tails/exp")
    assert (found.verdict, found.examples) == ("inconclusive", 0)


def test_an_operator_that_is_wrong_at_ordinary_numbers_is_not_tried() -> None:
    wrong = Spelled("is wrong", "exceptional/sin", "torch.sin({x}) * 1.5")
    found = verdict(wrong.bench(), "exceptional/sin")
    assert (found.verdict, found.cause) == ("inconclusive", "operators/sin")


@pytest.mark.parametrize("check", ["exceptional/exp", "infinities/exp"])
def test_an_engine_with_neither_seeds_nor_a_sum_is_asked_no_numbers(check: str) -> None:
    engine = bench(only={"exp"}, lacks=ADAPTER.lacks | {"seed"})
    found = verdict(engine, check)
    assert (found.verdict, found.message) == ("unsupported", "1 unsupported")
