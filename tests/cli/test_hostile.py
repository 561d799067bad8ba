"""The report on an engine whose every word is an attack leaves a terminal as it was."""

from __future__ import annotations

import io
import sys

import pytest
from rich.text import Text

from refgrad.cli.progress import Console
from refgrad.native.text import UNSAFE, PlainStream, plain_streams
from tests.cli.conftest import Terminal
from tests.report.example import write_example
from tests.report.site.hostile import write_hostile


@pytest.mark.parametrize(
    "arguments",
    [
        ("badge", "hostile.json"),
        ("badge", "hostile.json", "--svg"),
        ("confirm", "hostile.json"),
        ("diff", "example.json", "hostile.json"),
        ("diff", "hostile.json", "example.json", "--json"),
        ("explain", "\x1b]0;owned\x07 operators/exp"),
        ("replay", "operators/exp", "--engine", "toy:RIGHT", "--report", "hostile.json"),
        ("replay", "edges/relu", "--engine", "toy:RIGHT", "--report", "hostile.json"),
        ("report", "."),
    ],
)
def test_no_command_prints_what_a_terminal_obeys(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    write_example(terminal.folder)
    write_hostile(terminal.folder)
    result = terminal.invoke(*arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert UNSAFE.search(result.output) is None
    assert 0 < len(result.output) < 200_000


UNSAFE_VERSION = "1.0\x1b[31m\u202e"


def test_a_version_with_control_characters_is_printed_with_escapes(terminal: Terminal) -> None:
    (terminal.folder / "hostile-1.0.dist-info").mkdir()
    (terminal.folder / "hostile-1.0.dist-info" / "METADATA").write_text(f"Name: hostile\nVersion: {UNSAFE_VERSION}\n")
    (terminal.folder / "mine.py").write_text(
        "from dataclasses import replace\nfrom toy import RIGHT\nENGINE = replace(RIGHT, distribution='hostile')\n"
    )
    sys.path.insert(0, str(terminal.folder))
    result = terminal.invoke("replay", "operators/exp", "--engine", "mine:ENGINE")
    assert result.stdout.startswith("right 1.0\\u202e, profile standard, seed 0\n")  # click leaves colours out here
    assert UNSAFE.search(result.output) is None


@pytest.mark.parametrize("arguments", [("\x9b",), ("grade", "--no\x9b"), ("replay", "x", "--engine", "\x9b")])
def test_a_word_of_the_command_line_is_printed_with_escapes(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    result = terminal.invoke(*arguments)
    assert result.exit_code == 2
    assert UNSAFE.search(result.output) is None
    assert "\\x9b" in result.output


def test_colours_reach_a_terminal_and_those_of_texts_do_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with plain_streams():
        Console(highlight=False).print(Text("red\x1b[32m", style="red"))
        sys.stdout.write("plain\x1b[32m\u202e\n")
    assert capsys.readouterr().out == "\x1b[31mred\\x1b[32m\x1b[0m\nplain\\x1b[32m\\u202e\n"


def test_a_stream_of_ascii_becomes_one_of_utf8() -> None:
    raw = io.BytesIO()
    stream = PlainStream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("é\x1b\n")
    stream.flush()
    assert raw.getvalue() == "é\\x1b\n".encode()
