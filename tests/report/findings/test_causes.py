"""Findings with one cause are one row, by what their evidence has in common."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from refgrad.facts import Died, Dtype, Entry, Error, Evidence, Fact, Shape, Silence, Subject, Written
from refgrad.grading.judging.verdict import Outcome, Verdict
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Code, Value
from refgrad.report.document import Report
from refgrad.report.findings import failures
from refgrad.report.findings.causes import Cause, causes, distinct_causes, shared_operators
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


def test_equal_entries_with_different_results_are_one_cause() -> None:
    unequal = replace(entry("1.0"), lower="0.0", upper="0.0", qualifier="unequal")
    other = replace(unequal, observed="nan")
    assert len(groups(failing("exceptional/relu6", unequal), failing("exceptional/elu", other))) == 1
    assert len(groups(failing("exceptional/relu6", unequal), failing("exceptional/elu", entry("1.0")))) == 2


def test_errors_that_differ_in_numbers_alone_are_one_cause() -> None:
    one, other = raised("shape (2, 3) is odd"), raised("shape (4,) is odd")
    assert len(groups(failing("operators/exp", one), failing("operators/log", other))) == 1
    assert len(groups(failing("operators/exp", one), failing("operators/log", raised("shape is even")))) == 2


def test_one_dtype_and_one_silence_are_one_cause_each() -> None:
    dtype = Dtype(subject=A, seen="float64", expected="float32")
    assert len(groups(failing("operators/exp", dtype), failing("operators/log", dtype))) == 1
    silence = Silence(expected_kinds=("freed-graph",))
    assert len(groups(failing("leaves/one", silence), failing("leaves/two", silence))) == 1


def test_an_error_and_a_wrong_number_of_one_operator_are_two_causes() -> None:
    number, error = failing("edges/hypot", entry("nan")), failing("operators/hypot", raised("not here"))
    assert len(groups(number, error)) == 2
    assert len(groups(error, failing("edges/hypot", raised("nor there")))) == 1


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


def real(name: str, fact: Fact, step: int, scenario: str) -> Verdict:
    """Return a finding of a committed report: its check, its fact, and the step that shows it."""
    row = failing(name, fact, scenario=scenario)
    operator = "" if name.startswith("graphs/") or "_are_" in name or "_stay_" in name else row.id.partition("/")[2]
    return replace(row, operator=operator, evidence=Evidence(fact, step))


def gradient(name: str, observed: str, lower: str) -> Entry:
    return replace(entry(observed), subject=Subject("gradient", name), lower=lower, upper=lower)


X_ONE: Final = "x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad\n"
SEED: Final = "seed float64[2, 1] {0x1p+0 -0x1p+1}"
TORCH_MEMORY: Final = (
    real(
        "contracts/gradients_of_leaves_are_apart",
        gradient("y", "4.0", "1.0"),
        9,
        f"{X_ONE}y = leaf float64[2] {{0x1p+0 0x1p+1}} requires_grad\na = stack x y\nb = sum a axis=0\n"
        "backward b seed float64[2] {0x1p+0 -0x1p+1}\nc = multiply x x\n"
        "backward c seed float64[2] {0x1p+0 0x1p+0}\nread grad x\nread grad y\n",
    ),
    real(
        "contracts/vstack",
        gradient("a", "3.0", "2.0"),
        7,
        "a = leaf float64[] {0x1p+1} requires_grad\nb = leaf float64[] {0x1p+0} requires_grad\nc = vstack a b\n"
        "d = sum c\nbackward d retain_graph\nbackward d\nread grad a\n",
    ),
    real(
        "contracts/seeds_stay_as_they_are",
        Written(change="seed 1 is entry (0, 0): 2.0, and was 1.0"),
        4,
        f"{X_ONE}a = reshape x shape=(2, 1)\nbackward a {SEED} retain_graph\nbackward a {SEED}\nread grad x\n",
    ),
)
PADDLE_ROW: Final = real(
    "contracts/take",
    Shape(subject=Subject("value", "c"), seen=(1, 1), expected=(2, 1)),
    5,
    "a = leaf float64[2, 1] {0x1p+0 0x1p+0} requires_grad\nb = index a index=(:, ::2)\n"
    "c = take b axis=1 indices=(0,)\nbackward b seed float64[2, 1] {0x1p+0 0x1p+0}\nread value c\n",
)
PADDLE_VALUE: Final = real(
    "contracts/log_softmax",
    replace(gradient("b", "-64.0", "-799.0"), subject=Subject("value", "b"), index=(0,)),
    4,
    "a = leaf float64[2] {0x1p+0 0x1.9p+9} requires_grad\nb = log_softmax a\n"
    "backward b seed float64[2] {0x1p+0 0x1p+0}\nread value b\n",
)
MXNET_SAVED: Final = real(
    "contracts/logabsdet",
    gradient("a", "2.5", "1.0"),
    5,
    "a = leaf float64[1, 1] {0x1p+1} requires_grad\nb = logabsdet a\nbackward b retain_graph\nbackward b\n"
    "read grad a\n",
)
AT_INFINITY: Final = tuple(
    real(
        f"infinities/{operator}",
        gradient("a", "nan", lower),
        5,
        f"a = leaf float64[] {{inf}} requires_grad\nb = leaf float64[] {{0x1p+0}}\nc = {operator} a b\nbackward c\n"
        "read grad a\n",
    )
    for operator, lower in (("multiply", "1.0"), ("divide", "1.0"), ("arctan2", "0.0"))
)
COMMONS_SUBNORMAL: Final = real(
    "exceptional/arctan2",
    gradient("a", "0.0", "2.40601e-306"),
    5,
    "a = leaf float64[] {0x1p-4} requires_grad\nb = leaf float64[] {0x0.8p-1022}\nc = arctan2 a b\nbackward c\n"
    "read grad a\n",
)
SIGNAL: Final = Died(detail="the process was ended by signal 11 (SIGSEGV)")
PADDLE_CRASHES: Final = (
    real("operators/solve", SIGNAL, 4, SCENARIO.text.replace("exp x", "solve x x").replace("[]", "[1, 1]")),
    real("second_order/moveaxis", SIGNAL, 4, ""),
    *(
        real(
            f"graphs/{name}",
            SIGNAL,
            2,
            "a = leaf float64[2, 2] {0x1p+0 0x1p+0 0x1p+0 0x1p+1} requires_grad\n"
            f"b = index a index=((0, 1), ::-1)\nc = {operator} b\nbackward c\nread grad a\n",
        )
        for name, operator in (("double_backward", "sum"), ("one_backward", "sum"))
    ),
)
REAL: Final = (
    *TORCH_MEMORY, PADDLE_ROW, PADDLE_VALUE, MXNET_SAVED, *AT_INFINITY, COMMONS_SUBNORMAL, *PADDLE_CRASHES,
)  # fmt: skip


def ids(*verdicts: Verdict) -> set[str]:
    return {each.id for each in verdicts}


def test_gradients_that_share_memory_are_one_cause() -> None:
    (cause,) = causes_of(document(*TORCH_MEMORY))
    assert cause.links == ("memory: memory that a backward shares or writes to",)


def test_what_a_contract_shows_without_shared_memory_is_a_cause_of_its_own() -> None:
    others = (PADDLE_ROW, PADDLE_VALUE, MXNET_SAVED)
    assert sorted(map(sorted, groups(*TORCH_MEMORY, *others))) == sorted(
        map(sorted, [ids(*TORCH_MEMORY), *map(ids, others)])
    )


def test_a_contract_joins_what_else_is_found_of_its_operator() -> None:
    assert groups(PADDLE_VALUE, real("operators/log_softmax", entry("0.1"), 4, PADDLE_VALUE.scenario)) == [
        {"contracts/log_softmax", "operators/log_softmax"}
    ]


def test_infinity_times_0_is_one_cause_of_dual_numbers_alone() -> None:
    findings = (*AT_INFINITY, COMMONS_SUBNORMAL)
    dual = causes_of(document(*findings, engine="ceres"))
    assert [{each.verdict.id for each in cause.findings} for cause in dual] == [
        ids(*AT_INFINITY), ids(COMMONS_SUBNORMAL),
    ]  # fmt: skip
    assert dual[0].links == ("dual numbers: 0 * infinity",)
    reverse = causes_of(document(*findings, engine="jax"))
    assert {frozenset(each.verdict.id for each in cause.findings) for cause in reverse} == {
        frozenset(ids(AT_INFINITY[0])), frozenset(ids(AT_INFINITY[1])),
        frozenset(ids(AT_INFINITY[2], COMMONS_SUBNORMAL)),
    }  # fmt: skip


def test_an_infinite_derivative_by_the_only_operand_is_no_product_with_0() -> None:
    (multiply, divide, _) = AT_INFINITY
    square = replace(multiply, id="infinities/square", operator="square", scenario=(
        "a = leaf float64[] {inf} requires_grad\nb = multiply a a\nbackward b\nread grad a\n"
    ))  # fmt: skip
    assert len(causes_of(document(square, divide, engine="ceres"))) == 2


def test_two_crashes_are_one_cause_if_one_operator_crashes() -> None:
    assert sorted(map(sorted, groups(*PADDLE_CRASHES))) == [
        ["graphs/double_backward", "graphs/one_backward"], ["operators/solve"], ["second_order/moveaxis"],
    ]  # fmt: skip
    unknown = (failing(f"leaves/{name}", SIGNAL, outcome="crashed") for name in ("one", "two"))
    assert len(groups(*unknown)) == 2


def test_engines_of_one_library_share_causes_where_several_engines_are_counted() -> None:
    exp, log = failing("operators/exp", entry("0.1")), failing("operators/log", entry("0.2"))
    tape, functions = document(exp, log, engine="torch"), document(exp, engine="torch-func")
    assert distinct_causes(map(failures, (tape, functions))) == 2
    assert distinct_causes(map(failures, (tape, document(exp, engine="jax")))) == 3
    assert shared_operators(map(causes_of, (tape, functions))) == {}


@given(st.permutations(REAL), st.sampled_from(["torch", "ceres", "unknown"]))
def test_the_causes_do_not_depend_on_the_order_of_findings(verdicts: list[Verdict], engine: str) -> None:
    def partition(findings: tuple[Verdict, ...]) -> set[frozenset[str]]:
        return {
            frozenset(each.verdict.id for each in cause.findings)
            for cause in causes_of(document(*findings, engine=engine))
        }

    expected = partition(REAL)
    assert partition(tuple(verdicts)) == expected
    assert sorted(chain.from_iterable(expected)) == sorted(ids(*REAL))
