"""Findings with one cause are one row, by what their evidence has in common."""

from __future__ import annotations

from dataclasses import replace

from refgrad.facts import Died, Dtype, Error, Evidence, Fact, Silence, Subject
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Code, Value
from refgrad.report.document import Report
from refgrad.report.findings import failures
from refgrad.report.findings.causes import Cause, causes, shared_operators
from tests.report.example import SCENARIO, VERDICTS, entry, example_report, verdict

A = Subject("value", "a")
SECOND = SCENARIO.text + "backward a\nread grad x\n"


def failing(
    name: str, fact: Fact, *, outcome: Outcome = "wrong", scenario: str = SCENARIO.text, program: Call | None = None
) -> Verdict:
    row = verdict(name, outcome, shown=True)
    statement = program or Code(f"x = '{name}'\n")
    return replace(row, evidence=Evidence(fact, 4), scenario=scenario, reproduction=(statement,))


def document(*verdicts: Verdict, engine: str = "example") -> Report:
    return example_report(*verdicts, name=engine)


def causes_of(report: Report) -> list[Cause]:
    return causes(failures(report), report.verdicts)


def groups(*verdicts: Verdict) -> list[set[str]]:
    return [{each.verdict.id for each in cause.findings} for cause in causes_of(document(*verdicts))]


def raised(message: str) -> Error:
    return Error(error=Raised("ValueError", message, ("ValueError",)))


NUMBER = replace(entry("1.6449340676383375"), lower="1.6449340668482264")


def test_what_is_found_of_one_operator_has_one_cause() -> None:
    wrong, other = failing("operators/exp", entry("0.1")), failing("operators/log", entry("0.2"))
    assert groups(wrong, other) == [{"operators/exp"}, {"operators/log"}]
    assert groups(wrong, failing("edges/exp", entry("0.3")), other)[0] == {"operators/exp", "edges/exp"}


def test_one_wrong_number_is_one_cause_if_it_has_many_digits() -> None:
    assert groups(failing("operators/digamma", NUMBER), failing("operators/lgamma", NUMBER)) == [
        {"operators/digamma", "operators/lgamma"}
    ]
    assert len(groups(failing("operators/exp", entry("0.5")), failing("operators/log", entry("0.5")))) == 2


def test_errors_that_differ_in_numbers_alone_are_one_cause() -> None:
    one, other = raised("shape (2, 3) is odd"), raised("shape (4,) is odd")
    assert len(groups(failing("operators/exp", one), failing("operators/log", other))) == 1
    assert len(groups(failing("operators/exp", one), failing("operators/log", raised("shape is even")))) == 2


def test_one_dtype_one_silence_and_one_ending_are_one_cause_each() -> None:
    dtype = Dtype(subject=A, seen="float64", expected="float32")
    assert len(groups(failing("operators/exp", dtype), failing("operators/log", dtype))) == 1
    silence = Silence(expected_kinds=("freed-graph",))
    assert len(groups(failing("leaves/one", silence), failing("leaves/two", silence))) == 1
    died = Died(detail="killed by signal 11")
    assert (
        len(groups(failing("leaves/one", died, outcome="crashed"), failing("leaves/two", died, outcome="crashed"))) == 1
    )


def test_one_function_of_the_library_is_one_cause() -> None:
    one = failing("operators/exp", entry("0.1"), program=Call("lib.both({x})", {"x": Value(1)}, ("a",)))
    log = SCENARIO.text.replace("exp", "log")
    other = failing("operators/log", entry("0.2"), program=Call("lib.both({x})", {"x": Value(2)}, ("a",)), scenario=log)
    (cause,) = causes_of(document(one, other))
    assert cause.links == ("function both",)
    apart = replace(other, reproduction=(Call("lib.both(lib.more({x}))", {"x": Value(2)}, ("a",)),))
    assert len(groups(one, apart)) == 2


def test_what_is_wrong_from_the_second_backward_on_is_one_cause() -> None:
    assert len(groups(*(failing(f"leaves/{name}", entry(name), scenario=SECOND) for name in ("1", "2")))) == 1
    assert len(groups(*(failing(f"leaves/{name}", entry(name)) for name in ("1", "2")))) == 2


