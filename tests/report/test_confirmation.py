"""Is a finding confirmed by what its program says alone, and refuted by anything else?"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from refgrad.report import Finding, confirm
from refgrad.scenario import Scenario, parse
from tests.report.example import SCENARIO, SILENT, VERDICTS

NUMBERS = "import numpy as np\n\nprint(np.array([0.1, 1 / 3]))\n"
ENTRY = "step 4, `read grad x`: the gradient of x is entry (1,): 0.3333333333333333, but the truth is 1"
CHOICE = (
    "the gradient of x is 0.5 and 0.25, no choice that is legal at the kinks: "
    "moving x by 1 changes the output by 2 according to it, but the truth is 1"
)
EDGES = "print('x', [])\nprint('a', ['x', 'x'])\nprint('b', [2.0, 'x'])\n"
HELD = "after a backward, 4 arrays of a graph of 16 arrays are still held"
STEEP = "n leaves, up to n = 40: time grows about as n^2"
SINGLE = parse("x = leaf float32[] {0x1.8p+0} requires_grad\na = exp x\nbackward a\nread grad x\n")


def finding(message: str, program: str, scenario: Scenario = SCENARIO) -> Finding:
    verdict = replace(VERDICTS[4], message=message, reproduction=program, scenario=scenario.text)
    return Finding("example", "1", verdict)


@pytest.mark.parametrize(
    ("message", "program", "answer"),
    [
        (ENTRY, NUMBERS, "confirmed"),
        (ENTRY, "print(0.3333333333333334)\n", "refuted"),
        (ENTRY, NUMBERS + "raise ValueError\n", "refuted"),
        ("the gradient of x is nan: there is one", "print(float('nan'))\n", "confirmed"),
        ("the gradient of x is nan: there is one", "print(0.5)\n", "refuted"),
        ("raised ValueError: no", "raise ValueError('no')\n", "confirmed"),
        ("raised LinAlgError: no", "import numpy\nraise numpy.linalg.LinAlgError('no')\n", "confirmed"),
        ("raised ValueError: no", "e = ValueError('no')\ne.add_note('-----\\nand why')\nraise e\n", "confirmed"),
        ("raised ValueError: no", "raise TypeError('no')\n", "refuted"),
        ("raised ValueError: no", "print('ValueError')\n", "refuted"),
        ("it has the dtype float64, but it should be float32", "print(1.0, 'float64')\n", "confirmed"),
        ("it has the dtype float64, but it should be float32", "print(1.0, 'float32')\n", "refuted"),
        ("it has the dtype float64, but it should be float32", "print('Array(1., dtype=float64)')\n", "confirmed"),
        ("it has the dtype float64, but it should be float32", "print('Array(1., dtype=bfloat64)')\n", "refuted"),
        (CHOICE, "print(0.5, 0.25)\n", "confirmed"),
        (CHOICE, "print(0.25, 0.75)\n", "refuted"),
        ("x got the gradient [[0.5, 1.0]], but nothing was sent to it", "print([0.5, 1.0])\n", "confirmed"),
        ("x got the gradient 0.5, but nothing was sent to it", "print(None)\n", "refuted"),
        ("h saw 0 gradients, but there were 1", "print([])\n", "confirmed"),
        ("h saw 2 gradients, but there were 1", "print('[array(1.), array(2.)]')\n", "confirmed"),
        ("h saw 2 gradients, but there were 1", "print('[array(1.)]')\n", "refuted"),
        ("the gradient of x is missing: step 2 raised KeyError: 'x'", "raise KeyError('x')\n", "confirmed"),
        ("the gradient of x is missing: step 2 raised KeyError: 'x'", "print(None)\n", "refuted"),
        ("the gradient of x is missing", "print(None)\n", "confirmed"),
        ("the gradient of x is missing", "print(0.0)\n", "refuted"),
        ("the node of b leads to [something else, x], not to [x]", EDGES, "confirmed"),
        ("the node of b leads to [x, x], not to [x]", EDGES, "refuted"),
        ("the node of a leads to [], not to [x]", EDGES, "refuted"),
        ("the node of x leads to [], not to [x]", EDGES, "confirmed"),
        ("the node of c leads to [], not to [x]", EDGES, "refuted"),
        (HELD, "print((160, 41))\n", "confirmed"),
        (HELD, "print((160, 40))\n", "refuted"),
        (HELD, "print(160)\n", "refuted"),
        ("an intermediate tensor outlives its graph", "print('Tensor(1.0)')\n", "confirmed"),
        ("an intermediate tensor outlives its graph", "print(None)\n", "refuted"),
        (STEEP, "print('10 0.1')\nprint('20 0.4')\nprint('40 1.6')\n", "confirmed"),
        (STEEP, "print('10 0.1')\nprint('20 0.2')\nprint('40 0.4')\n", "refuted"),
        (STEEP, "print('fast')\n", "refuted"),
        ("a chain of n operators, n = 10: RecursionError; 5 went well", "raise RecursionError\n", "confirmed"),
        ("a chain of n operators, n = 10: RecursionError; 5 went well", "raise MemoryError\n", "refuted"),
        ("the engine's process died while it ran this scenario", "import os\nos.abort()\n", "confirmed"),
        ("raised ValueError: no", "import os\nos.abort()\n", "refuted"),
        ("something else altogether", NUMBERS, "nothing to compare"),
        ("something else altogether", "import nothing_that_exists\n", "refuted"),
        (ENTRY, "import refgrad\n" + NUMBERS, "refuted"),
    ],
)
def test_a_program_is_held_against_the_message_of_its_verdict(message: str, program: str, answer: str) -> None:
    assert confirm(finding(message, program)).answer == answer


def test_numbers_of_single_precision_are_compared_in_that() -> None:
    message = "the gradient of x is 0.10000000149011612, but the truth is 4"
    assert confirm(finding(message, NUMBERS, SINGLE)).answer == "confirmed"
    assert confirm(finding(message, NUMBERS)).answer == "refuted"


def test_an_error_that_does_not_come_is_confirmed_by_a_program_that_ends() -> None:
    message = "an error was due, but the engine carried on silently"
    assert confirm(finding(message, "x = 1\n", SILENT)).answer == "confirmed"
    assert confirm(finding(message, "raise ValueError\n", SILENT)).answer == "refuted"


def test_what_a_program_said_is_shown() -> None:
    assert confirm(finding(ENTRY, "print('[1. 2.]')\n")).shown == "[1. 2.]"
    assert confirm(finding(ENTRY, "import refgrad\n")).shown.endswith("import of refgrad halted; None in sys.modules")


def test_a_program_without_an_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[confirm.__module__], "SECONDS", 0.5)
    confirmation = confirm(finding(ENTRY, "while True:\n    pass\n"))
    assert (confirmation.answer, confirmation.shown) == ("refuted", "no answer after 0.5 s")
