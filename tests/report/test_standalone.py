"""Tests of the program that runs those of findings, with a shell in place of compilers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refgrad.report import standalone

SHELL = "while [ $# -gt 1 ]; do shift; done\nexec sh $1\n"
COMPILER = """case "$*" in *refuse*) echo refused >&2; exit 1;; esac
(echo '#!/bin/sh'; cat $3) > $5; chmod +x $5
"""


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[Any]]:
    """Return the function that runs a shell script as a program of a tool and returns its status and output."""
    for tool in standalone.FILES:
        (tmp_path / tool).write_text(f"#!/bin/sh\n{COMPILER if tool == 'g++' else SHELL}")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return lambda tool, program: [
        standalone.run_by_tool(program, tool, tmp_path),
        *capsys.readouterr().out.split("\n")[:-1],
    ]


@pytest.mark.parametrize("tool", ["java", "Rscript", "g++"])
def test_numbers_that_a_program_prints_are_followed_by_data(tool: str, run: Callable[..., list[Any]]) -> None:
    numbers = [f'{standalone.MARK}[{{"number": "1.5"}}]', "one", f'{standalone.MARK}[{{"text": "one"}}]']
    assert run(tool, "echo 1.5; echo one; exit 3") == [3, "1.5", *numbers]
    assert run(tool, "exit 0") == [0]


@pytest.mark.parametrize(
    ("tool", "program", "kind", "message"),
    [
        ("Rscript", "echo 'Error in f: no' >&2", "simpleError", "Error in f: no"),
        ("Rscript", "echo 'Error: AssertionError: 1' >&2", "AssertionError", "Error: AssertionError: 1"),
        ("Rscript", "echo 'no package called x' >&2; exit 2", "", ""),
        ("Rscript", "echo 'there is no package called x' >&2", "ModuleNotFoundError", "there is no package called x\n"),
        ("java", "echo 'error: compilation failed' >&2; exit 1", "SyntaxError", "error: compilation failed\n"),
        ("java", "echo 'error: compilation failed' >&2; exit 0", "", ""),
        ("java", "echo 'Exception in thread \"main\" a.B: 1' >&2", "B", 'Exception in thread "main" a.B: 1'),
        ("g++", "// g++ refuse", "SyntaxError", "refused\n"),
    ],
)
def test_an_error_that_ends_a_program_is_data(
    tool: str, program: str, kind: str, message: str, run: Callable[..., list[Any]]
) -> None:
    status, *lines = run(tool, program)
    error = standalone.MARK + json.dumps({"type": kind, "message": message, "bases": []})
    assert (status, lines) == ((1, [error]) if kind else (int(program[-1]), []))


@pytest.mark.parametrize(
    ("tool", "program", "end"),
    [
        ("Rscript", "{}; echo 'there is no package called x' >&2", "there is no package called x\n"),
        ("java", "{}; echo 'error: compilation failed' >&2; exit 1", "error: compilation failed\n"),
    ],
)
def test_of_a_long_error_the_last_thousand_characters_are_data(
    tool: str, program: str, end: str, run: Callable[..., list[Any]]
) -> None:
    _, line = run(tool, program.format("printf '%2000s' x >&2"))
    message = json.loads(line.removeprefix(standalone.MARK))["message"]
    assert message == f"x{end}".rjust(1000)


def test_values_are_written_as_data() -> None:
    values = (None, True, "a", 1, [np.float32(0.5)], np.array([1.0, np.inf]), object)
    assert standalone.data(values) == [
        *(None, True, "a", {"number": "1.0"}, [{"array": {"number": "0.5"}, "dtype": "float32"}]),
        {"array": [{"number": "1.0"}, {"number": "inf"}], "dtype": "float64"},
        {"text": "<class 'object'>"},
    ]
