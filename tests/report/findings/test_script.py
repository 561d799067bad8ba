"""Every script runs without refgrad, and fails as its verdict claims."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest

from refgrad.facts import Died, Error, Evidence, Fact, Silence
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.journal import SharedVerdicts
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from refgrad.native.observation import Raised
from refgrad.native.statements import Attempt, Call, Code, Name, Show, Statement, Value
from refgrad.report import confirmation
from refgrad.report.confirmation import confirm
from refgrad.report.document import Report, build_report
from refgrad.report.findings import Script, scripts
from refgrad.report.pages import write_pages
from tests.effort import in_turns, turn
from tests.report.committed import committed_report
from tests.report.example import SILENT, VERDICTS, example_report, reading, write_example
from tests.report.forked_programs import ForkedPrograms

OF_A_CHAPTER = 3
"""Number of failures of a chapter that are judged again and shown: others each third day. `-m slow` shows all."""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where refgrad cannot be imported."""
    (folder / "refgrad.py").write_text("raise ImportError('a finding is to be shown without refgrad')\n")
    (folder / "finding.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "finding.py"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=100)


def test_a_program_that_shows_two_verdicts_is_one_finding() -> None:
    report = example_report(*VERDICTS, replace(VERDICTS[4], id="graphs/other"))
    assert [script.file_name for script in scripts(report)] == ["example-operators-exp.py"]


def test_a_script_fails_and_names_the_right_number(tmp_path: Path) -> None:
    verdict = replace(VERDICTS[4], reproduction=reading("x_grad = 0.1\n", ("gradient of x", "x_grad")))
    script = Script("example", "1", verdict, "3.12", "Linux x86_64", numpy="2.4.6").text
    assert script.splitlines()[:4] == [
        "# A finding of refgrad: operators/exp, wrong first derivative.",
        "# The gradient of `exp(x)` with respect to `x` at x = 1.5 is 4.48; example 1 gives 0.1.",
        "# Violated (MUST): exp is as it must be.",
        "# Found on example 1, Python 3.12, NumPy 2.4.6, Linux x86_64.",
    ]
    ended = run(script, tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith("AssertionError: the gradient of x is 0.1, but it should be 4.48\n")


@pytest.mark.parametrize(
    ("script", "environment"),
    [
        (Script("e", "1", VERDICTS[4], "3.12", "Linux", numpy="2.4.6"), "e 1, Python 3.12, NumPy 2.4.6, Linux"),
        (Script("e", "1", VERDICTS[4], "3.12", "Linux", "javascript"), "e 1, Linux"),
        (Script("e", "unknown", VERDICTS[4]), "e"),
    ],
)
def test_the_environment_is_what_is_known_of_it(script: Script, environment: str) -> None:
    assert script.environment == environment


def test_a_script_that_can_only_show_prints_every_digit(tmp_path: Path) -> None:
    script = scripts(example_report())[0]
    assert not script.printed.fails
    assert run(script.text, tmp_path).stdout == "[0.1                0.3333333333333333]\n"


ONE = Call("{x} + {y}", {"x": Value(1), "y": Value(1)}, ("x",))


@pytest.mark.parametrize("program", [(ONE,), (Attempt((ONE,)), Show("value of x", Call("{x}", {"x": Name("x")})))])
def test_a_script_of_an_error_that_does_not_come_fails(tmp_path: Path, program: tuple[Statement, ...]) -> None:
    evidence = Evidence(Silence(expected_kinds=("freed-graph",)), 4)
    verdict = replace(VERDICTS[4], scenario=SILENT.text, evidence=evidence, reproduction=program)
    ended = run(Script("example", "1", verdict).text, tmp_path)
    assert ended.stdout == ""
    assert ended.stderr.endswith("AssertionError: no error was raised, though the graph was freed\n")


def test_lines_of_a_comment_end_between_words() -> None:
    words = [f"non-finite-{number}" for number in range(40)]
    verdict = replace(VERDICTS[4], statement=" ".join(words))
    comment = [line for line in Script("example", "1", verdict).text.splitlines() if line.startswith("# ")]
    assert {*words} <= {*" ".join(comment).split()}


@pytest.mark.parametrize(
    ("fact", "shown"),
    [(Died(detail="it died"), "x.grad"), (Error(error=Raised("ValueError", "no", ("ValueError",))), "x.grad.numpy()")],
)
def test_a_tensor_is_printed_as_it_is_unless_reading_it_may_raise_the_error(fact: Fact, shown: str) -> None:
    read = Show("gradient of x", Call("None if {x}.grad is None else {x}.grad.numpy()", {"x": Name("x")}))
    verdict = replace(VERDICTS[4], verdict="crashed", evidence=Evidence(fact, 4), reproduction=(Code(RUN), read))
    assert Script("autograd", "1", verdict).program == f"{RUN}print({shown})\n"


RUN = "x = f(1.5)\na = x.exp()\na.backward()\n"
READ = Show("gradient of x", Call("{x}.grad", {"x": Name("x")}))


@pytest.mark.parametrize(("shown", "program"), [((Code(RUN), READ), f"{RUN}print(x.grad)\n"), ((Code(RUN),), RUN)])
def test_a_script_whose_process_dies_looks_at_nothing_but_what_it_dies_of(
    shown: tuple[Statement, ...], program: str
) -> None:
    died = replace(VERDICTS[4], verdict="crashed", evidence=Evidence(Died(detail="it died"), 4), reproduction=shown)
    assert Script("example", "1", died).program == program


@pytest.mark.parametrize(("shown", "program"), [((Code(RUN), READ), f"{RUN}print(x.grad)\n"), ((Code(RUN),), RUN)])
def test_a_script_that_ends_with_an_error_looks_at_nothing_but_what_raises_it(
    shown: tuple[Statement, ...], program: str
) -> None:
    raised = Error(error=Raised("ValueError", "no", ("ValueError",)))
    verdict = replace(VERDICTS[4], verdict="unexpected-error", evidence=Evidence(raised, 4), reproduction=shown)
    assert Script("example", "1", verdict).program == program


def test_what_is_no_python_is_left_as_it_is() -> None:
    text = "const x = 1;\nconsole.log(x); // gradient of x\n"
    assert Script("example", "1", replace(VERDICTS[4], reproduction=(Code(text),))).program == text


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("a/../b", "a-..-b-operators-exp.py"),
        ("../../etc", "etc-operators-exp.py"),
        ("-rf", "rf-operators-exp.py"),
        ("\ud800\n<b>", "b--operators-exp.py"),
        ("é" * 10**6, None),
    ],
)
def test_a_file_of_a_script_has_a_safe_name(engine: str, name: str | None) -> None:
    given = Script(engine, "1", VERDICTS[4]).file_name
    assert re.fullmatch(r"[A-Za-z0-9_+][\w.+-]{0,110}\.py", given, re.ASCII)
    assert name is None or given == name


