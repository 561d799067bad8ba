"""Is a wrong gradient told in full: which output, which input, which entry, by how much, how to see it, what to do?"""

from __future__ import annotations

import re
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.libraries.trees import Kind
from refgrad.checking.messages import WrongEntries, _leaf, _output_text, _seed_literal, advice, program
from refgrad.checking.report import describe_inconclusive
from refgrad.checking.subject import CheckedFunction
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.oracles import Discrepancy
from tests.checking.own_functions import FAULTS, Backward, inputs, own, square_with

pytestmark = pytest.mark.engines


def message(backward: Backward, *arrays: Any, **options: Any) -> str:
    return check_gradients(square_with(backward), arrays, "autograd", raise_exception=False, **options).message


@pytest.mark.parametrize(
    ("size", "dtype", "changed", "literal"),
    [
        (65, "float64", -0.5, "-drawn(1) / 2"),
        (65, "complex128", -0.5, "np.array((-0.5-1j"),
        (64, "float64", 1.0, "np.array([1.0, 2.0, 3.0"),
    ],
)
def test_only_large_real_seeds_are_drawn_again(size: int, dtype: str, changed: float, literal: str) -> None:
    subject: Any = SimpleNamespace(drawn=[(np.arange(1.0, size + 1), "drawn(1)")])
    assert _seed_literal(subject, changed * subject.drawn[0][0], Kind(dtype)).startswith(literal)


@pytest.mark.parametrize(("code", "leaf"), [("jax.random.key(0)", "jax.random.key(0)"), ("", "inputs[0]['key']")])
def test_what_is_no_tensor_is_written_out_or_taken_from_the_inputs(code: str, leaf: str) -> None:
    subject: Any = SimpleNamespace(
        inputs=[SimpleNamespace(array=None, original=object())],
        library=SimpleNamespace(code=lambda _: code),
        arguments_tree=SimpleNamespace(paths=["[0]['key']"]),
    )
    assert _leaf(subject, 0, ()) == leaf


def test_the_report_has_the_numbers_of_its_message() -> None:
    report = check_gradients(square_with(FAULTS["half"]), np.array([1.25, 2.5]), "autograd", raise_exception=False)
    assert report.discrepancy is not None
    assert (report.discrepancy.observed, report.discrepancy.lower) == (1.0, 2.0)
    assert f"backward gives:  {report.discrepancy.observed!r}\n" in report.message


def test_the_message_about_an_entry() -> None:
    told = message(FAULTS["half"], np.array([1.25, 2.5]))
    assert re.sub(r"\S+(?= times what)", "1e+15", told) == (
        "the gradient with respect to input 0, entry (0,) is wrong\n"
        "  output:          0, entry (0,)\n"
        "  backward gives:  1.0\n"
        "  the truth is:    2.0000000000000000 (certified)\n"
        "  it is off by:    1, a relative error of 5.0e-01, 1e+15 times what rounding explains\n"
        "  what to do:      every entry lacks a factor of 2: look for a use of the value whose gradient is "
        "overwritten or detached\n"
        "  to see it:\n"
        "    import math\n"
        "    import autograd\n"
        "    import autograd.numpy as np\n"
        "    import autograd.scipy.signal\n"
        "    from autograd.scipy import special\n"
        "\n"
        "    def vjp(function, primals):\n"
        "        return of_one(function, *primals) if len(primals) == 1 else of_several(function, primals)\n"
        "\n"
        "    def of_one(function, x):\n"
        "        pullback, output = autograd.make_vjp(function)(x)\n"
        "        return output, lambda seed: [pullback(seed)]\n"
        "\n"
        "    def of_several(function, primals):\n"
        "        pullback, output = autograd.make_vjp(function, tuple(range(len(primals))))(*primals)\n"
        "        return output, pullback\n"
        "\n"
        "    x0 = np.array([1.0, 2.0])\n"
        "    outputs, pullback = vjp(lambda x0: function(x0), [x0])\n"
        "    print(pullback(np.array([1.0, 0.0]))[0][0])"
    )


def test_a_function_that_raises_later_is_described_as_it_was_checked() -> None:
    rule, broken = square_with(FAULTS["half"]), [False]

    def function(x: Any) -> Any:
        if broken[0]:
            raise RuntimeError("changed")
        return rule(x)

    report = check_gradients(function, np.array([1.25, 2.5]), "autograd", raise_exception=False)
    broken[0] = True
    first, _, third, *_ = report.message.splitlines()
    assert first == "the gradient with respect to a direction through all inputs is wrong"
    assert re.fullmatch(r"  backward gives:  -?\d+\.\d+", third)


