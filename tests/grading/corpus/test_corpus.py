"""The portable corpus is what its command writes, its manifest is of its files, and the reference engine passes it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.operators import operator_table
from refgrad.specification import specs_directory
from tests.effort import sampled
from tests.grading.corpus.consumer import failures, is_held_to, scenario_of
from tests.grading.corpus.entries import entries_of, line_of
from tests.grading.corpus.files import MANIFEST, chapter, manifest_text, write_corpus
from tests.grading.corpus.selection import CHAPTERS, OF_EVERY_POLICY

pytestmark = pytest.mark.turns(2)

FOLDER = specs_directory() / "corpus"
SCHEMA = json.loads((specs_directory() / "schema" / "corpus.schema.json").read_text(encoding="utf-8"))
COMMAND = "write it anew: python -m tests.grading.corpus specs/corpus"


@cache
def lines(name: str) -> list[str]:
    """Return the lines of a chapter as they are published."""
    return (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)


def entries() -> Iterator[dict[str, Any]]:
    """Yield all entries that are published."""
    return (json.loads(line) for name in CHAPTERS for line in lines(name))


@pytest.fixture(scope="module")
def reference() -> Engine:
    return Engine(find_adapter("refgrad"))


def test_the_manifest_is_of_the_files() -> None:
    texts = {f"{name}.jsonl": "".join(lines(name)) for name in CHAPTERS}
    assert {path.name for path in FOLDER.iterdir()} == {*texts, MANIFEST}
    assert (FOLDER / MANIFEST).read_text(encoding="utf-8") == manifest_text(texts.items()), COMMAND


def test_a_corpus_is_written_with_its_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = CHAPTERS["edges"]
    monkeypatch.setattr("tests.grading.corpus.files.CHAPTERS", {"edges": lambda: islice(digest(), 2)})
    write_corpus(tmp_path / "made" / "corpus")
    written = (tmp_path / "made" / "corpus" / "edges.jsonl").read_text(encoding="utf-8")
    assert written == "".join(lines("edges")[: written.count("\n")])
    assert written.count("\n") >= 2
    manifest = (tmp_path / "made" / "corpus" / MANIFEST).read_text(encoding="utf-8")
    assert manifest == manifest_text([("edges.jsonl", written)])


def test_every_entry_is_one_of_the_schema() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for entry in entries():
        assert [error.message for error in validator.iter_errors(entry)] == [], entry["id"]


def test_an_id_is_the_digest_of_the_entry_without_it() -> None:
    for line in lines("edges"):
        entry = json.loads(line)
        name = entry.pop("id")
        assert name == sha256(line_of(entry).encode()).hexdigest()[: len(name)]
        assert line_of({"id": name, **entry}) == line


@pytest.mark.parametrize("name", sampled(CHAPTERS, 4, turns=3))
def test_the_first_entries_of_each_chapter_are_reproduced_byte_for_byte(name: str) -> None:
    produced = [line_of(entry) for entry in islice(chapter(name), 12)]
    assert produced == lines(name)[: len(produced)], COMMAND


@pytest.mark.parametrize("name", sampled(CHAPTERS, 4, turns=3))
def test_entries_from_all_over_a_chapter_are_certified_again_byte_for_byte(name: str) -> None:
    for line in lines(name)[::25]:
        entry = json.loads(line)
        again = entries_of(entry["check"], scenario_of(entry), every_policy=name in OF_EVERY_POLICY)
        assert line in [line_of(each) for each in again], COMMAND


def test_every_operator_edge_and_behaviour_has_entries() -> None:
    checks = {entry["check"] for entry in entries()}
    rows = operator_table()
    lacking = {f"{chapter}/{name}" for chapter in ("operators", "second_order", "forward_mode") for name in rows}
    edges = {f"edges/{name}" for name, row in rows.items() if row.edges}
    behaviours = {row.id for row in all_behaviours() if row.scenarios}
    assert lacking | edges | behaviours <= checks


def test_no_array_may_be_anything() -> None:
    """Where nothing is said of any entry, the scenario says nothing."""
    kinds = [row for entry in entries() for row in entry["due"] if row.get("shape")]
    blank = [row for row in kinds if row["lower"] and set(row["lower"]) == {None}]
    assert len(blank) < len(kinds) / 100


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_reference_engine_passes_all(name: str, reference: Engine) -> None:
    held = [entry for entry in map(json.loads, lines(name)) if is_held_to(entry, reference.adapter)]
    errors = {entry["id"]: list(failures(entry, reference)) for entry in held}
    assert {name: problems for name, problems in errors.items() if problems} == {}
    assert len(held) > len(lines(name)) / 2


def test_an_engine_with_one_wrong_operator_fails_what_applies_it() -> None:
    adapter = find_adapter("refgrad")
    right = Engine(adapter).operators
    wrong = Engine(replace(adapter, operators={**right, "tanh": right["sin"]}, aliases={}, alike=()))
    failing = {entry["check"] for entry in map(json.loads, lines("operators")) if any(failures(entry, wrong))}
    assert failing == {"operators/tanh"}