def test_what_others_build_on_comes_first_and_what_must_be_before_what_should() -> None:
    late, early = failing("repetition/one", entry("0.1")), failing("sharing/one", entry("0.2"))
    wished = replace(failing("leaves/one", entry("0.3")), level="SHOULD")
    report = document(wished, late, early)
    assert [cause.best.verdict.id for cause in causes_of(report)] == ["sharing/one", "repetition/one", "leaves/one"]


def test_the_worst_number_comes_first_and_what_it_hides_is_counted() -> None:
    small = failing("edges/exp", replace(entry("4.4"), relative_error="0.02"))
    large = replace(failing("graphs/one", replace(entry("0.1"), relative_error="0.98")), operator="exp")
    hidden = replace(verdict("second_order/exp", "inconclusive"), cause="edges/exp")
    cause: Cause
    (cause,) = causes_of(document(small, hidden, large))
    assert cause.best.verdict.id == "graphs/one"
    assert cause.hidden == ("second_order/exp",)


def test_what_several_operators_show_in_some_runs_only_comes_behind_what_one_operator_shows() -> None:
    one = failing("edges/exp", entry("0.1"))
    several = failing("sharing/diamond", entry("0.3"))
    assert groups(one, several) == [{"sharing/diamond"}, {"edges/exp"}]
    flaky = [replace(each, evidence=Evidence(entry("0.3"), 4, seen=1, runs=5)) for each in (one, several)]
    assert groups(*flaky) == [{"edges/exp"}, {"sharing/diamond"}]


def test_what_says_nothing_of_an_engine_has_no_cause() -> None:
    assert causes_of(document(*(each for each in VERDICTS if not each.failed))) == []


def test_an_operator_that_two_engines_get_wrong_is_told() -> None:
    exp, log = failing("operators/exp", entry("0.1")), failing("operators/log", entry("0.2"))
    shared = shared_operators(
        causes_of(each) for each in (document(exp, log, engine="one"), document(exp, engine="two"))
    )
    assert {name: [cause.best.engine for cause in found] for name, found in shared.items()} == {"exp": ["one", "two"]}


HIGHER = """\
a = leaf float64[] {0x1p+0} requires_grad
b = OPERATOR a
c = leaf float64[] {0x1p+1} requires_grad
d = multiply b c
e = grad d c
f = grad e a
backward f
read grad a
"""


def third(operator: str, observed: str, scenario: str = HIGHER) -> Verdict:
    return failing(f"third_order/{operator}", entry(observed), scenario=scenario.replace("OPERATOR", operator))


def test_a_higher_derivative_that_is_0_whatever_the_operator_is_has_one_cause() -> None:
    expected = [{"third_order/exp", "third_order/sinh"}]
    assert groups(third("exp", "0.0"), third("sinh", "-0.0")) == expected
    renamed = HIGHER.replace("d = multiply b c", "d = multiply c b").replace("0x1p+1", "0x1p+2")
    assert groups(third("exp", "0.0"), third("sinh", "0.0", renamed)) == expected
    (cause,) = causes_of(document(third("exp", "0.0"), third("sinh", "0.0")))
    derivative = "y1 = f(x2), y2 = f(x1, y1), y3 = dy2/dx1, y4 = dy3/dx2, dy4/dx2"
    assert cause.links == (f"0 in place of {derivative}",)


def test_other_numbers_other_derivatives_and_first_ones_are_causes_of_their_own() -> None:
    assert len(groups(third("exp", "0.0"), third("sinh", "0.5"))) == 2
    second = HIGHER.replace("f = grad e a\nbackward f", "backward e")
    assert len(groups(third("exp", "0.0"), third("sinh", "0.0", second))) == 2
    first = SCENARIO.text.replace("exp", "OPERATOR")
    assert len(groups(third("exp", "0.0", first), third("sinh", "0.0", first))) == 2
    held = HIGHER.replace("backward f", "backward f retain_graph\nread grad a\nzero_grad a\nbackward f")
    assert len(groups(third("exp", "0.0", held), third("sinh", "0.0", held))) == 2
