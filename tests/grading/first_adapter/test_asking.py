"""What is given of a first adapter is a field of it, or the spelling of an operator; all else is refused."""

from __future__ import annotations

import pytest

from refgrad.errors import UserError
from refgrad.grading.first_adapter.asking import read_options


def test_fields_and_spellings_are_set_one_by_one() -> None:
    options = read_options([
        "leaf = T({array})",
        "operators.reshape={x}.reshape(*{shape})",
        "setup=import me",
        "kind=tape",
    ])
    assert options["leaf"] == "T({array})"
    assert options["operators.reshape"] == "{x}.reshape(*{shape})"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("leaf", "--set leaf: write FIELD=TEMPLATE"),
        ("laef=1", "--set laef: there is no such field, did you mean 'leaf'? there are: kind, setup, "),
        ("kind=tap", "--set kind=tap: write tape or functional"),
        ("nothing=1", "operators.NAME"),
        ("reshape={x}", "--set reshape: there is no such field, did you mean 'operators.reshape'?"),
        ("operators={}", "--set operators: give each operator by itself, as --set 'operators.NAME=TEMPLATE'"),
        ("operators.reshap={x}", "--set operators.reshap: the table has no operator 'reshap', did you mean 'reshape'?"),
        ("nests=true", "--set nests: this is no template: write it into the file afterwards"),
    ],
)
def test_what_is_no_field_is_refused_with_what_may_be_meant(text: str, problem: str) -> None:
    with pytest.raises(UserError) as caught:
        read_options([text])
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
