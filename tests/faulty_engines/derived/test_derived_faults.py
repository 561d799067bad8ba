"""Each check of an operator finds the fault that is derived from its row, and the checks below it do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from refgrad.grading.checks.check import FamilyCheck
from refgrad.grading.checks.families import all_checks
from refgrad.operators import operator_table
from tests.effort import sampled
from tests.faulty_engines.derived.contracts import RULES
from tests.faulty_engines.derived.errors import number_of
from tests.faulty_engines.derived.faults import FAMILIES
from tests.faulty_engines.derived.grading import FAULTS, brief_grading
from tests.faulty_engines.derived.run import result
from tests.faulty_engines.derived.survivors import SURVIVORS
from tests.faulty_engines.remembering import remembered_scenarios

SAMPLED = 2
"""Number of faults of each family in the sample. Which faults these are changes as rows are added."""


def sample() -> list[str]:
    order = sorted(FAULTS.keys() - SURVIVORS, key=lambda name: number_of(f"{name} of {len(FAULTS)}"))
    by_family = ([name for name in order if FAULTS[name].family == family] for family in FAMILIES)
    return [name for names in by_family for name in names[:SAMPLED]]


@pytest.fixture(scope="module", autouse=True)
def searches_are_brief() -> Iterator[None]:
    with remembered_scenarios(), brief_grading():
        yield


def test_every_check_of_an_operator_has_a_fault() -> None:
    faults = Counter(fault.check.id for fault in FAULTS.values())
    checks = [check for check in all_checks() if isinstance(check, FamilyCheck) and check.chapter in FAMILIES]
    assert faults == {check.id: len(RULES) if check.chapter == "contracts" else 1 for check in checks}


def test_survivors_are_faults() -> None:
    assert SURVIVORS.keys() <= FAULTS.keys()


@pytest.mark.parametrize("name", sampled(sample(), 3, turns=3))
def test_a_fault_of_the_sample_is_found_by_its_check_alone(name: str) -> None:
    found = result(FAULTS[name])
    assert found.killed, found.message
    assert found.blamed == []


@pytest.mark.slow
@pytest.mark.parametrize("row", operator_table())
def test_every_fault_of_a_row_is_found_by_its_check_alone(row: str) -> None:
    found = [result(fault) for name, fault in FAULTS.items() if fault.row.name == row and name not in SURVIVORS]
    assert {each.name for each in found if not each.killed} == set()
    assert {each.name: each.blamed for each in found if each.blamed} == {}
