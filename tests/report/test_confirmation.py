"""A script is confirmed by what its program shows alone, and refuted by anything else."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Died,
    Dtype,
    Error,
    Evidence,
    Fact,
    Measured,
    Numbers,
    Parents,
    Remark,
    Silence,
    Subject,
    Uncoupled,
    Unsent,
    Written,
)
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.observation import Raised
from refgrad.report.confirmation import confirm
from refgrad.report.findings import Script
from refgrad.scenario import Scenario
from tests.report.example import SCENARIO, SILENT, VERDICTS, observed

X = Subject("gradient", "x")
NUMBERS = "import numpy as np\n\nprint(np.array([0.1, 1 / 3]))\n"
ENTRY = observed("0.3333333333333333").fact
NOTHING = observed("nan").fact
RAISED = Error(error=Raised("ValueError", "no", ("ValueError", "Exception")))
SINGLE = Dtype(subject=X, seen="float64", expected="float32")
CHOICE = Uncoupled(
    gradients=(Numbers((), ("0.5",), "x"), Numbers((), ("0.25",), "y")),
    direction=(Numbers((), ("1.0",), "x"),),
    rate="2.0",
    lower="1.0",
    upper="1.0",
)
MATRIX = Unsent(leaf="x", gradients=(Numbers((1, 2), ("0.5", "1.0")),))
TWO = Calls(hook="h", seen=2, expected=1)
AFTER = Absent(subject=X, after_step=2, error=Raised("KeyError", "'x'", ("KeyError", "LookupError")))
WRITTEN = Written(change="seed 1 is 2.0, and was 1.0")
SEEDS = "import numpy as np\na = np.array([1.0])\nprint([a])\n"
EDGES = "print('x', [])\nprint('a', ['x', 'x'])\nprint('b', [2.0, 'x'])\n"
DEEP = Error(error=Raised("RecursionError", "", ("RecursionError", "RuntimeError")))


def script(fact: Fact, program: str, scenario: Scenario = SCENARIO) -> Script:
    verdict = replace(VERDICTS[4], evidence=Evidence(fact, 4), reproduction=program, scenario=scenario.text)
    return Script("example", "1", verdict)


def leads(node: str, *parents: str) -> Parents:
    return Parents(node=node, seen=parents, expected=("x",))


@pytest.mark.parametrize(
    ("fact", "program", "answer"),
    [
        (ENTRY, NUMBERS, "confirmed"),
        (ENTRY, "print(0.3333333333333334)\n", "refuted"),
        (ENTRY, "print('0.3333333333333333')\n", "refuted"),
        (ENTRY, NUMBERS + "raise ValueError\n", "refuted"),
        (NOTHING, "print(float('nan'))\n", "confirmed"),
        (NOTHING, "print(0.5)\n", "refuted"),
        (observed("-0.0").fact, "print(0.0)\n", "refuted"),
        (observed("0.10000000149011612").fact, "import numpy as np\nprint(np.float32([0.1]))\n", "confirmed"),
        (observed("0.10000000149011612").fact, NUMBERS, "refuted"),
        (RAISED, "raise ValueError('no')\n", "confirmed"),
        (RAISED, "e = ValueError('no')\ne.add_note('-----\\nand why')\nraise e\n", "confirmed"),
        (RAISED, "raise TypeError('no')\n", "refuted"),
        (RAISED, "print('ValueError')\n", "refuted"),
        (RAISED, "import sys\nsys.stderr.write(': oops')\nsys.exit(1)\n", "refuted"),
        (RAISED, "import sys\nsys.stderr.write('((( oops')\nsys.exit(1)\n", "refuted"),
        (RAISED, "import sys\nsys.stdout.buffer.write(bytes([255]))\nraise ValueError\n", "confirmed"),
        (SINGLE, "import numpy as np\nprint(np.ones(2))\n", "confirmed"),
        (SINGLE, "import numpy as np\nprint(np.ones(2, np.float32))\n", "refuted"),
        (SINGLE, "print(1.0, 'torch.float64')\n", "confirmed"),
        (SINGLE, "print(1.0, 'bfloat64')\n", "refuted"),
        (CHOICE, "print(0.5, 0.25)\n", "confirmed"),
        (CHOICE, "print(0.25, 0.75)\n", "refuted"),
        (MATRIX, "print([0.5, 1.0])\n", "confirmed"),
        (MATRIX, "print(None)\n", "refuted"),
        (Calls(hook="h", seen=0, expected=1), "print([])\n", "confirmed"),
        (TWO, "import numpy as np\nprint([np.array(1.), np.array(2.)])\n", "confirmed"),
        (TWO, "import numpy as np\nprint([np.array(1.)])\n", "refuted"),
        (WRITTEN, SEEDS + "a *= 2\nprint([a, np.array([3.0])])\n", "confirmed"),
        (WRITTEN, SEEDS + "print([a, np.array([3.0])])\nprint(np.array([6.0]))\n", "refuted"),
        (WRITTEN, SEEDS + "print(np.array([2.0]))\n", "nothing to compare"),
        (AFTER, "raise KeyError('x')\n", "confirmed"),
        (AFTER, "print(None)\n", "refuted"),
        (Absent(subject=X), "print(None)\n", "confirmed"),
        (Absent(subject=X), "print(0.0)\n", "refuted"),
        (leads("b", "", "x"), EDGES, "confirmed"),
        (leads("b", "x", "x"), EDGES, "refuted"),
        (leads("a"), EDGES, "refuted"),
        (leads("x"), EDGES, "confirmed"),
        (leads("c"), EDGES, "refuted"),
        (Measured(quantity="memory"), "print((160, 41))\n", "confirmed"),
        (Measured(quantity="memory"), "print((160, 40))\n", "refuted"),
        (Measured(quantity="memory"), "print(160)\n", "refuted"),
        (Measured(quantity="tensor"), "print('Tensor(1.0)')\n", "confirmed"),
        (Measured(quantity="tensor"), "print(None)\n", "refuted"),
        (Measured(quantity="time"), "print(10, 0.1)\nprint(20, 0.4)\nprint(40, 1.6)\n", "confirmed"),
        (Measured(quantity="time"), "print(10, 0.1)\nprint(20, 0.2)\nprint(40, 0.4)\n", "refuted"),
        (Measured(quantity="time"), "print('fast')\n", "refuted"),
        (DEEP, "raise RecursionError\n", "confirmed"),
        (DEEP, "raise MemoryError\n", "refuted"),
        (Died(), "import os\nos.abort()\n", "confirmed"),
        (RAISED, "import os\nos.abort()\n", "refuted"),
        (Remark(text="something else"), NUMBERS, "nothing to compare"),
        (Remark(text="something else"), "import nothing_that_exists\n", "refuted"),
        (ENTRY, "import refgrad\n" + NUMBERS, "refuted"),
    ],
)
def test_a_program_is_held_against_the_evidence_of_its_verdict(fact: Fact, program: str, answer: str) -> None:
    assert confirm(script(fact, program)).answer == answer


def test_an_error_that_does_not_come_is_confirmed_by_a_program_that_ends() -> None:
    fact = Silence(due=("freed-graph",))
    assert confirm(script(fact, "x = 1\n", SILENT)).answer == "confirmed"
    assert confirm(script(fact, "raise ValueError\n", SILENT)).answer == "refuted"


def test_a_report_without_evidence_has_nothing_to_compare() -> None:
    found = script(ENTRY, NUMBERS)
    verdict: Verdict = replace(found.verdict, evidence=None)
    assert confirm(replace(found, verdict=verdict)).answer == "nothing to compare"


def test_what_a_program_said_is_shown() -> None:
    assert confirm(script(ENTRY, "print('[1. 2.]')\n")).shown == "[1. 2.]"
    assert confirm(script(ENTRY, "import refgrad\n")).shown.endswith("import of refgrad halted; None in sys.modules")


def test_a_program_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[confirm.__module__], "SECONDS", 0.5)
    confirmation = confirm(script(ENTRY, "while True:\n    pass\n"))
    assert (confirmation.answer, confirmation.shown) == ("refuted", "no answer after 0.5 s")
