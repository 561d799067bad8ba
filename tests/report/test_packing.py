"""What verdicts share is stored once, and every verdict is read back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.report.document import read_document
from refgrad.report.packing import packed, unpacked
from tests.repository.sources import ROOT

WORDS = st.sampled_from(["", "add", "a {name} b", "{name}", "no add here", "true", "a"])
VALUES = st.one_of(WORDS, st.integers(0, 2), st.booleans(), st.lists(WORDS, max_size=2))
EVIDENCE = st.dictionaries(
    st.sampled_from(["step", "repeatable", "fact"]), st.one_of(VALUES, st.just({"kind": "add"})), min_size=1
)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Verdicts of two chapters with members that they often share."""
    names = draw(
        st.lists(st.tuples(st.sampled_from(["operators", "edges"]), st.sampled_from(["add", "a", "exp", "no"])))
    )
    return [draw(row(chapter, name)) for chapter, name in names]


def row(chapter: str, name: str) -> st.SearchStrategy[dict[str, Any]]:
    required = {
        "id": st.just(f"{chapter}/{name}"),
        "chapter": st.just(chapter),
        "verdict": st.sampled_from(["passed", "wrong"]),
    }
    others = {
        "operator": st.just(name),
        "message": WORDS,
        "examples": st.integers(0, 2),
        "further": VALUES,
        "evidence": EVIDENCE,
    }
    return st.fixed_dictionaries(required, optional=others)


@given(rows())
def test_every_verdict_is_read_back_as_it_was(given_rows: list[dict[str, Any]]) -> None:
    stored = json.loads(json.dumps(packed(given_rows)))
    again = unpacked(*stored)
    assert [json.dumps(each, sort_keys=True) for each in again] == [
        json.dumps(each, sort_keys=True) for each in given_rows
    ]


@given(rows())
def test_verdicts_that_nothing_is_shared_of_are_read_as_they_stand(given_rows: list[dict[str, Any]]) -> None:
    assert unpacked({}, given_rows) == given_rows


def test_what_most_verdicts_of_a_chapter_share_is_left_out_and_names_with_it() -> None:
    def lacking(name: str) -> dict[str, Any]:
        evidence = {"step": 0, "fact": {"kind": "lacks", "names": [name]}}
        message = f"the engine has no {name}"
        return {
            "id": f"c/{name}",
            "chapter": "c",
            "operator": name,
            "verdict": "unsupported",
            "message": message,
            "evidence": evidence,
        }

    passed = [
        {"id": f"c/{name}", "chapter": "c", "operator": name, "verdict": "passed", "examples": 9} for name in "abc"
    ]
    common, stored = packed([lacking("x"), *passed, lacking("y")])
    assert stored == [
        {"id": "c/x", "verdict": "unsupported"},
        *(f"c/{name}" for name in "abc"),
        {"id": "c/y", "verdict": "unsupported"},
    ]
    assert [each["verdict"] for each in common["c"]] == ["passed", "unsupported"]
    assert common["c"][1]["message"] == "the engine has no {name}"


def test_what_a_verdict_lacks_is_null_and_evidence_is_told_by_what_differs() -> None:
    whole = [
        {"id": f"c/{name}", "chapter": "c", "verdict": "wrong", "level": "MUST", "evidence": {"step": 4, "fact": name}}
        for name in ("p", "q", "r")
    ]
    odd = {"id": "c/z", "chapter": "c", "verdict": "wrong", "evidence": {"step": 7, "fact": "z"}}
    bare = {"id": "c/w", "chapter": "c", "verdict": "wrong", "level": "MUST"}
    _, stored = packed([*whole, odd, bare])
    assert stored[-2] == {"id": "c/z", "level": None, "evidence": {"step": 7}}
    assert stored[-1] == {"id": "c/w", "evidence": None}


@pytest.mark.whole
@pytest.mark.parametrize("path", sorted((ROOT / "reports").glob("*.json")), ids=lambda path: path.stem)
def test_every_committed_report_is_stored_in_less_than_half_of_its_bytes_and_read_back(path: Any) -> None:
    verdicts = read_document(path)["verdicts"]
    common, stored = packed(verdicts)
    assert unpacked(common, stored) == verdicts
    assert 2 * len(json.dumps([common, stored])) < len(json.dumps(verdicts))
