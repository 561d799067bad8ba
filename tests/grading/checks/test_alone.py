"""Is an operator tried on its own, whatever an engine gets wrong around it?"""

from __future__ import annotations

from refgrad.grading.checks.isolation import (
    applications_alone,
    shows_arrays,
    with_one_leaf,
    with_operands_read,
    with_own_operands,
    without_constants,
)
from refgrad.scenario import parse

TWICE = parse("""
x = leaf float64[] {0x1p+1} requires_grad
c = leaf float64[] {0x1.8p+1}
a = multiply x x
b = multiply a c
backward b
read grad x
read value b
""")

TWO_LEAVES = parse("""
x = leaf float64[] {0x1p+1} requires_grad
y = leaf float64[] {0x1.8p+1} requires_grad
c = leaf bool[] {true}
a = where c x y
backward a
read grad x
read grad y
read value a
""")


def test_what_is_about_flags_errors_or_changes_is_not_about_arrays_alone() -> None:
    assert shows_arrays(TWICE)
    assert not shows_arrays(parse("x = leaf float64[] {0x1p+1} requires_grad\na = exp x\nbackward a\n"))
    assert not shows_arrays(parse(f"{TWICE.text}backward b\n"))
    assert not shows_arrays(parse(f"{TWICE.text}enter no_grad\nd = exp x\nleave\nread value d\n"))


def test_an_operand_that_is_taken_twice_gets_a_leaf_of_its_own() -> None:
    alone = with_own_operands(TWICE)
    assert "a = multiply x x_again_1" in alone.text
    assert alone.text.endswith("read grad x_again_1\n")


def test_constants_can_want_gradients_too_but_conditions_cannot() -> None:
    assert all(leaf.requires_grad for leaf in without_constants(TWICE).leaves)
    assert [leaf.requires_grad for leaf in without_constants(TWO_LEAVES).leaves] == [True, True, False]


def test_one_leaf_alone_wants_a_gradient() -> None:
    alone = with_one_leaf(TWO_LEAVES)
    assert [leaf.requires_grad for leaf in alone.leaves] == [True, False, False]
    assert "read grad y" not in alone.text


def test_operands_are_looked_at_in_the_end_or_before_any_backward() -> None:
    late = with_operands_read(TWO_LEAVES, early=False).text.splitlines()
    assert late[-2:] == ["read value x", "read value y"]
    early = with_operands_read(TWO_LEAVES, early=True).text.splitlines()
    assert early[4:8] == ["read value a", "read value x", "read value y", "backward a"]


def test_applications_are_taken_out_with_the_operands_that_they_have() -> None:
    first, second = applications_alone(TWICE, "multiply")
    assert first.text.splitlines()[0] == "x = leaf float64[] {0x1p+1} requires_grad"
    assert second.text.splitlines() == [
        "a = leaf float64[] {0x1p+2} requires_grad",
        "c = leaf float64[] {0x1.8p+1}",
        "b = multiply a c",
        "backward b seed float64[] {0x1.4p+0}",
        "read grad a",
        "read value b",
    ]


def test_an_application_to_constants_alone_is_left_out() -> None:
    assert not list(applications_alone(parse("c = leaf float64[] {0x1p+1}\na = exp c\nread value a\n"), "exp"))
