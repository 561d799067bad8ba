"""The score of an engine of a course is between 0 and the total, and a better engine never has a lower one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.facts import Error, Evidence
from refgrad.grading.judging.verdict import OUTCOMES, Outcome, Verdict
from refgrad.native.observation import Raised
from refgrad.report.course import Part, results_of
from refgrad.report.pages import Graded
from tests.report.example import example_report, verdict

DEEP = ("scale/long_chain", "scale/long_recurrence")
CHECKS = ("operators/add", "operators/exp", "operators/tanh", "sharing/diamond", "scale/fan_out", *DEEP)
RECURSION = Evidence(Error(error=Raised("RecursionError", "", ("RecursionError", "Exception"))))
ENGINE = {"name": "toy", "version": "1", "python": "3.11.0"}

OUTCOMES_OF_CHECKS = st.fixed_dictionaries({name: st.sampled_from(OUTCOMES) for name in CHECKS})
POINTS = st.integers(1, 10_000).map(lambda cents: cents / 100)


def parts_of(operators: float, others: float, recursion: float) -> list[Part]:
    """Return three parts with these points. The operators add and exp are required."""
    operator_checks, other_checks = frozenset(CHECKS[:3]), frozenset(CHECKS[3:])
    return [
        Part("operators", "operators/*", operators, operator_checks, frozenset(CHECKS[:2])),
        Part("others", "*", others, other_checks),
        Part("recursion", "scale/long_*", recursion, frozenset(DEEP), recursion=True),
    ]


def graded(outcomes: Mapping[str, Outcome], *, recursive: bool = False) -> Graded:
    """Return a report with these verdicts; with RecursionErrors as evidence where deep graphs crash."""
    verdicts = [verdict(name, outcome) for name, outcome in outcomes.items()]
    rows = [each if not recursive or each.id not in DEEP else crash_of(each) for each in verdicts]
    return Graded("toy", example_report(*rows, **ENGINE))


def crash_of(passed: Verdict) -> Verdict:
    """Return the same verdict as a crash by a RecursionError."""
    return replace(passed, verdict="crashed", evidence=RECURSION, message="RecursionError")


def scores(outcomes: Mapping[str, Outcome], *, recursive: bool = False) -> list[float]:
    """Return the scores of parts with 30, 20 and 5 points."""
    return [
        test["score"] for test in results_of(parts_of(30, 20, 5), graded(outcomes, recursive=recursive), "")["tests"]
    ]


ALL_PASS: Mapping[str, Outcome] = dict.fromkeys(CHECKS, "passed")


@given(OUTCOMES_OF_CHECKS, POINTS, POINTS, POINTS)
def test_a_score_is_between_0_and_the_total(
    outcomes: Mapping[str, Outcome], operators: float, others: float, recursion: float
) -> None:
    results = results_of(parts_of(operators, others, recursion), graded(outcomes), "")
    assert 0 <= results["score"] <= round(operators + others + recursion, 2)
    assert results["score"] == pytest.approx(sum(test["score"] for test in results["tests"]), abs=0.005)
    assert all(0 <= test["score"] <= test["max_score"] for test in results["tests"])
    assert all((test["status"] == "passed") == (test["output"] == "") for test in results["tests"])


@given(st.fixed_dictionaries({name: st.sampled_from(["passed", "convention"]) for name in CHECKS}), POINTS, POINTS)
def test_an_engine_that_passes_all_checks_has_all_points(
    outcomes: Mapping[str, Outcome], operators: float, others: float
) -> None:
    results = results_of(parts_of(operators, others, 5.0), graded(outcomes), "")
    assert results["score"] == round(operators + others + 5.0, 2)
    assert [test["score"] for test in results["tests"]] == [test["max_score"] for test in results["tests"]]
    assert results["output"] == ""


@given(OUTCOMES_OF_CHECKS, st.sampled_from(CHECKS))
def test_a_check_that_passes_never_lowers_the_score(outcomes: Mapping[str, Outcome], better: str) -> None:
    assert sum(scores({**outcomes, better: "passed"})) >= sum(scores(outcomes))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"operators/add": "wrong"}, [20, 20, 5]),
        ({"operators/add": "inaccurate"}, [25, 20, 5]),
        ({"operators/add": "unsupported"}, [20, 20, 5]),
        ({"operators/tanh": "unsupported"}, [30, 20, 5]),
        ({"operators/tanh": "unsupported", "operators/add": "wrong"}, [15, 20, 5]),
        ({"operators/add": "inconclusive"}, [30, 20, 5]),
        ({"sharing/diamond": "wrong"}, [30, 15, 5]),
        (dict.fromkeys(CHECKS[3:], "unsupported"), [30, 0, 0]),
        ({"scale/long_chain": "crashed"}, [30, 15, 5]),
    ],
)
def test_points_are_shared_by_the_checks_that_apply(changed: Mapping[str, Outcome], expected: list[float]) -> None:
    assert scores({**ALL_PASS, **changed}) == expected


def test_a_recursion_error_in_a_deep_graph_costs_its_own_points_and_nothing_else() -> None:
    assert scores(ALL_PASS, recursive=True) == [30, 20, 0]


def test_feedback_names_each_cause_and_each_required_operator_that_is_missing() -> None:
    outcomes: Mapping[str, Outcome] = {**ALL_PASS, "operators/exp": "unsupported", "sharing/diamond": "crashed"}
    assert results_of(parts_of(1, 1, 1), graded(outcomes), "")["output"].splitlines() == [
        "operators/exp: required, but not offered, or its values are wrong",
        "sharing/diamond: toy 1: .",
    ]


def test_an_engine_without_a_report_has_no_points_and_the_problem_as_feedback() -> None:
    results = results_of(parts_of(30, 20, 5), None, "SyntaxError: invalid syntax (mine.py, line 2)")
    assert (results["score"], results["output"]) == (0, "SyntaxError: invalid syntax (mine.py, line 2)")
    assert {(test["status"], test["output"]) for test in results["tests"]} == {("failed", "")}
