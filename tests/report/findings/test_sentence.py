"""A finding is one sentence: what was computed, what is right, what the engine gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.grading.judging.evidence import (
    Absent,
    Dtype,
    Error,
    Evidence,
    Fact,
    Flag,
    Measured,
    Numbers,
    Shape,
    Silence,
    Subject,
    Uncoupled,
)
from refgrad.native.observation import Raised
from refgrad.report.findings.sentence import LONGEST_SENTENCE, sentence
from tests.report.example import SCENARIO, VERDICTS, entry

X = Subject("gradient", "x")
VALUE = Subject("value", "a")
END = "At the end of the program, "
LONG = SCENARIO.text.replace("read grad x", "backward a\nread grad x")
RAISED = Raised("ValueError", "no {braces}.", ("ValueError",))
TWICE = Uncoupled(
    gradients=(Numbers((), ("0.5",), "x"),),
    direction=(Numbers((), ("1.0",), "x"),),
    rate="0.5",
    lower="2.0",
    upper="2.0",
)


def said(fact: Fact, step: int = 4, scenario: str = SCENARIO.text) -> str:
    return sentence(replace(VERDICTS[4], evidence=Evidence(fact, step), scenario=scenario), "toy 1.0")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            said(entry("0.1")),
            "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; toy 1.0 gives 0.1.",
        ),
        (
            said(entry("4.4800000001")),
            "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; toy 1.0 gives 4.4800000001.",
        ),
        (
            said(replace(entry("nan"), lower="0", upper="1", index=(3,)), 5, LONG),
            f"{END}the gradient of `x`, added up over 2 backwards, in entry [3] is between 0 and 1; toy 1.0 gives nan.",
        ),
        (
            said(Dtype(subject=VALUE, seen="float64", expected="float32")),
            "`exp(x)` of float64 is of float32; toy 1.0 gives float64.",
        ),
        (said(Shape(subject=VALUE, seen=(2,), expected=())), "`exp(x)` has the shape (); toy 1.0 gives (2,)."),
        (said(Absent(subject=X)), "There is a gradient of `exp(x)` with respect to `x`; toy 1.0 gives none."),
        (said(Error(error=RAISED), 3), "`exp(x)` has a gradient at x = 1.5; toy 1.0 raises ValueError: no {braces}."),
        (said(Error(error=RAISED), 2), "`exp(x)` can be computed at x = 1.5; toy 1.0 raises ValueError: no {braces}."),
        (
            said(Silence(due=("freed-graph",)), 4, LONG),
            "At the end of the program, `backward a` is an error: the graph was freed; toy 1.0 raises none.",
        ),
        (said(Flag(seen="True", expected=False)), "`grad` of `x` is False; toy 1.0 says True."),
        (
            said(TWICE),
            "Moving `x` by 1 changes `exp(x)` by 2; according to the gradient that toy 1.0 gives, by 0.5.",
        ),
        (said(Measured(quantity="time"), 0), "toy 1.0: time grows faster than the size."),
    ],
)  # fmt: skip
def test_a_fact_is_one_sentence(given: str, told: str) -> None:
    assert given == told


def test_a_verdict_without_evidence_tells_its_message() -> None:
    verdict = replace(VERDICTS[4], evidence=None, message="what a call adds is {13}")
    assert sentence(verdict, "toy 1.0") == "toy 1.0: what a call adds is {13}."


def test_a_sentence_is_one_line_of_bounded_length() -> None:
    verdict = replace(VERDICTS[4], evidence=None, message="a\nb" * 10_000)
    told = sentence(verdict, "toy\n1.0\x1b[0m")
    assert "\n" not in told
    assert "\x1b" not in told
    assert len(told) <= LONGEST_SENTENCE
