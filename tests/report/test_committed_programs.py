"""The programs of the committed reports, run where refgrad cannot be imported, fail and name the right value.

The committed summary is here too, since it is made of the same reports and programs.
"""

from __future__ import annotations

import ast
import math
import re
from importlib.metadata import PackageNotFoundError, version

import pytest

from refgrad.facts import Entry
from refgrad.native.adapter import find_adapter
from refgrad.report import pages
from refgrad.report.confirmation import confirm
from refgrad.report.findings import Script
from tests.effort import turn
from tests.report.committed import COMMITTED, committed_report, committed_scripts
from tests.repository.sources import ROOT

pytestmark = pytest.mark.turns(2)

SAMPLE = 2
"""How many programs of an engine the loop runs; -m slow runs all of them."""

OF_TODAY = COMMITTED[turn() % 2 :: 2]
"""Every second committed report, and the others the next day."""

ENGINES = ("autograd", "jax", "micrograd", "mygrad", "torch")
NUMBER = re.compile(r"-?(?:inf|nan|\d+(?:\.\d*)?(?:e[+-]?\d+)?)")


def committed(engine: str) -> list[Script]:
    """Return the findings of the committed report, if it is about the version that is installed."""
    document = committed_report(engine)
    try:
        installed = version(find_adapter(engine).distribution or "")
    except PackageNotFoundError:
        pytest.skip(f"needs refgrad[{engine}]")
    if installed != document.engine["version"]:
        pytest.skip(f"the report is about {engine} {document.engine['version']}, and {installed} is installed")
    found = list(committed_scripts(engine))
    if not any(script.verdict.evidence for script in found):
        pytest.skip(f"the report on {engine} was made before reports told evidence")
    return found


def reported() -> list[Script]:
    """Return the findings of the committed reports of today that tell evidence."""
    found = map(committed_scripts, OF_TODAY)
    return [script for each in found if any(s.verdict.evidence for s in each) for script in each]


@pytest.mark.whole
def test_every_program_asserts_what_is_right_or_ends_with_what_is_told() -> None:
    """That it does is shown where its engine is installed; one whose process dies, or never ends, asserts nothing."""
    silent = [
        f"{script.engine} {script.verdict.id}"
        for script in reported()
        if not script.printed.fails and script.verdict.verdict not in {"crashed", "hung"}
    ]
    assert not silent


@pytest.mark.whole
def test_every_assertion_names_what_is_right() -> None:
    for script in reported():
        fact = script.verdict.evidence.fact if script.verdict.evidence else None
        if isinstance(fact, Entry):
            _, said, right = script.program.rpartition("should be ")
            assert said, (script.engine, script.verdict.id)
            lower, upper = float(fact.lower), float(fact.upper)
            assert any(names_one_of(lower, upper, number) for number in NUMBER.findall(right)), (
                script.engine,
                script.verdict.id,
            )


@pytest.mark.whole
def test_the_committed_summary_is_that_of_the_committed_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_report", lambda path: committed_report(path.stem))  # which others have read
    page = (ROOT / "reports" / "README.md").read_text(encoding="utf-8")
    assert page == pages.summary(pages.read_folder(ROOT / "reports")), "run `refgrad report`"


def programs_of_python() -> list[Script]:
    return [script for engine in OF_TODAY for script in committed_scripts(engine) if script.language == "python"]


@pytest.mark.whole
def test_committed_programs_import_what_they_use_and_nothing_else() -> None:
    for script in programs_of_python():
        tree = ast.parse(script.program)
        bound = {
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert bound <= names, script.verdict.id
        assert defined <= names, script.verdict.id
        assert not re.search(r"if \(|not (True|False)|None is", script.program), script.verdict.id


@pytest.mark.whole
def test_committed_programs_look_at_what_the_engine_gave() -> None:
    literal = re.compile(r"^ *got = ([-+.\d(]|None|\[\])[^a-z]*$", re.MULTILINE)
    assert [script.text for script in programs_of_python() if literal.search(script.text)] == []


def names_one_of(lower: float, upper: float, number: str) -> bool:
    """Whether a number that is told lies between two, but for the digits that are not."""
    slack = 1e-3 * max(abs(lower), abs(upper), 1e-300)
    told = float(number)
    return lower - slack <= told <= upper + slack or (math.isnan(lower) and math.isnan(told)) or told == lower


def is_about_a_number(script: Script) -> bool:
    evidence = script.verdict.evidence
    return evidence is not None and isinstance(evidence.fact, Entry)


def check(script: Script) -> None:
    confirmation = confirm(script)
    assert confirmation.answer == "confirmed", (script.verdict.id, confirmation.transcript)
    fact = script.verdict.evidence.fact if script.verdict.evidence else None
    if script.printed.fails and isinstance(fact, Entry):
        head, told, right = confirmation.transcript.rpartition("should be")
        assert "AssertionError: " in head
        assert told
        lower, upper = float(fact.lower), float(fact.upper)
        assert any(names_one_of(lower, upper, number) for number in NUMBER.findall(right)), confirmation.transcript


@pytest.mark.engines
@pytest.mark.parametrize("engine", ENGINES)
def test_some_programs_fail_as_their_report_says(engine: str) -> None:
    """Of those that show a wrong number, which take less time than those that measure time."""
    found = [script for script in committed(engine) if is_about_a_number(script) and script.printed.fails]
    assert len(found) >= SAMPLE
    for script in found[:: max(1, len(found) // SAMPLE)][:SAMPLE]:
        check(script)


@pytest.mark.slow
@pytest.mark.engines
@pytest.mark.parametrize("engine", ENGINES)
def test_every_program_fails_as_its_report_says(engine: str) -> None:
    for script in committed(engine):
        check(script)
