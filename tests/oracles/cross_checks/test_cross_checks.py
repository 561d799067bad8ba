"""Tests of the cross-checks: the oracles agree, pair by pair, and a disagreement is seen."""

import numpy as np
import pytest
from flint import arb

from refgrad.scenario import Constant, Scenario, parse
from tests.effort import seeds
from tests.oracles.cross_checks import cross_checks as module
from tests.oracles.cross_checks.cross_checks import Statement, cross_check
from tests.oracles.cross_checks.page import page, scenario_of, tally
from tests.oracles.programs import program

SMOOTH = parse("x = leaf float64[2] {0x1p-1 0x1p+0} requires_grad\na = exp x\nl = sum a\nbackward l\n")
KINK = parse("x = leaf float64[] {0x0p+0} requires_grad\nl = abs x\nbackward l\n")


def test_no_two_oracles_disagree_on_generated_scenarios() -> None:
    count = len(seeds(250))
    result = tally(count, first=30)
    assert result.disagreeing == []
    assert min(result.spoke.values()) >= 0.3 * count, "a third of the operators is analytic"
    assert all(counts["agree"] >= 0.8 * counts["compared"] for counts in result.counts.values())


def test_all_five_speak_of_a_small_smooth_scenario() -> None:
    found = cross_check(SMOOTH)
    assert len(found.pairs) == 10
    assert all(pair.agree == pair.compared == 2 and pair.gap < 1e-10 for pair in found.pairs.values())


def test_at_a_kink_nothing_is_concluded() -> None:
    found = cross_check(KINK)
    assert {name for name, statement in found.statements.items() if statement.refusal} == {"complex step", "symbolic"}
    assert all(pair.inconclusive == pair.compared for pair in found.pairs.values())


def test_an_oracle_that_errs_by_a_billionth_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def erring(scenario: Scenario, contributions: tuple[tuple[str, Constant | None], ...]) -> Statement:
        right = module.ORACLES["certified"](scenario, contributions)
        return Statement(right.value * (1 + 1e-9), np.zeros(right.value.size))

    monkeypatch.setattr(module, "ORACLES", {**module.ORACLES, "erring": erring})
    found = cross_check(SMOOTH)
    assert found.disagree
    assert all("erring" in pair for pair, agreement in found.pairs.items() if agreement.disagree)


def test_the_page_counts_and_names_the_seeds_that_disagree() -> None:
    result = tally(4)
    assert "**None disagree.**" in page(result, 4, 0)
    result.disagreeing.append(3)
    assert "Seeds that disagree: [3]." in page(result, 4, 0)


def test_seeds_make_scenarios_of_every_kind() -> None:
    assert [len(scenario_of(seed).applications) <= 3 for seed in (0, 1)] == [True, True]


@pytest.mark.parametrize(
    ("distance", "error", "counted"),
    [(0.0, 1e-7, "agree"), (0.0, 1e-5, "inconclusive"), (1e-16, 0.0, "agree"), (5e-15, 0.0, "disagree")],
)
def test_entries_are_counted_by_what_their_intervals_have_in_common(
    distance: float, error: float, counted: str
) -> None:
    certain, other = (np.array([value]) for value in (1.0, 1.0 + distance))
    statements = {"one": Statement(certain, np.zeros(1)), "other": Statement(other, np.array([error]))}
    found = module.agreement(*statements.values())
    assert {word: getattr(found, word) for word in ("agree", "inconclusive", "disagree")} == {
        **dict.fromkeys(("agree", "inconclusive", "disagree"), 0),
        counted: 1,
    }


@pytest.mark.parametrize(("entries", "refusal"), [(16, ""), (17, "more than 16 entries")])
def test_tangents_are_carried_forward_for_sixteen_entries_at_most(entries: int, refusal: str) -> None:
    scenario = program({"x": np.ones(entries)}, ["a = exp x", "l = sum a", "backward l"])
    assert cross_check(scenario).statements["certified, forward"].refusal == refusal


def test_an_error_is_no_smaller_than_the_radius_of_the_ball_that_tangents_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ball = arb(1, 0.5)
    monkeypatch.setattr(module, "directional_derivative", lambda *_: ball)
    statement = module.ORACLES["certified, forward"](SMOOTH, (("l", None),))
    assert statement.value.tolist() == [1.0, 1.0]
    assert all(ball.rad() <= arb(error) <= 0.51 for error in statement.error.tolist())
