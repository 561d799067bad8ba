"""Text of an engine is bounded and has no control characters, whatever it was."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.native.text import PlainStream, plain_line, plain_streams, plain_text, repeatable_text

REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT, st.integers(0, 80))
def test_no_control_character_and_no_surrogate_is_left(text: str, most: int) -> None:
    plain = plain_text(text, most)
    assert len(plain) <= most
    plain.encode("utf-8")
    for character in plain:
        assert character in "\t\n" or unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in REORDERING


@given(ANY_TEXT, st.integers(0, 200))
def test_plain_text_is_left_as_it_is(text: str, most: int) -> None:
    plain = plain_text(text, most)
    assert plain_text(plain, most) == plain


@given(st.integers(60, 200))
def test_a_text_as_long_as_it_may_be_is_kept_whole(most: int) -> None:
    assert plain_text("a" * most, most) == "a" * most
    assert " characters in all " in plain_text("a" * (most + 1), most)


@given(st.text(st.characters(categories=("L", "N", "P", "Zs"))))
def test_words_of_any_language_are_kept(text: str) -> None:
    assert plain_text(text) == text


@given(ANY_TEXT)
def test_a_line_is_one_line(text: str) -> None:
    assert len(plain_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\ud800", "\\ud800"),
        ("a\u061cb\u2066c", "a\\u061cb\\u2066c"),
        ("\x00\x7f\x85\x9b", "\\x00\\x7f\\x85\\x9b"),
    ],
)
def test_what_is_taken_out_can_still_be_told(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_of_a_long_text_the_beginning_and_the_end_are_kept() -> None:
    text = "first " + "\x1b" * 10_000_000 + " last"
    plain = plain_text(text)
    assert len(plain) == 4000
    assert plain.startswith("first \\x1b")
    assert plain.endswith(" last")
    assert " characters in all ...] " in plain
    assert len(json.dumps(plain)) < 8000


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('File "a/lib/python3.11/site-packages/paddle/base.py", line 3', 'File "site-packages/paddle/base.py", line 3'),
        ("/usr/lib/dist-packages/numpy: warning", "dist-packages/numpy: warning"),
        ("at run (/usr/lib/node_modules/tfjs/tf.js:1:2)", "at run (node_modules/tfjs/tf.js:1:2)"),
        ("<object object at 0x7faeda6ee980> is no array", "<object object at 0x...> is no array"),
        pytest.param("a" * 10**6, "a" * 10**6, id="a long word"),  # in no time that grows as its square
        ("3 / 4 and a/b is 0x1.921fb544p+1, not 0xff", "3 / 4 and a/b is 0x1.921fb544p+1, not 0xff"),
    ],
)
def test_neither_folders_of_the_machine_nor_addresses_are_told(said: str, told: str) -> None:
    assert repeatable_text(said) == told


def test_each_stream_escapes_what_is_written_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with plain_streams():
        sys.stdout.write("out\x1b\n")
        sys.stderr.write("error\x1b\n")
    assert (sys.stdout, sys.stderr) == before
    assert tuple(capsys.readouterr()) == ("out\\x1b\n", "error\\x1b\n")


@pytest.mark.parametrize(("encoding", "written"), [("ascii", b"\xc3\xa9"), ("latin-1", b"\xe9")])
def test_only_an_encoding_without_most_letters_is_changed(encoding: str, written: bytes) -> None:
    memory = io.BytesIO()
    stream = io.TextIOWrapper(memory, encoding=encoding)
    PlainStream(stream).write("\u00e9")
    stream.flush()
    assert memory.getvalue() == written


def test_a_stream_without_an_encoding_is_written_to() -> None:
    stream = io.StringIO()
    assert PlainStream(stream).write("\u00e9\x1b") == 2
    assert stream.getvalue() == "\u00e9\\x1b"
