"""The report on an engine whose every word is an attack leaves a terminal as it was."""

from __future__ import annotations

import pytest

from refgrad.native.text import UNSAFE
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
