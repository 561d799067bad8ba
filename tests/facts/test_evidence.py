"""Evidence is written as JSON and read back as it was, and something is said of every kind of it."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from refgrad.facts import KINDS, Comment, Entry, Evidence, Fact, NotedNumber, Numbers, Subject
from refgrad.native.observation import Raised
from refgrad.specification import specs_directory

NUMBERS = st.floats().map(repr)
ARRAYS = st.lists(st.floats(allow_nan=False), max_size=3).map(
    lambda entries: Numbers((len(entries),), tuple(map(repr, entries)), "x")
)
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(
        ("observed", "lower", "upper", "relative_error", "budgets", "ulps", "scaled_error", "rate"), NUMBERS
    ),
    "gradients": st.lists(ARRAYS, min_size=1, max_size=2).map(tuple),
    "direction": st.lists(ARRAYS, min_size=1, max_size=2).map(tuple),
}
OF_A_KIND: dict[type[Fact], dict[str, st.SearchStrategy[Any]]] = {
    NotedNumber: {
        "seen": st.none() | NUMBERS,
        "expected": NUMBERS,
        "numbers": st.lists(st.tuples(st.text(), NUMBERS), max_size=2).map(tuple),
    },
}


def facts(kind: type[Fact]) -> st.SearchStrategy[Fact]:
    special = SPECIAL | OF_A_KIND.get(kind, {})
    return st.builds(kind, **{f.name: special[f.name] for f in fields(kind) if f.name in special})  # type: ignore[arg-type]


FACTS = st.one_of(*map(facts, KINDS.values()))


@given(FACTS, st.integers(0, 9), st.integers(1, 4))
def test_evidence_is_read_back_as_it_was_written(fact: Fact, step: int, seen: int) -> None:
    evidence = Evidence(fact, step, seen, 4)
    row = evidence.to_json()
    schema = json.loads((specs_directory() / "schema" / "report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator({"$ref": "#/$defs/evidence", "$defs": schema["$defs"]}).validate(row)
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert Evidence.from_json(row) == evidence


@given(FACTS)
def test_something_is_said_of_every_fact(fact: Fact) -> None:
    assert isinstance(fact.message(), str)


def test_every_kind_has_a_class_and_a_name_in_the_schema() -> None:
    schema = json.loads((specs_directory() / "schema" / "report.schema.json").read_text(encoding="utf-8"))
    kinds = schema["$defs"]["evidence"]["properties"]["fact"]["properties"]["kind"]["enum"]
    assert kinds == list(KINDS)
    assert {each.__name__ for each in KINDS.values()} == {each.__name__ for each in Fact.__subclasses__()}


def test_what_is_not_repeatable_is_said_with_how_often_it_was_seen() -> None:
    assert Evidence(Comment(text="odd"), 0, 2, 5).message() == "odd (not repeatable: seen in 2 of 5 runs)"
    assert Evidence(Comment(text="odd"), 0, 5, 5).message() == "odd"


@pytest.mark.parametrize(
    ("seen", "wrong", "runs", "message"),
    [
        ("2.0", 1, 1, "the slope is 2.0, but it should be 7.0"),
        ("nan", 3, 500, "the slope is nan, but it should be 7.0, in 3 of 500 runs"),
        ("2.0", 500, 500, "the slope is 2.0, but it should be 7.0, in 500 of 500 runs"),
        (None, 1, 1, "the slope is missing"),
        (None, 3, 500, "the slope is missing, in 3 of 500 runs"),
        (None, 0, 0, "the slope was never noted"),
    ],
)
def test_a_wrong_number_of_an_exercise_is_described(seen: str | None, wrong: int, runs: int, message: str) -> None:
    numbers = (("the slope", "7.0"), ("the value", "0.0"))
    fact = NotedNumber(label="the slope", seen=seen, expected="7.0", wrong=wrong, runs=runs, numbers=numbers)
    assert fact.message() == message


@pytest.mark.parametrize("row", [{}, {"fact": {"kind": "other"}}, {"fact": {"kind": "remark"}}, {"fact": 3}])
def test_what_is_no_evidence_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Evidence.from_json({"step": 0, "seen_in": 1, "runs": 1} | row)


def test_the_error_behind_a_missing_array_is_an_error_again() -> None:
    row = {"kind": "error", "error": {"type": "A", "message": "b", "bases": ["A"]}, "due": [], "expected": []}
    found = Evidence.from_json({"step": 1, "seen_in": 1, "runs": 1, "fact": row}).fact
    assert getattr(found, "error", None) == Raised("A", "b", ("A",))


def test_infinities_and_nan_are_kept_as_text() -> None:
    entry = Entry(
        subject=Subject("value", "x"),
        index=(),
        observed="nan",
        lower="-inf",
        upper="inf",
        relative_error="nan",
        budgets="inf",
        ulps="nan",
    )
    assert entry.message() == "the value of x is nan, but the truth is in [-inf, inf]"
