"""A code template is run as it is printed."""

from __future__ import annotations

import pytest

from refgrad.native.languages import Python
from refgrad.native.languages.language import Template, TemplateError
from refgrad.native.runners.python_runner import Session
from refgrad.native.statements import Call, Expression


def test_a_template_is_run_with_its_fields_and_printed_with_them() -> None:
    template = Template("max({x}, key=lambda v: -v) + {y}")
    assert template.fields == ("x", "y")
    assert Session("").evaluate(template.text, {"x": [3, 1, 2], "y": 10}) == 11
    fields = {"x": Expression("[3, 1, 2]"), "y": Expression("10")}
    assert Python().called(Call(template.text, fields)) == "max([3, 1, 2], key=lambda v: -v) + 10"


def test_fields_that_a_template_does_not_use_are_ignored() -> None:
    assert Session("").evaluate("1 + 1", {"x": 5}) == 2
    assert Session("").evaluate("{x}", {"x": 5, "unused": 6}) == 5


def test_a_template_sees_the_names_of_its_library() -> None:
    assert Session("def twice(x): return 2 * x").evaluate("twice({x})", {"x": 4}) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{x", "template '{x': expected '}' before end of string"),
        ("{0}", "template '{0}': the placeholder {0} is not a name"),
        ("{x} = 3", "is not an expression"),
        ("{x}\0", "is not an expression"),
    ],
)
def test_a_malformed_template_is_named(text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Python().check(Template(text))
    assert message in str(caught.value)
