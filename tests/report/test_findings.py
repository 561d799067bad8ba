"""Every script runs without refgrad and prints what its verdict claims."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.checks.settings import Settings
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.shared_verdicts import SharedVerdicts
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.report import confirmation
from refgrad.report.confirmation import confirm
from refgrad.report.document import build_document, read_document, verdicts_of
from refgrad.report.findings import Script, scripts
from refgrad.report.pages import write_pages
from tests.report.example import SILENT, VERDICTS, example_document, write_example
from tests.report.forked_programs import ForkedPrograms

REPORTS = Path(__file__).parents[2] / "reports"


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where refgrad cannot be imported."""
    (folder / "refgrad.py").write_text("raise ImportError('a finding is to be shown without refgrad')\n")
    (folder / "finding.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "finding.py"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=100)


def test_a_program_that_shows_two_verdicts_is_one_finding() -> None:
    document = example_document()
    document["verdicts"].append({**document["verdicts"][4], "id": "graphs/other"})
    assert [script.file_name for script in scripts(document)] == ["example-operators-exp.py"]


def test_a_script_says_what_is_true_and_prints_every_digit(tmp_path: Path) -> None:
    script = scripts(example_document())[0].text
    head = script.partition("\n\n")[0].replace("\n# ", " ")
    assert head.startswith("# A finding of refgrad on example, version unknown: operators/exp is wrong.")
    assert "the gradient of x is 0.1, but the truth is 4.48" in head
    assert run(script, tmp_path).stdout == "[0.1                0.3333333333333333]\n"


def test_a_script_of_an_error_that_does_not_come_says_so(tmp_path: Path) -> None:
    verdict = replace(VERDICTS[4], scenario=SILENT.text)
    assert run(Script("example", "1", verdict).text, tmp_path).stdout.endswith("no error was raised\n")


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
def test_what_is_found_in_a_real_engine_is_shown_by_a_script_that_needs_no_refgrad(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name, reason=f"needs the extra refgrad[{name}]")
    found = scripts(graded(name, SharedVerdicts(tmp_path)))
    for script in found:
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(script.text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
        }
        assert imported - sys.stdlib_module_names <= {"numpy", name}
    assert confirm(found[0]).answer != "refuted", found[0].verdict.id
    forked = ForkedPrograms(find_adapter(name).setup, [script.text for script in found])
    with monkeypatch.context() as patch:
        patch.setattr(confirmation, "subprocess", forked)
        refuted = [script for script in found if confirm(script).answer == "refuted"]
    assert len(refuted) < 3  # what takes time is measured once more, alone
    assert [script.verdict.id for script in refuted if confirm(script).answer == "refuted"] == []


def graded(name: str, shared: SharedVerdicts) -> dict[str, Any]:
    """Return a report on what an engine failed in the committed one, judged again; the rest is as it says there."""
    committed = verdicts_of(read_document(REPORTS / f"{name}.json"))
    failed = {verdict.id for verdict in committed if verdict.failed}
    for verdict in committed:
        if verdict.id not in failed:
            shared.made_once(verdict.id, partial(_given, verdict))
    adapter = find_adapter(name)
    settings = Settings("smoke")
    bench = Bench(start(adapter), settings, shared)
    verdicts = {check.id: bench.grade(check) for check in all_checks() if check.id in failed}
    assert sum(verdict.failed for verdict in verdicts.values()) > len(failed) / 2
    return build_document(adapter, settings, verdicts, list(verdicts))


def _given(verdict: Verdict) -> Verdict:
    return verdict
