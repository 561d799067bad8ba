"""Is the table read as it is written, and is a malformed row one clear error?"""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.operators import Formula, OperatorError, load_operators, operator_table
from refgrad.operators.composites import WRAPPERS
from tests.effort import each

NO_FORMULA = (
    "has no formula, and neither refgrad.operators.structures nor refgrad.operators.composites has a function of that "
    "name"
)
ROW = """[double]
summary = "twice x"
formula = "x + x"
partials = { x = "2" }
samples = { x = [-1, 1] }
"""


def loaded(tmp_path: Path, text: str, name: str = "rows.toml") -> str:
    """Load one file, and return the message of the error."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(OperatorError) as error:
        load_operators(tmp_path)
    return str(error.value).removeprefix(f"{tmp_path}/")


def test_an_elementwise_row_needs_five_lines(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(ROW, encoding="utf-8")
    operator = load_operators(tmp_path)["double"]
    assert (operator.name, operator.family, operator.summary) == ("double", "own", "twice x")
    assert operator.elementwise
    assert operator.argument_names == operator.differentiable_arguments == ("x",)
    assert operator.forward == operator.formula == Formula("x + x")
    assert (operator.operands, operator.edges, operator.domain, operator.structure) == ("any", (), None, None)
    assert operator.samples == {"x": (-1.0, 1.0)}


def replaced(old: str, new: str) -> str:
    assert old in ROW
    return ROW.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (replaced('summary = "twice x"\n', ""), "rows.toml: double: 'summary' is missing"),
        (replaced('"twice x"', '""'), 'rows.toml: double.summary: "" is shorter than 1 character'),
        (replaced('"twice x"', "3"), 'rows.toml: double.summary: 3 is not of type "string"'),
        (
            replaced('"x + x"', '"x +"'),
            "rows.toml: double: formula 'x +' does not parse: invalid syntax",
        ),
        (
            replaced('"x + x"', '"gamma(x)"'),
            "rows.toml: double: formula 'gamma(x)' calls 'gamma', which the vocabulary does not have",
        ),
        (replaced('"x + x"', '"x + y"'), "rows.toml: double: 'x + y' uses 'y'"),
        (replaced('{ x = "2" }', "{}"), "rows.toml: double: needs a partial for each of ['x']"),
        (replaced('x = "2"', 'x = "2", y = "2"'), "rows.toml: double: needs a partial for each of ['x']"),
        (replaced('{ x = "2" }', '{ x = "z" }'), "rows.toml: double: 'z' uses 'z'"),
        (
            replaced("samples = { x = [-1, 1] }\n", ""),
            "rows.toml: double: needs a sample range for each of ['x']",
        ),
        (ROW + 'domain = "y > 0"\n', "rows.toml: double: 'y > 0' uses 'y'"),
        (
            ROW + 'arguments = ["x:int"]\n',
            'rows.toml: double.arguments[0]: "x:int" does not match "^\\*?[A-Za-z_]\\w*(:(float|bool))?$"',
        ),
        (
            replaced('formula = "x + x"\n', ""),
            f"rows.toml: double: {NO_FORMULA}",
        ),
        (
            ROW.replace("double", "sum"),
            "rows.toml: sum: is defined twice: by a formula, a structure or a composite",
        ),
        (ROW + 'shapes = ["n", "m"]\n', "rows.toml: double: needs a shape for each of ['x']"),
        (ROW + '[[double.edges]]\nkind = "kink"\n', "rows.toml: double.edges[0]: 'where' is missing"),
        (
            ROW + 'exceptional = { conventions = ["nan"] }\n',
            "rows.toml: double.exceptional: 'reason' is missing",
        ),
        (
            ROW + 'exceptional = { conventions = [], reason = "none" }\n',
            "rows.toml: double.exceptional.conventions: [] has less than 1 item",
        ),
        (
            ROW + 'exceptional = { conventions = ["zero"], reason = "why not" }\n',
            (
                'rows.toml: double.exceptional.conventions[0]: "zero" is not one of "nan", "infinity", "subnormal", '
                '"containment"'
            ),
        ),
    ],
)
def test_a_malformed_row_is_named_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    assert loaded(tmp_path, text) == message


def test_a_row_states_what_it_leaves_to_engines_at_exceptional_numbers(tmp_path: Path) -> None:
    text = ROW + 'exceptional = { conventions = ["nan", "containment"], reason = "so it is" }\n'
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    exceptional = load_operators(tmp_path)["double"].exceptional
    assert exceptional.conventions == {"nan", "containment"}
    assert exceptional.reason == "so it is"


def test_an_unknown_key_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    message = loaded(tmp_path, ROW + "colour = 1\n")
    assert message.startswith("rows.toml: double.colour: there is no such key; there are summary, arguments, ")


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[double").startswith("rows.toml: ")


def test_a_name_is_taken_once_in_all_files(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(ROW, encoding="utf-8")
    assert loaded(tmp_path, ROW) == "rows.toml: double: the operator is already in first.toml"


def test_what_is_in_the_table() -> None:
    table = operator_table()
    assert len(table) >= 45
    assert operator_table() is table
    assert all(name == operator.name for name, operator in table.items())
    assert {operator.family for operator in table.values()} >= {"elementwise", "broadcasting", "reductions", "shapes"}
    assert all(operator.elementwise or operator.structure or operator.composite for operator in table.values())


def test_the_name_of_a_composite_stands_for_one_function_and_may_have_certified_steps_beside_it() -> None:
    composites = {name: row.composite for name, row in operator_table().items() if row.composite is not None}
    for name in composites:
        assert len({getattr(module, name) for module in WRAPPERS if hasattr(module, name)}) == 1, name
    certified = {name for module in WRAPPERS for name in vars(module) if name.startswith("certified_")}
    assert certified == {f"certified_{name}" for name, each in composites.items() if each.computed is not None}


def test_attributes_are_bound_with_their_defaults_in_the_row_s_order() -> None:
    operator = operator_table()["sum"]
    assert list(operator.bind({"keepdims": True}).items()) == [("axis", None), ("keepdims", True)]
    assert [(a.name, a.required) for a in operator.attributes] == [("axis", False), ("keepdims", False)]
    assert operator_table()["reshape"].attributes[0].required


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("sum", {"axes": 0}, "operator 'sum' has no attribute 'axes'; it has ['axis', 'keepdims']"),
        ("reshape", {}, "operator 'reshape' needs the attribute 'shape'"),
        ("exp", {"base": 2}, "operator 'exp' has no attribute 'base'; it has []"),
    ],
)
def test_unknown_and_missing_attributes_are_errors(name: str, attributes: dict[str, object], message: str) -> None:
    with pytest.raises(OperatorError) as error:
        operator_table()[name].bind(attributes)
    assert str(error.value) == message


@each(
    ("name", "argument", "saved"),
    [
        ("exp", "x", {"out"}),
        ("multiply", "x", {"y"}),
        ("multiply", "y", {"x"}),
        ("add", "x", set()),
        ("clip", "x", {"x"}),
        ("where", "x", {"condition"}),
        ("where", "condition", set()),
        ("matmul", "x", {"y"}),
        ("sum", "x", set()),
        ("max", "x", {"x", "out"}),
    ],
)
def test_what_a_rule_keeps_follows_from_the_row(name: str, argument: str, saved: set[str]) -> None:
    assert operator_table()[name].saves(argument) == saved


def test_a_condition_is_no_differentiable_argument() -> None:
    assert operator_table()["where"].differentiable_arguments == ("x", "y")
    assert [a.dtype for a in operator_table()["where"].arguments] == ["bool", "float", "float"]


def test_a_variadic_argument_stands_for_several() -> None:
    (arrays,) = operator_table()["concatenate"].arguments
    assert (arrays.name, arrays.variadic) == ("arrays", True)
