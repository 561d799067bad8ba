"""How bad a finding is follows from its evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from refgrad.facts import Dtype, Evidence, Fact, Shape, Silence, Subject
from refgrad.facts.fact import SEVERITIES, Severity
from refgrad.grading.judging.verdict import FAILURES, OUTCOMES, Outcome
from refgrad.report.ci import headline
from refgrad.report.severity import MEANINGS, At, at, severity, shapes_of
from tests.report.example import VERDICTS, entry

WRONG = VERDICTS[4]
SECOND = """\
x = leaf float64[] {0x1.8p+0} requires_grad
a = exp x
g = grad a x
backward g
read grad x
read value g
"""


def severity_of(
    outcome: Outcome = "wrong", fact: Fact | None = None, scenario: str = WRONG.scenario
) -> Severity | None:
    evidence = WRONG.evidence if fact is None else Evidence(fact, 4)
    return severity(replace(WRONG, verdict=outcome, evidence=evidence, scenario=scenario))


def value(name: str) -> Fact:
    return replace(entry("0.1"), subject=Subject("value", name))


@pytest.mark.parametrize(
    ("expected", "derived"),
    [
        ("wrong first derivative", severity_of()),
        ("wrong higher derivative", severity_of(scenario=SECOND)),
        ("wrong higher derivative", severity_of(fact=value("g"), scenario=SECOND)),
        ("wrong value", severity_of(fact=value("a"), scenario=SECOND)),
        ("missing", severity_of("missing")),
        ("crash or hang", severity_of("crashed")),
        ("crash or hang", severity_of("hung")),
        ("wrong error", severity_of("unexpected-error")),
        (
            "other rule broken",
            severity_of(fact=Dtype(subject=Subject("value", "a"), seen="float64", expected="float32")),
        ),
        ("other rule broken", severity_of(fact=Silence(expected_kinds=("freed-graph",)))),
        ("inaccurate", severity_of("inaccurate")),
    ],
)
def test_evidence_decides(expected: Severity, derived: Severity | None) -> None:
    assert derived == expected


def test_every_failure_has_a_severity_and_nothing_else() -> None:
    assert {outcome for outcome in OUTCOMES if severity_of(outcome)} == FAILURES
    assert set(MEANINGS) == set(SEVERITIES) == set(get_args(Severity))


def test_a_value_that_is_a_first_derivative_is_one() -> None:
    scenario = SECOND.replace("g = grad a x", "g = jvp a x float64[] {0x1p+0}").replace("backward g\nread grad x\n", "")
    assert severity_of(fact=value("g"), scenario=scenario) == "wrong first derivative"
    assert severity_of(scenario="not a scenario") == "wrong first derivative"


@pytest.mark.parametrize(
    ("leaf", "seed", "expected"),
    [
        ("float64[] {0x1.8p+0}", "float64[] {0x1p+0}", ()),
        ("float64[] {nan}", "float64[] {0x1p+0}", ("at NaN",)),
        ("float64[] {0x1.8p+0}", "float64[] {-inf}", ("at infinity",)),
        ("float64[] {0x0.8p-1022}", "float64[] {0x1p+0}", ("at subnormals",)),
        ("float32[] {0x1p-127}", "float32[] {0x1p+0}", ("at subnormals",)),
        ("float64[] {0x1p-127}", "float64[] {0x1p+0}", ()),
        ("float64[0, 2] {}", "float64[0, 2] {}", ("at empty arrays",)),
        ("float64[] {-800.0}", "float64[] {0x1p+0}", ("beyond 800",)),
        ("float64[] {799.0}", "float64[] {0x1p+0}", ()),
        ("float64[3] {inf nan 1e300}", "float64[3] {1.0 1.0 1.0}", ("at infinity", "at NaN", "beyond 800")),
    ],
)
def test_unusual_numbers_and_sizes_are_named(leaf: str, seed: str, expected: tuple[At, ...]) -> None:
    scenario = f"x = leaf {leaf} requires_grad\ny = relu x\nbackward y seed {seed}\nread grad x\n"
    assert at(replace(WRONG, scenario=scenario)) == expected
    assert at(replace(WRONG, verdict="passed", scenario=scenario)) == ()


def test_the_headline_has_a_badge_for_unusual_numbers() -> None:
    scenario = "x = leaf float64[] {nan} requires_grad\ny = relu x\nread value y\n"
    assert headline(replace(WRONG, scenario=scenario)).endswith(f"{WRONG.id} (MUST) [at NaN]")
    assert headline(WRONG).endswith("(MUST)")


def test_of_a_wrong_shape_only_other_leaves_have_known_shapes() -> None:
    text = "x = leaf float64[2] {1.0 2.0} requires_grad\ny = leaf float64[] {1.0} requires_grad\nz = multiply x y\n"
    plain = replace(VERDICTS[4], scenario=text)
    assert shapes_of(plain) == {"x": (2,), "y": (), "z": (2,)}
    wrong = Shape(subject=Subject("gradient", "y"), seen=(2,), expected=())
    assert shapes_of(replace(plain, evidence=Evidence(wrong, 3))) == {"x": (2,)}
