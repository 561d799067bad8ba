"""ENGINE.json is what its schema says, and what is not is refused."""

from __future__ import annotations

import json
import platform
import resource
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import jsonschema_rs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from refgrad.facts import Evidence, Lacks
from refgrad.facts.fact import SEVERITIES
from refgrad.grading.judging.verdict import OUTCOMES, Finding, Level, Verdict
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.adapter import FEATURES, TapeAdapter, find_adapter
from refgrad.report.document import (
    ADDED,
    SCHEMA_NAME,
    ReportError,
    build_report,
    describe_engine,
    document_path,
    read_report,
    write_report,
)
from refgrad.report.severity import At
from refgrad.specification import specs_directory
from tests.report.example import ADAPTER, VERDICTS, example_document, example_report, verdict, write_example


@pytest.fixture
def schema() -> dict[str, Any]:
    return dict(json.loads((specs_directory() / "schema" / "report.schema.json").read_text(encoding="utf-8")))


def test_the_schema_is_one_of_json_schema_and_knows_the_words_of_the_code(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    row = schema["$defs"]["row"]["properties"]
    assert schema["$defs"]["outcome"]["enum"] == list(OUTCOMES)
    assert row["level"]["enum"] == list(get_args(Level))
    assert [name for name in row if name not in ADDED] == list(Verdict.__slots__)
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
    report = example_report()
    write_report(path, report)
    told = [replace(each, statement="") if each.verdict in {"passed", "unsupported"} else each for each in VERDICTS]
    assert read_report(path) == read_report(str(path)) == replace(report, verdicts=tuple(told))
    rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith('    {"id":')]
    assert len(rows) == len(VERDICTS)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_verdict_that_passed_is_one_short_line(tmp_path: Path) -> None:
    path = document_path(tmp_path, "example")
    write_report(path, example_report())
    lines = path.read_text(encoding="utf-8").splitlines()
    assert '    {"id":"operators/relu","verdict":"passed","message":"1 inconclusive","examples":10},' in lines
    assert '    {"id":"leaves/unused","verdict":"passed","examples":10},' in lines
    assert '  "operators": ["exp","relu","sort"],' in lines


LACKS = Lacks(names=("seed", "float32"))
MESSAGE = Finding("unsupported", LACKS).message


@pytest.mark.parametrize(
    ("shown", "members"),
    [
        (verdict("operators/exp", "passed"), {}),
        (replace(verdict("operators/exp", "passed"), operator="log"), {"operator": "log"}),
        (replace(verdict("seeds/exp", "passed"), operator=""), {"operator": ""}),
        (verdict("seeds/shape", "passed", level="SHOULD"), {"level": "SHOULD"}),
        (
            replace(verdict("seeds/shape", "unsupported", MESSAGE), evidence=Evidence(LACKS)),
            {"lacks": ["seed", "float32"]},
        ),
        (
            replace(verdict("seeds/shape", "unsupported", "other"), evidence=Evidence(LACKS, 3)),
            {
                "lacks": ["seed", "float32"],
                "message": "other",
                "evidence": {"step": 3, "fact": {"kind": "lacks", "names": ["seed", "float32"]}},
            },
        ),
    ],
)
def test_a_row_names_what_its_id_does_not_tell(tmp_path: Path, shown: Verdict, members: dict[str, Any]) -> None:
    write_report(tmp_path / "a.json", example_report(verdict("edges/exp", "passed"), shown))
    row = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["verdicts"][1]
    assert row == {"id": shown.id, "verdict": shown.verdict, "examples": 10, **members}
    assert read_report(tmp_path / "a.json").verdicts[1] == replace(shown, statement="")


FACTS = st.builds(Evidence, st.builds(Lacks, names=st.lists(st.text()).map(tuple)), st.integers(0, 3))


@given(
    st.builds(
        Verdict,
        id=st.sampled_from(["edges/exp", "operators/exp", "seeds/exp", "operators/log"]),
        chapter=st.just(""),
        operator=st.sampled_from(["", "exp", "log"]),
        level=st.sampled_from(get_args(Level)),
        verdict=st.sampled_from(OUTCOMES),
        message=st.text(),
        examples=st.integers(0, 3),
        evidence=st.none() | FACTS,
    )
)
def test_every_verdict_is_read_back_as_it_was(drawn: Verdict) -> None:
    told = replace(drawn, chapter=drawn.id.partition("/")[0])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        write_report(path, example_report(told, verdict("edges/log", "passed")))
        assert read_report(path).verdicts[0] == told


