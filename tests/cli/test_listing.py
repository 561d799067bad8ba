"""``refgrad list`` shows what there is, one a line."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.grading.checks.families import all_checks
from refgrad.native.adapter import FEATURES
from refgrad.native.engine_names import registered_engines
from refgrad.operators import operator_table
from tests.cli.conftest import Terminal


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("operators", list(operator_table())),
        ("engines", list(registered_engines())),
        ("checks", [check.id for check in all_checks()]),
        ("features", list(FEATURES)),
    ],
)
def test_every_name_has_its_line(terminal: Terminal, what: str, names: list[str]) -> None:
    result = terminal.invoke("list", what)
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == names


def test_an_operator_is_shown_with_what_it_takes(terminal: Terminal, snapshot: SnapshotAssertion) -> None:
    lines = terminal.invoke("list", "operators").output.splitlines()
    shown = [line for line in lines if line.split()[0] in {"add", "where", "sum", "transpose", "concatenate"}]
    assert "\n".join("  ".join(re.split(r" {2,}", line)) for line in shown) == snapshot


def test_what_cannot_be_listed_is_wrong_usage(terminal: Terminal) -> None:
    result = terminal.invoke("list", "things")
    assert result.exit_code == 2
    assert "'things' is not one of 'operators', 'engines', 'checks', 'features'" in result.stderr
