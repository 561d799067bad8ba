"""Is a hint about a wrong gradient right, or silent, and does the program in the message show what the message says?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from refgrad import check_gradients

pytest.importorskip("torch", reason="needs refgrad[torch]")

from tests.checking.functions.torch_hints import WRONG, Wrong
from tests.effort import in_turns

pytestmark = pytest.mark.engines

SILENT = "compare the backward rule with the derivative"
FEWEST_RIGHT = 95
"""Least share of hints, in percent, that must be right or silent."""


def messages(of: Sequence[Wrong]) -> dict[str, str]:
    """Return the messages about some functions, all of which are wrong."""
    reports = {each.name: check_gradients(each.function, each.inputs, raise_exception=False) for each in of}
    assert {name: report.outcome for name, report in reports.items()} == dict.fromkeys(reports, "wrong")
    return {name: str(report) for name, report in reports.items()}


def hint_of(message: str) -> str:
    """Return the hint of a message: what to do, or the first line if it has none."""
    advice = re.search("what to do: +(.*)", message)
    return advice[1] if advice else message.partition("\n")[0]


def is_right(wrong: Wrong, hint: str) -> bool:
    return hint.startswith(SILENT) or bool(re.search(wrong.hint, hint))


def run(programs: dict[str, str]) -> dict[str, str]:
    """Return what programs print in a fresh process."""
    command = [sys.executable, "-m", "tests.checking.printed_programs"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, input=json.dumps(programs), cwd=root, check=True, capture_output=True, text=True, timeout=300
    )
    printed: dict[str, str] = json.loads(done.stdout)
    return printed


def refuse_other_numbers(texts: dict[str, str]) -> None:
    """Raise AssertionError unless each program prints the number that its message says."""
    parts = {name: text.partition("  to see it:\n") for name, text in texts.items() if "  to see it:\n" in text}
    printed = run({name: dedent(program) for name, (_, _, program) in parts.items()})
    for name, (head, _, program) in parts.items():
        said = re.search(r"backward gives: +([^\s,]+)(.*)|in the plain call, wrong .* is (\S+), but", head)
        assert said is not None, name
        if "no gradient arrives" in head:
            assert printed[name] == "None", name
        else:
            tolerance = 1e-5 if ", the " in head else 1e-12 if "torch.float64, requires" in program else 1e-7
            assert float(printed[name]) == pytest.approx(float(said[1] or said[3]), rel=tolerance, nan_ok=True), name


def test_there_are_enough_functions_with_names_of_their_own() -> None:
    assert len({each.name for each in WRONG}) == len(WRONG) >= 100


@pytest.mark.parametrize("wrong", in_turns([WRONG[n::3] for n in range(3)], 3), ids="123")
def test_hints_are_right_or_silent(wrong: Sequence[Wrong]) -> None:
    """A third of the functions is enough for a share."""
    texts = messages(wrong)
    hints = {each.name: hint_of(texts[each.name]) for each in wrong}
    misleading: Any = {each.name: hints[each.name] for each in wrong if not is_right(each, hints[each.name])}
    assert len(misleading) <= len(wrong) * (100 - FEWEST_RIGHT) / 100, misleading
    assert sum(hint.startswith(SILENT) for hint in hints.values()) < len(wrong) / 5
    refuse_other_numbers(texts)
