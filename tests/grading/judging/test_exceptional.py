"""What single scenarios with an exceptional number are found to be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from flint import arb

from refgrad.facts import Entry, Error, Subject
from refgrad.generation import Profile, exceptional_positions
from refgrad.generation.single_operators.exceptional import SUBNORMAL
from refgrad.grading.judging.exceptional import (
    PASSES_NAN_OVER,
    _approached,
    _compared,
    _differing,
    _unlike,
    examine_exceptional,
    examine_limits,
)
from refgrad.grading.judging.verdict import Finding, Outcome, worst
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine, start
from refgrad.oracles.certified.certified import Certified
from tests.native.reference import ADAPTER


def engine(operator: str, spelling: str, setup: str = "") -> Engine:
    setup = f"{ADAPTER.setup}\nimport numpy as np\n{setup}"
    return Engine(replace(ADAPTER, setup=setup, operators={**ADAPTER.operators, operator: spelling}))


def test_the_evidence_names_the_entry_and_what_is_due() -> None:
    wrong = engine("sin", "torch.tensor(np.nan_to_num(np.sin({x}.detach().numpy()))) + {x} - {x}.detach()")
    position = exceptional_positions("sin")[0]
    right = start(ADAPTER)
    assert examine_exceptional(position, math.nan, right).outcome == "passed"
    found = examine_exceptional(position, math.nan, wrong)
    assert isinstance(found.fact, Entry)
    assert found.outcome == "wrong"
    assert found.step > 0


def test_an_error_is_an_answer_to_what_is_not_finite() -> None:
    refusing = "def sine(x):\n    assert np.isfinite(x.detach().numpy()).all(), 'not finite'\n    return torch.sin(x)\n"
    position = exceptional_positions("sin")[0]
    found = examine_exceptional(position, math.inf, engine("sin", "sine({x})", refusing))
    assert found.outcome == "inconclusive"
    assert isinstance(found.fact, Error)


def test_subnormals_are_left_to_an_engine_that_flushes_them() -> None:
    flushing = "def sine(x):\n    return torch.sin(x * torch.tensor((np.abs(x.detach().numpy()) > 1e-300) * 1.0))\n"
    position = exceptional_positions("sin")[0]
    wrong = engine("sin", "sine({x})", flushing)
    assert examine_exceptional(position, SUBNORMAL, wrong).outcome == "wrong"
    assert examine_exceptional(position, SUBNORMAL, wrong, flushes=True).outcome == "convention"


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_limits_are_looked_at_by_themselves(number: float) -> None:
    position = exceptional_positions("tanh")[0]
    wrong = engine("tanh", "torch.tanh({x}) + ({x} - {x}).detach()")
    assert examine_exceptional(position, number, wrong).outcome == "passed"
    assert examine_limits(position, number, wrong).outcome == "wrong"
    assert examine_limits(position, number, start(ADAPTER)).outcome == "passed"


DUAL = """
import numpy as np

class Dual:
    def __init__(self, number, tangent):
        self.number, self.tangent = number, tangent

    def __mul__(self, other):
        return Dual(self.number * other.number, self.tangent * other.number + self.number * other.tangent)

def vjp(function, primals):
    output = function(*(Dual(x, np.zeros_like(x)) for x in primals))
    def gradient(at, seed):
        duals = [Dual(x, np.full_like(x, float(n == at))) for n, x in enumerate(primals)]
        return seed * function(*duals).tangent
    return output.number, lambda seed: [gradient(at, np.asarray(seed)) for at in range(len(primals))]
