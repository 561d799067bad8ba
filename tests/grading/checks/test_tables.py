"""The tables of families of checks and of chosen numbers hold what the code reads, and nothing else."""

from __future__ import annotations

from typing import get_args

import pytest

from refgrad.grading.checks.check import ROWS
from refgrad.grading.checks.families import OF_OPERATORS
from refgrad.grading.checks.graphs import GRAPHS
from refgrad.grading.judging.verdict import Level
from refgrad.grading.settings import EFFORTS, NUMBERS, Settings
from tests.effort import each
from tests.repository.sources import PACKAGE, python_files

SOURCE = "".join(path.read_text(encoding="utf-8") for path in python_files(PACKAGE)).replace("'", '"')


def test_every_family_has_a_row_and_every_row_a_family() -> None:
    assert sorted(ROWS) == sorted(family.name for family in (*OF_OPERATORS, *GRAPHS))


@pytest.mark.parametrize("name", ROWS)
def test_a_row_states_what_must_hold_and_what_an_engine_needs_for_it(name: str) -> None:
    row = ROWS[name]
    assert row.keys() - {"features", "dtypes", "any_dtype"} == {"level", "statement"}
    assert row["level"] in get_args(Level)
    assert row["statement"].endswith(".")


def test_a_longer_profile_never_tries_less() -> None:
    smoke, standard, thorough = (EFFORTS[profile] for profile in ("smoke", "standard", "thorough"))
    assert all(smoke[name] <= standard[name] <= thorough[name] for name in standard)
    assert Settings("thorough").effort is thorough


@each("name", [*EFFORTS["smoke"], *(name for table in NUMBERS.values() for name in table)])
def test_every_number_is_read(name: str) -> None:
    chapters = {family.name for family in OF_OPERATORS}
    assert f'["{name}"]' in SOURCE or name in chapters
