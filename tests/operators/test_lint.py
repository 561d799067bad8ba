"""The table is right, and the lint names every mistake that a row can make."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from refgrad.operators import Edge, Formula, Operator, operator_table
from refgrad.operators.functions import FUNCTIONS
from tests.operators.lint import lint_functions, lint_table


def problems(operator: Operator) -> list[str]:
    """Return the problems that the lint reports of one row, without the row's name."""
    where = f"{operator.family}.toml: operator {operator.name!r}: "
    lines = lint_table({operator.name: operator})
    assert all(line.startswith(where) for line in lines)
    return [line.removeprefix(where) for line in lines]


def row(name: str, **changes: Any) -> Operator:
    """A copy of a row with a mistake."""
    return replace(operator_table()[name], **changes)


def partials(**sources: str) -> Mapping[str, Formula]:
    return {name: Formula(source) for name, source in sources.items()}


def edge(name: str, number: int = 0, **changes: Any) -> tuple[Edge, ...]:
    """The edges of a row, one of them changed."""
    edges = list(operator_table()[name].edges)
    edges[number] = replace(edges[number], **changes)
    return tuple(edges)


def test_the_table_is_right() -> None:
    assert lint_table(operator_table()) == []


def test_the_derivatives_of_the_vocabulary_are_right() -> None:
    assert lint_functions() == []


def test_loading_the_table_does_not_load_what_the_lint_needs() -> None:
    program = "import sys, refgrad.operators; refgrad.operators.operator_table(); print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("operator", "problem"),
    [
        (row("cos", partials=partials(x="sin(x)")), "the partial 'sin(x)' by x is "),
        (
            row("tanh", partials=partials(x="1 - 1.000000000000001 * out * out")),
            "the partial '1 - 1.000000000000001 * out ",
        ),
        (row("divide", partials=partials(x="1 / y", y="x / (y * y)")), "the partial 'x / (y * y)' by y is "),
        (row("power", partials=partials(x="x ** (y - 1)", y="log(x) * out")), "the partial 'x ** (y - 1)' by x is "),
        (row("log1p", forward=Formula("log(1 - x)")), "forward 'log(1 - x)' is not the formula at x = "),
        (
            row("expm1", forward=Formula("exp(x) - 1.0000000000000002")),
            "forward 'exp(x) - 1.0000000000000002' is not ",
        ),
        (
            row("clip", forward=Formula("minimum(x, upper)")),
            "forward 'minimum(x, upper)' is not the formula at x = ",
        ),
        (row("lgamma", rounding=Formula("lgamma(x + 2) - log(x)")), "rounding 'lgamma(x + 2) - log(x)' is not "),
        (row("clip", domain=None), "forward 'minimum(maximum(x, lower), upper)' is not the formula at x = "),
        (
            row("log", samples=MappingProxyType({"x": (-0.5, 2.0)})),
            "the sample range x in [-0.5, 2] is not inside the domain 'x > 0'",
        ),
        (
            row("reciprocal", samples=MappingProxyType({"x": (-1.0, 2.0)})),
            "the sample range x in [-1, 2] is not inside the domain 'x != 0'",
        ),
        (
            row("tan", samples=MappingProxyType({"x": (1.0, 2.0)})),
            "the sample range x in [1, 2] is not inside the domain 'cos(x) != 0'",
        ),
        (row("exp", samples=MappingProxyType({"x": (2.0, 2.0)})), "the sample range of x is empty: [2.0, 2.0]"),
        (row("log", domain=Formula("x > 1e9 and x < 1e9")), "only 0 of the points tried are in the domain"),
        (row("log", domain=None), "the formula is no real number at x = -"),
        (row("reciprocal", partials=partials(x="1 / (x - x)")), "cannot be evaluated everywhere in its domain: Zero"),
        (
            row("power", partials=partials(x="y * x ** (y - 1)", y="log(x) * out")),
            "edge 3: the row's partials cannot be ",
        ),
        (row("exp", source=" "), "has no source"),
        (row("exp", summary=""), "has no summary"),
        (
            row("sqrt", formula=Formula("x ** (1 / 3)")),
            "formula 'x ** (1 / 3)' has the quotient 1 / 3, which is no float64",
        ),
    ],
)
def test_a_planted_mistake_is_named(operator: Operator, problem: str) -> None:
    assert any(line.startswith(problem) for line in problems(operator)), problems(operator)


@pytest.mark.parametrize("name", ["relu", "abs", "maximum", "minimum", "clip"])
def test_a_kink_without_an_edge_is_named(name: str) -> None:
    assert problems(row(name, edges=())) == ["has a kink (its formula makes a choice), but declares no edge"]


