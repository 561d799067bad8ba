"""The form language: one line says how steps are written, read and put into JSON."""

from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.scenario import ScenarioError
from refgrad.scenario.codecs import FACTOR, HOOK, TENSOR, TRUE_FLAG, or_none
from refgrad.scenario.step import Form
from refgrad.scenario.tokens import Cursor, tokenize

PUSH = Form.of(
    "NAME = push down HERE [by=FACTOR | freely] [to THERE] [for ever] [twice]",
    here=TENSOR,
    factor=or_none(FACTOR),
    there=or_none(TENSOR),
    twice=TRUE_FLAG,
)
LEFT_OUT = {"name": "y", "here": "x", "factor": None, "there": None, "for_ever": False, "twice": False}


def read(form: Form, line: str) -> dict[str, Any]:
    cursor = Cursor(tokenize(line))
    found = form.read(cursor)
    cursor.finish()
    return found


def test_the_words_of_a_form_name_its_kind() -> None:
    assert (PUSH.tag, PUSH.keyword, PUSH.target) == ("push_down", "push", "name")
    stop = Form.of("stop NAME", name=HOOK)
    assert (stop.tag, stop.keyword, stop.target) == ("stop", "stop", "")
    anything = Form.of("NAME = WHAT HERE", tag="anything", what=TENSOR, here=TENSOR)
    assert (anything.tag, anything.keyword, anything.target) == ("anything", "", "name")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("y = push down x freely", {}),
        ("y = push down x by=0x1p-1", {"factor": 0.5}),
        ("y = push down x freely to z", {"there": "z"}),
        ("y = push down x freely for ever", {"for_ever": True}),
        ("y = push down x by=0x1p+1 to z twice", {"factor": 2.0, "there": "z", "twice": True}),
    ],
)
def test_a_line_has_the_parts_that_are_not_left_out(line: str, fields: dict[str, Any]) -> None:
    assert PUSH.write(SimpleNamespace(**LEFT_OUT | fields)) == line
    assert read(PUSH, line) == LEFT_OUT | fields


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("y = push", "the line ends where 'down' should be"),
        ("y = push x", "'x' stands where 'down' should be"),
        ("y = push down", "the line ends where a name should be"),
        ("y = push down x", "the line ends where 'by' or 'freely' should be"),
        ("y = push down x slowly", "'slowly' stands where 'by' or 'freely' should be"),
        ("y = push down x by", "the line ends where '=' should be"),
        ("y = push down x by=", "the line ends where a factor should be"),
        ("y = push down x freely for", "the line ends where 'ever' should be"),
        ("y = push down x freely twice to z", "'to' follows what should be the end of the line"),
    ],
)
def test_a_line_of_another_form_is_refused(line: str, rule: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(PUSH, line)
    assert str(caught.value) == rule


def test_json_has_every_member_but_those_that_may_be_omitted() -> None:
    absent = {"name": "y", "here": "x", "factor": None, "there": None, "for_ever": False}
    given = {"name": "y", "here": "x", "factor": "0x1p+1", "there": "z", "for_ever": True, "twice": True}
    for members in (absent, given):
        assert PUSH.encode(SimpleNamespace(**PUSH.decode(members))) == members


def test_a_field_needs_a_codec() -> None:
    with pytest.raises(KeyError, match="here"):
        Form.of("NAME = push HERE")
