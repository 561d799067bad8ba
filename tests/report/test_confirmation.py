"""A script is confirmed by what its program shows alone, and refuted by anything else."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from refgrad.facts import (
    Absent,
    Calls,
    Comment,
    Died,
    Dtype,
    Error,
    Evidence,
    Fact,
    Inconsistent,
    Measured,
    NotedNumber,
    Numbers,
    Parents,
    Shape,
    Silence,
    Subject,
    UnexpectedGradient,
    Written,
)
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.observation import Raised
from refgrad.native.statements import Call, Code, Name, Show, Statement, Traversal, Value
from refgrad.report import confirmation
from refgrad.report.confirmation import confirm
from refgrad.report.findings import Script
from refgrad.scenario import Scenario
from tests.effort import each
from tests.report.example import SCENARIO, SILENT, VERDICTS, observed, reading
from tests.report.forked_programs import ForkedPrograms

pytestmark = pytest.mark.turns(2)

Program = tuple[Statement, ...]

X = Subject("gradient", "x")
IMPORT = "import numpy as np\n\n"
NUMBERS = "import numpy as np\n\nprint(np.array([0.1, 1 / 3]))\n"
ENTRY = observed("0.3333333333333333").fact
NOTHING = observed("nan").fact
RAISED = Error(error=Raised("ValueError", "no", ("ValueError", "Exception")))
SINGLE = Dtype(subject=X, seen="float64", expected="float32")
CHOICE = Inconsistent(
    gradients=(Numbers((), ("0.5",), "x"), Numbers((), ("0.25",), "y")),
    direction=(Numbers((), ("1.0",), "x"), Numbers((), ("2.0",), "y")),
    rate="1.0",
    lower="2.0",
    upper="2.0",
)
MATRIX = UnexpectedGradient(leaf="x", gradients=(Numbers((1, 2), ("0.5", "1.0")),))
TWO = Calls(hook="h", seen=2, expected=1)
AFTER = Absent(subject=X, after_step=2, error=Raised("KeyError", "'x'", ("KeyError", "LookupError")))
WRITTEN = Written(change="seed 1 is 2.0, and was 1.0")
SEED = Call("np.array({x})", {"x": Value([1.0])}, ("s",))
SEEDS = Show("the seeds", Call("[{look_0}]", {"look_0": Name("s")}), "arrays")
SLOW = """\
for n in (10, 20, 40):
    started = 0
    print(n, 0.001 * n ** POWER - started, flush=True)
"""
TRACES = "tracemalloc.start()"
REPEATED = f"""\
import tracemalloc


def attempt(n):
    return [1000, 1000 + LEFT * n, 1000 + 2 * LEFT * n]