"""
"""Dual numbers for arrays, whose entries must not be mixed."""


@pytest.mark.parametrize(("forward_only", "outcome"), [(True, "convention"), (False, "wrong")])
def test_a_dual_number_may_multiply_a_tangent_of_zero_by_infinity(*, forward_only: bool, outcome: str) -> None:
    adapter = FunctionalAdapter(
        name="dual", setup=DUAL, leaf="{array}", vjp="vjp({function}, {primals})", forward_only=forward_only,
        operators={"multiply": "{x} * {y}"},
    )  # fmt: skip
    finding = worst(examine_limits(each, math.inf, Engine(adapter)) for each in exceptional_positions("multiply"))
    assert finding.outcome == outcome
    assert "nan" in finding.message or "not a number" in finding.message


@pytest.mark.parametrize(
    ("spelling", "passes"),
    [
        ("torch.nansum({x})", True),
        ("jnp.nanmax({x})", True),
        ("np.nan_to_num({x})", False),
        ("torch.sum({x})", False),
        ("torch.isnan({x})", False),
    ],
)
def test_functions_are_named_for_passing_nan_over(spelling: str, *, passes: bool) -> None:
    assert bool(PASSES_NAN_OVER.search(spelling)) is passes


def test_whole_numbers_stand_for_floating_ones() -> None:
    """An engine of Python numbers answers a 0 that is an integer, where others have a 0.0."""
    whole = "import numpy as np\ndef shown(x):\n    return x.astype(int) if np.all(np.mod(x, 1) == 0) else x\n"
    answering = replace(ADAPTER, setup=f"{ADAPTER.setup}\n{whole}", value=f"shown({ADAPTER.value})")
    profile = Profile(scalars_only=True, operators=frozenset({"relu"}))
    for position in exceptional_positions("relu", profile):
        assert examine_exceptional(position, -math.inf, start(answering)).outcome == "passed"


@pytest.mark.parametrize(
    ("at_minus_zero", "at_zero", "outcome"),
    [
        ("wrong", "passed", "wrong"),
        ("wrong", "wrong", "inconclusive"),
        ("passed", "wrong", "passed"),
        ("passed", "passed", "passed"),
    ],
)
def test_what_zero_shows_as_well_is_no_fault_of_a_negative_zero(
    at_minus_zero: Outcome, at_zero: Outcome, outcome: Outcome
) -> None:
    assert _unlike(Finding(at_minus_zero), Finding(at_zero)).outcome == outcome


def certified(number: float) -> Certified:
    balls = np.array([arb(number)], dtype=object)
    return Certified(balls, lambda: balls)


@pytest.mark.parametrize(
    ("numbers", "limit", "approached"),
    [
        ((9.0, 1 + 3e-9, 1 - 3e-9), 1.0, True),
        ((9.0, 1 + 3e-8, 1.0), 1.0, False),
        ((9.0, 1.0, 1 - 3e-8), 1.0, False),
        ((0.0, 100 + 3e-7, 100.0), 100.0, True),
        ((1.0, 1.6, 2.5), math.inf, True),
        ((-1.0, -1.6, -2.5), -math.inf, True),
        ((1.0, 1.6, 2.5), -math.inf, False),
        ((1.0, 1.4, 2.5), math.inf, False),
        ((1.0, 1.6, 2.2), math.inf, False),
    ],
)
def test_a_limit_is_approached_to_eight_digits_or_by_half_as_much_again(
    numbers: tuple[float, ...], limit: float, *, approached: bool
) -> None:
    assert _approached([certified(number) for number in numbers], np.array([limit])).tolist() == [approached]


@pytest.mark.parametrize(
    ("numbers", "some", "every"),
    [
        ((1.0, 1.0, 1.0), False, False),
        ((1.0, 2.0), True, False),
        ((1.0, 2.0, math.nan), True, False),
        ((1.0, 2.0, 3.0), True, True),
        ((1.0, 2.0, 3.0, 1.0), True, False),
    ],
)
def test_three_numbers_show_that_a_result_always_differs(
    numbers: tuple[float, ...], *, some: bool, every: bool
) -> None:
    assert [mask.tolist() for mask in _differing([certified(number) for number in numbers])] == [[some], [every]]


@pytest.mark.parametrize("expected", [1e-3, 1.0, -1e3])
@pytest.mark.parametrize(("relative", "outcome"), [(9e-6, "passed"), (1.1e-5, "wrong")])
def test_a_result_that_should_be_finite_has_five_right_digits(expected: float, relative: float, outcome: str) -> None:
    array = np.array([expected * (1 + relative)])
    assert _compared(Subject("gradient", "x"), array, np.array([expected]), least=0.0).outcome == outcome