def test_the_name_of_an_engine_never_becomes_code() -> None:
    text = Script("evil\nimport os\r\x0cos.abort()", "1\u2028os.abort()", VERDICTS[4]).text
    heads = text.partition("\n\n")[0].split("\n")
    assert all(line.startswith("# ") for line in heads)
    assert not any(isinstance(node, ast.Attribute) and node.attr == "abort" for node in ast.walk(ast.parse(text)))


def test_scripts_of_findings_that_are_gone_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_example(tmp_path)
    write_pages(tmp_path)
    folder = tmp_path / "findings"
    (folder / "example-operators-exp.py").rename(folder / "example-operators-old.py")
    (folder / "mine.py").write_text("# mine\n")
    write_pages(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["example-operators-exp.py", "mine.py"]


@pytest.mark.whole
@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most", [OF_A_CHAPTER, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("name", in_turns(["autograd", "mygrad", "micrograd"], 3))
def test_what_is_found_in_a_real_engine_is_shown_by_a_script_that_needs_no_refgrad(
    name: str, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name, reason=f"needs the extra refgrad[{name}]")
    with closing(SharedVerdicts(tmp_path / "verdicts")) as shared:
        found = scripts(graded(name, shared, most))
    for script in found:
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(script.text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
        }
        assert imported - sys.stdlib_module_names <= {"numpy", name}
    assert any(confirm(found[0]).answer == "confirmed" for _ in "123"), found[0].verdict.id  # some take time
    forked = ForkedPrograms(find_adapter(name).setup, [script.text for script in found])
    with monkeypatch.context() as patch:
        patch.setattr(confirmation, "subprocess", forked)
        odd = [script for script in found if confirm(script).answer != "confirmed"]
    assert len(odd) < 3  # what takes time is measured again, alone
    assert [script.verdict.id for script in odd if not any(confirm(script).answer == "confirmed" for _ in "123")] == []


def graded(name: str, shared: SharedVerdicts, most: int | None) -> Report:
    """Judge again some failures of each chapter of the committed report; the rest is as it says there."""
    committed = committed_report(name).verdicts
    failures = (verdict for verdict in committed if verdict.failed)
    chapters = [[each.id for each in group] for _, group in groupby(failures, key=lambda verdict: verdict.chapter)]
    rotated = (chapter[turn() // 3 * OF_A_CHAPTER % len(chapter) :] + chapter for chapter in chapters)
    failed = {name for chapter in rotated for name in chapter[:most]}
    for verdict in committed:
        if verdict.id not in failed:
            shared.computed_once(verdict.id, partial(_given, verdict))
    adapter = find_adapter(name)
    settings = Settings("smoke")
    bench = Bench(start(adapter), settings, shared)
    verdicts = {check.id: bench.grade(check) for check in all_checks() if check.id in failed}
    assert sum(verdict.failed for verdict in verdicts.values()) > len(failed) / 2
    return build_report(adapter, settings, verdicts, list(verdicts))


def _given(verdict: Verdict) -> Verdict:
    return verdict
