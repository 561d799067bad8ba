"""Does a journal keep what was known when a run died?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refgrad.harness import Journal, JournalError, Verdict

HEADER = {"engine": "tiny", "seed": 0}
FIRST = Verdict("operators/exp", "operators", "exp", "MUST", "passed", examples=3)
SECOND = Verdict("sharing/diamond", "sharing", "", "MUST", "wrong", message="why")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "new" / "tiny.journal.jsonl")
    journal.begin(HEADER)
    journal.append(FIRST)
    journal.append(SECOND)
    return journal


def test_what_was_appended_is_read_back(journal: Journal) -> None:
    assert journal.resume(HEADER) == [FIRST, SECOND]


def test_a_line_that_was_cut_short_is_dropped_and_the_journal_goes_on(journal: Journal) -> None:
    text = journal.path.read_text()
    journal.path.write_text(text[:-20])
    assert journal.resume(HEADER) == [FIRST]
    journal.append(SECOND)
    assert journal.resume(HEADER) == [FIRST, SECOND]


def test_a_journal_of_another_run_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="belongs to another run; grade without --resume, or into another folder"):
        journal.resume({**HEADER, "seed": 1})


@pytest.mark.parametrize("damage", ["{", json.dumps({"id": "x"}), "[]"])
def test_damage_in_the_middle_is_named_by_its_line(journal: Journal, damage: str) -> None:
    lines = journal.path.read_text().splitlines()
    journal.path.write_text("\n".join([lines[0], damage, lines[2], ""]))
    with pytest.raises(JournalError, match="line 2 is damaged"):
        journal.resume(HEADER)


def test_a_journal_without_a_header_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "empty.jsonl")
    journal.path.write_text("")
    with pytest.raises(JournalError, match="belongs to another run"):
        journal.resume(HEADER)
    journal.path.write_text("garbage\n")
    with pytest.raises(JournalError, match="belongs to another run"):
        journal.resume(HEADER)
