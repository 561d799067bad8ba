"""The tensors that vjps read: as rows say, and as the nodes of the reference engine save them."""

from __future__ import annotations

from typing import Any

import refgrad.engine
from refgrad.lifecycle.graph import AGREED, Vjp, vjps_of
from refgrad.operators import Operator, operator_table
from refgrad.operators.differentiation import bending
from refgrad.scenario import Apply
from tests.effort import each


@each(
    ("operator", "argument", "names"),
    [
        ("multiply", "x", {"y"}),
        ("exp", "x", {"out"}),
        ("add", "x", set()),
        ("abs", "x", set()),
        ("relu", "x", set()),
        ("maximum", "x", set()),
        ("clip", "x", set()),
        ("divide", "y", {"x", "y"}),
        ("softplus", "x", {"x"}),
        ("sum", "x", set()),
        ("matmul", "x", {"y"}),
        ("matmul", "y", {"x"}),
        ("prod", "x", set()),
    ],
)
def test_what_a_slope_surely_varies_with_is_read_from_the_row(operator: str, argument: str, names: set[str]) -> None:
    assert bending(operator_table()[operator], argument) == names


def test_a_slope_names_the_tensors_of_the_application() -> None:
    first, second = vjps_of(Apply("a", "multiply", ("x", "y")))
    assert first == Vjp("x", saved=frozenset({"y"}), nonlinear_in=frozenset({"y"}))
    assert second == Vjp("y", saved=frozenset({"x"}), nonlinear_in=frozenset({"x"}))


def test_only_a_partial_that_is_zero_everywhere_vanishes() -> None:
    (x, y) = vjps_of(Apply("l", "copysign", ("x", "y")))
    assert (x.always_zero, y.always_zero) == (False, True)


def application(row: Operator) -> Apply:
    """The row, applied to a tensor of its own for every argument, and to two for a variadic one."""
    names = [f"{argument.name}_{i}" for argument in row.arguments for i in range(1 + argument.variadic)]
    return Apply("result", row.name, tuple(names))


@each("row", operator_table().values())
def test_every_operand_has_one_vjp_which_varies_only_with_what_it_has_saved(row: Operator) -> None:
    step = application(row)
    vjps = vjps_of(step)
    assert tuple(vjp.parent for vjp in vjps) == step.arguments
    for vjp in vjps:
        assert vjp.saved <= {*step.arguments, "result"}
        assert vjp.nonlinear_in <= vjp.saved
        assert not (vjp.always_zero and vjp.saved)


@each("name", sorted(AGREED))
def test_where_all_engines_save_the_same_the_reference_engine_does(name: str) -> None:
    engine: Any = refgrad.engine
    row = operator_table()[name]
    x = engine.ones(2, 2, requires_grad=True)
    attributes = {"shape": (4,)} if name == "reshape" else {}
    node = getattr(engine, name)(*(x for _ in row.arguments), **attributes).grad_fn
    step = Apply("out", name, row.argument_names)
    assert set(node.saves) == {saved for vjp in vjps_of(step) for saved in vjp.saved}


def test_only_verified_operators_are_listed_as_saving_the_same() -> None:
    assert "exp" in AGREED
    assert "relu" not in AGREED


def test_a_result_that_its_own_rule_reads_is_saved_under_its_name() -> None:
    assert vjps_of(Apply("y", "exp", ("x",))) == (Vjp("x", frozenset({"y"}), frozenset({"y"})),)
