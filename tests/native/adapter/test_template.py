"""A code template is run as it is printed."""

from __future__ import annotations

import pytest

from refgrad.native.adapter import Template, TemplateError


def test_a_template_is_run_with_its_fields_and_printed_with_them() -> None:
    template = Template("max({x}, key=lambda v: -v) + {y}")
    assert template.fields == ("x", "y")
    assert template.compile({})(x=[3, 1, 2], y=10) == 11
    assert template.render({"x": "[3, 1, 2]", "y": "10"}) == "max([3, 1, 2], key=lambda v: -v) + 10"


def test_fields_that_a_template_does_not_use_are_ignored() -> None:
    assert Template("1 + 1").compile({})(x=5) == 2
    assert Template("{x}").compile({})(x=5, unused=6) == 5


def test_a_template_sees_the_names_of_its_library() -> None:
    assert Template("twice({x})").compile({"twice": lambda x: 2 * x})(x=4) == 8


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
        Template(text).compile({})
    assert message in str(caught.value)
