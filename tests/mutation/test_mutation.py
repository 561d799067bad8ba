"""Tests of the mutation run: each kind of fault is found and planted, and a sample of those of the core is killed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.effort import each
from tests.mutation.declared import EQUIVALENT, NAMED, NO_TOLERANCES
from tests.mutation.faults import ALWAYS, Fault
from tests.mutation.journal import Journal, Trial
from tests.mutation.killers import rounds, touched
from tests.mutation.page import page
from tests.mutation.planter import TABLES, all_faults, core, faults_of, sample
from tests.mutation.reach import Reach, noting
from tests.repository.sources import ROOT

SOURCE = '''"""A module."""

from __future__ import annotations

import numpy as np

ROOM = 2.0**-3


def near(x: float, y: float) -> bool:
    """Whether two numbers are near each other."""
    if x < 0 and y < 0:
        raise ValueError
    return abs(x - y) <= ROOM


def halves(numbers: list[float]) -> list[float]:
    """Return the first half of a copy."""
    kept = np.array(numbers)
    kept[0] = 1.0
    return kept.copy()[1:]
'''


@pytest.fixture(scope="module")
def every() -> list[Fault]:
    return all_faults((*core(), *TABLES))


@each(
    ("kind", "old", "planted"),
    [
        ("tolerance", "ROOM = 2.0 ** (-3)", "ROOM = 1000 * (2.0 ** (-3))"),
        ("comparison", "abs(x - y) <= ROOM", "return (abs(x - y) > ROOM)"),
        ("boundary", "abs(x - y) <= ROOM", "return (abs(x - y) < ROOM)"),
        ("and, or", "x < 0 and y < 0", "if (x < 0 or y < 0):"),
        ("condition", "x < 0 and y < 0", "if (not (x < 0 and y < 0)):"),
        ("copy", "np.array(numbers)", "kept = (np.asarray(numbers))"),
        ("copy", "kept.copy()", "return (kept)[1:]"),
        ("answer", "near(…)", "return True\n    if x < 0"),
        ("answer", "halves(…)", "return []\n    kept ="),
        ("off by one", "1", "kept.copy()[(1 + 1):]"),
        ("arithmetic", "x - y", "abs((x + y))"),
        ("statement", "raise ValueError", "        pass\n"),
        ("statement", "kept[0] = 1.0", "    pass\n"),
    ],
)
def test_a_fault_of_each_kind_is_planted(kind: str, old: str, planted: str) -> None:
    found = [f.planted(SOURCE) for f in faults_of("module.py", SOURCE) if (f.kind, f.old) == (kind, old)]
    assert any(planted in source for source in found)


def test_each_number_of_a_table_is_planted_ten_times_and_a_tenth_of_it(every: list[Fault]) -> None:
    text = '[few]\nmost = 4  # 5 of 6\n[near]\npair = [-2.5e-1, 0x10]\nkinds = { "1 number" = 20 }\n'
    faults = faults_of(TABLES[0], text)
    assert [f"{fault.function}: {fault.old} -> {fault.new}" for fault in faults] == [
        *("few.most: 4 -> 40", "few.most: 4 -> 1", "near.pair: -2.5e-1 -> -2.5", "near.pair: -2.5e-1 -> -0.025"),
        *("near.pair: 0x10 -> 160", "near.pair: 0x10 -> 1", "near.kinds: 20 -> 200", "near.kinds: 20 -> 2"),
    ]
    assert faults[4].planted(text) == text.replace("0x10", "160")
    assert {fault.module for fault in every if fault.kind == "number"} == {*TABLES}


def test_a_family_of_checks_that_always_passes_is_among_the_faults(every: list[Fault]) -> None:
    families = {fault.function for fault in every if fault.kind == "family"}
    assert {"_by_itself", "BehaviourCheck.run", "Claim.run", "_lifecycles"} <= families


def test_every_fault_of_the_core_has_a_name_of_its_own(every: list[Fault]) -> None:
    assert len({fault.id for fault in every}) == len(every)


def test_a_module_with_a_fault_is_a_program(every: list[Fault]) -> None:
    for fault in every[::50]:
        parsed = tomllib.loads if fault.module in TABLES else ast.parse
        parsed(fault.planted((ROOT / fault.module).read_text(encoding="utf-8")))


def test_what_is_declared_is_there(every: list[Fault], monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(fault.kind == "named" for fault in every) == len(NAMED)
    constants = {f"{fault.module}::{fault.function}" for fault in every if fault.kind == "tolerance"}
    assert not constants & NO_TOLERANCES.keys()
    monkeypatch.setattr("tests.mutation.planter.EQUIVALENT", {})
    monkeypatch.setattr("tests.mutation.planter.NO_TOLERANCES", {})
    declared = {name.partition("::")[0] for name in (*EQUIVALENT, *NO_TOLERANCES)}
    undeclared = all_faults(sorted(declared))
    assert EQUIVALENT.keys() <= {fault.id for fault in undeclared}
    assert NO_TOLERANCES.keys() <= {f"{f.module}::{f.function}" for f in undeclared if f.kind == "tolerance"}


def test_a_sample_has_what_is_always_planted_and_something_of_every_module(every: list[Fault]) -> None:
    always = {fault.id for fault in every if fault.kind in ALWAYS}
    chosen = sample(every, len(always) + 200, 0)
    assert always <= {fault.id for fault in chosen}
    assert {fault.module for fault in chosen} == {fault.module for fault in every}
    assert chosen == sample(every, len(always) + 200, 0)


def test_a_fault_that_is_gone_changes_the_choice_of_no_other_module(every: list[Fault]) -> None:
    chosen = sample(every, len(every) // 10, 0)
    gone = next(fault for fault in chosen if fault.kind not in ALWAYS)
    after = sample([fault for fault in every if fault != gone], len(every) // 10, 0)
    assert {fault for fault in chosen if fault.module != gone.module} <= {*after}
    assert len({*chosen} - {*after}) == 1


@pytest.mark.parametrize(
    ("name", "users"),
    [
        ("ALLOWANCE", {"refgrad/oracles/judgement.py::_outcomes", "refgrad/oracles/screening.py::tolerance"}),
        ("dependence.towards_infinity", {"refgrad/grading/judging/exceptional.py::Dependence.limits"}),
        ("noise", {"refgrad/checking/low_precision/__init__.py::_of_entries"}),
    ],
)
def test_a_constant_is_held_to_the_tests_of_the_functions_that_name_it(
    name: str, users: set[str], every: list[Fault]
) -> None:
    assert users <= touched(next(f for f in every if f.function == name and f.kind in {"tolerance", "number"}))


def test_tests_beside_a_module_come_first_and_then_the_quickest() -> None:
    fault = next(fault for fault in faults_of("refgrad/engine/room.py", SOURCE) if fault.function == "near")
    near = frozenset({"refgrad/engine/room.py::near"})
    reach = {
        "tests/native/test_other.py::test_far": Reach(0.1, near),
        "tests/engine/test_room.py::test_slow": Reach(2.0, near),
        "tests/engine/test_room.py::test_quick": Reach(0.1, near),
        "tests/engine/test_more.py::test_beside": Reach(9.0, near),
        "tests/engine/test_more.py::test_of_its_file": Reach(0.1, frozenset()),
        "tests/engine/test_none.py::test_elsewhere": Reach(0.1, frozenset()),
    }
    quick, slow = rounds(fault, reach)
    assert [name.partition("::")[2] for name in (*quick, *slow)] == [
        "test_quick",
        "test_slow",
        "test_of_its_file",
        "test_far",
        "test_beside",
    ]
    assert list(quick.values()) == [0.1, 2.0, 0.1]


def test_functions_note_that_they_are_called() -> None:
    names: dict[str, set[str]] = {}
    exec(compile(noting("module.py", SOURCE), "module.py", "exec"), names)
    reached = names["__reached__"]
    reached.clear()
    assert names["near"](0.0, 0.1)  # type: ignore[operator]
    assert reached == {"module.py::near"}


def test_a_journal_remembers_and_a_page_shows_it(tmp_path: Path, every: list[Fault]) -> None:
    killed, survived = every[:2]
    journal = Journal(tmp_path / "trials.jsonl")
    journal.add(Trial(killed, "tests/oracles/test_x.py::test_y", 3, 0.5))
    journal.add(Trial(survived, None, 4, 1.5))
    again = Journal(tmp_path / "trials.jsonl")
    assert [trial.killer is None for trial in again.known(every, survivors=True)] == [False, True]
    assert [trial.fault for trial in again.known(every, survivors=False)] == [killed]
    text = page(again.known(every, survivors=True), len(every), 0)
    assert "**1 of 2 faults are killed by a test; 1 survive (50.0 %).**" in text
    assert text.count("**nothing**") == 2


@pytest.mark.slow
def test_what_is_named_in_the_judgement_of_numbers_is_killed_by_the_tests_beside_it(tmp_path: Path) -> None:
    options = ["--only", "judgement.py::_outcomes::named", "--tests", "oracles/judgement", "--state", str(tmp_path)]
    command = [sys.executable, "-m", "tests.mutation", *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=1800)
    wanted = [named for named in NAMED if named.function == "_outcomes"]
    assert done.stderr.count("tests/oracles/judgement/test_") == len(wanted)
    assert "SURVIVED" not in done.stderr