{TRACES}
print(attempt(200))
"""
DEEP = Error(error=Raised("RecursionError", "", ("RecursionError", "RuntimeError")))


def looks(value: str, *, of: str = "gradient of x", before: str = "") -> Program:
    """Return a program that reads a value, as reproductions do."""
    return reading(f"{before}{IMPORT if 'np.' in value else ''}shown = {value}\n", (of, "shown"))


def script(fact: Fact, given: str | Program, scenario: Scenario = SCENARIO) -> Script:
    program = (Code(given),) if isinstance(given, str) else given
    verdict = replace(VERDICTS[4], evidence=Evidence(fact, 4), reproduction=program, scenario=scenario.text)
    return Script("example", "1", verdict)


def slopes(numbers: str) -> Program:
    return reading(f"x, y = {numbers}\n", ("gradient of x", "x"), ("gradient of y", "y"))


def walks(parents: str) -> Program:
    return (Code("x, a = 1, 2\n"), Traversal(parents, {"x": "x", "a": "a"}))


def noted(seen: str | None, expected: str, runs: int = 1) -> NotedNumber:
    return NotedNumber(
        label="a", seen=seen, expected=expected, wrong=runs, runs=runs, numbers=(("a", expected), ("b", "1.0"))
    )


def notes(*rows: str) -> str:
    listed = ", ".join(rows)
    return f"def attempt():\n    return [{listed}]\n\n\nfor label, counts in attempt():\n    print(label, counts)\n"


def leads(node: str, *parents: str) -> Parents:
    return Parents(node=node, seen=parents, expected=("x",))


CASES: Final[Sequence[tuple[Fact, str | Program, str]]] = [
    (ENTRY, looks("1 / 3"), "confirmed"),
    (ENTRY, looks("0.3333333333333334"), "not confirmed"),
    (ENTRY, looks("4.48"), "not confirmed"),
    (ENTRY, NUMBERS, "confirmed"),
    (ENTRY, "print('0.3333333333333333')\n", "not confirmed"),
    (ENTRY, NUMBERS + "raise ValueError\n", "not confirmed"),
    (ENTRY, looks("1 / 3", before="raise ValueError\n"), "not confirmed"),
    (NOTHING, looks("float('nan')"), "confirmed"),
    (NOTHING, looks("0.5"), "not confirmed"),
    (observed("-0.0").fact, looks("0.0"), "not confirmed"),
    (observed("-0.0").fact, looks("-0.0"), "confirmed"),
    (observed("0.10000000149011612").fact, looks("np.float32(0.1)"), "confirmed"),
    (observed("0.10000000149011612").fact, looks("0.1"), "not confirmed"),
    (RAISED, "raise ValueError('no')\n", "confirmed"),
    (RAISED, "e = ValueError('no')\ne.add_note('-----\\nand why')\nraise e\n", "confirmed"),
    (RAISED, "raise TypeError('no')\n", "not confirmed"),
    (RAISED, "print('ValueError')\n", "not confirmed"),
    (RAISED, "import sys\nsys.stderr.write(': oops')\nsys.exit(1)\n", "not confirmed"),
    (RAISED, "import sys\nsys.stderr.write('((( oops')\nsys.exit(1)\n", "not confirmed"),
    (RAISED, "import sys\nsys.stdout.buffer.write(bytes([255]))\nraise ValueError\n", "confirmed"),
    (SINGLE, looks("np.ones(2)"), "confirmed"),
    (SINGLE, looks("np.ones(2, 'f4')"), "not confirmed"),
    (SINGLE, "print(1.0, 'torch.float64')\n", "confirmed"),
    (SINGLE, "print(1.0, 'bfloat64')\n", "not confirmed"),
    (CHOICE, slopes("0.5, 0.25"), "confirmed"),
    (CHOICE, slopes("1.0, 0.5"), "not confirmed"),
    (CHOICE, slopes("0.25, 0.75"), "not confirmed"),
    (MATRIX, looks("[0.5, 1.0]"), "confirmed"),
    (MATRIX, looks("None"), "not confirmed"),
    (MATRIX, looks("[0.0, 0.0]"), "not confirmed"),
    (Calls(hook="h", seen=0, expected=1), looks("[]", of="what h saw"), "confirmed"),
    (TWO, looks("[np.array(1.), np.array(2.)]", of="what h saw"), "confirmed"),
    (TWO, looks("[np.array(1.)]", of="what h saw"), "not confirmed"),
    (WRITTEN, (SEED, Code("s *= 2\n"), SEEDS), "confirmed"),
    (WRITTEN, (SEED, SEEDS), "not confirmed"),
    (AFTER, "raise KeyError('x')\n", "confirmed"),
    (AFTER, looks("None"), "not confirmed"),
    (Absent(subject=X), looks("None"), "confirmed"),
    (Absent(subject=X), looks("0.0"), "not confirmed"),
    (Shape(subject=X, seen=(1,), expected=()), looks("np.ones(1)"), "confirmed"),
    (Shape(subject=X, seen=(1,), expected=()), looks("np.ones(2)"), "not confirmed"),
    (Shape(subject=X, seen=(1,), expected=()), looks("np.ones(())"), "not confirmed"),
    (leads("a"), walks("[]"), "confirmed"),
    (leads("a"), walks("[x] if node else []"), "not confirmed"),
    (leads("a", "x", "x"), walks("[x, x]"), "confirmed"),
    (leads("c"), walks("[]"), "not confirmed"),
    (Measured(quantity="memory"), "print((160, 41))\n", "confirmed"),
    (Measured(quantity="memory"), "print((160, 40))\n", "not confirmed"),
    (Measured(quantity="memory"), "print(160)\n", "not confirmed"),
    (Measured(quantity="growth"), REPEATED.replace("LEFT", "9"), "confirmed"),
    (Measured(quantity="growth"), REPEATED.replace("LEFT", "8"), "not confirmed"),
    (Measured(quantity="growth"), REPEATED.replace("LEFT", "9").replace(TRACES, "import gc"), "not confirmed"),
    (Measured(quantity="growth"), REPEATED.replace("LEFT", "65").replace(TRACES, "import gc"), "confirmed"),
    (Measured(quantity="growth"), "print([0, 1, 2])\n", "not confirmed"),
    (Measured(quantity="tensor"), "print('Tensor(1.0)')\n", "confirmed"),
    (Measured(quantity="tensor"), "print(None)\n", "not confirmed"),
    (Measured(quantity="time"), SLOW.replace("POWER", "2"), "confirmed"),
    (Measured(quantity="time"), SLOW.replace("POWER", "1"), "not confirmed"),
    (Measured(quantity="time"), "print('fast')\n", "not confirmed"),
    (noted("2.0", "0.0"), notes("('b', [(1.0, 1)])", "('a', [(0.0, 1), (2.0, 1)])"), "confirmed"),
    (noted("2.0", "0.0"), notes("('b', [(1.0, 1)])", "('a', [(0.0, 1), (None, 1)])"), "not confirmed"),
    (noted("2.0", "0.0"), "print('a', [(2.0, 1)])\n", "not confirmed"),
    (noted(None, "1.0"), notes("('a', [(None, 1)])"), "confirmed"),
    (noted(None, "1.0"), notes("('a', [(1.0, 1)])"), "not confirmed"),
    (noted(None, "0.0"), notes("('a', [(0.0, 1), (None, 1)])"), "confirmed"),
    (noted(None, "0.0"), notes("('a', [(0.0, 1)])"), "not confirmed"),
    (noted(None, "1.0", 0), notes("('b', [(1.0, 1)])"), "confirmed"),
    (noted(None, "0.0", 0), notes("('a', [(None, 1)])"), "not confirmed"),
    (DEEP, "raise RecursionError\n", "confirmed"),
    (DEEP, "raise MemoryError\n", "not confirmed"),
    (RAISED, "import os\nos.abort()\n", "not confirmed"),
    (Comment(text="something else"), NUMBERS, "not confirmed"),
    (Comment(text="something else"), "import nothing_that_exists as n\nn.f()\n", "could not be run"),
    (ENTRY, looks("1 / 3", before="import refgrad\nrefgrad.f()\n"), "could not be run"),
    (ENTRY, "const x = 1;", "could not be run"),
]


@pytest.fixture(scope="module")
def forked() -> ForkedPrograms:
    """Return what the programs of all cases show, which takes one interpreter in place of one for each."""
    return ForkedPrograms("import numpy", [script(fact, program).text for fact, program, _ in CASES])


@each(("fact", "program", "answer"), CASES)
def test_a_program_is_held_against_the_evidence_of_its_verdict(
    fact: Fact, program: str | Program, answer: str, forked: ForkedPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmation, "subprocess", forked)
    assert confirm(script(fact, program)).answer == answer


def test_an_error_that_does_not_come_is_confirmed_by_a_program_that_ends() -> None:
    fact = Silence(expected_kinds=("freed-graph",))
    assert confirm(script(fact, "x = 1\n", SILENT)).answer == "confirmed"
    assert confirm(script(fact, "raise ValueError\n", SILENT)).answer == "not confirmed"


@pytest.mark.parametrize("evidence", [Evidence(Died(), 4), None], ids=["of a step", "of a measurement"])
def test_a_crash_is_confirmed_by_a_process_that_dies(evidence: Evidence | None) -> None:
    crash = script(ENTRY, "import os\nos.abort()\n")
    found = replace(crash, verdict=replace(crash.verdict, verdict="crashed", evidence=evidence))
    assert confirm(found).answer == "confirmed"
    lives = replace(found, verdict=replace(found.verdict, reproduction=(Code("x = 1\n"),)))
    assert confirm(lives).answer == "not confirmed"


def test_a_report_without_evidence_is_not_confirmed() -> None:
    found = script(ENTRY, NUMBERS)
    verdict: Verdict = replace(found.verdict, evidence=None)
    assert confirm(replace(found, verdict=verdict)).answer == "not confirmed"


@pytest.mark.parametrize(
    ("language", "tool", "program"),
    [
        ("javascript", "node", 'const engine = require("no-such-engine");'),
        ("r", "Rscript", "library(no.such.engine)"),
    ],
)
@pytest.mark.parametrize("kind", ["Error", "simpleError"])
def test_a_program_without_its_engine_could_not_be_run(language: str, tool: str, program: str, kind: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    found = script(Error(error=Raised(kind, "no", ())), (Code(program),))
    assert confirm(replace(found, language=language)).answer == "could not be run"


def test_what_a_program_said_is_shown() -> None:
    assert confirm(script(ENTRY, "print('[1. 2.]')\n")).transcript == "[1. 2.]"
    shown = confirm(script(ENTRY, "import refgrad as r\nr.f()\n")).transcript
    assert shown.endswith("import of refgrad halted; None in sys.modules")


def test_a_program_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[confirm.__module__], "SECONDS", 0.2)
    confirmation = confirm(script(ENTRY, "while True:\n    pass\n"))
    assert (confirmation.answer, confirmation.transcript) == ("not confirmed", "no answer after 0.2 s")
    hung = replace(confirmation.script, verdict=replace(confirmation.script.verdict, verdict="hung"))
    assert confirm(hung).answer == "confirmed"
    assert confirm(script(Measured(quantity="time"), "while True:\n    pass\n")).answer == "confirmed"
    assert confirm(script(Measured(quantity="memory"), "while True:\n    pass\n")).answer == "not confirmed"
