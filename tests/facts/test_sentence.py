"""A finding is one sentence: what was computed, what is right, what the engine gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.facts import (
    Absent,
    Calls,
    Died,
    Dtype,
    Error,
    Evidence,
    Fact,
    Flag,
    Inconsistent,
    Measured,
    NotedNumber,
    Numbers,
    Parents,
    Shape,
    Silence,
    Subject,
    UnexpectedGradient,
    Written,
)
from refgrad.native.observation import Raised
from refgrad.report import CHARACTERS
from refgrad.report.findings import sentence
from tests.effort import each
from tests.report.example import SCENARIO, VERDICTS, entry

X = Subject("gradient", "x")
VALUE = Subject("value", "a")
END = "At the end of the program, "
X_SLOPE = "gradient of `exp(x)` with respect to `x`"
X_TWICE = f"the {X_SLOPE}, added up over 2 backwards"
LONG = SCENARIO.text.replace("read grad x", "backward a\nread grad x")
VALUED = SCENARIO.text.replace("read grad x", "read value a")
GRAD = SCENARIO.text + "h = grad a x\n"
PUSHED = SCENARIO.text.replace("backward a", "h = grad a x forward\nbackward h")
WRITTEN = SCENARIO.text.replace("backward a", "write a multiply x")
UNREACHED = SCENARIO.text.replace("backward a\nread grad x", "read grad a")
HOOKED = SCENARIO.text.replace("backward a\nread grad x", "hook h on a observe\nbackward a\nread hook h")
TWO = SCENARIO.text.replace("read grad x", "b = exp a\nbackward b\nread grad x")
RAISED = Raised("ValueError", "no {braces}.", ("ValueError",))
TWICE = Inconsistent(
    gradients=(Numbers((), ("0.5",), "x"),),
    direction=(Numbers((), ("1.0",), "x"),),
    rate="0.5",
    lower="2.0",
    upper="2.0",
)


def worded(fact: Fact, step: int = 4, scenario: str = SCENARIO.text) -> str:
    return sentence(replace(VERDICTS[4], evidence=Evidence(fact, step), scenario=scenario), "toy 1.0")


@each(
    ("text", "expected"),
    [
        (
            worded(entry("0.1")),
            "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; toy 1.0 gives 0.1.",
        ),
        (
            worded(entry("0.1"), 5, PUSHED),
            (
                "The gradient of `d/dx [exp(x)]` with respect to `x`, in reverse mode over forward mode, at x = 1.5 is "
                "4.48; toy 1.0 gives 0.1."
            ),
        ),
        (
            worded(entry("4.4800000001")),
            "The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; toy 1.0 gives 4.4800000001.",
        ),
        (
            worded(replace(entry("nan"), lower="0", upper="1", index=(3,)), 5, LONG),
            f"{END}entry [3] of {X_TWICE}, is between 0 and 1; toy 1.0 gives nan.",
        ),
        (
            worded(Dtype(subject=VALUE, seen="float64", expected="float32")),
            "`exp(x)` of float64 has the dtype float32; toy 1.0 gives float64.",
        ),
        (worded(Shape(subject=VALUE, seen=(2,), expected=())), "`exp(x)` has the shape (); toy 1.0 gives (2,)."),
        (worded(Absent(subject=X)), f"There is a {X_SLOPE} at x = 1.5; toy 1.0 gives none."),
        (worded(Error(error=RAISED), 3), "`exp(x)` has a gradient at x = 1.5; toy 1.0 raises ValueError: no {braces}."),
        (
            worded(Error(error=RAISED), 2),
            "`exp(x)` can be computed at x = 1.5; toy 1.0 raises ValueError: no {braces}.",
        ),
        (
            worded(Silence(expected_kinds=("freed-graph",)), 4, LONG),
            f"{END}a backward from `a` must be refused, since the graph was freed; toy 1.0 raises no error.",
        ),
        (
            worded(Error(error=RAISED), 5, GRAD),
            "`exp(x)` has a gradient with respect to `x` at x = 1.5; toy 1.0 raises ValueError: no {braces}.",
        ),
        (
            worded(Error(error=RAISED), 3, WRITTEN),
            f"{END}overwriting `a` is possible; toy 1.0 raises ValueError: no {{braces}}.",
        ),
        (
            worded(Error(error=RAISED), 3, UNREACHED),
            "Reading the gradient of `exp(x)` is possible at x = 1.5; toy 1.0 raises ValueError: no {braces}.",
        ),
        (
            worded(Error(error=RAISED), 3, UNREACHED.replace("grad a", "is_leaf a")),
            "Reading `is_leaf` of `exp(x)` is possible at x = 1.5; toy 1.0 raises ValueError: no {braces}.",
        ),
        (worded(Error(error=RAISED), 4), "`exp(x)` has a gradient at x = 1.5; toy 1.0 raises ValueError: no {braces}."),
        (
            worded(Died(detail="the process was ended by signal 6 (SIGABRT)"), 5, HOOKED),
            f"{END}reading what `h` saw is possible; toy 1.0: the process was ended by signal 6 (SIGABRT).",
        ),
        (worded(Calls(hook="h", seen=0, expected=1)), "The hook `h` sees 1 gradient; toy 1.0 shows it 0 gradients."),
        (
            worded(UnexpectedGradient(leaf="x", gradients=(Numbers((), ("0.5",), "x"),))),
            "Nothing is sent to `x`; toy 1.0 gives it the gradient 0.5.",
        ),
        (
            worded(UnexpectedGradient(leaf="x", gradients=(Numbers((2,), ("0.5", "1.0"), "x"),))),
            "Nothing is sent to `x`; toy 1.0 gives it the gradient [0.5, 1.0].",
        ),
        (worded(Written(change="seed 1 is 2.0")), "A backward does not write to its seed; that of toy 1.0 does."),
        (worded(Flag(seen="True", expected=False)), "`grad` of `x` is False; toy 1.0 says True."),
        (
            worded(TWICE),
            "Moving `x` by 1 at x = 1.5 changes `exp(x)` by 2; according to the gradient that toy 1.0 gives, by 0.5.",
        ),
        (
            worded(Died(detail="the process was ended by signal 6 (SIGABRT)"), 2),
            "`exp(x)` can be computed at x = 1.5; toy 1.0: the process was ended by signal 6 (SIGABRT).",
        ),
        (
            worded(Died(detail="the process was ended by signal 6 (SIGABRT)"), 4, VALUED),
            "`exp(x)` can be computed at x = 1.5; toy 1.0: the process was ended by signal 6 (SIGABRT).",
        ),
        (
            worded(Parents(node="a", seen=("x", ""), expected=("x", "x")), 0),
            "The node of `a` leads to [x, x]; that of toy 1.0 leads to [x, something else].",
        ),
        (worded(Measured(quantity="time"), 0), "toy 1.0: time grows faster than the size."),
        (
            worded(NotedNumber(label="a {slope}", seen="2.0", expected="7.0", wrong=1, runs=1, numbers=()), 0),
            "toy 1.0: a {slope} is 2.0, but it should be 7.0.",
        ),
    ],
)  # fmt: skip
def test_a_fact_is_one_sentence(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("last", "action", "kind", "reason"),
    [
        ("backward a", "a backward from `a`", "freed-graph", "the graph was freed"),
        (
            "h = grad a x",
            "the gradient of `a` with respect to `x`",
            "seed-shape",
            "the seed has another shape than the output",
        ),
        ("write a copy x", "overwriting `a`", "write-shape", "what is written does not fit"),
        ("hook h on a observe", "a hook on `a`", "hook-on-constant", "a constant has no gradient to watch"),
        (
            "retain grad a",
            "keeping the gradient of `a`",
            "retain-grad-on-constant",
            "a constant has no gradient to keep",
        ),
        (
            "require grad a",
            "changing whether `a` requires grad",
            "requires-grad-of-non-leaf",
            "only leaves can be told to require grad or not",
        ),
        ("b = exp a", "`b = exp a`", "no-graph", "nothing was recorded"),
    ],
)
def test_what_must_be_refused_is_named(last: str, action: str, kind: str, reason: str) -> None:
    text = worded(
        Silence(expected_kinds=(kind,)), 3, f"x = leaf float64[] {{0x1p+0}} requires_grad\na = exp x\n{last}\n"
    )
    assert text == f"{END}{action} must be refused, since {reason}; toy 1.0 raises no error."


def test_what_is_not_in_double_precision_is_told_so() -> None:
    half = SCENARIO.text.replace("float64", "float16")
    assert worded(entry("0.1"), scenario=half).startswith(
        "In float16, the gradient of `exp(x)` with respect to `x` at x"
    )
    assert worded(Absent(subject=X), 5, LONG.replace("float64", "float16")).startswith(f"{END}in float16, there is")
    assert worded(Dtype(subject=VALUE, seen="float64", expected="float16"), scenario=half).startswith(
        "`exp(x)` of float16"
    )


LARGE = """\
x = leaf float64[2, 2] {0x1p+0 inf 0x1p+1 0x1p+2} requires_grad
y = leaf float64[2, 2] {0x1p-1 -0x1p+0 nan 0x0p+0}
a = OPERATOR
backward a seed float64[2, 2] {0x1p+0 0x1p+1 0x1p+0 0x1p+0}
read grad x
"""


@pytest.mark.parametrize(
    ("operator", "index", "place"),
    [
        ("multiply x y", (0, 1), " at x[0, 1] = inf, y[0, 1] = -1.0, y[1, 0] = nan, seed[0, 1] = 2.0 "),
        ("multiply x y", (1, 1), " at x[1, 1] = 4.0, x[0, 1] = inf, y[1, 1] = 0.0, seed[1, 1] = 1.0 "),
        (
            "matmul x y",
            (1, 1),
            " at x = [[1.0, inf], [2.0, 4.0]], y = [[0.5, -1.0], [nan, 0.0]], seed = [[1.0, 2.0], [1.0, 1.0]] ",
        ),
    ],
)
def test_of_large_arrays_an_entry_and_what_is_no_number_are_told(
    operator: str, index: tuple[int, ...], place: str
) -> None:
    text = worded(replace(entry("0.1"), index=index), 5, LARGE.replace("OPERATOR", operator))
    assert text.startswith(f"Entry [{index[0]}, {index[1]}] of the gradient of `")
    assert f"with respect to `x`{place}is 4.48; toy" in text


FIVE = """\
x = leaf float64[5] {0x1p+0 0x1p+0 0x1p+1 0x1p+2 0x1p+3} requires_grad
y = leaf float64[2] {0x1p+0 0x1p+1}
a = OPERATOR x
backward a
read grad x
"""


@pytest.mark.parametrize(
    ("seed", "place"),
    [
        ("", "the operands of the program"),
        (" seed float64[5] {0x1p+1 0x1p+0 0x1p+0 0x1p+0 0x1p+0}", "the operands and the seed of the program"),
        (" seed float64[2] {0x1p+1 0x1p+0}", "seed = [2.0, 1.0] with the operands of the program"),
    ],
)
def test_large_arrays_of_plain_numbers_are_left_to_the_program_where_every_entry_counts(seed: str, place: str) -> None:
    plain = FIVE.replace("OPERATOR", "cumsum").replace("backward a", f"backward a{seed}")
    text = worded(replace(entry("0.1"), index=(0,)), 5, plain)
    assert f"with respect to `x` at {place} is 4.48" in text


def test_where_an_entry_counts_alone_its_operand_is_told_beside_a_seed_of_the_program() -> None:
    seeded = FIVE.replace("OPERATOR", "cumsum").replace("0x1p+3}", "nan}")
    seeded = seeded.replace("backward a", "backward a seed float64[5] {0x1p+1 0x1p+0 0x1p+0 0x1p+0 0x1p+0}")
    text = worded(replace(entry("0.1"), index=(0,)), 5, seeded)
    assert "at x[4] = nan, y = [1.0, 2.0] with the seed of the program is 4.48" in text


def test_a_gradient_of_several_outputs_names_none_of_them() -> None:
    assert worded(entry("0.1"), 7, TWO).startswith(f"{END}the gradient of `x`, added up over 2 backwards, is 4.48")


def test_an_array_without_entries_is_told_by_its_shape() -> None:
    empty = "x = leaf float64[0, 3] {} requires_grad\na = exp x\nbackward a seed float64[0, 3] {}\n"
    assert worded(Error(error=RAISED), 2, empty).startswith("`exp(x)` can be computed at x of the shape (0, 3); toy")


def test_a_seed_that_is_not_one_belongs_to_a_gradient_and_not_to_a_value() -> None:
    seeded = SCENARIO.text.replace("backward a", "backward a seed float64[] {0x1p+1}")
    assert " at x = 1.5, seed = 2.0 is 4.48" in worded(entry("0.1"), scenario=seeded)
    assert "`exp(x)` at x = 1.5 is 4.48" in worded(replace(entry("0.1"), subject=VALUE), scenario=seeded)


PUSHED = """\
x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
a = exp x
t = jvp a x float64[2] {0x1p+0 0x0p+0}
read value t
"""


def test_what_forward_mode_makes_is_told_with_what_moves() -> None:
    fact = replace(entry("0.1"), subject=Subject("value", "t"), index=(0,))
    assert worded(fact, 4, PUSHED) == (
        "Entry [0] of the forward-mode derivative of `exp(x)` as `x` moves by [1.0, 0.0] at x = [1.0, 2.0] is 4.48; "
        "toy 1.0 gives 0.1."
    )
    assert worded(Error(error=RAISED), 3, PUSHED).startswith(
        "`exp(x)` has a forward-mode derivative at x = [1.0, 2.0]; "
    )


def test_a_call_that_is_too_long_leaves_out_its_attributes() -> None:
    points, seed = ", ".join(["0"] * 40), " ".join(["0x1p+0"] * 40)
    taken = f"a = take x axis=0 indices=({points})\nbackward a seed float64[40] {{{seed}}}\n"
    long = "x = leaf float64[1] {0x1p+0} requires_grad\n" + taken
    assert worded(Error(error=RAISED), 2, long).startswith("`take(x, …)` can be computed at x = [1.0]; toy")


def test_a_verdict_without_evidence_tells_its_message() -> None:
    ended = replace(VERDICTS[4], evidence=None, message="there is a jump.")
    assert sentence(ended, "toy 1.0") == "toy 1.0: there is a jump."
    verdict = replace(VERDICTS[4], evidence=None, message="what a call adds is {13}")
    assert sentence(verdict, "toy 1.0") == "toy 1.0: what a call adds is {13}."


def test_a_measurement_that_never_ended_tells_what_was_asked() -> None:
    hung = replace(VERDICTS[4], verdict="hung", evidence=None, message="gave no answer within 60 s")
    assert sentence(hung, "toy 1.0") == "exp is as it must be. toy 1.0: gave no answer within 60 s."


def test_a_sentence_is_one_line_of_bounded_length() -> None:
    verdict = replace(VERDICTS[4], evidence=None, message="a\nb" * 10_000)
    text = sentence(verdict, "toy\n1.0\x1b[0m")
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) <= CHARACTERS["sentence"]
