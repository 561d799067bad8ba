"""Tests of what is printed of trials: the first failure of each template in full, and what is next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refgrad.cli.adapters import doctor_text
from refgrad.grading.trials import trials
from refgrad.native.engine import Engine
from refgrad.report import CHARACTERS
from tests.native.reference import ADAPTER

FEW: Any = {"operators": {"add": "{x} + {y}", "multiply": "{x} * {y}"}}
WRONG = {"multiply": ("{x} + {y}",)}


def test_what_works_is_one_line_and_what_is_next() -> None:
    first, second = doctor_text(
        "refgrad", list(trials(Engine(replace(ADAPTER, **FEW, aliases={})))), program=False
    ).splitlines()
    assert first.startswith("refgrad: ")
    assert first.endswith("; none fails")
    assert second == "next: refgrad grade refgrad --profile smoke --output out"


def test_a_failure_says_what_was_run_what_came_back_and_how_to_mend_it() -> None:
    text = doctor_text("refgrad", list(trials(Engine(replace(ADAPTER, **FEW, aliases=WRONG)))), program=False)
    lines = text.splitlines()
    assert lines[0] == "operators.multiply = {x} + {y}"
    assert [line.split()[0] for line in lines[1:5]] == ["on", "ran:", "got:", "mend:"]
    assert lines[-2].endswith("; 1 fail")
    assert all(len(line) <= 3 * CHARACTERS["doctor_line"] for line in lines)


def test_the_whole_program_is_printed_if_it_is_wanted() -> None:
    done = list(trials(Engine(replace(ADAPTER, **FEW, aliases=WRONG))))
    short, full = (doctor_text("refgrad", done, program=program) for program in (False, True))
    assert "import refgrad.engine as torch" in full
    assert "import refgrad.engine as torch" not in short


def test_the_next_step_names_the_interpreter_that_has_the_engine() -> None:
    told = doctor_text("mine", [], program=False, python="env/bin/python").splitlines()[-1]
    assert told == "next: refgrad grade mine --python env/bin/python --profile smoke --output out"
    plain = doctor_text("mine", [], program=False).splitlines()[-1]
    assert plain == "next: refgrad grade mine --profile smoke --output out"