def test_a_branch_on_a_condition_is_no_kink() -> None:
    assert not operator_table()["where"].edges
    assert problems(operator_table()["where"]) == []


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (row("relu", edges=edge("relu", reason="")), ["edge 1 has no reason"]),
        (row("max", edges=edge("max", reason=" ")), ["edge 1 has no reason"]),
        (row("relu", edges=edge("relu", examples=())), ["edge 1: has no example"]),
        (
            row("relu", edges=edge("relu", examples=({"x": 1.0},))),
            ["edge 1: the example x = 1.0 does not meet 'x == 0'"],
        ),
        (row("relu", edges=edge("relu", examples=({"y": 1.0},))), ["edge 1: the example {'y': 1.0} does not give x"]),
        (
            row("relu", edges=edge("relu", where="x == zero")),
            ["edge 1: where: formula 'x == zero' uses ['zero'], which is not among ['x', 'out']"],
        ),
        (
            row("relu", edges=edge("relu", reference={"x": 0.5})),
            ["edge 1: the row's partial by x is 0.0 at x = 0.0, the reference 0.5"],
        ),
        (
            row("relu", edges=edge("relu", subdifferential={"x": (0, 2)})),
            ["edge 1: the legal interval of x is [0, 2], but the slopes around x = 0.0 span [0.0, 1.0]"],
        ),
        (
            row("abs", edges=edge("abs", subdifferential={"x": (0, 1)})),
            ["edge 1: the legal interval of x is [0, 1], but the slopes around x = 0.0 span [-1.0, 1.0]"],
        ),
        (
            row("maximum", edges=edge("maximum", subdifferential={"x": (0, 1)})),
            ["edge 1: needs the legal interval of each of ['x', 'y']"],
        ),
        (
            row("sinc", edges=edge("sinc", value=0.0)),
            ["edge 1: the value at x = 0.0 is 1.0, the edge says 0.0"],
        ),
        (
            row("sinc", edges=edge("sinc", subdifferential={"x": (0, 1)})),
            ["edge 1: the slope by x is [0, 1], but next to x = 0.0 the formula's are "],
        ),
        (
            row("power", edges=edge("power", 1, subdifferential={"x": (0, 0)}, reference={"x": 0})),
            [
                "edge 2: the row's partial by x is 1.0 at x = 0.0, y = 1.0, the reference 0",
                "edge 2: the slope by x is ",
            ],
        ),
    ],
)
def test_an_edge_that_is_not_justified_is_named(operator: Operator, expected: list[str]) -> None:
    reported = list(dict.fromkeys(problem.replace("-0.0", "0.0") for problem in problems(operator)))
    for problem, beginning in zip(reported, expected, strict=False):
        assert problem.startswith(beginning.replace("-0.0", "0.0"))
    assert len(reported) >= len(expected)


def test_a_jump_that_is_called_a_kink_is_named() -> None:
    reported = problems(row("floor", edges=edge("floor", kind="kink")))
    assert reported == [f"edge 1: the formula jumps at x = {x}" for x in ("2.0", "0.0", "-1.0")]


def test_a_kink_that_is_called_a_jump_is_named() -> None:
    reported = problems(row("relu", edges=edge("relu", kind="jump", examples=({"x": 0.0},))))
    assert reported == ["edge 1: the formula does not jump at x = 0.0"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"subdifferential": {"x": ("alpha", 1)}},
            "edge 1: the legal interval of x is [2.0, 1], but the slopes around ",
        ),
        ({"subdifferential": {"x": ("beta", 1)}}, "edge 1: formula 'beta' uses ['beta'], which is not among "),
        ({"reference": {"x": "1"}}, "edge 1: the row's partial by x is 0.5 at x = 0.0, alpha = 0.5, the reference 1"),
    ],
)
def test_a_formula_of_an_edge_that_is_wrong_is_named(changes: dict[str, Any], problem: str) -> None:
    reported = problems(row("elu", edges=edge("elu", **changes)))
    assert any(text.startswith(problem) for text in reported), reported


def test_attributes_are_tried_within_their_bounds() -> None:
    changed = row("polygamma", partials=partials(x="polygamma(n + 1, x) if n < 3 else 0"))
    assert any("the partial 'polygamma(n + 1, x) if n < 3 else 0' by x is 0" in line for line in problems(changed))


def test_a_reference_outside_of_the_legal_interval_is_named() -> None:
    changed = row(
        "relu", partials=partials(x="1 if x > 0 else (0 if x < 0 else 2)"), edges=edge("relu", reference={"x": 2})
    )
    reported = problems(changed)
    assert "edge 1: the reference 2 by x is outside of the legal interval [0, 1]" in reported


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_weights_at_a_tie_that_do_not_sum_to_one_are_named(share: float) -> None:
    """Each interval alone allows 1 and 1; that is no subgradient."""
    changed = row(
        "maximum",
        partials=partials(
            x=f"1 if x > y else (0 if x < y else {share})", y=f"1 if y > x else (0 if y < x else {share})"
        ),
        edges=edge("maximum", reference={"x": share, "y": share}),
    )
    assert (
        f"edge 1: the reference {{'x': {share}, 'y': {share}}} is no mean of the gradients around x = 1.5, y = 1.5"
        in problems(changed)
    )


def test_other_weights_at_a_tie_that_sum_to_one_are_justified() -> None:
    changed = row(
        "maximum",
        partials=partials(x="1 if x > y else (0 if x < y else 0.25)", y="1 if y > x else (0 if y < x else 0.75)"),
        edges=edge("maximum", reference={"x": 0.25, "y": 0.75}),
    )
    assert problems(changed) == []


def test_an_alias_that_another_row_has_is_named() -> None:
    table = operator_table()
    first, second = row("exp", aliases=("log", "e")), row("sin", aliases=("e",))
    reported = lint_table({"exp": first, "sin": second, "log": table["log"]})
    assert reported == [
        "elementwise.toml: operator 'exp': alias 'log' belongs to 'log'",
        "elementwise.toml: operator 'sin': alias 'e' belongs to 'exp'",
    ]


def test_a_mistake_in_the_vocabulary_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cosine = replace(FUNCTIONS["cos"], derivatives=("sin(x)",))
    monkeypatch.setattr("tests.operators.lint.FUNCTIONS", {**FUNCTIONS, "cos": cosine})
    assert "functions: cos: the derivative 'sin(x)' by x is wrong at 0.3" in lint_functions()
