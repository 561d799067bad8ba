"""How small an error does the judgement catch, and does it ever blame a gradient that is right?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from refgrad.generation import Profile, random_scenario
from refgrad.oracles import Certified, CertifiedOracle, judge
from refgrad.scenario import Scenario
from tests.effort import seeds
from tests.operators.rules import gradients
from tests.oracles.agreement import only_backward
from tests.oracles.programs import FEW_CANCEL, certified_gradient, program

Floats = npt.NDArray[np.float64]

SCENARIOS = len(seeds(500))
INJECTED = {1e-3: 1.0, 1e-4: 1.0, 1e-6: 1.0, 1e-8: 1.0, 1e-10: 0.99, 1e-12: 0.95, 1e-13: 0.85, 1e-14: 0.4}
"""Relative error put into one random entry, and the share of scenarios in which it must be caught."""


@cache
def examined() -> list[tuple[Certified, Floats]]:
    """Return the certified gradient of each leaf of many scenarios, and the one that float64 rules compute."""
    return [
        (CertifiedOracle(scenario).gradient(name, contributions), gradient)
        for seed in range(SCENARIOS)
        for scenario in [random_scenario(seed, Profile(max_backwards=1, operators=FEW_CANCEL))]
        for contributions in [only_backward(scenario)]
        for name, gradient in gradients(scenario, contributions).items()
    ]


def test_no_correct_gradient_is_blamed() -> None:
    outcomes = {judge(gradient, certified).outcome for certified, gradient in examined()}
    assert outcomes == {"passed"}


def test_no_correct_gradient_is_blamed_whatever_the_operators() -> None:
    outcomes = Counter(
        judge(gradient, CertifiedOracle(scenario).gradient(name, contributions)).outcome
        for seed in range(SCENARIOS)
        for scenario in [random_scenario(seed, Profile(max_backwards=1))]
        for contributions in [only_backward(scenario)]
        for name, gradient in gradients(scenario, contributions).items()
    )
    assert outcomes.keys() <= {"passed", "inconclusive"}
    assert outcomes["inconclusive"] <= outcomes["passed"] / 50


def test_at_kinks_no_correct_gradient_is_blamed() -> None:
    outcomes = set()
    for seed in range(SCENARIOS):
        scenario = random_scenario(seed, Profile(max_backwards=1, edges=0.5))
        contributions = only_backward(scenario)
        oracle = CertifiedOracle(scenario)
        for name, gradient in gradients(scenario, contributions).items():
            certified = oracle.narrowest_gradient(name, contributions)
            exists = np.isfinite(certified.radius).all()
            outcomes.add(judge(gradient, certified).outcome if exists else "no derivative")
    assert outcomes <= {"passed", "convention", "inconclusive", "no derivative"}
    assert "convention" in outcomes


@pytest.mark.parametrize("error", INJECTED)
def test_a_relative_error_in_one_entry_is_caught(error: float, record_property: Callable[[str, object], None]) -> None:
    caught = [judge(wrong, certified).outcome != "passed" for certified, wrong in with_one_error(error)]
    record_property("caught", float(np.mean(caught)))
    assert len(caught) > SCENARIOS
    assert np.mean(caught) >= INJECTED[error]


def test_an_error_past_five_digits_is_wrong_and_a_smaller_one_inaccurate() -> None:
    assert {judge(wrong, certified).outcome for certified, wrong in with_one_error(1e-3)} == {"wrong"}
    assert {judge(wrong, certified).outcome for certified, wrong in with_one_error(1e-7)} == {"inaccurate"}


def test_half_a_gradient_and_twice_a_gradient_are_wrong() -> None:
    for factor in (0.0, 0.5, 2.0, -1.0):
        assert {judge(wrong, certified).outcome for certified, wrong in with_one_error(factor - 1)} == {"wrong"}


def with_one_error(error: float) -> Iterator[tuple[Certified, Floats]]:
    """Yield the gradients that have an entry other than zero in truth, with the relative error in one of those.

    Where the truth is zero an engine may show what rounding left, or nothing: that depends on the machine's kernels.
    """
    random = np.random.default_rng(0)
    for certified, gradient in examined():
        places = np.flatnonzero((gradient != 0) & (np.abs(certified.midpoint) > certified.radius))
        if places.size:
            wrong = np.array(gradient)
            wrong.flat[random.choice(places)] *= 1 + error
            yield certified, wrong


def affine_layer() -> tuple[Scenario, dict[str, Floats]]:
    random = np.random.default_rng(1)
    x, w, b = random.normal(size=(4, 3)), random.normal(size=(3, 5)), random.normal(size=5)
    scenario = program({"x": x, "w": w, "b": b}, ["p = matmul x w", "y = add p b", "t = tanh y", "l = mean t"])
    upstream = (1 - np.tanh(x @ w + b) ** 2) / 20
    return scenario, {"x": upstream @ w.T, "w": x.T @ upstream, "b": upstream.sum(axis=0)}


def softmax_cross_entropy() -> tuple[Scenario, dict[str, Floats]]:
    random = np.random.default_rng(2)
    logits = 20 * random.normal(size=(6, 4))
    lines = ["m = max z axis=(1,) keepdims=true", "s = subtract z m", "e = exp s", "t = sum e axis=(1,) keepdims=true"]
    lines += ["n = log t", "p = subtract s n", "k = index p index=(:, 1)", "q = mean k", "l = negative q"]
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    softmax = e / e.sum(axis=1, keepdims=True)
    return program({"z": logits}, lines), {"z": (softmax - np.eye(4)[1]) / 6}


def saturated_logistic() -> tuple[Scenario, dict[str, Floats]]:
    x = np.array([-40.0, -20.0, 0.25, 20.0, 36.0])
    y = 1 / (1 + np.exp(-x))
    return program({"x": x}, ["y = sigmoid x", "l = sum y"]), {"x": y * (1 - y)}


def normalisation() -> tuple[Scenario, dict[str, Floats]]:
    x = np.random.default_rng(3).normal(size=7)
    lines = ["m = mean x", "c = subtract x m", "v = square c", "s = mean v", "d = sqrt s", "y = divide c d"]
    lines += ["k = index y index=(2,)", "l = exp k"]
    c = x - x.mean()
    d = np.sqrt(np.mean(c**2))
    y = c / d
    jacobian = (np.eye(7) - 1 / 7 - np.outer(y, y) / 7) / d
    return program({"x": x}, lines), {"x": np.exp(y[2]) * jacobian[2]}


def polynomial_under_cancellation() -> tuple[Scenario, dict[str, Floats]]:
    """(x - 1)³ written out near x = 1: its slope loses every digit, and no answer of that size is wrong."""
    x = np.array(1.0 + 2.0**-20)
    lines = ["a = square x", "c = multiply a x", "d = multiply three a", "e = multiply three x"]
    lines += ["f = subtract c d", "g = add f e", "l = subtract g one"]
    scenario = program({"x": x, "three": 3.0, "one": 1.0}, lines)
    return scenario, {"x": np.asarray(3 * x * x - 6 * x + 3)}


@pytest.mark.parametrize(
    "written",
    [affine_layer, softmax_cross_entropy, saturated_logistic, normalisation, polynomial_under_cancellation],
)
def test_gradients_written_by_hand_in_numpy_pass(written: Callable[[], tuple[Scenario, dict[str, Floats]]]) -> None:
    scenario, by_hand = written()
    for name, gradient in by_hand.items():
        judgement = judge(gradient, certified_gradient(scenario, name))
        assert judgement.outcome == "passed", judgement.entry and judgement.entry.describe()
