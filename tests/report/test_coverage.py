"""Is what is covered of an engine what its rows reach?"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from refgrad.errors import EngineStartError
from refgrad.native.adapter import AdapterError
from refgrad.operators import operator_table
from refgrad.report.coverage import coverage, coverage_text
from refgrad.report.document import ReportError
from tests.report import coverage_engine
from tests.report.coverage_engine import ADAPTER, NAME
from tests.report.coverage_page import coverage_page, read_coverage
from tests.snapshots.placement import PlainText

TOY = f"{NAME}:ADAPTER"

FAMILIES = {
    "sums": {"has": ["add"], "lacks": ["subtract", "sum"]},
    "products": {"has": ["multiply", "square"], "lacks": ["divide"]},
    "signs": {"has": ["negative"], "lacks": []},
    "powers": {"has": [], "lacks": ["power"]},
}
"""What stays the same when the table grows."""


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


def rows(document: dict[str, dict[str, dict[str, list[str]]]], kind: str) -> list[str]:
    """The rows that an engine has or lacks, of all families."""
    return [name for family in document["families"].values() for name in family[kind]]


def test_every_row_is_had_or_lacked_and_what_is_spelled_is_had() -> None:
    document = dict(coverage(TOY))
    assert sorted(rows(document, "has")) == sorted(ADAPTER.operators)
    assert sorted(rows(document, "has") + rows(document, "lacks")) == sorted(operator_table())


def test_an_inventory_of_another_interpreter_is_not_asked_and_that_is_told() -> None:
    document = coverage(TOY, sys.executable)
    assert document["families"] == coverage(TOY)["families"]
    assert (document["inventories"], document["not_asked"]) == ([], ADAPTER.inventory)
    told = f"Its inventory, {ADAPTER.inventory}, is asked without --python alone."
    assert coverage_text(document).splitlines()[-1].strip() == told


def test_what_the_rows_reach_is_told_with_the_rows() -> None:
    (inventory,) = coverage(TOY)["inventories"]
    assert inventory["reached"] == {"negated": ["negative"], "plus": ["add"], "times": ["multiply"]}


def test_an_operator_that_no_row_reaches_is_told_once_whatever_its_names() -> None:
    (inventory,) = coverage(TOY)["inventories"]
    assert inventory["lacking"] == ["never", "power"]
    assert inventory["other_names"] == {"multiplied_by": "times", "to_the_power": "power"}


def test_what_a_row_reaches_is_differentiable_whatever_the_inventory_knows_of_it() -> None:
    (inventory,) = coverage(TOY)["inventories"]
    assert inventory["undecided"] == {"nobody tried": ["unknown"]}


def test_rows_of_which_the_inventory_knows_nothing_are_told() -> None:
    (inventory,) = coverage(TOY)["inventories"]
    assert inventory["rows_that_reach_none"] == ["square"]
    assert inventory["rows_that_were_refused"] == ["exp"]


@given(st.sets(st.sampled_from(sorted(coverage_engine.INVENTORY.entries))))
def test_each_entry_is_reached_or_lacking_or_another_name(entries: set[str]) -> None:
    synonyms = tuple(group for group in coverage_engine.INVENTORY.synonyms if group <= entries)
    smaller = replace(coverage_engine.INVENTORY, entries=frozenset(entries), synonyms=synonyms, undecided={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_engine, "INVENTORY", smaller)
        (inventory,) = coverage(TOY)["inventories"]
    told = [*inventory["reached"], *inventory["lacking"], *inventory["other_names"]]
    assert sorted(told) == sorted(entries)


def test_an_engine_that_cannot_be_asked_says_so() -> None:
    document = coverage(f"{NAME}:WITHOUT")
    assert document["inventories"] == []
    assert "It has no inventory" in coverage_text(document)
    assert "| toy has no inventory that can be asked |" in coverage_page([document])


@pytest.mark.parametrize(
    ("name", "kind", "problem"),
    [
        ("nobody", AdapterError, "there is no engine 'nobody'"),
        (f"{NAME}:ABSENT", EngineStartError, "engine 'toy' cannot be started: ModuleNotFoundError"),
        (f"{NAME}:WRONG", AdapterError, "gives str, not a refgrad.native.adapter.Inventory"),
        (f"{NAME}:BROKEN", AdapterError, "broken_inventories': LookupError: no list of operators"),
        (f"{NAME}:NOWHERE", AdapterError, "has no attribute 'no_such_function'"),
    ],
)
def test_what_is_wrong_is_said(name: str, kind: type[Exception], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        coverage(name)


def test_the_text_tells_all_of_it(snapshot: SnapshotAssertion) -> None:
    assert coverage_text({**coverage(TOY), "families": FAMILIES}) == snapshot


def test_the_page_tells_all_of_it(snapshot: SnapshotAssertion) -> None:
    document = {**coverage(TOY), "families": FAMILIES}
    assert coverage_page([document, {**document, "engine": "other", "inventories": []}]) == snapshot


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    document = coverage(TOY)
    (tmp_path / "toy.json").write_text(json.dumps([document]))
    assert read_coverage(tmp_path / "toy.json") == [document]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[{}]", r"json: \[0\]: 'schema' is missing"),
        ("3", 'json: 3 is not of type "array"'),
        ('[{"schema": "x"}]', r"""json: \[0\]: 'engine' is missing"""),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(ReportError, match=problem):
        read_coverage(tmp_path / "other.json")
