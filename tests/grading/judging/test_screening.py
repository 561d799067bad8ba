"""Planted differences that screening sees, and differences of rounding, which it does not report."""

from __future__ import annotations

import numpy as np
import pytest

from refgrad.generation import large_scenarios
from refgrad.grading.judging import screening
from refgrad.grading.judging.screening import _gradients_agree, _is_simple, _perturbations, _same, agrees
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Observation, Raised
from refgrad.native.process import Ending
from refgrad.scenario import Backward, Constant, Leaf, Read, Scenario, ZeroGrad
from refgrad.scenario.formats import FLOAT64
from refgrad.scenario.kinds import Apply
from tests.grading.broken import bench

ENTRIES = 5003


def scenario_of(operator: str, array: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Scenario:
    return Scenario((
        Leaf("x", Constant.of(array), requires_grad=True),
        Apply("y", operator, ("x",)),
        Backward("y", None if operator == "sum" else Constant.of(np.linspace(1, 2, array.size))),
        Read("grad", "x"),
        Read("value", "y"),
    ))


def engine_with(operator: str, text: str) -> Engine:
    return bench(operators={operator: text}).engine


@pytest.mark.parametrize(("factor", "same"), [("1e-15", True), ("1e-12", False), ("1e-9", False)])
@pytest.mark.parametrize("operator", ["exp", "sum"])
def test_a_difference_of_more_than_rounding_is_seen(operator: str, factor: str, *, same: bool) -> None:
    array = np.random.default_rng(0).uniform(1, 2, ENTRIES)
    changed = engine_with(operator, f"torch.{operator}({{x}}) * (1 + {factor})")
    assert agrees(scenario_of(operator, array), changed) is same


def test_what_an_ill_conditioned_matrix_makes_of_rounding_agrees() -> None:
    scenario = large_scenarios("inv")[1]
    other = engine_with("inv", "torch.solve({x}, torch.eye({x}.shape[-1]) + 0 * {x})")
    assert agrees(scenario, other)


def test_an_engine_that_refuses_agrees() -> None:
    array = np.linspace(1, 2, ENTRIES)
    refusing = engine_with("exp", "exec('raise NotImplementedError')")
    assert agrees(scenario_of("exp", array), refusing)


@pytest.mark.parametrize(
    "shown",
    [
        Observation(error=Raised("ValueError", "", ())),
        Observation(ending=Ending("crashed", "exited")),
        Observation(array=np.exp(np.linspace(1, 2, ENTRIES)), masked=1),
    ],
    ids=["error", "ending", "masked"],
)
def test_a_read_that_shows_no_plain_array_does_not_agree(shown: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, engine = scenario_of("exp", np.linspace(1, 2, ENTRIES)), engine_with("exp", "torch.exp({x})")
    *others, _ = observe(scenario, engine)
    monkeypatch.setattr(screening, "observe", lambda *_: (*others, shown))
    assert not agrees(scenario, engine)


def test_an_engine_that_raises_another_error_does_not_agree() -> None:
    array = np.linspace(1, 2, ENTRIES)
    raising = engine_with("exp", "exec('raise ValueError')")
    assert not agrees(scenario_of("exp", array), raising)


def test_a_shape_that_is_off_does_not_agree() -> None:
    array = np.linspace(1, 2, ENTRIES)
    longer = engine_with("exp", "torch.reshape(torch.exp({x}), (1, -1))[0:1, 0:5002]")
    assert not agrees(scenario_of("exp", array), longer)


@pytest.mark.parametrize("entry", [0, 60, 61, 32_768, 33_000])
def test_one_entry_of_a_formula_on_repeated_operands_is_seen(entry: int) -> None:
    (scenario,) = (each for each in large_scenarios("square") if each.leaves[0].value.size > 2**15)
    text = f"torch.square({{x}}) * torch.tensor(1 + 1e-12 * (np.arange({{x}}.numel()) == {entry}).reshape({{x}}.shape))"
    assert not agrees(scenario, engine_with("square", text))
    assert agrees(scenario, engine_with("square", "torch.square({x})"))


@pytest.mark.parametrize(("times", "same"), [(2.0**10, True), (2.0**12, False)])
def test_some_thousand_times_what_roundings_make_of_a_number_is_a_matter_of_its_condition(
    times: float, *, same: bool
) -> None:
    expected, noise = np.ones(10), np.full(10, 1e-6)
    assert _same(expected + times * noise, expected, 0.0, noise) == same


def test_numbers_are_perturbed_by_a_few_roundings() -> None:
    scenario = scenario_of("exp", np.linspace(1, 2, ENTRIES))
    (before, after) = (each.leaves[0].value.to_numpy() for each in (scenario, next(_perturbations(scenario, FLOAT64))))
    moved = np.abs(after / before - 1)
    assert 2.0**-53 < moved.max() <= 2.0**-49


@pytest.mark.parametrize(("factor", "agree"), [(1.0, True), (1 + 1e-9, False), (1.005, False)])
def test_gradients_that_are_off_do_not_agree_with_the_slope(factor: float, *, agree: bool) -> None:
    scenario = scenario_of("sum", np.linspace(1, 2, ENTRIES))
    shown = {Read("grad", "x"): np.full(ENTRIES, factor)}
    assert _gradients_agree(shown, scenario, "float64") == agree


@pytest.mark.parametrize("entry", [0, 60, ENTRIES - 1])
def test_one_entry_of_a_gradient_that_is_off_is_seen(entry: int) -> None:
    scenario = scenario_of("sum", np.linspace(1, 2, ENTRIES))
    gradient = np.ones(ENTRIES)
    gradient[entry] += 1e-9
    assert not _gradients_agree({Read("grad", "x"): gradient}, scenario, "float64")


def test_what_large_values_lose_to_rounding_excuses_no_more_than_that() -> None:
    """The sum of five thousand numbers of size a thousand, whose slopes are not zero."""
    scenario = scenario_of("sum", np.full(ENTRIES, 1e3))
    assert not _gradients_agree({Read("grad", "x"): np.zeros(ENTRIES)}, scenario, "float64")


def test_a_gradient_is_absent_only_if_no_backward_reaches_the_leaf() -> None:
    scenario = scenario_of("sum", np.linspace(1, 2, ENTRIES))
    alone = Scenario((Leaf("z", Constant.of(np.ones(2)), requires_grad=True), *scenario.steps, Read("grad", "z")))
    shown = {Read("grad", "x"): np.ones(ENTRIES), Read("grad", "z"): None}
    assert _gradients_agree(shown, alone, "float64")
    assert not _gradients_agree({**shown, Read("grad", "x"): None}, alone, "float64")


def test_scenarios_that_do_more_than_apply_and_run_backward_are_not_screened() -> None:
    scenario = scenario_of("sum", np.linspace(1, 2, ENTRIES))
    assert _is_simple(scenario)
    assert not _is_simple(Scenario((*scenario.steps, ZeroGrad("x"), Read("grad", "x"))))
