"""A file of known failures says what is accepted, and a mistake in it is told with the entry that has it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.pytest_plugin.known_failures import (
    KnownFailure,
    KnownFailuresError,
    read_known_failures,
    written_anew,
)

COMPLETE = """\
# Ours, as of autumn.

# A comment on the first.
[[known_failure]]
id = "operators/diag"
reason = "the rule forgets the shape"
engine = "autograd"
version = ">=1.8, <2"
link = "https://example.org/1"
expires = 2027-01-31

# A comment on the second.
[[known_failure]]  # it has one here, too
id = "edges/relu"
reason = '''
[[known_failure]] is the head of an entry'''
"""
FIRST = KnownFailure(
    "operators/diag",
    "the rule forgets the shape",
    "autograd",
    ">=1.8, <2",
    "https://example.org/1",
    date(2027, 1, 31),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known.toml"


def test_an_entry_may_have_every_field(file: Path) -> None:
    file.write_text(COMPLETE)
    first, second = read_known_failures(file)
    assert first == FIRST
    assert second == KnownFailure("edges/relu", "[[known_failure]] is the head of an entry")
    assert first.text == "the rule forgets the shape (https://example.org/1)"


@pytest.mark.parametrize(
    ("engine", "version", "concerns"),
    [
        ("autograd", "1.8", True),
        ("autograd", "1.9.1.dev3", True),
        ("autograd", "2.0", False),
        ("autograd", "1.7.9", False),
        ("mygrad", "1.8", False),
    ],
)
def test_an_entry_concerns_an_engine_and_versions(engine: str, version: str, *, concerns: bool) -> None:
    assert FIRST.concerns(engine, version) is concerns


def test_a_condition_on_a_version_that_nobody_knows_cannot_be_decided() -> None:
    with pytest.raises(KnownFailuresError, match=r"the version of autograd is unknown, which cannot be compared with"):
        FIRST.concerns("autograd", "unknown")
    assert KnownFailure("operators/diag", "why").concerns("autograd", "unknown")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("known_failure = 3", ': known_failure: 3 is not of type "array"'),
        ("[[known_failures]]", "known_failures: there is no such key, did you mean 'known_failure'"),
        ("[[known_failure", "cannot be read"),
        ("known_failure = [3]", r'known_failure\[0\]: 3 is not of type "object"'),
        ('[[known_failure]]\nid = "edges/relu"', r"known_failure\[0\]: 'reason' is missing"),
        ('[[known_failure]]\nid = "edges/relu"\nreason = ""', r'known_failure\[0\]\.reason: "" is shorter than 1 char'),
        ('[[known_failure]]\nid = "edges/rleu"\nreason = "x"', "no check 'edges/rleu', did you mean 'edges/relu'"),
        (
            '[[known_failure]]\nid = "edges/relu"\nexpire = 1',
            r"known_failure\[0\]\.expire: there is no such key, did you mean 'expires'",
        ),
        ('[[known_failure]]\nid = "edges/relu"\nexpires = "soon"\nreason = "x"', r'expires: "soon" is not a "date"'),
        ('[[known_failure]]\nid = "edges/relu"\nexpires = 2027-01-31T01:02:03\nreason = "x"', '03" is not a "date"'),
        ("[[known_failure]]\nid = 3", r"known_failure\[0\]: 'reason' is missing"),
        (
            '[[known_failure]]\nid = "edges/relu"\nreason = "x"\nversion = "new"',
            "'new' is not a version specifier",
        ),
    ],
)
def test_an_error_in_the_file_is_reported_in_one_line(file: Path, text: str, problem: str) -> None:
    file.write_text(text)
    with pytest.raises(KnownFailuresError, match=problem) as caught:
        read_known_failures(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_cannot_be_read(file: Path) -> None:
    with pytest.raises(KnownFailuresError, match=r"known\.toml: there is no such file"):
        read_known_failures(file)


def test_what_is_written_anew_keeps_every_other_entry_with_its_comments(file: Path) -> None:
    file.write_text(COMPLETE.replace("[[known_failure]] is", "this is").replace("  # it has one here, too", ""))
    first, second = read_known_failures(file)
    new = KnownFailure("operators/exp", 'says "no"', "autograd")
    text = written_anew(file, [first], [new])
    assert text == (
        "# Ours, as of autumn.\n\n"
        "# A comment on the second.\n[[known_failure]]\nid = \"edges/relu\"\nreason = '''\n"
        "this is the head of an entry'''\n\n"
        '[[known_failure]]\nid = "operators/exp"\nengine = "autograd"\nreason = "says \\"no\\""\n'
    )
    file.write_text(text)
    assert read_known_failures(file) == (second, new)


@pytest.mark.parametrize("text", [COMPLETE, 'known_failure = [{ id = "edges/relu", reason = "x" }]'])
def test_a_file_whose_entries_cannot_be_separated_is_not_written(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(KnownFailuresError, match="cannot be updated: begin each entry with a line"):
        written_anew(file, [], [])


@given(
    reason=st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), min_size=1),
    engine=st.text("a\"'\\ <>#[]=\u00e9", max_size=8),
)
def test_what_is_written_is_read_as_it_was(tmp_path_factory: pytest.TempPathFactory, reason: str, engine: str) -> None:
    file = tmp_path_factory.mktemp("known") / "known.toml"
    entries = (KnownFailure("edges/relu", reason, engine), KnownFailure("operators/exp", "x"))
    file.write_text(written_anew(file, [], entries), encoding="utf-8")
    assert read_known_failures(file) == entries
