"""Is every finding a script that runs without refgrad and prints what the verdict claims?"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refgrad.harness import Verdict, find_adapter, start
from refgrad.harness.checks import all_checks
from refgrad.harness.grading import Grader
from refgrad.harness.settings import Settings
from refgrad.report import Finding, build_document, findings, write_pages
from refgrad.report.document import read_document, verdicts_of
from tests.report.example import SILENT, VERDICTS, example_document, write_example

REPORTS = Path(__file__).parents[2] / "reports"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)")
OBSERVED = re.compile(r"(?: is|entry \([\d, ]*\):) (?P<number>[-+\w.]+), but the truth")


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where refgrad cannot be imported."""
    (folder / "refgrad.py").write_text("raise ImportError('a finding is to be shown without refgrad')\n")
    (folder / "finding.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "finding.py"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=100)


def same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)  # noqa: PLR0124 (NaN)


def assert_shows(verdict: Verdict, done: subprocess.CompletedProcess[str]) -> None:
    observed = OBSERVED.search(verdict.message)
    if verdict.verdict == "unexpected-error":
        said = verdict.message.partition("raised ")[2].strip("'\"").splitlines()[0]
        assert said.split(",")[0][:60] in done.stderr
        return
    if verdict.verdict == "crashed":
        assert done.returncode != 0
        assert "RecursionError" not in verdict.message or "RecursionError" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    if observed:
        printed = [float(number) for number in NUMBER.findall(done.stdout)]
        assert any(same(float(observed["number"]), number) for number in printed), (verdict.message, done.stdout)
    elif "carried on silently" in verdict.message:
        assert done.stdout.splitlines()[-1] == "no error was raised"
    else:
        assert done.stdout


def test_a_program_that_shows_two_verdicts_is_one_finding() -> None:
    document = example_document()
    document["verdicts"].append({**document["verdicts"][4], "id": "graphs/other"})
    assert [finding.file_name for finding in findings(document)] == ["example-operators-exp.py"]


def test_a_script_says_what_is_true_and_prints_every_digit(tmp_path: Path) -> None:
    script = findings(example_document())[0].script
    head = script.partition("\n\n")[0].replace("\n# ", " ")
    assert head.startswith("# A finding of refgrad on example, version unknown: operators/exp is wrong.")
    assert "the gradient of x is 0.1, but the truth is 4.48" in head
    assert run(script, tmp_path).stdout == "[0.1                0.3333333333333333]\n"


def test_a_script_of_an_error_that_does_not_come_says_so(tmp_path: Path) -> None:
    verdict = replace(VERDICTS[4], scenario=SILENT.text)
    assert run(Finding("example", "1", verdict).script, tmp_path).stdout.endswith("no error was raised\n")


def test_scripts_of_findings_that_are_gone_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_example(tmp_path)
    write_pages(tmp_path)
    folder = tmp_path / "findings"
    (folder / "example-operators-exp.py").rename(folder / "example-operators-old.py")
    (folder / "mine.py").write_text("# mine\n")
    write_pages(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["example-operators-exp.py", "mine.py"]


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["autograd", "mygrad", "micrograd"])
def test_what_is_found_in_a_real_engine_is_shown_by_a_script_that_needs_no_refgrad(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name, reason=f"needs the extra refgrad[{name}]")
    for finding in findings(graded(name)):
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(finding.script))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
        }
        assert imported - sys.stdlib_module_names <= {"numpy", name}
        assert_shows(finding.verdict, run(finding.script, tmp_path))


def graded(name: str) -> dict[str, Any]:
    """Return a report on what an engine failed in the committed one, judged again."""
    failed = {verdict.id for verdict in verdicts_of(read_document(REPORTS / f"{name}.json")) if verdict.failed}
    adapter = find_adapter(name)
    settings = Settings("smoke")
    grader = Grader(start(adapter), settings)
    verdicts = {check.id: grader.grade(check) for check in all_checks() if check.id in failed}
    assert sum(verdict.failed for verdict in verdicts.values()) > len(failed) / 2
    return build_document(adapter, settings, verdicts, list(verdicts))