def test_the_message_where_nothing_is_known_of_the_function() -> None:
    lines = message(FAULTS["half"], np.array([1.25, 2.5]), method="differences").splitlines()
    assert lines[0] == "the gradient with respect to input 0, entry (0,) is wrong"
    assert lines[3].startswith("  the truth is:    2 ± ")
    assert lines[3].endswith(" (by finite differences)")
    assert lines[4].startswith("  it is off by:    1, a relative error of 5.0e-01, ")


def test_the_message_about_one_of_several_inputs_and_outputs() -> None:
    half = square_with(FAULTS["half"])
    report = check_gradients(
        lambda x, y: (3 * x, half(y)), (np.array(1.25), np.array(2.5)), "autograd", raise_exception=False
    )
    lines = report.message.splitlines()
    assert lines[:2] == ["the gradient with respect to input 1 is wrong", "  output:          1"]
    assert lines[-4:] == [
        "    x0 = np.array(1.0)",
        "    x1 = np.array(2.0)",
        "    outputs, pullback = vjp(lambda x0, x1: function(x0, x1)[1], [x0, x1])",
        "    print(pullback(np.array(1.0))[1])",
    ]


def test_a_large_array_is_not_printed() -> None:
    lines = message(FAULTS["sign flipped"], inputs(1000)).splitlines()
    assert lines[-3:] == [
        "    x0 = inputs[0]",
        "    outputs, pullback = vjp(lambda x0: function(x0), [x0])",
        "    print(pullback(np.eye(1, 1000, 700).reshape((1000,)))[0][700])",
    ]


def test_a_large_array_of_one_number_is_printed() -> None:
    lines = message(FAULTS["sign flipped"], np.full(1000, 0.5)).splitlines()
    assert lines[-3] == "    x0 = np.full((1000,), 0.5)"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("writes to its input", "the backward writes to input 0"),
        ("writes to the seed", "the backward writes to the seed of output 0"),
    ],
)
def test_the_message_about_what_is_wrong_beside_the_numbers(fault: str, told: str) -> None:
    assert message(FAULTS[fault], inputs(2, 3)) == told


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("ignores the seed", "the backward does not depend on the gradient that comes in: multiply by it"),
        ("squares the seed", "the backward multiplies twice by the gradient that comes in: do so once"),
        ("sign flipped", "wrong only at index 0 of axis 0, where the sign of each entry is flipped"),
        ("nothing arrives", "nothing arrives: look for a value that leaves the graph (item, numpy, detach, a copy)"),
        ("not a number", "not a finite number: look for 0 * inf, 0 / 0, or a branch that is computed but not taken"),
        (
            "1e-9 too large",
            "right in its leading digits only: look for float32, a rounded constant, or a formula that cancels",
        ),
        ("0.09 % too large", "every entry is 1.0009 times what it should be"),
    ],
)
def test_the_message_says_what_to_do(fault: str, told: str) -> None:
    assert f"  what to do:      {told}\n" in message(FAULTS[fault], np.array([1.25, 2.5]))


@pytest.mark.parametrize(
    ("observed", "truth", "told"),
    [
        (2.0, 1.0, "compare the backward rule with the derivative; it gives 2 times what it should"),
        (0.5, 0.0, "compare the backward rule with the derivative"),
    ],
)
def test_advice_on_numbers(observed: float, truth: float, told: str) -> None:
    assert advice(Discrepancy("wrong", 0, (0,), observed, truth, truth, "")) == told


@pytest.mark.parametrize(
    ("discrepancy", "told"),
    [
        (
            Discrepancy("convention", 1, (), 0.5, 0.0, 1.0, "in [0, 1]"),
            "input 1 is at a kink: 0.5 is one of the legal answers, in [0, 1]",
        ),
        (
            Discrepancy("inconclusive", 0, (2,), 0.0, 0.0, 1.0, "between 0 and 1"),
            "input 0, entry (2,) is inconclusive at a kink: 0.0, and the one-sided slopes leave between 0 and 1",
        ),
        (
            Discrepancy("inconclusive", 0, (2,), 0.0, float("-inf"), float("inf"), "anything"),
            "input 0, entry (2,) is inconclusive: 0.0, at a pole or at the border of a domain",
        ),
        (
            Discrepancy("inconclusive", 0, None, 1.0, 0.5, 1.5, "1 ± 0.5"),
            "a direction through all inputs is inconclusive: 1.0, and all that is known of the truth is 1 ± 0.5",
        ),
    ],
)
def test_what_is_said_where_nothing_can_be_said(discrepancy: Discrepancy, told: str) -> None:
    assert describe_inconclusive(discrepancy) == told


