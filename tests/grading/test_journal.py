"""A journal keeps what was known when a run died."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.grading.journal import Journal, JournalError
from refgrad.grading.judging.verdict import Verdict

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


def test_of_a_cut_line_that_is_longer_than_the_next_nothing_is_left(journal: Journal) -> None:
    with journal.path.open("a") as file:
        file.write('{"id": "' + 5000 * "x")
    journal.append(SECOND)
    assert journal.resume(HEADER) == [FIRST, SECOND, SECOND]


def test_a_journal_of_another_run_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="belongs to another run; grade without --resume, or into another folder"):
        journal.resume({**HEADER, "seed": 1})


@pytest.mark.parametrize("damage", ["{", json.dumps({"id": "x"}), "[]"])
def test_damage_in_the_middle_is_named_by_its_line(journal: Journal, damage: str) -> None:
    lines = journal.path.read_text().splitlines()
    journal.path.write_text("\n".join([lines[0], damage, lines[2], ""]))
    with pytest.raises(JournalError, match="line 2 is damaged"):
        journal.resume(HEADER)


ROW = FIRST.to_json()


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"id":' * 50_000,
        b"\0",
        b"",
        b"1" * 5000,
        *(
            json.dumps(ROW | changes).encode()
            for changes in (
                {"verdict": "great"},
                {"verdict": ["passed"]},
                {"level": "PERHAPS"},
                {"id": 3},
                {"message": None},
                {"examples": "3"},
                {"screened": "3"},
                {"surplus": 1},
            )
        ),
    ],
)
def test_any_damage_to_the_line_of_a_verdict_is_one_error(journal: Journal, damage: bytes) -> None:
    lines = journal.path.read_bytes().split(b"\n")
    journal.path.write_bytes(b"\n".join([lines[0], damage, *lines[2:]]))
    with pytest.raises(JournalError, match="line 2 is damaged") as caught:
        journal.resume(HEADER)
    assert len(str(caught.value)) < 600


@given(index=st.integers(0, 10_000), rubbish=st.binary(max_size=40))
def test_no_damage_whatever_is_more_than_one_error(index: int, rubbish: bytes) -> None:
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "tiny.journal.jsonl")
        journal.begin(HEADER)
        journal.append(FIRST)
        content = journal.path.read_bytes()
        index %= len(content)
        journal.path.write_bytes(content[:index] + rubbish + content[index + len(rubbish) :])
        try:
            known = journal.resume(HEADER)
        except JournalError:
            return
        assert all(isinstance(verdict, Verdict) for verdict in known)
        journal.append(SECOND)
        assert journal.resume(HEADER) == [*known, SECOND]


def test_a_journal_that_is_no_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read: it is not a regular file"):
        Journal(tmp_path).resume(HEADER)


def test_reading_a_journal_leaves_it_as_it_is(journal: Journal) -> None:
    torn = journal.path.read_bytes()[:-20]
    journal.path.write_bytes(torn)
    journal.resume(HEADER)
    assert journal.path.read_bytes() == torn


def test_a_verdict_that_does_not_fit_on_the_disk_leaves_those_before_it(journal: Journal) -> None:
    size = journal.path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 30, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.append(FIRST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert journal.resume(HEADER) == [FIRST, SECOND]
    journal.append(FIRST)
    assert journal.resume(HEADER) == [FIRST, SECOND, FIRST]


def test_a_journal_that_cannot_be_begun_leaves_the_one_before(journal: Journal) -> None:
    before = journal.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.begin({"another": "x" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert journal.path.read_bytes() == before
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_a_journal_without_a_header_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "empty.jsonl")
    journal.path.write_text("")
    with pytest.raises(JournalError, match="belongs to another run"):
        journal.resume(HEADER)
    journal.path.write_text("garbage\n")
    with pytest.raises(JournalError, match="belongs to another run"):
        journal.resume(HEADER)
