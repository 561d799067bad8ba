"""ENGINE.json is what its schema says, and what is not is refused."""

from __future__ import annotations

import json
import platform
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import numpy as np
import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.grading.checks.settings import EFFORTS, Settings
from refgrad.grading.judging.verdict import OUTCOMES, Level, Verdict
from refgrad.native.adapter import FEATURES, TapeAdapter, find_adapter
from refgrad.report.document import (
    ReportError,
    build_document,
    describe_engine,
    document_path,
    read_document,
    verdicts_of,
    write_document,
)
from refgrad.report.runs.comparison import differences
from refgrad.report.severity import DERIVED, SEVERITIES, At
from refgrad.specification import specs_directory
from tests.report.example import ADAPTER, VERDICTS, example_document, verdict, write_example


@pytest.fixture
def schema() -> dict[str, Any]:
    return dict(json.loads((specs_directory() / "schema" / "report.schema.json").read_text(encoding="utf-8")))


def test_the_schema_is_one_of_json_schema_and_knows_the_words_of_the_code(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    row = schema["$defs"]["verdict"]["properties"]
    assert schema["$defs"]["outcome"]["enum"] == list(OUTCOMES)
    assert row["level"]["enum"] == list(get_args(Level))
    assert [name for name in row if name not in DERIVED] == list(Verdict.__slots__)
    assert schema["$defs"]["severity"]["enum"] == list(SEVERITIES)
    assert row["at"]["items"]["enum"] == list(get_args(At))
    assert schema["properties"]["profile"]["enum"] == list(EFFORTS)


@pytest.mark.parametrize("name", ["refgrad", "torch", "jax", "autograd", "mygrad", "micrograd"])
def test_every_engine_is_described_as_the_schema_says(schema: dict[str, Any], name: str) -> None:
    adapter = find_adapter(name)
    engine = describe_engine(adapter)
    Draft202012Validator(schema["$defs"]["engine"] | {"$defs": schema["$defs"]}).validate(engine)
    assert engine["kind"] == ("tape" if isinstance(adapter, TapeAdapter) else "functional")
    assert set(engine["features"]) <= set(FEATURES)


def test_the_versions_are_those_of_the_interpreter_which_had_the_engine(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text('#!/bin/sh\n[ "$3" = numpy ] && echo 1.2.99 || echo 3.8.99\n', encoding="utf-8")
    other.chmod(0o755)
    adapter = find_adapter("refgrad")
    described = describe_engine(adapter, str(other))
    assert (described["python"], described["numpy"]) == ("3.8.99", "1.2.99")
    own = describe_engine(adapter)
    assert (own["python"], own["numpy"]) == (platform.python_version(), np.__version__)


def test_an_interpreter_without_numpy_has_no_version_of_it(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text('#!/bin/sh\n[ "$3" = numpy ] && exit 1\necho 3.8.99\n', encoding="utf-8")
    other.chmod(0o755)
    assert "numpy" not in describe_engine(find_adapter("refgrad"), str(other))
    assert "numpy" not in describe_engine(find_adapter("js-pytorch"))


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = document_path(tmp_path / "new", "my engine/2")
    assert path.name == "my_engine_2.json"
    document = example_document()
    write_document(path, document)
    assert read_document(path) == document
    told = [replace(each, statement="") if each.verdict in {"passed", "unsupported"} else each for each in VERDICTS]
    assert verdicts_of(document) == told
    rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith('    {"id":')]
    assert len(rows) == len(VERDICTS)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_report_of_the_first_version_is_read_as_one_of_the_second(tmp_path: Path) -> None:
    document = example_document()
    first = document | {"schema": "refgrad/report/1"}
    (tmp_path / "first.json").write_text(json.dumps(first), encoding="utf-8")
    assert read_document(tmp_path / "first.json") == first
    write_document(tmp_path / "second.json", document)
    assert read_document(tmp_path / "second.json") == document
    assert differences(first, document) == []


def test_what_is_written_is_as_the_schema_says(tmp_path: Path, schema: dict[str, Any]) -> None:
    write_document(tmp_path / "a.json", example_document())
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(written)
    assert list(written) == [*schema["properties"]]
    assert len(json.dumps(written["verdicts"])) < len(json.dumps(example_document()["verdicts"]))


def test_a_report_counts_what_it_holds() -> None:
    document = example_document()
    assert document["complete"] is False
    assert document["summary"]["checks"] == len(VERDICTS) + 1
    assert document["summary"]["chapters"]["leaves"] == {"crashed": 1, "passed": 1}
    assert list(document["summary"]["outcomes"]) == [
        name for name in OUTCOMES if name not in {"missing", "hung", "unexpected-error"}
    ]
    assert (document["summary"]["failed"], document["summary"]["must_failed"]) == (3, 2)
    assert document["summary"]["severities"] == {"wrong first derivative": 1, "crash or hang": 1, "inaccurate": 1}
    assert [row["id"] for row in document["verdicts"] if "severity" in row] == [v.id for v in VERDICTS if v.failed]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": "refgrad/report/0"},
            'schema: "refgrad/report/0" is not one of "refgrad/report/1", "refgrad/report/2"',
        ),
        ({"seed": "3"}, 'seed: "3" is not of type "integer"'),
        ({"surplus": 1}, "surplus: there is no such key; there are schema, engine, refgrad, "),
        ({"verdicts": [{}]}, "verdicts[0]: 'id' is missing"),
        ({"verdicts": [{"id": "a/b"}]}, "verdicts[0]: 'level' is missing"),
        ({"common": {"leaves": [{}]}}, "common.leaves[0]: 'verdict' is missing"),
        ({"common": []}, 'common: [] is not of type "object"'),
        ({"common": {"leaves": "x"}}, 'common.leaves: "x" is not of type "array"'),
    ],
)
def test_what_is_no_report_is_named_with_its_fault(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write_example(tmp_path, **changes)
    with pytest.raises(ReportError) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_report_tells_how_many_checks_were_planned_and_run() -> None:
    verdicts = {row.id: row for row in VERDICTS[:3]}
    suite = [row.id for row in VERDICTS]
    planned = suite[1:6]
    summary = build_document(ADAPTER, Settings("smoke", 3), verdicts, suite, planned)["summary"]
    assert (summary["checks"], summary["planned"], summary["run"], summary["not_run"]) == (len(VERDICTS), 6, 3, 3)


def test_a_report_that_does_not_fit_on_the_disk_leaves_the_one_before(tmp_path: Path) -> None:
    path = write_example(tmp_path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ReportError, match=r"example\.json cannot be written: File too large$"):
            write_document(path, example_document())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_would_replace_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(ReportError, match=r"taken\.json cannot be written: Is a directory$"):
        write_document(tmp_path / "taken.json", example_document())
    assert [path.name for path in tmp_path.iterdir()] == ["taken.json"]


def test_what_no_encoding_can_hold_is_written_all_the_same(tmp_path: Path) -> None:
    document = example_document()
    document["engine"]["version"] = "1.0\ud800"
    write_document(tmp_path / "odd.json", document)
    assert read_document(tmp_path / "odd.json") == document


def test_a_message_of_a_verdict_is_bounded_and_plain() -> None:
    said = verdict("operators/exp", "crashed", "\x1b]0;title\x07" + "long " * 2_000_000)
    assert said.message.startswith("\\x1b]0;title\\x07long ")
    assert len(json.dumps(said.to_json())) < 10_000


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "[" * 100_000, '{"a":' * 50_000])
def test_what_is_not_even_json_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "torn.json"
    path.write_text(text)
    with pytest.raises(ReportError, match=r"torn\.json: cannot be read as JSON: "):
        read_document(path)