def test_the_report_on_a_right_function_says_how_it_was_found() -> None:
    assert str(check_gradients(square_with(lambda g, x: 2 * x * g), np.array([1.5]), "autograd")) == (
        "gradient right: 1 entry under 1 seed, held against certified intervals"
    )


def test_the_report_says_why_the_truth_is_not_certified() -> None:
    function = own(np.nan_to_num, lambda g, _: g)
    assert str(check_gradients(function, np.array([0.7]), "autograd")).splitlines() == [
        "gradient right: 1 entry under 1 seed, held against finite differences",
        "not certified, because it calls nan_to_num, which the operator table does not have",
    ]


@pytest.mark.parametrize(("entries", "printed"), [(64, "x0 = np.array(["), (65, "x0 = inputs[0]")])
def test_arrays_of_sixty_four_entries_are_printed(entries: int, printed: str) -> None:
    assert f"    {printed}" in message(FAULTS["half"], np.linspace(1, 2, entries))


@pytest.mark.parametrize(("entries", "seed"), [(12, "np.array([1.0, 0.0,"), (13, "np.eye(1, 13, 0).reshape((13,))")])
def test_seeds_of_twelve_entries_are_printed_in_full(entries: int, seed: str) -> None:
    assert f"pullback({seed}" in message(FAULTS["half"], np.linspace(1, 2, entries)).splitlines()[-1]


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ((None, np.array(2.0)), "1"),
        ((np.zeros(2), np.array([0.0, 1.0])), "1, entry (1,)"),
        ((np.zeros(2), np.array([2.0, 1.0])), "1, all entries weighted by a random seed"),
        ((None, np.full(3, 2.0)), "1, all entries weighted by 2"),
        ((np.ones(1), None, np.ones(2)), "0, 2, all entries weighted by random seeds"),
        ((None, np.zeros((0, 3))), "1, which has no entries"),
    ],
)
def test_the_outputs_that_take_part_are_told(seeds: tuple[Any, ...], told: str) -> None:
    assert _output_text(seeds) == told


@pytest.mark.parametrize(
    ("regressor", "array", "told"),
    [
        ("", None, "backward gives:  5, the norm of these entries"),
        ("1", np.ones(2), "backward gives:  7, the sum of these entries"),
        ("input 0", np.array([1.0, 2.0]), "backward gives:  11, the sum of gradient * input 0"),
    ],
)
def test_entries_that_are_wrong_together_are_told_by_one_number(
    regressor: str, array: np.ndarray[Any, Any] | None, told: str
) -> None:
    subject = CheckedFunction(start(find_adapter("refgrad")), lambda x0: x0, [np.array([1.0, 2.0])])
    gradients = np.array([3.0, 4.0]), np.array([6.0, 8.0])
    wrong = WrongEntries("a sum is missing", (np.ones(2),), 0, (slice(None),), gradients, regressor, array)
    assert told in wrong.message(subject)


def test_the_program_goes_backward_from_an_output_whose_seed_is_not_all_zeros() -> None:
    subject = CheckedFunction(start(find_adapter("refgrad")), lambda x: (x, x, x), [np.array(1.5)])
    text = program(subject, (None, np.array(0.0), np.array(1.0)), (np.array(1.5),), 0, "{}")
    assert re.findall(r"(\S+)\.backward\(", text) == ["outputs[2]"]


def test_the_program_goes_backward_from_all_outputs_that_take_part() -> None:
    subject = CheckedFunction(start(find_adapter("refgrad")), lambda x: (x, x, x), [np.array(1.5)])
    text = program(subject, (np.array(2.0), None, np.array(1.0)), (np.array(1.5),), 0, "{}")
    assert re.findall(r"(\S+)\.backward\(.*retain_graph=(\w+)", text) == [
        ("outputs[0]", "True"),
        ("outputs[2]", "False"),
    ]


def test_a_gradient_of_an_output_without_entries_is_told_too() -> None:
    """The gradient of nothing is 0: autograd's is 0 / 0, since nothing is what arrives at the logarithm of 0."""
    report = check_gradients(lambda x: anp.log(x)[:0], [np.zeros(1)], "autograd", raise_exception=False)
    assert "output:          0, which has no entries\n  backward gives:  nan" in report.message
    shown = report.message.partition("to see it:")[2]
    printed: list[Any] = []
    with np.errstate(all="ignore"):
        exec(dedent(shown), {"function": lambda x: anp.log(x)[:0], "print": printed.append})  # as it is printed
    assert np.isnan(printed[0])