def test_what_is_written_is_as_the_schema_says(tmp_path: Path, schema: dict[str, Any]) -> None:
    write_report(tmp_path / "a.json", example_report())
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(written)
    assert list(written) == [*schema["properties"]]
    assert written["schema"] == SCHEMA_NAME == schema["properties"]["schema"]["const"]


def test_a_report_counts_what_it_holds() -> None:
    report = example_report()
    assert report.complete is False
    assert report.summary["checks"] == len(VERDICTS) + 1
    assert report.summary["chapters"]["leaves"] == {"crashed": 1, "passed": 1}
    assert list(report.summary["outcomes"]) == [
        name for name in OUTCOMES if name not in {"missing", "hung", "unexpected-error"}
    ]
    assert (report.summary["failed"], report.summary["must_failed"]) == (3, 2)
    assert report.summary["severities"] == {"wrong first derivative": 1, "crash or hang": 1, "inaccurate": 1}
    rows = example_document()["verdicts"]
    assert [row["id"] for row in rows if "severity" in row] == [v.id for v in VERDICTS if v.failed]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": "refgrad/report/2"},
            "schema: this version of refgrad reads refgrad/report/3, and not refgrad/report/2; grade the engine again",
        ),
        ({"schema": "refgrad/accuracy/1"}, 'schema: "refgrad/report/3" was expected'),
        ({"seed": "3"}, 'seed: "3" is not of type "integer"'),
        ({"surplus": 1}, "surplus: there is no such key; there are schema, engine, refgrad, "),
        ({"verdicts": [{}]}, "verdicts[0]: 'id' is missing"),
        ({"verdicts": [{"id": "a/b"}]}, "verdicts[0]: 'verdict' is missing"),
        ({"common": {}}, "common: there is no such key; there are schema, engine, refgrad, "),
        ({"operators": {}}, 'operators: {} is not of type "array"'),
        (
            {"engine": example_document()["engine"] | {"language": "x"}},
            "engine.language: x is not among python, javascript, ",
        ),
    ],
)
def test_what_is_no_report_is_named_with_its_fault(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write_example(tmp_path, **changes)
    with pytest.raises(ReportError) as caught:
        read_report(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_report_tells_how_many_checks_were_planned_and_run() -> None:
    verdicts = {row.id: row for row in VERDICTS[:3]}
    suite = [row.id for row in VERDICTS]
    planned = suite[1:6]
    summary = build_report(ADAPTER, Settings("smoke", 3), verdicts, suite, planned).summary
    assert (summary["checks"], summary["planned"], summary["run"], summary["not_run"]) == (len(VERDICTS), 6, 3, 3)


def test_a_report_that_does_not_fit_on_the_disk_leaves_the_one_before(tmp_path: Path) -> None:
    path = write_example(tmp_path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ReportError, match=r"example\.json cannot be written: File too large$"):
            write_report(path, example_report())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_would_replace_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(ReportError, match=r"taken\.json cannot be written: Is a directory$"):
        write_report(tmp_path / "taken.json", example_report())
    assert [path.name for path in tmp_path.iterdir()] == ["taken.json"]


def test_letters_beyond_ascii_are_written_as_themselves(tmp_path: Path) -> None:
    write_report(tmp_path / "accents.json", example_report(verdict("a/b", "crashed", "é"), version="1.0é"))
    assert (tmp_path / "accents.json").read_text(encoding="utf-8").count("é") == 2


def test_what_no_encoding_can_hold_is_written_all_the_same(tmp_path: Path) -> None:
    report = example_report(version="1.0\ud800")
    write_report(tmp_path / "odd.json", report)
    assert read_report(tmp_path / "odd.json").engine == report.engine


def test_a_message_of_a_verdict_is_bounded_and_plain() -> None:
    said = verdict("operators/exp", "crashed", "\x1b]0;title\x07" + "long " * 2_000_000)
    assert said.message.startswith("\\x1b]0;title\\x07long ")
    assert len(json.dumps(said.to_json())) < 10_000


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "[" * 100_000, '{"a":' * 50_000])
def test_what_is_not_even_json_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "torn.json"
    path.write_text(text)
    with pytest.raises(ReportError, match=r"torn\.json: cannot be read as JSON: "):
        read_report(path)
