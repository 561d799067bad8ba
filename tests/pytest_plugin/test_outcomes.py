"""Pytest shows what a check found, and nothing of how the suite works."""

from __future__ import annotations

import json
import re
import shutil
from xml.etree import ElementTree as ET

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.specification import specs_directory
from tests.pytest_plugin.conftest import Folder

pytestmark = pytest.mark.turns(2)

PREFERENCE = '''
[gradients_add_up]
level = "SHOULD"
statement = "Gradients of several backward calls add up."
rationale = "Chunks of a batch."
source = "PyTorch documentation, Autograd mechanics"
scenarios = [
"""
x = leaf float64[] {0x1.8p+0} requires_grad
a = add x x
backward a retain_graph
backward a
read grad x
""",
]
'''


def without_times(text: str) -> str:
    return re.sub(r"in \d+\.\d+s", "in a moment", text)


def test_a_check_that_fails_shows_its_message_its_scenario_and_a_program(
    folder: Folder, snapshot: SnapshotAssertion
) -> None:
    result = folder.grade("WRONG", "--grade-select=operators/multiply")
    result.assert_outcomes(failed=1)
    output = result.outlines[result.outlines.index(next(line for line in result.outlines if "FAILURES" in line)) :]
    assert without_times("\n".join(output)) == snapshot


def test_what_is_no_plain_pass_or_failure_has_a_word_of_its_own(folder: Folder) -> None:
    chosen = ["--grade-select=operators/relu", "--grade-select=edges/relu", "--grade-select=operators/exp"]
    result = folder.grade("WRONG", "-v", "-rs", *chosen)
    result.stdout.fnmatch_lines([
        "refgrad::operators/exp SKIPPED (the engine has no exp)*",
        "refgrad::operators/relu WRONG*",
        "refgrad::edges/relu INCONCLUSIVE*",
        "1 unsupported, 1 inconclusive, 1 wrong",
        "inconclusive: edges/relu: operators/relu fails already",
        "report: out/wrong.json",
        "*1 failed, 1 skipped, 1 inconclusive*",
    ])
    folder.grade("RIGHT", "-v", *chosen).stdout.fnmatch_lines([
        "refgrad::edges/relu CONVENTION*",
        "convention: edges/relu: a legal subgradient was chosen: *",
    ])


def test_an_engine_that_leaves_the_process_is_judged_like_one_that_raises(folder: Folder) -> None:
    folder.grade("WRONG", "--grade-select=operators/square").assert_outcomes(failed=1)
    assert folder.verdicts("wrong") == {"operators/square": "unexpected-error"}


def test_what_an_engine_only_should_do_fails_no_session(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = folder.path / "specs"
    shutil.copytree(specs_directory(), specs)
    (specs / "behaviours" / "preferences.toml").write_text(PREFERENCE, encoding="utf-8")
    monkeypatch.setenv("REFGRAD_SPECS", str(specs))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugin = ("-p", "refgrad.pytest_plugin")
    result = folder.grade("FORGETFUL", *plugin, "--grade-select=preferences/*", "-rx", "--xfail-tb", apart=True)
    result.assert_outcomes(xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["wrong, on the level SHOULD: step 5, *"])
    result.stdout.no_fnmatch_line("*pytest.xfail(*")  # no traceback through refgrad
    result.stdout.fnmatch_lines(["XFAIL refgrad::preferences/gradients_add_up - wrong, on the level SHOULD: step 5, *"])
    summary = folder.report("forgetful").summary
    assert (summary["failed"], summary["must_failed"]) == (1, 0)


def test_a_fault_of_the_suite_itself_shows_its_traceback_and_gives_no_verdict(folder: Folder) -> None:
    (folder.path / "conftest.py").write_text(
        "from refgrad.grading.bench import Bench\n"
        "def grade(self, check): raise ZeroDivisionError('in the suite')\n"
        "def pytest_collection_modifyitems(): Bench.grade = grade\n"
    )
    result = folder.grade("RIGHT", "--grade-select=values/values_are_right")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ZeroDivisionError: in the suite"])
    assert folder.verdicts("right") == {}


def test_junit_leaves_out_what_is_not_offered(folder: Folder) -> None:
    folder.grade("RIGHT", "--grade-select=edges/*", "--junitxml=junit.xml")
    suite = ET.parse(folder.path / "junit.xml").getroot()[0]  # noqa: S314 (pytest's own)
    verdicts = folder.verdicts("right")
    assert "unsupported" in verdicts.values()
    offered = [name for name, outcome in verdicts.items() if outcome != "unsupported"]
    assert [case.get("name") for case in suite.iter("testcase")] == offered == ["edges/relu"]
    assert (suite.get("tests"), suite.get("skipped")) == ("1", "0")


@pytest.mark.parametrize(("engine", "status"), [("toy:ABSENT", 3), ("broken:ADAPTER", 4)])
def test_junit_has_an_error_where_an_engine_does_not_start(folder: Folder, engine: str, status: int) -> None:
    (folder.path / "broken.py").write_text("raise ImportError('no engine')\n", encoding="utf-8")
    result = folder.grade("RIGHT", f"--engine={engine}", "--grade-select=operators/add", "--junitxml=junit.xml")
    assert result.ret == status
    suite = ET.parse(folder.path / "junit.xml").getroot()[0]  # noqa: S314 (pytest's own)
    (error,) = suite.iter("error")
    assert (suite.get("errors"), error.get("message")) == ("1", "the engine cannot be started")
    assert error.text


def test_the_properties_of_junit_are_json_that_is_read_back(folder: Folder) -> None:
    chosen = ["--grade-select=operators/add", "--grade-select=operators/multiply"]
    folder.grade("LOUD", *chosen, "--junitxml=junit.xml")
    cases = ET.parse(folder.path / "junit.xml").iter("testcase")  # noqa: S314 (pytest's own)
    values = {case.attrib["name"]: [each.attrib["value"] for each in case.iter("property")] for case in cases}
    assert {name: [json.loads(text)["verdict"] for text in texts] for name, texts in values.items()} == {
        "operators/add": ["unexpected-error"],
        "operators/multiply": ["passed"],
    }
    assert folder.report("loud").verdicts[0].message == json.loads(values["operators/add"][0])["message"]


def test_github_receives_the_failures_if_it_runs_the_session(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = "--grade-select=operators/multiply"
    assert "::error" not in folder.grade("WRONG", chosen).stdout.str()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    result = folder.grade("WRONG", chosen)
    result.stdout.fnmatch_lines(["::error title=wrong%2C profile smoke*wrong%3A operators/multiply (MUST)::The *"])
    folder.grade("RIGHT", "--grade-select=operators/add")
    summary = (folder.path / "summary.md").read_text(encoding="utf-8")
    assert re.findall("^### (.*?),", summary, re.MULTILINE) == ["wrong", "right"]
    assert summary.count("<details>") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder.md")
    assert "no/such/folder.md cannot be written" in folder.grade("RIGHT", "--grade-select=operators/add").stdout.str()
